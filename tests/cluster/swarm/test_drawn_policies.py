"""Policies of drawn chains with parameters of their own: each is drawn, and its workloads can live under it."""

import msgspec
import pytest

from cluster.swarm.policies.aptos import fit_to_queue
from cluster.swarm.policies.bias_auction import BIDS, fit_to_bias
from cluster.swarm.policies.gba_auction import fit_to_auction
from cluster.swarm.policies.registry import DRAWN_POLICIES, STRATA
from network.draw import Draw
from scheduler import POLICIES
from tests.support.drawn import Drawn, draw_once
from tests.support.keystones import rest_in_soak, third_of

SEEDS = range(400)
STORM = {
    "kind": "storm",
    "actors": 2,
    "unfunded_actors": 1,
    "payer": "sender",
    "gas_limit": 20_000,
    "first_slot": 6,
    "ttl_slots": 1,
    "max_fee": 5_000,
    "agent": "alarmed",
    "bid": 7,
}
BEATS = {"kind": "heartbeats", "actors": 2, "gas_limit": 3_000, "bid": 7, "agent": "alarmed"}
CHARGES = ("second_price", "maximum")
UNCHANGED = {
    "gba-auction": {"weight_initial"},
    # A heartbeat that may not insert again is dead from its first run on.
    "aptos": {"token_reschedules"},
}
"""The parameters of each policy that are never drawn off their defaults."""


def chain_of(limit=2_000_000, **parameters):
    timers = {"max_cycles_per_fire": 550_000, "max_cells_per_fire": 2_000, "lane_timer_cycles": limit}
    timers["schedule_cycles"] = 200
    own = {"gba_call_cycles": 10_000, "reserve": 500, "min_price": 100, "base_gas": 100, **parameters}
    return {"timers": timers, "policy_parameters": own, "activation": {"height": 1}, "slot_ms": 1_000}


@pytest.mark.parametrize("name", rest_in_soak(DRAWN_POLICIES, []))
def test_each_is_drawn_often_with_every_parameter_off_its_default(name):
    chains = [chain for chain in (draw_once(seed).chain for seed in SEEDS) if chain.policy == name]
    more = [draw_once(seed, f"chain.policy={name}").chain for seed in range(60)]
    defaults = msgspec.structs.asdict(POLICIES[name].config_type())
    stated = [each for chain in (*chains, *more) for each in chain.policy_parameters.items()]
    changed = {key for key, value in stated if msgspec.json.encode(defaults[key]) != msgspec.json.encode(value)}

    assert len(chains) == len(SEEDS) * DRAWN_POLICIES[name].share // len(STRATA)
    assert changed == {*defaults} - UNCHANGED.get(name, set())


@pytest.mark.parametrize("name", third_of(POLICIES))
def test_a_stated_policy_is_that_of_every_seed(name):
    drawn = Drawn(range(30), f'chain.policy="{name}"')

    assert {scenario.chain.policy for scenario in drawn} == {name}
    assert len({str(scenario.chain) for scenario in drawn}) == len(drawn)


def test_few_seeds_of_a_policy_have_every_value_of_a_choice():
    chains = [chain for chain in (draw_once(seed).chain for seed in range(200, 240)) if chain.policy == "aptos"]
    choices = {
        key: {chain.policy_parameters[key] for chain in chains} for key in ("expiry", "position", "charge", "expiry_by")
    }

    assert len(chains) == 8
    assert choices == {
        "expiry": {"own_limit", "counted", "at_run"},
        "position": {"before", "price"},
        "charge": {*CHARGES},
        "expiry_by": {"time", "blocks"},
    }


class TestUnderTheGbaAuction:
    def test_rivals_bid_by_an_agent(self):
        assert (
            fit_to_auction(Draw(0), "competing-heartbeats", {"kind": "heartbeats", "tips": [3, 7]}, chain_of())["agent"]
            == "sum"
        )

    def test_only_the_owner_pays(self):
        assert fit_to_auction(Draw(0), "storm", STORM, chain_of())["payer"] == "actor"

    def test_an_agent_above_its_budget_gives_way_to_one_within(self):
        assert fit_to_auction(Draw(0), "heartbeats", BEATS, chain_of(gba_call_cycles=250))["agent"] == "sum"

    def test_a_withdrawn_argument_is_left_out(self):
        assert "bid" not in fit_to_auction(Draw(0), "heartbeats", BEATS, chain_of())


class TestUnderTheBiasAuction:
    def test_a_bid_is_no_less_than_the_reserve(self):
        storms = [fit_to_bias(Draw(seed), "storm", STORM, chain_of()) for seed in range(60)]

        assert {storm.get("bid", 0) for storm in storms} == {bid and max(bid, 500) for bid in BIDS}

    def test_who_has_nothing_bids_nothing(self):
        """Nothing could be locked, and the whole order would be refused."""
        storms = [fit_to_bias(Draw(seed), "storm", STORM, chain_of()) for seed in range(60)]

        assert [storm for storm in storms if "bid" in storm and storm["unfunded_actors"]] == []

    def test_what_cannot_bid_needs_little_room(self):
        """With the room of a whole lane it would never fit beside one that bids."""
        bots = [
            fit_to_bias(Draw(seed), "liquidations", {"kind": "liquidations", "gas_limit": 40_000}, chain_of())
            for seed in SEEDS
        ]

        assert {each["gas_limit"] for each in bots} == {3_650, 4_100}

    def test_some_storms_are_drained_within_a_few_blocks(self):
        """So that those whom they outbid are fired late, instead of never."""
        storm = {**STORM, "timers_per_actor": 60, "first_slot": 6}
        sizes = [fit_to_bias(Draw(seed), "storm", storm, chain_of(limit=47_500))["timers_per_actor"] for seed in SEEDS]

        assert {*sizes} == {10, 60}
        assert 120 < sizes.count(10) < 280

    def test_each_fire_can_ask_its_agent(self):
        asking = fit_to_bias(Draw(0), "heartbeats", BEATS, chain_of(gba_call_cycles=750))

        assert (asking["agent"], asking["gas_limit"]) == ("alarmed", 3_000)
        assert fit_to_bias(Draw(0), "heartbeats", BEATS, chain_of())["gas_limit"] == 10_850
        assert "agent" not in fit_to_bias(Draw(0), "heartbeats", BEATS, chain_of(limit=9_000))


class TestUnderTheQueue:
    def test_gas_is_enough_for_cells_as_well(self):
        gas = 700 + 2 * (330 + 16) + 200

        assert fit_to_queue(Draw(0), "heartbeats", {**BEATS, "gas_limit": 700}, chain_of())["gas_limit"] == gas

    def test_a_workload_that_no_limit_lets_live_is_left_out(self):
        chain = chain_of()
        chain["timers"]["max_cycles_per_fire"] = 36_000

        assert fit_to_queue(Draw(0), "games", {"kind": "games", "gas_limit": 30_000}, chain) is None

    def test_the_sender_has_what_it_puts_down(self):
        storm = fit_to_queue(Draw(0), "storm", STORM, chain_of())

        assert (storm["payer"], storm["unfunded_actors"]) == ("actor", 0)

    def test_most_queues_have_a_council_and_some_are_shut_down(self):
        drawn = [draw_once(seed, "chain.policy=aptos").workload for seed in range(60)]
        councils = [workload["governance"] for workload in drawn if "governance" in workload]
        told = [getattr(action, "action", "") for council in councils for action in council.actions]

        assert len(councils) > 45
        assert told.count("start_shutdown") > 8
