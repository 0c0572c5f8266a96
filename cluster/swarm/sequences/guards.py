"""Fault sequences about guards that other runs never use: each guard, and the conditions that have to meet.

A share of the seeds has one of these in place of another sequence. Each was drawn for a branch of the validators' code
that hundreds of seeds had not reached.
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
    """The only peer that answers holds old blocks that went bad since its start: it has to fetch them itself."""
    archive = draw.between("corrupt-archive.validator", 0, validators - 1)
    # After its restart old blocks are only on its disk, and the disk was sound when it was read.
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
    # Single blocks, and no snapshot of them all.
    return FaultSequence(faults, {"sync": {"snapshot_gap_blocks": 256}})


def _stale_pruning(draw: Draw, validators: int) -> FaultSequence:
    """Power is cut between the two copies of a constantly pruned journal, and a start reads a stale copy."""
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
    """One validator loses power again and again before its writes are synced, and keeps a part of them."""
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
    """A validator that has to join three times is first offered a forged snapshot, each time with another forgery."""
    node = draw.between("forged-snapshots.validator", 0, validators - 1)
    forging: Plain = {"kind": "byzantine", "behaviour": "forge-snapshot"}
    if draw.chance("forged-snapshots.is_in_bytes", 30):
        forging = {"kind": "byzantine", "behaviour": "forge-answers", "what": "snapshots"}
    faults: dict[str, Plain] = {}
    for place in range(faults_of(validators)):
        forger = (node + 1 + place) % validators
        faults[f"forger-{forger}"] = {**forging, "validator": forger, "start_ms": FAULTS_FROM_MS, "stop_ms": 20_500}
    # Long enough to learn how far ahead the peers are, and to ask the forger and another peer.
    for place, first_ms in enumerate((2_000, 8_400, 14_800)):
        start_ms = first_ms + draw.between(f"forged-snapshots.{place}.start_ms", 0, 400)
        faults[f"isolated-{place}"] = {**away(node, validators), "start_ms": start_ms, "stop_ms": start_ms + 3_400}
    lost = drop([BlockResponse.traced_name], to=[node])
    faults["lost-blocks"] = {**lost, "start_ms": FAULTS_FROM_MS, "stop_ms": 20_500}
    chunk_bytes = draw.one_of("forged-snapshots.chunk_bytes", (8_000, 1 << 20, 1 << 20))
    return FaultSequence(faults, {"sync": {"snapshot_gap_blocks": 1, "chunk_bytes": chunk_bytes}})


def _left_by_both(draw: Draw, validators: int) -> FaultSequence:
    """A view is notarized and nullified; the next leader is unheard, and its view is stuck for several retries."""
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
    # Listed twice: a run has room for three of some twenty variants.
    _forged_snapshots,
    _forged_snapshots,
    _left_by_both,
    joined_in_turn,
)
"""Each is drawn as often as it is listed."""
