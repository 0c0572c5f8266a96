"""Combinations of draws: chains on which certain rules meet, and the workloads that bring them together."""

from cluster.swarm.combinations import TINY_LIMITS
from cluster.swarm.generator import draw_scenario

LANE = [draw_scenario(seed, ["chain.policy=eip1559"]) for seed in range(120)]
BIAS = [draw_scenario(seed, ["chain.policy=bias-auction"]) for seed in range(40)]
NAMES = ("hurried", "tiny", "precise", "short", "watchers")


def having(scenarios, workload):
    return [scenario for scenario in scenarios if workload in scenario.workload]


def test_timers_that_an_agent_answers_for_are_hurried_on_a_narrow_lane():
    chains = [scenario.chain for scenario in having(LANE, "hurried")]

    assert len(chains) > 8
    assert {(chain.lane.excessive_delay, chain.lane.max_allowed_delays) for chain in chains} == {("force", 1)}
    assert {chain.timers.lane_timer_cycles for chain in chains} == {9_000}


def test_gas_limits_next_to_nothing_and_the_greatest_are_drawn():
    limits = {scenario.workload["tiny"].gas_limit for scenario in having(LANE, "tiny")}

    assert {*TINY_LIMITS} - {0} < limits
    assert max(limits) >= 9_000


def test_timers_watch_under_the_lane_only_where_it_has_state_triggers():
    watched = having(LANE, "watchers")

    assert 8 < len(watched) < len([scenario for scenario in LANE if scenario.chain.state_triggers])
    assert all(scenario.chain.state_triggers for scenario in watched)


def test_bids_of_watching_timers_cover_the_reserve():
    watched = having(BIAS, "watchers")

    assert len(watched) > 10
    for scenario in watched:
        assert scenario.workload["watchers"].bid >= scenario.chain.policy_parameters["reserve"]


def test_some_heartbeats_have_just_the_cycles_of_a_beat_or_one_less():
    drawn = having([*LANE, *BIAS], "precise")
    over = {each.workload["precise"].gas_limit - each.chain.timers.schedule_cycles for each in drawn}

    assert len(drawn) > 10
    assert over == {500, 499}


def test_a_seed_with_a_script_has_no_combination():
    scripted = [drawn for drawn in map(draw_scenario, range(120)) if "after the prefix" in drawn.title]

    assert scripted
    assert [scenario.title for scenario in scripted if {*NAMES} & {*scenario.workload}] == []


def test_some_entries_of_a_queue_run_out_of_gas_at_a_cell():
    drawn = [draw_scenario(seed, ["chain.policy=aptos"]) for seed in range(120)]
    short = having(drawn, "short")

    assert 15 <= len(short) <= 45
    for scenario in short:
        # Enough for the cycles of a beat, and not for both prices of all of its cells.
        assert 700 <= scenario.workload["short"].gas_limit < 700 + 150 + 100 + 2 * 330 + 1
