"""Runs of the GBA auction: every check holds its blocks to what they guarantee, the oracle among them."""

import pytest

from cluster.live.progress import LiveProgress
from cluster.scenario.load import load_scenario
from cluster.verdict.pipeline import run_pipeline
from tests.support.activation_pairs import PAIRS, settings_of
from tests.support.keystones import rest_in_soak
from tests.support.replica_modes import MODES

AUCTION = 'chain.policy="gba-auction"'
SMALL_STORM = (
    "workload.storm.timers_per_actor=20",
    "workload.storm.actors=6",
    "workload.storm.unfunded_actors=2",
    "chain.timers.gc_cycles_per_block=2_000",
    "chain.timers.lane_timer_cycles=25_000",
    "expect.storm={dead_timers_min=110, actors_min=6, drain_blocks_min=4}",
)


def run(name, *settings):
    with LiveProgress(title="", is_quiet=True) as progress:
        return run_pipeline(load_scenario(name, settings), 0, runs=None, progress=progress)


def assert_passed(result):
    """Assert that every check that ran passed, and name those that did not."""
    assert {check.name: check.summary for check in result.checks if check.status != "passed"} == {}


@pytest.mark.soak
def test_a_storm_drains_while_live_timers_fire_with_few_asks():
    """Timers that nobody pays for use up none of the asks: others would wait behind them for the whole drain (Q-48)."""
    result = run("outage-storm", AUCTION, "chain.policy_parameters={max_gba_calls_per_block=20}", *SMALL_STORM)

    assert_passed(result)
    assert dict(result.rules)["unpayable-unasked"]


@pytest.mark.parametrize(("before", "after"), rest_in_soak(PAIRS, PAIRS[::5]))
@pytest.mark.soak
def test_a_pair_of_policies_across_a_reorg_passes(before, after):
    """The scenario itself has one pair, and activation-reorg another."""
    assert_passed(run("activation-pairs", *settings_of(before, after)))


@pytest.mark.soak
def test_weights_are_the_same_in_every_replica_mode():
    """Through the reorg that takes epochs back, each mode does what it is about."""
    result = run("auction-rollover", *(f"observers.{name}={mode}" for name, mode in MODES.items()))

    assert_passed(result)
    assert min(result.figures[f"mode_{name}"] for name in MODES) > 0
