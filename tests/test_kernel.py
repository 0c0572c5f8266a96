"""The kernel: canonical order, turns, ends of a run, ports, timers and work."""

from __future__ import annotations

import hashlib
from functools import partial

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from network.kernel import EventOrderError, Kernel, KernelError, PostedInPastError, RunFailedError
from network.port import Delivery, Mailbox, Submission, TimerFired, WorkDone
from network.trace import Trace, UnknownNodeError
from network.types import SUPERVISOR, EventKind, Label
from tests.network_harness import Rig, build_rig, record_inbound, shuffled

KEYS = st.tuples(st.integers(1, 3), st.integers(0, 3), st.sampled_from(list(EventKind)), st.integers(0, 4))


def post_note(rig: Rig, at_us: int, destination: int, kind: EventKind, source: int, ordinal: int) -> None:
    note = (at_us, destination, kind, source, ordinal)
    rig.kernel.post(at_us, destination, kind, source, ordinal, rig.record.append, note)


async def wait_forever() -> None:
    await trio.sleep_forever()


class TestOrder:
    @given(st.sets(st.tuples(KEYS, st.integers(0, 5)), max_size=60), st.randoms(use_true_random=False))
    def test_events_of_a_destination_come_in_canonical_order_however_they_were_posted(self, keys, rng):
        """The order in which events are posted cannot be seen."""
        rig = build_rig(4, step_limit=10_000)
        posted = [(at, dest, kind, source, ordinal) for (at, dest, kind, source), ordinal in keys]
        rng.shuffle(posted)
        for at_us, destination, kind, source, ordinal in posted:
            post_note(rig, at_us, destination, kind, source, ordinal)
        rig.run(wait_forever)

        for destination in range(4):
            mine = [note for note in rig.record if note[1] == destination]
            assert mine == sorted(mine)
        assert sorted(rig.record) == sorted(posted)

    def test_a_turn_hands_out_one_event_per_destination(self):
        """Three events for one validator and one for another in one instant take three turns."""
        rig = build_rig()
        for ordinal in range(3):
            post_note(rig, 5, 0, EventKind.TIMER, 0, ordinal)
        post_note(rig, 5, 1, EventKind.TIMER, 1, 0)
        outcome = rig.run(wait_forever)

        assert [note[1] for note in rig.record] == [0, 1, 0, 0]
        assert outcome.turns == 3

    def test_the_supervisor_goes_first_and_alone(self):
        """What a fault edge wakes has settled before the first validator of that instant is served."""
        rig = build_rig()
        mailbox = Mailbox()

        async def be_woken() -> None:
            await mailbox.receive()
            rig.record.append("woken")

        post_note(rig, 5, 0, EventKind.TIMER, 0, 0)
        rig.kernel.post(5, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, mailbox.put, None)
        rig.kernel.post(5, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 1, rig.record.append, "second")
        rig.run(be_woken, wait_forever)
        assert rig.record == ["woken", "second", (5, 0, EventKind.TIMER, 0, 0)]

    def test_a_task_started_by_the_supervisor_gets_nothing_before_the_supervisor_is_done(self):
        """A restart and a cut in one instant: the restarted task does not run ahead of the cut."""
        rig = build_rig()

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                for ordinal in range(2):
                    rig.bus.send(1, 0, bytes([ordinal]))

                def restart() -> None:
                    port = rig.port(0)
                    nursery.start_soon(record_inbound, rig, port, rig.record)

                rig.kernel.post(1_000, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, restart)
                rig.kernel.post(1_000, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 1, rig.record.append, "cut")
                nursery.start_soon(wait_forever)

        rig.kernel.run(main)
        assert rig.record == ["cut", (1_000, Delivery(1, b"\0")), (1_000, Delivery(1, b"\1"))]

    def test_an_event_for_now_joins_the_instant_in_its_canonical_place(self):
        """A timer that is set for now by the first delivery comes before the second delivery."""
        rig = build_rig(3)

        async def receive() -> None:
            port = rig.port(0)
            while True:
                inbound = await port.receive()
                rig.record.append(inbound)
                if inbound == Delivery(1, b"x"):
                    port.set_timer("now", port.now_us)

        rig.kernel.post(0, 0, EventKind.WORKLOAD, SUPERVISOR, 0, rig.bus.broadcast, 1, b"x")
        rig.kernel.post(0, 0, EventKind.WORKLOAD, SUPERVISOR, 1, rig.bus.broadcast, 2, b"y")
        outcome = rig.run(receive)
        assert rig.record == [Delivery(1, b"x"), TimerFired("now"), Delivery(2, b"y")]
        assert outcome.now_us == 1_000

    def test_two_events_with_one_key_are_an_error(self):
        """Nothing could order them but the order of posting."""
        rig = build_rig()
        for _ in range(2):
            rig.kernel.post(5, 0, EventKind.TIMER, 0, 7, lambda: None)
        with pytest.raises(RunFailedError) as caught:
            rig.run(wait_forever)
        assert isinstance(caught.value.__cause__, EventOrderError)

    def test_the_past_is_closed(self):
        """An event cannot be posted for an instant that is over."""
        rig = build_rig()

        async def main() -> None:
            port = rig.port(0)
            port.set_timer("a", 10)
            await port.receive()
            with pytest.raises(PostedInPastError, match="posted for 9 us; it is 10 us"):
                post_note(rig, 9, 0, EventKind.TIMER, 0, 0)

        rig.kernel.run(main)


