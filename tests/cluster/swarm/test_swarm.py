"""Drawn scenarios: a function of the seed, each another mixture, and none of them a false alarm."""

from collections import Counter

import msgspec

from cluster.cli.commands.campaigns.shrink import write_scenario_file
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.swarm.faults import FAULTS_UNTIL_MS
from cluster.swarm.generator import banner, draw_scenario, swarm_identity
from cluster.swarm.workloads import AGENTS, LANE_CHANGES, TIERS, TIMER_CHANGES
from cluster.verdict.facts import finality_gap_max_us
from cluster.workloads.boundary.edge_cases import CASES
from faults import byzantine_validators, kind_of
from network.draw import Draw
from scheduler import LaneConfig, TimerConfig
from tests.support.drawn import Drawn
from validators.costs import Costs

DRAWN = Drawn(range(200))
MORE = Drawn(range(200, 640))
"""Seeds for what only one policy draws, and that seldom."""


def test_without_a_lane_budget_no_block_is_too_long_to_be_certified():
    """All of a storm may be due in one block after an outage; where nothing bounds it, it must still be in time."""
    drawn = [*DRAWN, *MORE]
    free = [scenario for scenario in drawn if scenario.chain.policy == "fifo-free"]
    bounded_later = [
        scenario
        for scenario in drawn
        if scenario.chain.activation and scenario.chain.activation.previous == "fifo-free"
    ]

    assert {scenario.costs.execute_us for scenario in free} == {Costs().execute_us}
    assert {scenario.costs.execute_us for scenario in bounded_later} == {Costs().execute_us}
    for scenario in (*free, *bounded_later):
        storm = scenario.workload.get("storm")
        cycles = 0 if storm is None else storm.actors * storm.timers_per_actor * storm.gas_limit
        takes_ms = scenario.costs.execute_us * cycles // 1_000_000
        assert takes_ms < scenario.consensus.certification_timeout_ms // 4


def test_a_policy_that_is_activated_has_a_block_to_be_judged_in():
    activated = [scenario for scenario in (*DRAWN, *MORE) if scenario.chain.activation]

    assert activated
    for scenario in activated:
        assert scenario.run.until_height >= scenario.chain.activation.height


def test_some_seeds_leave_just_a_quorum_that_must_finalize():
    bounded = [scenario for scenario in DRAWN if finality_gap_max_us(scenario) is not None]
    checked = [scenario for scenario in bounded if scenario.consensus.engine == "simplex"]

    assert checked
    for scenario in checked:
        validators = scenario.cluster.validators
        away = [fault.validator for fault in scenario.faults.values()]
        assert len(away) == (validators - 1) // 3
        assert finality_gap_max_us(scenario) == (len(away) + 1) * 3_000_000


def test_where_anything_but_a_crash_happens_finality_may_stand_still():
    scenario = next(each for each in DRAWN if finality_gap_max_us(each) is not None)
    lossy = msgspec.structs.replace(scenario, network=msgspec.structs.replace(scenario.network, loss_ppm=1))
    calm = msgspec.structs.replace(scenario, faults={})

    assert (finality_gap_max_us(lossy), finality_gap_max_us(calm)) == (None, None)


def test_a_draw_depends_on_its_name_and_seed_alone():
    first, second = Draw(5), Draw(5)
    second.between("another", 0, 9)

    assert [first.between(name, 0, 999) for name in "abc"] == [second.between(name, 0, 999) for name in "abc"]


def test_a_seed_draws_the_same_scenario_again_and_another_seed_another():
    encoded = [encode_scenario(scenario) for scenario in DRAWN]

    assert encoded[:5] == [encode_scenario(draw_scenario(seed)) for seed in range(5)]
    assert len(dict.fromkeys(encoded)) == len(encoded)


def test_settings_change_a_drawn_scenario_and_its_identity():
    assert draw_scenario(3, ["run.until_height=7"]).run.until_height == 7
    assert swarm_identity(["run.until_height=7"]) != swarm_identity(())


def test_most_kinds_of_faults_are_off_in_a_run_and_all_are_drawn_in_some():
    kinds = [list(dict.fromkeys(kind_of(fault) for fault in scenario.faults.values())) for scenario in DRAWN]
    every = dict.fromkeys(kind for drawn in kinds for kind in drawn)

    assert max(map(len, kinds)) <= 10
    assert [] in kinds
    assert len(every) >= 18


def test_some_runs_have_byzantine_validators_and_most_have_none():
    byzantine = [byzantine_validators(scenario.faults) for scenario in DRAWN]

    assert 60 < sum(map(bool, byzantine)) < 100
    assert all(
        len(nodes) <= (scenario.cluster.validators - 1) // 3 for nodes, scenario in zip(byzantine, DRAWN, strict=True)
    )


