"""The example of docs/extend/actor.md runs as a reader would copy it."""

import pytest

from tests.support.examples import run_example
from tests.support.scheduler_doubles import Bench

ALARM = b"\xaa" * 20


@pytest.fixture
def bench():
    made = Bench()
    made.programs[ALARM] = run_example("actor.md")["Alarm"]
    return made


def test_the_alarm_rings_as_often_as_it_was_wound(bench):
    assert bench.call(ALARM, "wind", b"\2").ok
    fired = [bench.run(height, bench.run_timer).fired for height in range(1, 8)]

    assert fired == [0, 1, 0, 1, 0, 0, 0]
    assert bench.storage[ALARM, b"left"] == b"\0"


@pytest.mark.parametrize("payload", [b"", b"\0", b"\1\1"])
def test_an_order_that_names_no_rings_is_refused(bench, payload):
    assert not bench.call(ALARM, "wind", payload).ok
    assert not bench.tables.timers
