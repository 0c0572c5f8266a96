"""Timer lengths: timers that were set to another time than that of the settings."""

import pytest

from checker.checks.planned import PlannedRun
from checker.checks.service.timer_lengths import TimerLengths
from network.events import Event, TimerElapsed
from tests.support.checks import finish, make_run, show

PLAN = PlannedRun(
    block_interval_us=10,
    fetch_grace_us=5,
    fetch_timeout_us=50,
    regossip_us=60,
)


def judge(key, asked_us, **facts):
    check = TimerLengths(make_run(plan=PLAN, **facts))
    show(check, Event(1, 0, TimerElapsed(key, asked_us)))
    return finish(check)


@pytest.mark.parametrize(
    ("key", "asked_us"),
    [
        (("fetch", b"block"), 5),
        (("fetch", b"block"), 50),
        (("pace", 7), 9),
        ("regossip", 60),
        (("answers",), 1_000_000),
    ],
)
def test_a_timer_of_its_own_time_passes_and_another_fails(key, asked_us):
    assert judge(key, asked_us).status == "passed"
    assert judge(key, asked_us + 3).status == "failed"


def test_the_timer_is_named_with_both_times():
    assert judge(("fetch", b"block"), 0).summary == "validator 0 set its timer fetch to 0 us, expected 5 or 50"


def test_timers_of_an_engine_are_left_to_its_specification():
    assert judge(("consensus", "leader", 7), 1).compared == 0
