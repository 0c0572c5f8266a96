"""The port: timers, work, submissions, and what a crash cuts off."""

from functools import partial

import pytest

from network.outcome import RunFailedError
from network.port import ClientPayload, Delivery, Pace, Port, TimerDue, WorkDone
from network.types import SUPERVISOR, EventKind, Label
from tests.support.events import Mark
from tests.support.network_harness import build_rig, record_inbound


class TestPort:
    def run_with_port(self, script) -> list[tuple[int, object]]:
        """Run `script(port)` at 0 and return what the port receives, with times."""
        rig = build_rig()
        port = rig.port(0)
        record: list[tuple[int, object]] = []

        async def main() -> None:
            script(port)
            await record_inbound(rig, port, record)

        rig.run(main)
        return record

    def test_timers_fire_at_their_time(self):
        """Two timers that are due together fire in the order in which they were set."""

        def script(port):
            port.set_timer("b", 20)
            port.set_timer(("a", 1), 20)
            port.set_timer("c", 10)

        expected = [(10, TimerDue("c")), (20, TimerDue("b")), (20, TimerDue(("a", 1)))]
        assert self.run_with_port(script) == expected

    def test_setting_a_timer_again_replaces_it(self):
        """Earlier or later, only the last setting counts."""

        def script(port):
            port.set_timer("up", 10)
            port.set_timer("up", 20)
            port.set_timer("down", 40)
            port.set_timer("down", 30)

        assert self.run_with_port(script) == [(20, TimerDue("up")), (30, TimerDue("down"))]

    def test_a_cancelled_timer_does_not_fire(self):
        """Cancelling one leaves the others, and cancelling what is not set is nothing."""

        def script(port):
            port.set_timer("a", 10)
            port.set_timer("b", 10)
            port.cancel_timer("a")
            port.cancel_timer("never set")

        assert self.run_with_port(script) == [(10, TimerDue("b"))]

    def test_a_timer_of_no_length_fires_in_this_instant(self):
        """A timer that should have been over already is due now."""

        def script(port):
            port.set_timer("late", -5)

        assert self.run_with_port(script) == [(0, TimerDue("late"))]

    def test_work_of_a_lane_is_done_one_after_the_other(self):
        """The disk does not wait for the processor."""

        def script(port):
            port.work(10, "first")
            port.work(10, "second")
            port.work_on("disk", 15, "sync")

        assert self.run_with_port(script) == [(10, WorkDone("first")), (15, WorkDone("sync")), (20, WorkDone("second"))]

    def test_what_is_spent_delays_work_and_is_told_to_nobody(self):
        """Spending nothing is nothing."""

        def script(port):
            port.spend(0)
            port.spend(7)
            port.work(10, "work")

        assert self.run_with_port(script) == [(17, WorkDone("work"))]

    def test_a_lane_that_was_idle_starts_at_once(self):
        """Idle time is not saved up."""
        rig = build_rig()
        port = rig.port(0)

        async def main() -> None:
            port.work(10, "first")
            await port.receive()
            port.set_timer("pause", 90)
            await port.receive()
            port.work(10, "second")
            await port.receive()
            assert rig.kernel.now_us == 110

        rig.kernel.run(main)

    def test_a_lane_is_busy_until_the_end_of_its_work_was_received(self):
        """Other lanes are not, as long as nothing has come."""
        rig = build_rig()
        port, seen = rig.port(0), []

        def note() -> None:
            seen.append((port.is_busy("disk"), port.is_busy("cpu")))

        async def main() -> None:
            note()
            port.work_on("disk", 10, "sync")
            note()
            port.pause()
            rig.kernel.post(20, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, note)
            rig.kernel.post(30, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 1, port.resume)
            await port.receive()
            note()

        rig.kernel.run(main)
        assert seen == [(False, False), (True, False), (True, True), (False, False)]

    @pytest.mark.parametrize("at_us", [10, 30])
    def test_a_port_that_was_revoked_tells_what_was_under_way(self, at_us):
        """Work, or its end that nobody has received."""
        rig = build_rig()
        port = rig.port(0)
        port.pause()
        port.work_on("disk", 20, "sync")
        rig.kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, port.revoke)

        rig.run(partial(record_inbound, rig, port, []))
        assert port.is_busy("disk")

    def test_work_is_slowed_once_it_takes_longer_than_it_costs(self):
        """Until it is over: slow work of the processor began at 0, and ends at 30."""
        rig, seen = build_rig(), []
        port = Port(rig.kernel, rig.bus, rig.trace.chain(0), 0, incarnation=0, pace=Pace(factor=3))
        port.work(10, "work")
        port.work_on("disk", 0, "sync")
        for at_us in (10, 11, 29, 31):
            note = partial(lambda: seen.append(port.slowed_since_us))
            rig.kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, at_us, note)

        rig.run(partial(record_inbound, rig, port, []))
        assert seen == [None, 0, 0, None]

    def test_work_cannot_take_negative_time(self):
        """The lane and the cost are named."""
        with pytest.raises(ValueError, match="work on disk cannot take -1 us"):
            build_rig().port(0).work_on("disk", -1, None)

    def test_a_submission_reaches_the_task(self):
        """The workload hands it in through an event of the kernel."""
        rig = build_rig()
        port = rig.port(0)
        rig.kernel.post(5, 0, EventKind.SUBMISSION, SUPERVISOR, 0, port.submit, b"transaction")
        record: list[tuple[int, object]] = []
        rig.run(partial(record_inbound, rig, port, record))
        assert record == [(5, ClientPayload(b"transaction"))]

    def test_after_revoke_nothing_goes_out_and_nothing_comes_in(self):
        """Timers, work and messages that were under way are lost, and further calls do nothing."""
        rig = build_rig()
        port, other = rig.port(0), rig.port(1)
        record: list[tuple[int, object]] = []

        def crash() -> None:
            port.revoke()
            port.revoke()
            port.send(1, b"ghost")
            port.broadcast(b"ghost")
            port.trace(Mark("ghost"))
            port.set_timer("ghost", 20)
            port.work(1, "ghost")
            rig.record.append(port.submit(b"ghost"))

        async def main() -> None:
            other.send(0, b"too late")
            port.send(1, b"on its way")
            port.set_timer("a", 10)
            port.work(10, "b")
            rig.kernel.post(5, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, crash)
            await record_inbound(rig, port, record)

        heard: list[tuple[int, object]] = []
        rig.run(main, partial(record_inbound, rig, other, heard))
        assert record == []
        assert heard == [(1_000, Delivery(0, b"on its way"))]
        assert (rig.record, rig.kinds("ghost"), rig.bus.statistics().dropped_down) == ([False], [], 1)

    def test_what_waits_in_the_mailbox_is_lost_with_the_port(self):
        """A crashed task that wakes up finds nothing."""
        rig = build_rig()
        port = rig.port(0)
        port.submit(b"unread")
        port.revoke()

        assert rig.run(port.receive).reason == "deadlock"

    def test_a_new_incarnation_shares_an_instant_with_the_old_ones_leftovers(self):
        """Events of two incarnations for one instant have different keys, and only the living one's count."""
        rig = build_rig()
        old = rig.port(0, incarnation=0)
        old.set_timer("timer", 10)
        old.revoke()
        new = rig.port(0, incarnation=1)
        new.set_timer("timer", 10)
        record: list[tuple[int, object]] = []

        rig.run(partial(record_inbound, rig, new, record))
        assert record == [(10, TimerDue("timer"))]

    def test_a_mailbox_belongs_to_one_task(self):
        """A second task that would wait is told so."""
        rig = build_rig()
        port = rig.port(0)
        with pytest.raises(RunFailedError) as caught:
            rig.run(port.receive, port.receive)
        assert "InboxError" in str(caught.value)


