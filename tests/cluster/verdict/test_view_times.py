"""A plan whose network or disk carries no view: `check` says so, and its run shows nothing."""

import pytest

from cluster.cli.main import main
from cluster.scenario.load import load_scenario
from cluster.verdict.facts import finality_views_max, why_no_view_ends
from tests.support.cluster_runs import check_named, judge

SAID = "no view of this plan can end: "
LATE = ("network.latency_ms=2500",)
LOST = ("network.loss_ppm=1000000",)
SYNC = ("costs.sync_us=9223372036854775807",)


def why(*settings):
    return why_no_view_ends(load_scenario("calm", settings))


@pytest.mark.parametrize(
    ("engine", "settings"),
    [
        ("simplex", LATE),
        ("simplex", LOST),
        ("simplex", SYNC),
        ("hotstuff", ("network.latency_ms=60000",)),
        ("hotstuff", LOST),
        ("hotstuff", SYNC),
        ("longest-chain", LOST),
        ("longest-chain", SYNC),
    ],
)
def test_a_plan_that_no_view_can_end_in_is_named(engine, settings):
    assert why(f"consensus.engine={engine}", *settings).startswith(SAID)


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("network.loss_ppm=999999",),
        ("network.latency_ms=2500", "network.jitter_ms=600"),
        ("network.latency_ms=2500", "network.distribution=exponential", "network.jitter_ms=0"),
        ("network.latency_ms=2500", "consensus.engine=longest-chain"),
        ("network.latency_ms=2500", "cluster.validators=1"),
        ("network.loss_ppm=1000000", "cluster.validators=1"),
    ],
)
def test_a_plan_in_which_a_view_may_end_is_not_named(settings):
    assert why(*settings) == ""


@pytest.mark.parametrize(
    ("settings", "slots"),
    [
        (("costs.serve_block_us=60_000",), 1),
        (("costs.serve_block_us=60_000", "network.latency_ms=200"), 2),
        (("costs.serve_block_us=300_000",), 2),
        (("costs.serve_block_us=300_000", "cluster.validators=1"), 1),
    ],
)
def test_finality_may_take_longer_where_blocks_take_several_slots(settings, slots):
    """Swarm seed 418205: each replica asked each leader for its block, and leaders built beside what they had not."""
    chain = ("consensus.engine=longest-chain", "consensus.longest_chain.slot_ms=500")
    scenario = load_scenario("calm", (*chain, *settings))

    assert finality_views_max(scenario) == 20 + scenario.finality_depth * slots


@pytest.mark.parametrize(("near", "is_named"), [(3, False), (2, True)])
def test_regions_count_as_far_as_a_quorum_needs_them(near, is_named):
    """Three validators in one region are a quorum of four, two are none."""
    regions = ["frankfurt"] * near + ["sydney"] * (4 - near)
    found = why(f"network.regions={regions}", "consensus.leader_timeout_ms=60", "chain.block_interval_ms=10")

    assert bool(found) is is_named


@pytest.mark.parametrize("settings", [LATE, LOST, SYNC])
def test_its_run_is_inconclusive_and_says_why(settings):
    result = judge(load_scenario("calm", (*settings, "run.time_limit_ms=40000")))

    assert (result.verdict, result.exit_code) == ("inconclusive", 3), result.headline
    assert result.headline.startswith(SAID)
    assert check_named(result, "finality-regained").status == "inconclusive"


def test_check_warns_of_it(capsys):
    assert main(["check", "calm", "--set", LATE[0]]) == 0

    said = capsys.readouterr().out
    assert f"warning: {SAID}a leader's message takes at least 2,455 ms to a quorum" in " ".join(said.split())
    assert said.splitlines()[-1].startswith("plan shows nothing: ")
