"""Timer lengths: timers that were set to another time than that of the settings."""

import pytest

from checker.checks.planned import PlannedRun
from checker.checks.timer_lengths import TimerLengths
from network.events import Event, TimerElapsed
from tests.support.checks import finish, make_run, show
from validators.events import Booted, Entered, Reported

PLAN = PlannedRun(
    block_interval_us=10,
    leader_timeout_us=20,
    certification_timeout_us=30,
    timeout_retry_us=40,
    fetch_grace_us=5,
    fetch_timeout_us=50,
    regossip_us=60,
    skip_timeout_us=400,
)


def judge(key, asked_us, **facts):
    check = TimerLengths(make_run(plan=PLAN, **facts))
    show(check, Event(1, 0, TimerElapsed(key, asked_us)))
    return finish(check)


@pytest.mark.parametrize(
    ("key", "asked_us"),
    [
        (("consensus", "leader", 7), 20),
        (("consensus", "activity", 1), 100),
        (("consensus", "fetch", 7), 50),
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
    assert judge(("fetch", b"block"), 0).summary == "validator 0 set its timer fetch to 0 us, and not to 5 or 50"


def test_timers_of_another_engine_are_not_compared():
    assert judge(("consensus", "leader", 7), 1, engine="hotstuff").compared == 0


def run_out(name, view, *events):
    """The verdict on a timer of a view that runs out after some events."""
    check = TimerLengths(make_run(plan=PLAN))
    lengths = {"leader": 20, "certification": 30, "retry": 40}
    timer = TimerElapsed(("consensus", name, view), lengths[name])
    for event in (Booted(0, 3, 0, b""), *events, timer):
        show(check, Event(1, 0, event))
    return finish(check)


@pytest.mark.parametrize("name", ["leader", "certification", "retry"])
def test_a_timer_of_a_view_that_was_left_was_not_cancelled(name):
    assert run_out(name, 3).status == "passed"
    assert run_out(name, 4, Entered(4, 0)).status == "passed"
    assert run_out(name, 3, Entered(4, 0)).summary == (
        f"validator 0: the timer {name} of view 3 ran out as the replica was in view 4"
    )


@pytest.mark.parametrize(("name", "status"), [("leader", "failed"), ("certification", "failed"), ("retry", "passed")])
def test_waits_for_a_leader_end_as_its_view_is_given_up(name, status):
    given_up = Reported("TimedOut", 1, 3, "LeaderNullify")

    assert run_out(name, 3, given_up).status == status
    # A restart waits anew, and other reports end no wait.
    assert run_out(name, 3, given_up, Booted(1, 3, 0, b"")).status == "passed"
    assert run_out(name, 3, Reported("ConflictingNotarize", 1, 3, "")).status == "passed"
