"""The storm check: live timers have to fire while dead ones are removed, if any is alive."""

from types import SimpleNamespace

import pytest

from checker.checks.storm import StormDrained
from checker.expected import Expectations, ExpectedStorm
from scheduler import TimerExpired, TimerScheduled
from tests.support.checks import make_run

ACTOR = b"a" * 20


def judge(*blocks):
    """Return what is made of blocks, each with its counts (dead that left, dead that wait, live that wait, fired)."""
    check = StormDrained(make_run(expect=Expectations(storm=ExpectedStorm(1, 1, 1))))
    for height, (expired, waiting_dead, waiting_live, fired) in enumerate(blocks, start=1):
        summary = SimpleNamespace(
            waiting_dead=waiting_dead, waiting_live=waiting_live, fired=fired, expired=expired, insolvent=0
        )
        events = [event for number in range(expired) for event in lifetime(height, number)]
        config = SimpleNamespace(execution_lane_paused=False)
        check.settle(SimpleNamespace(summary=summary, config=config, now=height, events=lambda events=events: events))
    return check.finish()


def lifetime(height, number):
    timer_id = bytes((height, number)).ljust(32)
    scheduled = TimerScheduled(
        timer_id=timer_id, actor=ACTOR, due=1, sequence=number, fee_payer=ACTOR, gas_limit=1, expires_at=1
    )
    return scheduled, TimerExpired(timer_id=timer_id, expires_at=1, current_height=height)


@pytest.mark.parametrize(
    ("fired", "live", "status"), [(1, 0, "passed"), (1, 2, "passed"), (0, 2, "failed"), (0, 0, "inconclusive")]
)
def test_where_timers_are_alive_some_fire_in_each_block_of_the_drain(fired, live, status):
    assert judge((2, 3, live, fired), (2, 1, live, fired), (1, 0, live, fired)).status == status


def test_one_block_without_a_fire_among_others_fails():
    assert "in 1 of 2 drain blocks" in judge((2, 1, 0, 1), (1, 0, 0, 0)).summary