def test_wrong_clocks_of_every_kind_are_drawn_of_one_validator_and_of_all():
    clocks = [
        (name, len(fault.validators) - scenario.cluster.validators)
        for scenario in DRAWN
        for name, fault in scenario.faults.items()
        if name.startswith("clock-")
    ]

    assert {name for name, _ in clocks} == {"clock-offset", "clock-drift", "clock-swing", "clock-strobe"}
    assert 0 in {missing for _, missing in clocks}
    assert -3 in {missing for _, missing in clocks}


def test_every_fault_is_over_in_time():
    assert all(fault.span()[1] <= FAULTS_UNTIL_MS + 6_000 for scenario in DRAWN for fault in scenario.faults.values())


def test_what_makes_timers_die_and_move_prices_is_drawn_often():
    storms = [scenario.workload["storm"] for scenario in DRAWN if "storm" in scenario.workload]

    assert len(storms) > 140
    # Under an auction or in a queue who has nothing gets nothing in.
    assert sum(storm.unfunded_actors > 0 for storm in storms) > 50
    assert sum(storm.payer == "sender" for storm in storms) > 20
    assert sum(storm.handler != "" for storm in storms) > 60
    assert sum("governance" in scenario.workload for scenario in DRAWN) > 40
    assert sum(scenario.chain.block_cycles < 100_000 for scenario in DRAWN) > 40


def offers_of(scenarios):
    return [offer for each in scenarios for name, offer in each.workload.items() if name in {"heartbeats", "storm"}]


def test_what_an_agent_is_asked_for_is_left_open():
    """An agent whose timers state both fees is never asked, and no bug in asking it can be found."""
    agents = [offer for offer in offers_of((*DRAWN, *MORE)) if offer.agent]

    assert all(offer.max_fee is None or not offer.tips for offer in agents)
    assert {offer.agent for offer in agents} == set(AGENTS)


def test_every_way_to_bid_is_drawn():
    offers = offers_of(DRAWN)

    assert {offer.tier for offer in offers} == {None, *TIERS}
    assert sum(offer.bid is not None for offer in offers) > 10
    assert sum(offer.max_fee is None and bool(offer.tips) for offer in offers) > 5


def test_half_of_the_lanes_have_timers_that_bid_against_each_other():
    """Equal bids would hide errors in order, weight and median."""
    lanes = [scenario for scenario in DRAWN if scenario.chain.has_lane]

    assert sum("competing-heartbeats" in scenario.workload for scenario in lanes) >= len(lanes) * 9 // 20


def test_every_parameter_of_the_chain_is_drawn_off_its_default():
    """A parameter with one value in all runs could be ignored by the code without a failure."""
    lanes = [each.chain.lane.config() for each in DRAWN if each.chain.has_lane]
    timers = [each.chain.timers.config() for each in DRAWN]
    paused = {"execution_lane_paused", "gc_lane_paused"}
    by_key = {"max_cycles_per_fire_auction_phase", "tier_economy", "tier_standard", "tier_fast", "tier_urgent"}

    for key in ("min_basefee", "cycle_basefee", "cell_basefee"):
        assert len({getattr(each.chain, key) for each in DRAWN}) > 1
    assert by_key == {
        name for name in LaneConfig.__struct_fields__ if len({getattr(lane, name) for lane in lanes}) == 1
    }
    assert paused == {
        name for name in TimerConfig.__struct_fields__ if len({getattr(config, name) for config in timers}) == 1
    }


def test_councils_reach_for_every_key_that_they_know():
    actions = [
        action
        for scenario in (*DRAWN, *MORE)
        for workload in scenario.workload.values()
        if workload.__struct_config__.tag == "governance"
        for action in workload.actions
    ]
    keys = {key for action in actions for key in getattr(action, "set", ())}

    assert keys >= {f"system:cip1:{key}" for key in LANE_CHANGES} | {f"timer_config.{key}" for key in TIMER_CHANGES}
    assert keys >= {"execution_lane_paused", "gc_lane_paused"}


def test_every_group_of_boundary_cases_is_drawn_often():
    every = [each for scenario in DRAWN[:90] for each in scenario.workload.values()]
    odd = [each for each in every if each.__struct_config__.tag == "boundary-cases" and each.about == "chain"]
    drawn = Counter((each.first + index) % len(CASES) for each in odd for index in range(each.count))

    assert len(drawn) == len(CASES)
    assert min(drawn.values()) >= 4


def test_the_banner_tells_every_drawn_parameter():
    lines = list(banner(DRAWN[3]))

    assert f"cluster.validators = {DRAWN[3].cluster.validators}" in lines
    assert any(line.startswith("chain.timers.lane_timer_cycles = ") for line in lines)


def test_a_drawn_scenario_written_for_a_person_reads_back_as_it_was(tmp_path):
    """Settings that a shrunk scenario file leaves out have their defaults."""
    for seed, scenario in enumerate(DRAWN[:40]):
        write_scenario_file(tmp_path / "drawn.toml", scenario, seed, "safety: oracle: height #", runs=1)

        assert load_scenario(str(tmp_path / "drawn.toml")) == scenario
        assert "{}" not in (tmp_path / "drawn.toml").read_text()