class TestEnds:
    def test_main_returning_ends_the_run(self):
        """What is still queued then never happens."""
        rig = build_rig()
        post_note(rig, 5, 0, EventKind.TIMER, 0, 0)

        async def main() -> None:
            pass

        outcome = rig.kernel.run(main)
        assert (outcome.reason, outcome.now_us, rig.record) == ("stopped", 0, [])

    def test_a_deadlock_names_the_tasks_that_wait(self):
        """Waiting with nothing queued is found at the second idle call, and says who waits."""
        rig = build_rig()

        async def main() -> None:
            async with trio.open_nursery() as nursery:
                for node in range(2):
                    nursery.start_soon(rig.port(node).receive, name=f"validator {node}")

        outcome = rig.kernel.run(main)
        assert outcome.reason == "deadlock"
        assert "2 tasks left (validator 0, validator 1)" in outcome.detail

    def test_the_step_limit_ends_a_task_that_spins_on_checkpoints(self):
        """Such a task never lets the clock be asked; the steps are counted all the same."""
        rig = build_rig(step_limit=50)

        async def spin() -> None:
            while True:
                await trio.lowlevel.checkpoint()

        outcome = rig.run(spin)
        assert (outcome.reason, outcome.now_us) == ("step-limit", 0)
        assert "spin" in outcome.detail

    def test_the_step_limit_ends_an_instant_that_never_ends(self):
        """A task that sets a timer for now at each timer is stopped, though it never goes through trio's loop."""
        rig = build_rig(step_limit=50)

        async def chase() -> None:
            port = rig.port(0)
            while True:
                port.set_timer("now", port.now_us)
                await port.receive()

        assert rig.run(chase).reason == "step-limit"

    def test_the_time_limit_is_virtual(self):
        """Events up to the limit happen, the next does not."""
        rig = build_rig(time_limit_us=10)
        for at_us in (10, 11):
            post_note(rig, at_us, 0, EventKind.TIMER, 0, 0)
        outcome = rig.run(wait_forever)
        assert (outcome.reason, outcome.now_us) == ("time-limit", 10)
        assert [note[0] for note in rig.record] == [10]

    def test_after_a_stop_nothing_happens_and_clean_up_is_not_seen(self):
        """The clean-up of cancelled tasks can neither send nor trace, and later events are not handed out."""
        rig = build_rig()
        port = rig.port(0)

        async def tidy() -> None:
            try:
                await trio.sleep_forever()
            finally:
                port.trace("clean-up")
                port.broadcast(b"last words")
                rig.trace.chain(0).add(0, "clean-up")

        rig.kernel.post(5, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, rig.kernel.stop, "enough", "of it")
        post_note(rig, 5, 0, EventKind.TIMER, 0, 0)
        outcome = rig.run(tidy)
        assert (outcome.reason, outcome.detail, outcome.now_us) == ("enough", "of it", 5)
        assert (rig.record, rig.events, rig.bus.statistics().sent) == ([], [], 0)

    def test_what_the_stopping_turn_did_is_in_the_digest(self):
        """A task that stops the run and then traces, in the same step, is still seen."""
        rig = build_rig()

        async def finish() -> None:
            port = rig.port(0)
            port.trace("before")
            rig.kernel.stop()
            port.trace("after")
            await trio.sleep_forever()

        rig.run(finish)
        assert [event.kind for event in rig.events] == ["before", "after"]

    def test_a_task_that_waits_behind_a_shield_cannot_hold_up_the_end(self):
        """It is thrown out, and the run fails by its name instead of hanging."""
        rig = build_rig()

        async def cling() -> None:
            with trio.CancelScope(shield=True):
                await trio.sleep_forever()

        post_note(rig, 5, 0, EventKind.TIMER, 0, 0)
        with pytest.raises(RunFailedError, match="cling waits behind a shield"):
            rig.run(cling)

    def test_an_action_that_raises_surfaces_with_its_place(self):
        """The clock itself never raises; the run does, and says where it was."""
        rig = build_rig()

        def explode() -> None:
            raise ValueError("boom 17")

        rig.kernel.post(42, 1, EventKind.WORK, 0, 3, explode)
        with pytest.raises(RunFailedError, match=r"WORK from 0 to 1 raised at 42 us.*boom 17") as caught:
            rig.run(wait_forever)
        assert isinstance(caught.value.__cause__, ValueError)

    def test_a_task_that_raises_surfaces_with_its_time(self):
        """The first cause is in the message, the whole group is chained."""
        rig = build_rig()

        async def fail() -> None:
            port = rig.port(0)
            port.set_timer("a", 7)
            await port.receive()
            raise ValueError("boom 18")

        with pytest.raises(RunFailedError, match=r"at 7 us.*boom 18"):
            rig.run(fail, wait_forever)

    def test_a_sink_that_raises_surfaces(self):
        """A broken check fails the run; it is not silently removed."""

        def explode(_event: object) -> None:
            raise ValueError("boom 19")

        rig = build_rig(sinks=(explode,))

        async def main() -> None:
            rig.port(0).trace("anything")

        with pytest.raises(RunFailedError, match="boom 19"):
            rig.kernel.run(main)

    def test_an_interrupt_is_passed_on_as_it_is(self):
        """Ctrl-C is no failure of the run."""
        rig = build_rig()

        async def interrupt() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            rig.run(interrupt, wait_forever)

    def test_a_kernel_runs_once(self):
        """A second run would start at the first one's time."""
        rig = build_rig()

        async def main() -> None:
            pass

        rig.kernel.run(main)
        with pytest.raises(KernelError, match="once"):
            rig.kernel.run(main)

    def test_limits_that_make_no_sense_are_refused(self):
        """No step and negative time are no limits."""
        with pytest.raises(KernelError, match="step_limit=0"):
            Kernel(Trace([0]), step_limit=0, time_limit_us=1)