class TestWatchedBroadcast:
    def test_it_reaches_all_others_and_is_told_once(self):
        """A validator that is watched for its boundaries speaks to as many as any other."""
        rig = build_rig(4)
        port, reported = rig.port(0), []
        port.on_sent = reported.append
        port.broadcast(b"x", Label("Notarize"))

        assert rig.bus.statistics().sent == 3
        assert reported == [Label("Notarize")]

    def test_a_message_to_one_is_told_once(self):
        """Votes of HotStuff go to one validator, and power can go right behind them as well."""
        port, reported = build_rig(4).port(0), []
        port.on_sent = reported.append
        port.send(2, b"x", Label("BlockVote"))

        assert reported == [Label("BlockVote")]


class TestPause:
    def test_events_of_a_paused_port_are_delivered_in_order_on_resume(self):
        """Delivery, timer and work keep their order; the clock has gone on."""
        rig = build_rig()
        port, record, held = rig.port(1), [], []
        steps = [
            (5, port.pause),
            (10, partial(rig.bus.send, 0, 1, b"hello")),
            (9_000, lambda: held.append(port.resume())),
        ]
        for ordinal, (at_us, call) in enumerate(steps):
            rig.kernel.post(at_us, SUPERVISOR, EventKind.FAULT, SUPERVISOR, ordinal, call)
        port.set_timer("tick", 3_000)
        port.work(2_000, "sum")

        rig.run(partial(record_inbound, rig, port, record))

        assert record == [
            (9_000, Delivery(0, b"hello")),
            (9_000, WorkDone("sum")),
            (9_000, TimerDue("tick")),
        ]
        assert held == [3]

    def test_a_paused_port_does_not_pull_what_comes_in_the_same_instant(self):
        """Messages in the mailbox before the pause wait as well."""
        rig = build_rig()
        port, record = rig.port(1), []
        rig.kernel.post(1_000, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, port.pause)
        rig.kernel.post(4_000, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 1, port.resume)
        for token in "abc":
            port.work(1_000 if token == "a" else 0, token)

        rig.run(partial(record_inbound, rig, port, record))

        assert record == [(4_000, WorkDone(token)) for token in "abc"]

    def test_a_task_that_comes_back_while_paused_waits(self):
        """Messages in the mailbox stay there until the resume."""
        rig = build_rig()
        port, record = rig.port(1), []
        rig.kernel.post(4_000, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 1, port.resume)

        async def main() -> None:
            port.pause()
            port.submit(b"early")
            await record_inbound(rig, port, record)

        rig.run(main)

        assert record == [(4_000, ClientPayload(b"early"))]


