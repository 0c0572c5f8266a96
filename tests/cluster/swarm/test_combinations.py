"""Combinations of draws: chains on which certain rules meet, and the workloads that bring them together."""

import pytest

from cluster.swarm.combinations import TINY_LIMITS
from cluster.swarm.life import AGENT_CYCLES, FEED_AGENT_CYCLES
from cluster.workloads.boundary.queue import QUEUE_CASES
from tests.support.drawn import Drawn, draw_once

LANE = Drawn(range(120), "chain.policy=eip1559")
BIAS = Drawn(range(40), "chain.policy=bias-auction")
GBA = Drawn(range(60), "chain.policy=gba-auction")
NAMES = (
    "forced-timers",
    "extreme-gas-limits",
    "exact-gas-limits",
    "insufficient-gas",
    "watchers",
    "fixed-basefee",
    "capped-tips",
    "underfunded",
    "queue-refusals",
    "foreign-reads",
)


def having(scenarios, workload):
    return [scenario for scenario in scenarios if workload in scenario.workload]


@pytest.mark.soak
def test_timers_that_an_agent_answers_for_are_hurried_on_a_narrow_lane():
    chains = [scenario.chain for scenario in having(LANE, "forced-timers")]

    assert len(chains) > 8
    assert {(chain.lane.excessive_delay, chain.lane.max_allowed_delays) for chain in chains} == {("force", 1)}
    assert {chain.timers.lane_timer_cycles for chain in chains} == {9_000}


def test_gas_limits_next_to_nothing_and_the_greatest_are_drawn():
    limits = {scenario.workload["extreme-gas-limits"].gas_limit for scenario in having(LANE, "extreme-gas-limits")}

    assert {*TINY_LIMITS} - {0} < limits
    assert max(limits) >= 9_000


def test_timers_watch_under_the_lane_only_where_it_has_state_triggers():
    watched = having(LANE, "watchers")

    assert 8 < len(watched) < len([scenario for scenario in LANE if scenario.chain.state_triggers])
    assert all(scenario.chain.state_triggers for scenario in watched)


@pytest.mark.soak
def test_bids_of_watching_timers_cover_the_reserve():
    watched = having(BIAS, "watchers")

    assert len(watched) > 10
    for scenario in watched:
        assert scenario.workload["watchers"].bid >= scenario.chain.policy_parameters["reserve"]


def test_some_heartbeats_have_just_the_cycles_of_a_beat_or_one_less():
    drawn = having([*LANE, *BIAS], "exact-gas-limits")
    over = {each.workload["exact-gas-limits"].gas_limit - each.chain.timers.schedule_cycles for each in drawn}

    assert len(drawn) > 10
    assert over == {500, 499}


@pytest.mark.soak
def test_a_seed_with_a_script_has_no_combination():
    scripted = [drawn for drawn in Drawn(range(120)) if "after the prefix" in drawn.title]

    assert scripted
    assert [scenario.title for scenario in scripted if {*NAMES} & {*scenario.workload}] == []


@pytest.mark.soak
def test_some_entries_of_a_queue_run_out_of_gas_at_a_cell():
    drawn = Drawn(range(120), "chain.policy=aptos")
    short = having(drawn, "insufficient-gas")

    assert 15 <= len(short) <= 45
    for scenario in short:
        # Enough for the cycles of a beat, and not for both prices of all of its cells.
        assert 700 <= scenario.workload["insufficient-gas"].gas_limit < 700 + 150 + 100 + 2 * 330 + 1


def test_most_queues_refuse_calls_of_every_kind():
    drawn = Drawn(range(60), "chain.policy=aptos")
    edges = [scenario.workload["queue-refusals"] for scenario in having(drawn, "queue-refusals")]

    assert len(edges) > 25
    assert {each.about for each in edges} == {"queue"}
    assert {each.first for each in edges} == {*range(len(QUEUE_CASES))}


def test_some_timers_offer_just_the_price_of_a_lane_that_stands_still():
    pinned = having(LANE, "fixed-basefee")

    assert len(pinned) > 8
    for scenario in pinned:
        lane = scenario.chain.lane
        prices = {lane.min_lane_basefee, lane.initial_lane_basefee, lane.max_lane_basefee}
        assert prices == {scenario.workload["fixed-basefee"].max_fee}


@pytest.mark.soak
def test_an_auction_behind_a_lane_finds_tips_that_were_cut_to_their_room():
    clamped = having(GBA, "capped-tips")

    assert len(clamped) > 4
    assert {scenario.chain.activation.previous for scenario in clamped} == {"eip1559"}


def test_beggars_bid_what_they_have_or_lack_a_unit():
    less = {
        each.workload["underfunded"].bid - each.workload["underfunded"].funds for each in having(BIAS, "underfunded")
    }

    assert less == {0, 1}


@pytest.mark.soak
def test_other_beggars_can_pay_for_cycles_and_not_for_cells():
    drawn = Drawn(range(120), "chain.policy=fifo")
    underfunded = [(each.workload["underfunded"], each.chain) for each in having(drawn, "underfunded")]

    assert len(underfunded) > 20
    for workload, chain in underfunded:
        assert workload.gas_limit * 800 < workload.funds
        assert workload.funds < (workload.gas_limit + chain.timers.max_cells_per_fire) * 800


def agents_of(scenario):
    """Return the agent that means to answer, or the feed of the agent, of each workload that has one."""
    found = ((getattr(each, "agent", ""), getattr(each, "feed", "")) for each in scenario.workload.values())
    return [(agent, feed) for agent, feed in found if feed or agent in AGENT_CYCLES]


@pytest.mark.parametrize("drawn", [LANE, GBA, BIAS], ids=["eip1559", "gba-auction", "bias-auction"])
def test_under_each_policy_with_agents_some_read_a_price_feed(drawn):
    asking = [scenario for scenario in drawn if agents_of(scenario)]
    feeding = [scenario for scenario in asking if any(feed for _, feed in agents_of(scenario))]
    prying = having(drawn, "foreign-reads")

    assert len(asking) / 6 < len(feeding) < len(asking) * 2 / 3
    assert 0 < len(prying) < len(feeding)
    assert [scenario for scenario in prying if scenario not in feeding] == []
    for scenario in feeding:
        chain = scenario.chain
        assert [feed for _, feed in agents_of(scenario) if feed] == ["oracle-feeds"]
        assert (chain.policy_parameters.get("gba_call_cycles") or chain.lane.gba_call_cycles) >= FEED_AGENT_CYCLES


def test_without_agents_no_feed_is_read():
    drawn = [draw_once(seed, f"chain.policy={policy}") for policy in ("fifo", "aptos") for seed in range(40)]

    assert [scenario.title for scenario in drawn if any(feed for _, feed in agents_of(scenario))] == []
    assert having(drawn, "foreign-reads") == []
