"""Timer lengths: timers that were set to another time than that of the settings."""

import pytest

from checker.checks.asked_blocks import REQUEST
from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.timer_lengths import TimerLengths
from faults.events import ClockSet, Crashed
from network.events import Delivered, Event, Sent, TimerElapsed
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.events import BlockExecuted, Booted, Halted, SnapshotJoined

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
    assert judge(("fetch", b"block"), 0).summary == "validator 0 set its timer fetch to 0 us, and not to 5 or 50"


def test_timers_of_an_engine_are_left_to_its_specification():
    assert judge(("consensus", "leader", 7), 1).compared == 0


class TestOfAskedBlocks:
    """Validator 0 asks for a block of view 7 at 5 us; the timer of that is due at 55 us, and judged from 115 us on."""

    BOOT = Event(0, 0, Booted(0, 3, 0, b""))
    ASKED = (
        Event(5, 0, TimerElapsed(("fetch", b"wanted"), 5)),
        Event(5, 0, Sent(1, 0, REQUEST, 40, b"sum")),
    )
    SAID = Event(90, 1, BlockExecuted(6, 7, b"wanted", b"", "verify"))

    def judge(self, *events, now_us=500, asked=ASKED, plan=PLAN):
        check = TimerLengths(make_run(plan=plan))
        show(check, self.BOOT, *asked, *events)
        return finish(check, now_us=now_us)

    def relay(self, view):
        """A block of a view that comes to validator 0 unasked."""
        return (
            Event(20, 1, Sent(0, 0, "BlockRelay", 900, b"block %d" % view, view, 6)),
            Event(30, 0, Delivered(1, 0, "BlockRelay", 900, b"block %d" % view)),
        )

    def test_a_request_without_a_timer_fails(self):
        assert self.judge().summary == (
            "validator 0 asked for block 77616e746564 at 0.000 s, which did not come, and no timer ran out to ask "
            "again by 115 us"
        )

    def test_a_timer_that_runs_out_passes(self):
        timer = Event(55, 0, TimerElapsed(("fetch", b"wanted"), 50))

        assert self.judge(timer).status == "passed"
        # It is another block's, or comes too late.
        assert self.judge(Event(55, 0, TimerElapsed(("fetch", b"other"), 50))).status == "failed"
        assert self.judge(Event(116, 0, TimerElapsed(("fetch", b"wanted"), 50))).status == "failed"

    @pytest.mark.parametrize(
        "end",
        [
            Event(30, 0, Delivered(1, 0, "BlockResponse", 900, b"any")),
            Event(30, 0, Delivered(1, 0, "BlockRelay", 900, b"unknown")),
            Event(30, SUPERVISOR, Crashed(0, 0)),
            Event(30, 0, Halted("")),
            Event(30, 0, SnapshotJoined(9, b"", b"")),
            Event(30, 0, Booted(0, 3, 0, b"")),
            Event(30, SUPERVISOR, ClockSet(0, 0, -100, 0)),
        ],
        ids=lambda end: end.kind,
    )
    def test_what_ends_a_wait_or_makes_it_longer_passes(self, end):
        assert self.judge(end).status == "passed"

    def test_a_relay_ends_it_unless_its_block_is_of_another_view(self):
        assert self.judge(*self.relay(7), self.SAID).status == "passed"
        assert self.judge(*self.relay(8), self.SAID).status == "failed"
        # Nobody says of which view the block is that was asked for.
        assert self.judge(*self.relay(8)).status == "passed"

    def test_a_wait_that_is_still_open_passes(self):
        assert self.judge(now_us=115).status == "passed"

    def test_a_request_as_two_timers_run_out_is_not_followed(self):
        asked = Event(5, 0, TimerElapsed(("fetch", b"other"), 5)), *self.ASKED

        assert self.judge(asked=asked).status == "passed"

    @pytest.mark.parametrize(("peer", "status"), [(2, "passed"), (1, "failed"), (3, "failed")])
    def test_a_request_that_is_made_again_goes_to_the_next_validator(self, peer, status):
        again = Event(55, 0, TimerElapsed(("fetch", b"wanted"), 50)), Event(55, 0, Sent(peer, 0, REQUEST, 40, b"sum"))

        assert self.judge(*again, now_us=60).status == status

    def test_a_request_to_the_same_peer_names_the_next(self):
        again = Event(55, 0, TimerElapsed(("fetch", b"wanted"), 50)), Event(55, 0, Sent(1, 0, REQUEST, 40, b"sum"))

        assert self.judge(*again, now_us=60).summary == (
            "replica 0 asked validator 1 again for a block at 0.000 s, expected validator 2, the next one"
        )

    def test_a_first_request_goes_to_any_peer(self):
        """The block came, and is asked for anew after its grace: the first peer is the engine's choice."""
        anew = Event(55, 0, TimerElapsed(("fetch", b"wanted"), 5)), Event(55, 0, Sent(3, 0, REQUEST, 40, b"sum"))

        assert self.judge(*anew, now_us=60).status == "passed"

    def test_two_timers_at_once_leave_the_next_turn_open(self):
        """Which block the request was for cannot be told."""
        both = [Event(55, 0, TimerElapsed(("fetch", name), 50)) for name in (b"wanted", b"other")]
        sent = Event(55, 0, Sent(2, 0, REQUEST, 40, b"sum"))
        last = Event(105, 0, TimerElapsed(("fetch", b"wanted"), 50)), Event(105, 0, Sent(1, 0, REQUEST, 40, b"sum"))

        assert self.judge(*both, sent, *last, now_us=110).status == "passed"

    def test_a_paused_replica_is_not_judged(self):
        plan = PLAN._replace(faults=(PlannedFault("still", 0, 9, (0,), pauses=True),))

        assert self.judge(plan=plan).status == "passed"
