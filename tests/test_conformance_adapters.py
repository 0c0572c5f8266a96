"""The adapters of the golden cases for inputs that no published case has, but another file may."""

import pytest

from tests.conformance import bias_adapters, lane_adapters, queue_adapters
from tests.conformance.lifecycle_adapters import ADAPTERS


@pytest.mark.parametrize("system", ["A", "C"])
def test_an_insolvency_states_the_cost_and_the_balance(system):
    found = ADAPTERS["solvency"]({"balance": 3_699_999, "max_cost": 3_700_000}, system)

    event = {"name": "TimerCancelledInsufficientFunds", "required": 3_700_000, "available": 3_699_999}
    assert found == {"fires": False, "event": event}


def test_a_delay_belongs_to_a_fire_by_its_index():
    """The fire with index 1, counted from 0, is two blocks late, and those after it follow from there."""
    found = ADAPTERS["heartbeat"]({"deploy_block": 0, "interval": 10, "delays": {"1": 2}, "fires": 4}, "C")

    assert found == [10, 22, 32, 42]


PACKING = {
    "lane_cycles": 1_000,
    "cap": 600,
    "already_used": 0,
    "timers_best_first": [
        {"id": "a", "gas_limit": 600, "used": 100},
        {"id": "b", "gas_limit": 500, "used": 500},
        {"id": "c", "gas_limit": 400, "used": 200},
    ],
}


@pytest.mark.parametrize(
    ("name", "fired", "cycles"),
    [
        ("reserved", ["a", "c"], 1_000),
        ("reserved_skip", ["a", "c"], 1_000),
        ("reserved_stop", ["a"], 600),
        ("stop", ["a", "b", "c"], 800),
        ("used_stop", ["a", "b", "c"], 800),
    ],
)
def test_a_reading_of_packing_is_named_by_its_two_switches(name, fired, cycles):
    """Under the reading by limits a fire takes its limit of the lane, whatever it uses."""
    assert name in lane_adapters.ALTERNATIVES["pack"]
    found = lane_adapters.ALTERNATIVES["pack"][name](PACKING)

    assert (found["fired"], found["lane_cycles"]) == (fired, cycles)


def test_a_reading_of_packing_that_no_switch_selects_is_none():
    assert "knapsack" not in lane_adapters.ALTERNATIVES["pack"]


def bidding(*timers, budget=1_000, **caps):
    fields = ("id", "bid", "n", "cycles", "actor")
    timers = [dict(zip(fields, timer, strict=True)) for timer in timers]
    return bias_adapters.ADAPTERS["auction"](
        {"lambda": "1/10", "reserve": "10", "budget": budget, "timers": timers, **caps}, "D"
    )


def test_a_timer_above_the_lane_is_left_out_and_sets_the_price():
    found = bidding(("big", 9_000, 0, 1_001, "a"), ("fits", 100, 0, 400, "b"))

    assert (found["winners"], found["excluded"], found["runner_up"]) == (["fits"], [["big", "budget"]], "big")
    assert (found["cycles"], found["payments"]["fits"]["critical_value_capped"]) == (400, "100.000000000")


def test_who_has_waited_before_is_left_out_with_a_reason_too():
    """In the order of the walk: each by what kept it at its turn."""
    timers = ("a", 90, 2, 100, "A"), ("b", 80, 1, 100, "A"), ("c", 70, 3, 100, "B"), ("d", 60, 0, 100, "C")
    found = bidding(*timers, max_fires_per_actor=1, max_fires_per_block=2)

    assert found["winners"] == ["a", "c"]
    assert found["excluded"] == [["b", "actor_cap"], ["d", "block_cap"]]


@pytest.mark.parametrize("last", [0x01, 0x0F])
def test_an_address_of_the_system_pays_for_nothing(last):
    inputs = {"actor": "aa" * 20, "tx_sender": "bb" * 20, "fee_payer": bytes(19).hex() + f"{last:02x}"}

    assert ADAPTERS["fee_payer"](inputs, "C") == "InvalidInput: system"


@pytest.mark.parametrize(
    ("height", "way"),
    [(1_500, [[1_000, "epoch[4]"], [1_440, "ring[220]"]]), (1_255, [[1_000, "ring[231]"]])],
)
def test_a_height_is_promoted_when_its_epoch_begins(height, way):
    """One that is in range of the ring when it is scheduled is there at once (K-32)."""
    inputs = {"height": height, "ring": 256, "epoch_len": 360, "epoch_horizon": 13, "scheduled_at": 1_000}

    assert queue_adapters.ADAPTERS["promotion"](inputs, "E") == way
