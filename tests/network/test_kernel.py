"""The kernel: canonical order, turns, ends of a run, independence of trio's own order."""

from functools import partial

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from network.inbox import Inbox
from network.kernel import Kernel
from network.outcome import EventOrderError, KernelError, PostedInPastError, RunFailedError
from network.port import Delivery, TimerDue
from network.trace import Trace
from network.types import SUPERVISOR, EventKind, Label
from tests.support.events import Mark
from tests.support.network_harness import Rig, build_rig, record_inbound, shuffled

KEYS = st.tuples(st.integers(1, 3), st.integers(0, 3), st.sampled_from(list(EventKind)), st.integers(0, 4))


def post_note(rig: Rig, at_us: int, destination: int, kind: EventKind, source: int, ordinal: int) -> None:
    note = (at_us, destination, kind, source, ordinal)
    rig.kernel.post(at_us, destination, kind, source, ordinal, rig.record.append, note)


async def wait_forever() -> None:
    await trio.sleep_forever()


class TestOrder:
    @given(st.sets(st.tuples(KEYS, st.integers(0, 5)), max_size=60), st.randoms(use_true_random=False))
    def test_events_of_a_destination_come_in_canonical_order(self, keys, rng):
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
        """Tasks woken by a fault edge have settled before the first validator of that instant is served."""
        rig = build_rig()
        mailbox = Inbox()

        async def be_woken() -> None:
            await mailbox.receive()
            rig.record.append("woken")

        post_note(rig, 5, 0, EventKind.TIMER, 0, 0)
        rig.kernel.post(5, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 0, mailbox.put, None)
        rig.kernel.post(5, SUPERVISOR, EventKind.FAULT, SUPERVISOR, 1, rig.record.append, "second")
        rig.run(be_woken, wait_forever)
        assert rig.record == ["woken", "second", (5, 0, EventKind.TIMER, 0, 0)]

    def test_a_task_started_by_the_supervisor_runs_after_the_supervisor(self):
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
                    port.set_timer("now", 0)

        rig.kernel.post(0, 0, EventKind.WORKLOAD, SUPERVISOR, 0, rig.bus.broadcast, 1, b"x")
        rig.kernel.post(0, 0, EventKind.WORKLOAD, SUPERVISOR, 1, rig.bus.broadcast, 2, b"y")
        outcome = rig.run(receive)
        assert rig.record == [Delivery(1, b"x"), TimerDue("now"), Delivery(2, b"y")]
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
        """Events that are still queued then never happen."""
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
                port.set_timer("now", 0)
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
                port.trace(Mark("clean-up"))
                port.broadcast(b"last words")
                rig.trace.chain(0).add(0, Mark("clean-up"))

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
            port.trace(Mark("before"))
            rig.kernel.stop()
            port.trace(Mark("after"))
            await trio.sleep_forever()

        rig.run(finish)
        assert [event.body for event in rig.events] == [Mark("before"), Mark("after")]

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
            rig.port(0).trace(Mark("anything"))

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
                    port.set_timer("now", 0)
                    port.work(node * 100, round_number)
                    for _ in range(4):
                        inbound = await port.receive()
                        port.trace(Mark(repr(inbound)))
                        if round_number % 2:
                            await trio.lowlevel.checkpoint()

            with shuffled(shuffle):
                rig.run(*(partial(chatter, node) for node in range(5)))
            return rig.trace.digest

        assert play(seed) == play(0)

    @pytest.mark.parametrize("seed", range(8))
    def test_what_another_task_posts_for_now_waits_for_the_next_turn(self, seed):
        """The order of poster and receiver in the turn does not show."""
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
        assert rig.record == [(5, TimerDue("first")), (5, TimerDue("second")), "posted"]