class TestPace:
    def test_work_on_a_slow_machine_takes_a_multiple(self):
        """It is counted; work that costs nothing stays free, and a faster pace holds from the next work on."""
        rig = build_rig()
        pace, record = Pace(factor=3), []
        port = Port(rig.kernel, rig.bus, rig.trace.chain(1), 1, incarnation=0, pace=pace)
        port.work(100, "slow")
        port.work(0, "free")
        pace.factor = 1
        port.work(100, "fast")

        rig.run(partial(record_inbound, rig, port, record))

        assert record == [(300, WorkDone("slow")), (300, WorkDone("free")), (400, WorkDone("fast"))]
        assert pace.slowed == 1

    def test_what_waits_behind_slow_work_has_the_price_of_its_start(self):
        """After the slowness only work that is under way still takes its multiple, on each lane."""
        rig = build_rig()
        pace, record = Pace(factor=3, disk_factor=5), []
        port = Port(rig.kernel, rig.bus, rig.trace.chain(1), 1, incarnation=0, pace=pace)
        for token in ("under way", "waiting"):
            port.work(100, token)
            port.work_on("disk", 100, f"sync {token}")

        def speed_up() -> None:
            pace.factor = pace.disk_factor = 1

        rig.kernel.post(200, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, speed_up)

        rig.run(partial(record_inbound, rig, port, record))

        assert record == [
            (300, WorkDone("under way")),
            (400, WorkDone("waiting")),
            (1_500, WorkDone("sync under way")),
            (1_600, WorkDone("sync waiting")),
        ]
