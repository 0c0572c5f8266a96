"""Workloads in the queue of scheduled transactions: identifiers known in advance, and what has no meaning there."""

import pytest

from cluster.scenario.load import convert_scenario
from cluster.scenario.messages import ScenarioError
from tests.support.cluster_runs import check_named, judge

STORM = {
    "kind": "storm",
    "actors": 1,
    "timers_per_actor": 6,
    "first_slot": 40,
    "spread_slots": 3,
    "ttl_slots": 9,
    "start_ms": 100,
}


def scenario(own=None, policy="aptos", **workload):
    raw = {
        "name": "queued",
        "chain": {"policy": policy, "policy_parameters": own or {}},
        "title": "entries of a storm",
        "workload": workload,
        "run": {"until_height": 6},
    }
    return convert_scenario(raw, "queued.toml")


@pytest.mark.parametrize("own", [{}, {"profile": "early"}, {"profile": "latest"}, {"counts_ids": False}])
def test_owners_and_governance_name_entries_by_their_hash(own):
    """Three of the storm's six are cancelled by their owner, two by governance."""
    actions = [{"do": "cancel", "at_ms": 2_500, "workload": "storm", "first": 3, "count": 2}]
    storm = STORM | {"cancel_ms": 2_500, "cancels_per_actor": 3, "payload_bytes": 16}
    result = judge(scenario(own, storm=storm, council={"kind": "governance", "actions": actions}))

    kinds = [type(event).__name__ for executed in result.chain for event in executed.events]
    counts = kinds.count("TransactionCancelled"), kinds.count("TimerCancelledByGovernance")
    assert (result.verdict, counts) == ("passed", (3, 2)), result.headline


@pytest.mark.parametrize(
    ("own", "policy", "workload", "message"),
    [
        ({}, "aptos", {"storm": STORM | {"payer": "sender"}}, r"storm.*payer must be actor"),
        ({}, "aptos", {"storm": STORM | {"cancel_all_ms": 9}}, r"storm.*cancel_all_ms needs .*authorization = token"),
        ({}, "fifo", {"storm": STORM | {"cancel_all_ms": 9}}, r"storm.*cancel_all_ms needs chain\.policy aptos"),
        (
            {"profile": "latest", "token_lifetime_ms": 9},
            "aptos",
            {"storm": STORM | {"cancel_ms": 9, "cancels_per_actor": 1}},
            "no identifier is known in advance",
        ),
        (
            {"max_size_bytes": 400},
            "aptos",
            {"storm": STORM | {"payload_bytes": 287}},
            r"storm: payload_bytes: an entry has 400 bytes, chain\.policy_parameters\.max_size_bytes allows 399",
        ),
        (
            {},
            "fifo",
            {"c": {"kind": "governance", "actions": [{"do": "service", "action": "pause", "at_ms": 1}]}},
            r"actions\[0\]: only chain\.policy aptos has a service",
        ),
        (
            {},
            "aptos",
            {
                "c": {
                    "kind": "governance",
                    "actions": [
                        {"do": "service", "action": "pause", "at_ms": 1, "count": 3, "every_ms": 5},
                        {"do": "service", "action": "unpause", "at_ms": 10},
                    ],
                }
            },
            r"actions\[1\]\.at_ms: 10 is before the end of the action above it, which is at 11",
        ),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(own, policy, workload, message):
    with pytest.raises(ScenarioError, match=message):
        scenario(own, policy, **workload)


def test_actors_without_funds_are_refused_when_they_schedule():
    """Nobody pays in advance for them, and their workload is judged by those that can pay."""
    storm = STORM | {"actors": 3, "unfunded_actors": 1, "first_slot": 5, "spread_slots": 1}
    result = judge(scenario(storm=storm))

    effective = check_named(result, "workloads-effective").summary
    assert (result.verdict, effective.rpartition(": ")[2]) == ("passed", "storm 2")
