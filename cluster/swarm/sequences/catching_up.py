"""Fault sequences about catching up: how far behind a validator is, which peers answer, and which messages are lost."""

from collections.abc import Callable, Sequence
from typing import Final

from cluster.swarm.sequences.sequence import FaultSequence, applied_early, away, drop
from faults.kinds.drawing import FAULTS_UNTIL_MS, Plain
from network.draw import Draw
from validators.messages import BlockRelay, BlockResponse, SnapshotChunk, SnapshotOffer


def _behind_by_the_limit(draw: Draw, validators: int) -> FaultSequence:
    """One validator is away again and again, for about as many blocks as make it ask for a snapshot."""
    node = draw.between("snapshot-threshold.validator", 0, validators - 1)
    gap = draw.between("snapshot-threshold.gap_blocks", 1, 4)
    faults: dict[str, Plain] = {}
    at_ms = 2_000
    for place in range(4):
        at_ms += draw.between(f"snapshot-threshold.{place}.wait_ms", 300, 900)
        stop_ms = at_ms + draw.between(f"snapshot-threshold.{place}.for_ms", 1_000 * gap - 500, 1_000 * gap + 400)
        if stop_ms > FAULTS_UNTIL_MS:
            break
        faults[f"behind-{place}"] = {**away(node, validators), "start_ms": at_ms, "stop_ms": stop_ms}
        at_ms = stop_ms
    return FaultSequence(faults, {"sync": {"snapshot_gap_blocks": gap}})


def _unanswered(draw: Draw, validators: int) -> FaultSequence:
    """One validator is far behind, and gets no peer's snapshot until it has asked every peer several times."""
    node = draw.between("unanswered-requests.validator", 0, validators - 1)
    start_ms = draw.between("unanswered-requests.start_ms", 2_000, 3_500)
    back_ms = start_ms + draw.between("unanswered-requests.for_ms", 3_500, 5_000)
    kinds = draw.one_of(
        "unanswered-requests.kinds",
        (
            [SnapshotOffer.traced_name],
            [SnapshotChunk.traced_name],
            [SnapshotOffer.traced_name, SnapshotChunk.traced_name, BlockResponse.traced_name],
        ),
    )
    stop_ms = back_ms + draw.between("unanswered-requests.lost_ms", 2_000, 6_500)
    return FaultSequence(
        {
            "behind": {**away(node, validators), "start_ms": start_ms, "stop_ms": back_ms},
            "unanswered-requests": {**drop(kinds, to=[node]), "start_ms": start_ms, "stop_ms": stop_ms},
        },
        {
            "sync": {
                "snapshot_gap_blocks": draw.between("unanswered-requests.gap_blocks", 1, 3),
                "chunk_bytes": draw.one_of("unanswered-requests.chunk_bytes", (2_000, 20_000)),
            },
            "consensus": {"fetch_timeout_ms": draw.one_of("unanswered-requests.fetch_timeout_ms", (200, 500))},
            **applied_early(draw, "unanswered-requests", validators),
        },
    )


def _block_by_block(draw: Draw, validators: int) -> FaultSequence:
    """Blocks reach one validator only when it asks; peers answer slowly and seldom, or its disk is slow."""
    node = draw.between("single-block-sync.validator", 0, validators - 1)
    start_ms = draw.between("single-block-sync.start_ms", 2_000, 4_000)
    stop_ms = draw.between("single-block-sync.stop_ms", start_ms + 5_000, FAULTS_UNTIL_MS)
    lost = {**drop([BlockRelay.traced_name], to=[node]), "start_ms": start_ms, "stop_ms": stop_ms}
    settings: dict[str, Plain] = {
        "consensus": {"fetch_grace_ms": draw.one_of("single-block-sync.fetch_grace_ms", (0, 200, 900))},
    }
    if not draw.chance("single-block-sync.is_slow", 50):
        answers = draw.between("single-block-sync.answers_per_second", 1, 3)
        serve_us = draw.one_of("single-block-sync.serve_block_us", (50, 20_000, 150_000))
        return FaultSequence(
            {"single-block-sync": lost},
            {**settings, "costs": {"answers_per_second": answers, "serve_block_us": serve_us}},
        )
    # Final blocks come while earlier blocks are being written, and there are not enough for a snapshot.
    slow: Plain = {"kind": "slow-disk", "validator": node, "start_ms": start_ms, "stop_ms": stop_ms}
    slow |= {"factor": 1, "extra_ms": draw.one_of("single-block-sync.extra_ms", (400, 900, 1_700))}
    gap = draw.between("single-block-sync.gap_blocks", 2, 3)
    return FaultSequence(
        {"single-block-sync": lost, "slow-disk": slow}, {**settings, "sync": {"snapshot_gap_blocks": gap}}
    )


LAG_SEQUENCES: Final[Sequence[Callable[[Draw, int], FaultSequence]]] = (
    _behind_by_the_limit,
    _unanswered,
    _block_by_block,
)
"""All sequences of this file, in rotation."""
