"""When the timers of a storm are due."""

from collections import Counter

import msgspec
import pytest

from cluster.scenario.load import convert_scenario
from cluster.workloads.planned import sites_of
from validators.actors import StormOrder, storm_due
from validators.execution.blocks import ExecuteActor, decode_transaction

STORM = {
    "kind": "storm",
    "actors": 4,
    "timers_per_actor": 90,
    "timers_per_transaction": 20,
    "first_slot": 75,
    "spread_slots": 40,
    "ttl_slots": 5,
}


def dues_of(**changes):
    """Return how many timers of a storm are due in each slot, where its orders are executed in time."""
    raw = {"name": "storm", "title": "a storm", "workload": {"storm": STORM | changes}, "run": {"until_height": 9}}
    ((site, storm),) = sites_of(convert_scenario(raw, "storm.toml"))
    calls = [decode_transaction(timed.encoded).call for timed in storm.transactions(site)]
    orders = [msgspec.msgpack.decode(call.payload, type=StormOrder) for call in calls if isinstance(call, ExecuteActor)]
    return Counter(storm_due(order, index, order.not_before) for order in orders for index in range(order.count))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"timers_per_transaction": 7},
        {"payer": "sender", "spread_slots": 7},
        {"actors": 50, "timers_per_actor": 3},
        {"unfunded_actors": 2, "spread_slots": 13},
        {"spread_slots": 1},
    ],
)
def test_a_storm_is_spread_evenly_over_the_slots_stated(changes):
    """Each slot of the spread has timers, as many as any other or one more, and no slot beyond it has any."""
    dues = dues_of(**changes)
    first, spread = STORM["first_slot"], changes.get("spread_slots", STORM["spread_slots"])

    assert sorted(dues) == list(range(first, first + spread))
    assert max(dues.values()) - min(dues.values()) <= 1
