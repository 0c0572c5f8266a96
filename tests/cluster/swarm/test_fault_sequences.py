"""Fault sequences of the swarm: faults that show something only together, and what they have shown."""

import pytest

from cluster.swarm.engines.simplex import DRAWN_SIMPLEX
from cluster.swarm.fault_sequences import draw_fault_sequence, draw_own
from faults import check_plan
from faults.kinds.registry import decode_fault
from network.draw import Draw
from tests.support.cluster_runs import result_of
from tests.support.drawn import draw_once

SEEDS = range(300)
SLOW_JOIN = (
    'faults={away={kind="partition", groups=[[3], [0, 1, 2]], start_ms=2_500, stop_ms=9_000}}',
    "sync.snapshot_gap_blocks=2",
    "sync.chunk_bytes=400",
    "network.latency_ms=120",
    "run.until_height=14",
    "run.time_limit_ms=120_000",
)
"""A validator that was away joins from a snapshot in enough pieces that new blocks are final before it is here."""


def test_every_sequence_is_drawn():
    drawn = [
        sequence
        for seed in SEEDS
        for sequence in (
            draw_fault_sequence(Draw(seed), 4, DRAWN_SIMPLEX),
            *draw_own(Draw(seed), 4, DRAWN_SIMPLEX),
        )
    ]
    leading = {next(iter(sequence.faults), "") for sequence in drawn}
    numbered = ("silent-leader", "forger")
    leading = {next((each for each in numbered if name.startswith(f"{each}-")), name) for name in leading}

    assert leading == {
        "corrupt-journal",
        *("lost-proposals", "late-entry", "missed", "no-quorum", "missed-view-ends", "slow-builder"),
        *("unsent-votes", "lone-certification", "later-lost-proposals", "later-late-entry"),
        *("behind-0", "behind", "single-block-sync"),
        "corrupt-disk",
        "failing-disk",
        "power-loss-0",
        "absent-leader",
        "lagging-validator",
        "absent",
        "corruption",
        "first-absence",
        "blackout-in-view",
        "flapping",
        "first-clog",
        "paired-crash",
        "mid-prune-0",
        "absence-0",
        "held-finality",
        "swizzle-cut-0",
        "stuck-view",
        "silent-leader",
        "successive-join-0",
        "isolated-mempools",
        "corrupt-archive",
        "stale-pruning",
        "repeated-torn-writes",
        "forger",
        "notarized-and-nullified",
    }


@pytest.mark.soak
def test_a_sequence_is_a_sound_plan_in_every_cluster():
    for seed in SEEDS:
        for validators in (4, 5, 6, 7):
            faults = draw_fault_sequence(Draw(seed), validators, DRAWN_SIMPLEX).faults
            check_plan({name: decode_fault(fault) for name, fault in faults.items()}, validators, engine="simplex")


def test_a_sequence_is_over_before_the_run_is_judged():
    faults = (fault for seed in SEEDS for fault in draw_once(seed).faults.values())

    assert max(fault.span()[1] for fault in faults) <= 22_000


@pytest.mark.soak
def test_who_joins_from_a_snapshot_takes_the_rest_by_blocks():
    """Found by the swarm: while the pieces of a snapshot come, blocks go on; it sought the next one for ever."""
    result = result_of("calm", *SLOW_JOIN)

    assert (result.verdict, result.figures["snapshots_joined"]) == ("passed", 1)
