"""The toy that simulators are compared on, and what it is measured by."""

import pytest

from benchmarks import bench_validators
from benchmarks.toy import stampede, untraced, with_simpy
from benchmarks.toy.protocol import Voter
from cluster.scenario.load import load_scenario
from tests.support.keystones import first_of


def test_every_carrier_gets_through_the_disturbances():
    """A cut, an outage and losses: the observed validator reaches a view behind them, at about the same price."""
    traced, plain, peer = (module.run(4, 150) for module in (stampede, untraced, with_simpy))

    assert traced == plain
    assert abs(traced - peer) < traced // 10


def test_a_view_ends_with_a_quorum_and_not_before():
    """Three of four votes."""
    sent = []
    voter = Voter(1, 4, sent.append, lambda: None)
    voter.start()
    proposal, vote = (bytes([kind]) + bytes(4) for kind in (1, 2))

    voter.hear(0, proposal)
    voter.hear(2, vote)
    assert (voter.view, len(sent)) == (0, 1)
    voter.hear(3, vote)

    assert voter.view == 1


@pytest.mark.parametrize("validators", first_of([4, 7]))
def test_the_bare_bus_carries_what_the_run_sent(validators):
    """Each message once, broadcasts in one piece."""
    settings = (f"cluster.validators={validators}", "run.until_height=1", "workload.payments.count=1")
    scenario = load_scenario("calm", settings)

    messages = bench_validators.list_messages(scenario)

    assert all(message.source not in message.destinations for message in messages)
    assert any(len(message.destinations) == validators - 1 for message in messages)
    assert bench_validators.bus_ns(scenario, messages) > 0
