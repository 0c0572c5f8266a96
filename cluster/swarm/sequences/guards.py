"""Fault sequences about guards that stand idle in other runs: what each guards against, and what has to meet it.

A share of the seeds has one of these in the place of another sequence. Each was drawn for a branch of the validators'
code that hundreds of seeds had not come to.
"""

from collections.abc import Callable, Sequence
from typing import Final

from cluster.swarm.sequences.sequence import FaultSequence, asked_alone, away, crash, drop
from cluster.swarm.sequences.successive import IMPATIENT_RETRY_MS, joined_in_turn
from faults.kinds.drawing import FAULTS_FROM_MS, Plain
from faults.kinds.simplex_messages import LEAVING, VOTES
from network.draw import Draw
from validators.consensus.quorum import faults_of
from validators.messages import BlockRelay, BlockResponse

LATE_VOTES_MS: Final = (3_200, 3_500, 3_900)
"""Delays of votes, above the wait for a certified block: the view is given up before they come."""


def _rotten_archive(draw: Draw, validators: int) -> FaultSequence:
    """Old blocks have gone bad since the start at the peer that alone answers: it has to have them again itself."""
    archive = draw.between("corrupt-archive.validator", 0, validators - 1)
    # After its restart it has what is old on its disk alone, and the disk was sound when it was read.
    at_ms = FAULTS_FROM_MS + draw.between("corrupt-archive.at_ms", 3_300, 4_200)
    rot: Plain = {"kind": "bit-rot", "validator": archive, "ppm": 400_000, "files": ["blocks"]}
    faults: dict[str, Plain] = {
        "corrupt-archive": {**rot, "start_ms": at_ms + 900, "stop_ms": 16_000},
        "archive-restart": crash(archive, at_ms, 500),
    }
    for place in range(2):
        reader = (archive - 1 - place) % validators
        start_ms = FAULTS_FROM_MS + draw.between(f"corrupt-archive.{place}.start_ms", 0, 300) + 5_700 * place
        faults[f"reader-{place}"] = {**away(reader, validators), "start_ms": start_ms, "stop_ms": start_ms + 5_300}
        faults[f"single-responder-{place}"] = asked_alone(archive, reader, validators, start_ms + 5_300)
    # Blocks one by one, and no snapshot of them all.
    return FaultSequence(faults, {"sync": {"snapshot_gap_blocks": 256}})


def _stale_pruning(draw: Draw, validators: int) -> FaultSequence:
    """Power is cut between the two copies of a journal that is pruned all the time, and a start reads one as it was."""
    node = draw.between("stale-pruning.validator", 0, validators - 1)
    stale: Plain = {"kind": "stale-read", "validator": node, "files": ["journal"]}
    return FaultSequence(
        {
            "stale-pruning": {
                "kind": "crash-at-boundary",
                "validator": node,
                "boundary": "mid-prune",
                "every": draw.between("stale-pruning.every", 1, 3),
                "restart_after_ms": draw.between("stale-pruning.down_ms", 150, 600),
                "start_ms": FAULTS_FROM_MS,
                "stop_ms": 14_000,
            },
            "stale-journal": {
                **stale,
                "ppm": draw.one_of("stale-pruning.ppm", (150_000, 500_000)),
                "start_ms": FAULTS_FROM_MS,
                "stop_ms": 15_000,
            },
        },
        {"consensus": {"view_retention": draw.between("stale-pruning.views", 1, 2)}},
    )


def _torn_again(draw: Draw, validators: int) -> FaultSequence:
    """One validator loses its power again and again before what it wrote is synced, and keeps a part of it."""
    node = draw.between("repeated-torn-writes.validator", 0, validators - 1)
    return FaultSequence(
        {
            "repeated-torn-writes": {
                "kind": "crash-at-boundary",
                "validator": node,
                "boundary": "after-append",
                "every": draw.between("repeated-torn-writes.every", 3, 9),
                "restart_after_ms": draw.between("repeated-torn-writes.down_ms", 100, 400),
                "start_ms": FAULTS_FROM_MS,
                "stop_ms": 14_000,
            },
            "torn-writes-at-crash": {
                "kind": "torn-writes",
                "validators": [node],
                "start_ms": FAULTS_FROM_MS,
                "stop_ms": 15_000,
            },
        },
        {"costs": {"sync_us": draw.one_of("repeated-torn-writes.sync_us", (15_000, 40_000, 120_000))}},
    )


def _forged_snapshots(draw: Draw, validators: int) -> FaultSequence:
    """A validator that has to join three times is offered a forged snapshot first, another one each time."""
    node = draw.between("forged-snapshots.validator", 0, validators - 1)
    forging: Plain = {"kind": "byzantine", "behaviour": "forge-snapshot"}
    if draw.chance("forged-snapshots.is_in_bytes", 30):
        forging = {"kind": "byzantine", "behaviour": "forge-answers", "what": "snapshots"}
    faults: dict[str, Plain] = {}
    for place in range(faults_of(validators)):
        forger = (node + 1 + place) % validators
        faults[f"forger-{forger}"] = {**forging, "validator": forger, "start_ms": FAULTS_FROM_MS, "stop_ms": 20_500}
    # Long enough to see how far the others are, and to ask the forger and another one.
    for place, first_ms in enumerate((2_000, 8_400, 14_800)):
        start_ms = first_ms + draw.between(f"forged-snapshots.{place}.start_ms", 0, 400)
        faults[f"isolated-{place}"] = {**away(node, validators), "start_ms": start_ms, "stop_ms": start_ms + 3_400}
    lost = drop([BlockResponse.traced_name], to=[node])
    faults["lost-blocks"] = {**lost, "start_ms": FAULTS_FROM_MS, "stop_ms": 20_500}
    chunk_bytes = draw.one_of("forged-snapshots.chunk_bytes", (8_000, 1 << 20, 1 << 20))
    return FaultSequence(faults, {"sync": {"snapshot_gap_blocks": 1, "chunk_bytes": chunk_bytes}})


def _left_by_both(draw: Draw, validators: int) -> FaultSequence:
    """A view is notarized and nullified, and the next one, whose leader nobody hears, is stuck for several retries."""
    view = draw.between("notarized-and-nullified.view", 4, 7)
    voters = [node for node in range(validators) if node != view % validators]
    late: Plain = {"kind": "rule", "action": "delay", "kinds": [*VOTES], "from": voters, "views": [[view, view]]}
    span: Plain = {"start_ms": 0, "stop_ms": draw.between("notarized-and-nullified.until_ms", 12_500, 14_500)}
    following: Plain = {"views": [[view + 1, view + 1]], **span}
    leader = (view + 1) % validators
    return FaultSequence(
        {
            "notarized-and-nullified": {
                **late,
                "delay_ms": draw.one_of("notarized-and-nullified.delay_ms", LATE_VOTES_MS),
                **span,
            },
            "lost-proposals": {**drop([BlockRelay.traced_name, *VOTES], [leader]), **following},
            "lost-nullifies": {**drop([*LEAVING]), **following},
        },
        {"consensus": {"timeout_retry_ms": draw.one_of("notarized-and-nullified.retry_ms", IMPATIENT_RETRY_MS)}},
    )


GUARD_SEQUENCES: Final[Sequence[Callable[[Draw, int], FaultSequence]]] = (
    _rotten_archive,
    _stale_pruning,
    _torn_again,
    # Twice: a run has room for three of some twenty forms.
    _forged_snapshots,
    _forged_snapshots,
    _left_by_both,
    joined_in_turn,
)
"""Each drawn as often as it stands here."""
