"""The check that a run reaches the moment its script leads to."""

import pytest

from checker.checks.expectations import ExpectedArrival
from checker.expected import Expectations
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from faults.anchors.anchor import Anchor
from network.events import Event
from tests.support.checks import finish, make_run, show
from tests.support.cluster_runs import check_named, result_of
from validators.events import Entered

THIRD_VIEW = Anchor(event="view", of=1, nth=3, by_ms=10_000)


def arrival_of(*views):
    check = ExpectedArrival(make_run(expect=Expectations(arrival=THIRD_VIEW)))
    show(check, *(Event(view * 1_000, node, Entered(view, 0)) for view in views for node in (0, 1)))
    return finish(check)


def test_a_run_that_gets_there_passes():
    assert (arrival_of(1, 2, 3).status, arrival_of(1, 2, 3).compared) == ("passed", 1)


def test_a_run_that_does_not_get_there_is_inconclusive():
    result = arrival_of(1, 2)

    assert result.status == "inconclusive"
    assert "that validator 1 enters a view for the 3rd time" in result.summary


def test_a_run_without_a_script_is_not_asked():
    assert ExpectedArrival(make_run()).not_asked()


def test_a_moment_of_the_chain_is_read_off_the_blocks_themselves():
    reached = check_named(
        result_of("calm", 'expect.arrival={event="finalized", nth=7, by_ms=60_000}'), "expected-arrival"
    )
    missed = check_named(result_of("calm", 'expect.arrival={event="storm", by_ms=60_000}'), "expected-arrival")

    assert (reached.status, missed.status) == ("passed", "inconclusive")


def test_a_moment_that_nobody_knows_is_refused():
    with pytest.raises(
        ScenarioError, match=r"expect\.arrival\.event: no moment is called 'vieuw' \(did you mean view\?\)"
    ):
        load_scenario("calm", ('expect.arrival={event="vieuw", by_ms=1}',))
