"""Times apart: who was paused or cut off, from when to when."""

import pytest

from cluster.live.interruptions import TimesApart
from cluster.scenario.load import load_scenario
from faults.events import FaultEdge
from network.events import Dropped, Event, EventRouter
from network.types import SUPERVISOR


@pytest.fixture
def times():
    """Return a function that reads events, given as microseconds, node and body, and returns the times apart."""

    def read(*events, settings=()):
        apart = TimesApart(load_scenario("partition-heal", settings))
        router = EventRouter(apart.handlers)
        for at_us, node, body in events:
            router.route(Event(at_us, node, body))
        return [tuple(each) for each in apart.times(900)]

    return read


def cut(node, other, reason="cut", condition="split 0"):
    return node, Dropped(other, 1, reason, condition)


def edge(word, fault="split"):
    return SUPERVISOR, FaultEdge(fault, word)


def test_a_replica_that_reaches_no_quorum_is_cut_off_until_the_fault_ends(times):
    lost = [(200, *cut(0, 2)), (210, *cut(0, 2)), (220, *cut(0, 3))]

    assert times((100, *edge("start")), *lost, (500, *edge("stop"))) == [(0, 220, 500, "cut off")]


def test_a_replica_that_hears_no_quorum_is_cut_off_to_the_end_of_the_run(times):
    assert times((100, *edge("start")), (200, *cut(0, 2)), (300, *cut(1, 2))) == [(2, 300, 900, "cut off")]


@pytest.mark.parametrize("lost", [cut(0, 3, reason="loss"), cut(0, 3, condition="other"), cut(0, 2)])
def test_one_link_or_loss_by_chance_cuts_nobody_off(times, lost):
    assert times((100, *edge("start")), (200, *cut(0, 2)), (220, *lost)) == []


def test_a_second_fault_keeps_off_who_is_cut_off_by_both(times):
    settings = ('faults.wall={kind="partition", groups=[[0, 1], [2, 3]], start_ms=1, stop_ms=2}',)
    both = [
        (at_us, *cut(0, other, condition=fault)) for at_us, fault in ((200, "split"), (300, "wall")) for other in (2, 3)
    ]
    edges = [(100, *edge("start")), (100, *edge("start", "wall"))]

    found = times(*edges, *both, (400, *edge("stop")), (600, *edge("stop", "wall")), settings=settings)

    assert found == [(0, 200, 600, "cut off")]


def test_a_pause_lasts_as_long_as_its_fault(times):
    settings = ('faults.nap={kind="pause", validator=1, start_ms=1, stop_ms=2}',)

    found = times((100, *edge("start", "nap")), (300, *edge("stop", "nap")), settings=settings)

    assert found == [(1, 100, 300, "paused")]
