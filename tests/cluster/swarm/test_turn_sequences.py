"""Fault sequences about turns: what each is made of, and what runs with them come to."""

import itertools

import pytest

from checker.coverage.registry import POINTS
from cluster.swarm.engines.hotstuff import DRAWN_HOTSTUFF
from cluster.swarm.engines.longest_chain import DRAWN_LONGEST_CHAIN
from cluster.swarm.engines.simplex import DRAWN_SIMPLEX
from cluster.swarm.fault_sequences import draw_fault_sequence
from network.draw import Draw
from tests.support.cluster_runs import judge_in_process
from tests.support.drawn import Drawn

SEEDS = range(400)


def sequences_with(name, validators=5, engine=DRAWN_SIMPLEX):
    drawn = (draw_fault_sequence(Draw(seed), validators, engine) for seed in SEEDS)
    return [sequence for sequence in drawn if any(each.startswith(name) for each in sequence.faults)]


def cells_of(scenario):
    reached = dict(judge_in_process(scenario).rules)
    return {label for label in POINTS if reached.get(label)}


def test_validators_of_a_swizzle_come_back_in_another_order():
    orders = []
    for sequence in sequences_with("swizzle-cut"):
        faults = list(sequence.faults.values())
        assert [fault["start_ms"] for fault in faults] == sorted(fault["start_ms"] for fault in faults)
        assert len({fault["groups"][0][0] for fault in faults}) == len(faults) == 4
        orders.append([fault["stop_ms"] for fault in faults])

    assert any(order != sorted(order) for order in orders)


def test_joiners_follow_each_other_and_some_ask_the_one_before():
    steps = set()
    for sequence in sequences_with("successive-join-"):
        faults = [fault for name, fault in sequence.faults.items() if name.startswith("successive-join-")]
        nodes = [fault["groups"][0][0] for fault in faults]
        steps |= {(after - before) % 5 for before, after in itertools.pairwise(nodes)}
        assert all(before["stop_ms"] < after["start_ms"] for before, after in itertools.pairwise(faults))

    assert steps == {1, 4}


@pytest.mark.parametrize("engine", [DRAWN_HOTSTUFF, DRAWN_LONGEST_CHAIN], ids=lambda each: each.name)
@pytest.mark.parametrize("name", ["silent-leader-", "stuck-view"])
def test_an_engine_without_such_times_is_given_none(engine, name):
    sequences = sequences_with(name, engine=engine)

    assert sequences
    assert [sequence.settings for sequence in sequences if sequence.settings["consensus"]] == []


def test_as_many_leaders_are_silent_as_the_cluster_can_bear():
    counts = {len(sequence.faults) for sequence in sequences_with("silent-leader-", validators=7)}

    assert counts == {2}


def test_some_clients_hand_their_payments_in_again():
    """To another validator, and round to the first one."""
    scenarios = Drawn(range(100))
    payments = [scenario.workload["transfers"] for scenario in scenarios if "transfers" in scenario.workload]

    assert {each.copies for each in payments} == {1, 2, 8}
    assert {each.copy_ms for each in payments} == {0, 90, 2_500}
