"""Runs of the GBA auction: every check holds its blocks to what they guarantee, the oracle among them."""

import pytest

from cluster.scenario.load import load_scenario
from cluster.verdict.pipeline import run_pipeline
from report.console import LiveProgress

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


@pytest.mark.parametrize(
    "parameters",
    ['{timer_phase="before", budget="literal", effective_tip="intro"}', "{max_gba_calls_per_block=3}"],
)
def test_a_calm_run_passes(parameters):
    assert_passed(run("calm", AUCTION, f"chain.policy_parameters={parameters}", "run.until_height=8"))


def test_a_storm_drains_while_live_timers_fire_with_few_asks():
    """Timers that nobody pays for use up none of the asks: others would wait behind them for the whole drain (Q-48)."""
    result = run("outage-storm", AUCTION, "chain.policy_parameters={max_gba_calls_per_block=20}", *SMALL_STORM)

    assert_passed(result)
    assert dict(result.rules)["unpayable-unasked"]


@pytest.mark.parametrize(("before", "after"), [("eip1559", "gba-auction"), ("gba-auction", "eip1559")])
def test_an_activation_across_a_reorg_passes(before, after):
    pair = (f'chain.policy="{after}"', f'chain.activation.previous="{before}"', "expect.counts={fired=100}")
    result = run("activation-reorg", *pair)

    assert_passed(result)