class TestTrioTime:
    def test_trio_deadlines_follow_virtual_time(self):
        """One trio second is one virtual microsecond."""
        rig = build_rig()
        post_note(rig, 3, 0, EventKind.TIMER, 0, 0)

        async def main() -> None:
            with trio.move_on_after(5):  # noqa: TID251  # the thing under test
                await trio.sleep_forever()
            rig.record.append(trio.current_time())

        rig.kernel.run(main)
        assert rig.record == [(3, 0, EventKind.TIMER, 0, 0), 5]


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

        expected = [(10, TimerFired("c")), (20, TimerFired("b")), (20, TimerFired(("a", 1)))]
        assert self.run_with_port(script) == expected

    def test_setting_a_timer_again_replaces_it(self):
        """Earlier or later, only the last setting counts."""

        def script(port):
            port.set_timer("up", 10)
            port.set_timer("up", 20)
            port.set_timer("down", 40)
            port.set_timer("down", 30)

        assert self.run_with_port(script) == [(20, TimerFired("up")), (30, TimerFired("down"))]

    def test_a_cancelled_timer_does_not_fire(self):
        """Cancelling one leaves the others, and cancelling what is not set is nothing."""

        def script(port):
            port.set_timer("a", 10)
            port.set_timer("b", 10)
            port.cancel_timer("a")
            port.cancel_timer("never set")

        assert self.run_with_port(script) == [(10, TimerFired("b"))]

    def test_a_timer_in_the_past_fires_in_this_instant(self):
        """A deadline that has passed is due now."""

        def script(port):
            port.set_timer("late", -5)

        assert self.run_with_port(script) == [(0, TimerFired("late"))]

    def test_work_of_a_lane_is_done_one_after_the_other(self):
        """The disk does not wait for the processor."""

        def script(port):
            port.work(10, "first")
            port.work(10, "second")
            port.work_on("disk", 15, "sync")

        assert self.run_with_port(script) == [(10, WorkDone("first")), (15, WorkDone("sync")), (20, WorkDone("second"))]

    def test_a_lane_that_was_idle_starts_at_once(self):
        """Idle time is not saved up."""
        rig = build_rig()
        port = rig.port(0)

        async def main() -> None:
            port.work(10, "first")
            await port.receive()
            port.set_timer("pause", 100)
            await port.receive()
            port.work(10, "second")
            await port.receive()
            assert port.now_us == 110

        rig.kernel.run(main)

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
        assert record == [(5, Submission(b"transaction"))]

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
            port.trace("ghost")
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
        assert record == [(10, TimerFired("timer"))]

    def test_a_mailbox_belongs_to_one_task(self):
        """A second task that would wait is told so."""
        rig = build_rig()
        port = rig.port(0)
        with pytest.raises(RunFailedError) as caught:
            rig.run(port.receive, port.receive)
        assert "MailboxError" in str(caught.value)


