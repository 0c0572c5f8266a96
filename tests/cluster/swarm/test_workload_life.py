"""Drawn workloads can live on their chains, by arithmetic; what a run of one came to is counted."""

import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import convert_scenario
from cluster.swarm.life import AGENT_CYCLES, NEEDS, ceiling_of, exact_cost, mend, opening_price
from cluster.workloads.effects import WorkloadEffects
from tests.support.drawn import Drawn

SHAPES = {
    "heartbeats": {"actors": 2},
    "oracle-feeds": {"feeds": 2, "values": 6},
    "subscriptions": {"subscriptions": 1, "price": 1_000_000, "funds": 10**13},
    "liquidations": {"bots": 1, "positions": 5, "debt_step": 2_000, "interval_slots": 2, "every_ms": 2_500},
    "games": {"games": 1, "absent_players": 1},
}


def chain_of(**lane):
    timers = {"schedule_cycles": 200, "max_cells_per_fire": 550_000, "max_cycles_per_fire": 550_000}
    found = {"timers": {**timers, "lane_timer_cycles": 40_000}, "min_basefee": 800, "cycle_basefee": 800}
    if lane:
        lane = {"gba_call_cycles": 10_000, "bid_deprecation_blocks": 0, "initial_lane_basefee": 0} | lane
        found |= {"lane": {"lane_multiplier": (1, 1), **lane}, "activation": {"height": 1}}
    return found


def effects_with(gas_limits, cells):
    """Return what each kind does in ten blocks with these limits."""
    workload = {kind: {"kind": kind, **SHAPES[kind], "gas_limit": limit} for kind, limit in gas_limits.items()}
    for each in workload.values():
        each["may_be_idle"] = True
    raw = {"name": "it", "title": "it", "workload": workload, "run": {"until_height": 10}}
    raw["chain"] = {"timers": {"max_cells_per_fire": cells}}
    cluster, chain = Cluster(convert_scenario(raw, "it"), 0), {}
    cluster.hooks = RunHooks(on_applied=lambda _node, executed: chain.setdefault(executed.header.height, executed))
    run = cluster.run()
    effects = WorkloadEffects(run.scenario, cluster.submissions)
    for executed in chain.values():
        effects.add(executed)
    return effects.counts


class TestMending:
    def test_a_limit_below_the_need_of_a_fire_is_raised(self):
        assert mend({"kind": "liquidations", "gas_limit": 3_000}, chain_of())["gas_limit"] == 3_650

    def test_a_limit_above_the_cap_is_lowered(self):
        chain = chain_of()
        chain["timers"]["max_cycles_per_fire"] = 36_000

        assert mend({"kind": "liquidations", "gas_limit": 40_000}, chain)["gas_limit"] == ceiling_of(chain) == 36_000

    @pytest.mark.parametrize("limit", [{"lane_timer_cycles": 9_000}, {"max_cells_per_fire": 300}])
    def test_a_workload_that_no_limit_lets_live_is_refused(self, limit):
        chain = chain_of()
        chain["timers"] |= limit

        assert mend({"kind": "games", "gas_limit": 30_000}, chain) is None

    def test_an_agent_above_its_budget_gives_way_to_one_within(self):
        offer = {"kind": "heartbeats", "agent": "alarmed"}

        assert mend(offer, chain_of(gba_call_cycles=250))["agent"] == "sum"
        assert mend(offer, chain_of(gba_call_cycles=750))["agent"] == "alarmed"

    def test_a_fee_below_the_first_price_is_raised_to_it(self):
        chain = chain_of(initial_lane_basefee=2_000, lane_multiplier=(3, 2))

        assert mend({"kind": "storm", "max_fee": 1_200}, chain)["max_fee"] == opening_price(chain) == 3_000

    def test_a_bid_that_is_refused_from_the_start_is_left_out(self):
        assert "bid" not in mend({"kind": "storm", "bid": 7}, chain_of(bid_deprecation_blocks=0))
        assert mend({"kind": "storm", "bid": 7}, chain_of(bid_deprecation_blocks=4))["bid"] == 7


def test_no_drawn_workload_is_dead_by_arithmetic():
    wrong = []
    for scenario in Drawn(range(200)):
        chain, lane = scenario.chain, scenario.chain.lane
        # Scheduled transactions have no lane: they take from their block.
        room = chain.block_cycles if chain.policy == "aptos" else chain.timers.lane_timer_cycles
        for name, workload in scenario.workload.items():
            need = NEEDS.get(type(workload).__struct_config__.tag)
            # One cycle too little is drawn on purpose, where the limit is that of a beat.
            least = 0 if need is None else need.cycles - (name == "exact-gas-limits")
            if need is not None and not least <= workload.gas_limit <= room:
                wrong.append((scenario.title, name, workload.gas_limit))
            agent = getattr(workload, "agent", "")
            if scenario.chain.has_lane and AGENT_CYCLES.get(agent, 0) > lane.gba_call_cycles:
                wrong.append((scenario.title, name, agent))

    assert wrong == []


def test_fires_within_their_needs_succeed_and_below_fail():
    cells = max(need.cells for need in NEEDS.values())
    lives = effects_with({kind: need.cycles for kind, need in NEEDS.items()}, cells)
    dies = effects_with({"heartbeats": NEEDS["heartbeats"].cycles - 1}, cells)

    assert [kind for kind, count in lives.items() if not count] == []
    assert dies == {"heartbeats": 0}


def test_the_exact_cost_is_that_of_a_fire_at_the_floors():
    chain = chain_of(settlement="additive", min_lane_basefee=800)
    fifo = chain_of()

    assert exact_cost(fifo, 2_000) == 2_000 * 800 + 550_000 * 800
    assert exact_cost(chain, 2_000) - exact_cost(fifo, 2_000) == 2_000 * 800
