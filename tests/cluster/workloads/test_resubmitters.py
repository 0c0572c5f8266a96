"""Clients that resubmit: when each call is sent, and that it is a new transaction."""

from collections import defaultdict

import msgspec

from cluster.scenario.load import convert_scenario
from cluster.workloads.planned import sites_of
from validators.actors import StormOrder
from validators.execution.blocks import decode_transaction

RAW = {
    "name": "calls",
    "title": "calls",
    "workload": {
        "calls": {
            "kind": "resubmitters",
            "actors": 3,
            "attempts": 4,
            "retry_ms": 250,
            "every_ms": 70,
            "start_ms": 900,
            "gas_limit": 5_000,
            "ttl_slots": 6,
            "tips": [1, 2],
        }
    },
    "run": {"until_height": 5},
}


def test_each_client_resubmits_without_back_off():
    ((site, calls),) = sites_of(convert_scenario(RAW, "calls.toml"))
    sent = defaultdict(list)
    for timed in calls.transactions(site):
        transaction = decode_transaction(timed.encoded)
        sent[transaction.call.actor].append((timed.at_us // 1_000, transaction))

    assert list(sent) == [site.actor(index) for index in range(3)]
    assert len({each.public_key for attempts in sent.values() for _, each in attempts}) == 3
    for index, attempts in enumerate(sent.values()):
        order = msgspec.msgpack.decode(attempts[0][1].call.payload, type=StormOrder)
        assert [at_ms for at_ms, _ in attempts] == [900 + 70 * index + 250 * attempt for attempt in range(4)]
        assert [each.nonce for _, each in attempts] == [0, 1, 2, 3]
        assert len({each.call for _, each in attempts}) == len({each.public_key for _, each in attempts}) == 1
        assert (order.count, order.gas_limit, order.ttl) == (1, 5_000, 6)
        assert order.terms.max_priority_fee_per_cycle == (1, 2, 1)[index]
    assert (calls.volume(9).transactions, calls.volume(9).timers) == (12, 12)