class TestTrace:
    def test_chains_fold_in_node_order_whoever_wrote_first(self):
        """The supervisor's events come first, then the validators' by id."""
        trace = Trace([0, 1])
        for node in (1, SUPERVISOR, 0):
            trace.chain(node).add(7, "mark", node)
        trace.fold()
        assert [msgspec.msgpack.decode(record) for record in trace.events()] == [
            [7, node, "mark", node] for node in (SUPERVISOR, 0, 1)
        ]
        assert trace.count == 3

    def test_the_digest_is_the_hash_of_the_log(self):
        """Whoever has the log can check the digest, however often it was asked for in between."""
        trace = Trace([0])
        for value in range(5_000):
            trace.chain(0).add(value, "mark", value, b"payload", None, True, ("nested", [1]))
            trace.fold()
            if value % 1_000 == 0:
                assert trace.digest == hashlib.sha256(trace.log).digest()
        assert trace.digest == hashlib.sha256(trace.log).digest()

    def test_the_digest_depends_on_values(self):
        """Not only on kinds."""
        digests = set()
        for value in (1, True, "1", b"1", None, (1,)):
            trace = Trace([0])
            trace.chain(0).add(7, "mark", value)
            trace.fold()
            digests.add(trace.digest)
        assert len(digests) == 6

    def test_sinks_see_the_events_in_the_order_of_the_log(self):
        """They get time, node, kind and values."""
        seen = []
        trace = Trace([0, 1], [seen.append])
        trace.chain(1).add(7, "mark", 1, "x")
        trace.chain(0).add(7, "mark", 0, "y")
        trace.fold()
        assert seen == [(7, 0, "mark", (0, "y")), (7, 1, "mark", (1, "x"))]

    def test_without_recording_there_is_no_log_but_sinks_see_all(self):
        """What the digest costs is measured against this."""
        seen = []
        trace = Trace([0], [seen.append], recording=False)
        trace.chain(0).add(7, "mark")
        trace.fold()
        assert (len(seen), bytes(trace.log), trace.count) == (1, b"", 1)

    def test_an_unknown_node_has_no_chain(self):
        """The message says which there are."""
        with pytest.raises(UnknownNodeError, match=r"node 4 .* \[-1, 0\]"):
            Trace([0]).chain(4)


class TestShuffle:
    @pytest.mark.parametrize("seed", [1, 2, 3, None])
    def test_the_digest_does_not_depend_on_trios_order(self, seed):
        """Stock trio and three shuffles of its tasks give one digest."""

        def play(shuffle: int | None) -> bytes:
            rig = build_rig(5, step_limit=1_000)

            async def chatter(node: int) -> None:
                port = rig.port(node)
                for round_number in range(6):
                    port.broadcast(bytes([node, round_number]), Label("chatter"))
                    port.set_timer("now", port.now_us)
                    port.work(node * 100, round_number)
                    for _ in range(4):
                        inbound = await port.receive()
                        port.trace("heard", repr(inbound))
                        if round_number % 2:
                            await trio.lowlevel.checkpoint()

            with shuffled(shuffle):
                rig.run(*(partial(chatter, node) for node in range(5)))
            return rig.trace.digest

        assert play(seed) == play(0)

    @pytest.mark.parametrize("seed", range(8))
    def test_what_another_task_posts_for_now_waits_for_the_next_turn(self, seed):
        """Whether the poster or the receiver runs first in the turn cannot be seen."""
        rig = build_rig()

        async def receive() -> None:
            port = rig.port(0)
            for name in ("first", "second"):
                port.set_timer(name, 5)
            await record_inbound(rig, port, rig.record)

        async def post() -> None:
            port = rig.port(1)
            port.set_timer("post", 5)
            await port.receive()
            rig.kernel.post(5, 0, EventKind.FAULT, 1, 0, rig.record.append, "posted")
            await port.receive()

        with shuffled(seed):
            rig.run(receive, post)
        assert rig.record == [(5, TimerFired("first")), (5, TimerFired("second")), "posted"]
