"""Virtual time: the kernel is trio's clock, and its event queue is all that ever happens in a run.

Trio asks its clock how long it may sleep exactly when no task can run. At that moment (a *turn*) the kernel folds the
event chains, takes the next events out of its queue, calls their actions (which put things into mailboxes and so wake
tasks), moves `now_us` and answers 0. The invariant: what happens in a run is a function of the queue's canonical order,
never of the order in which trio runs its tasks.

- Events of one instant are ordered by (destination, kind, source, ordinal). A turn hands out at most one event per
  destination; what is left waits for the next turn of the same instant, or for the task to come back for more
  (`pull`), which keeps that order and saves the way through trio's loop. Without it, kernel and bus carried 1.9 times
  as many messages as simpy at 64 nodes; with it, 6 times.
- A mailbox that is served with a synchronous handler has it called here, where its task would have run, and the next
  turn follows at once: in every order and every count as if trio's loop had run between them. It does run after each
  turn of the supervisor, for tasks without a handler, and after so many events (`EVENTS_PER_PASS`).
- The supervisor's events (destination -1) run alone, one per turn, before anybody else's: a fault edge must not race
  with a validator that works in the same turn.
- The first idle call answers 0, so that trio's own shutdown wake-up gets through; the second in a row is a deadlock.
- The clock never raises (trio would call it an internal error): a failure cancels the root scope and is raised after
  the run.
- A step is one pass of trio's loop, counted by an instrument before each wait for I/O. Counting every task step was
  rejected: it costs 0.5 us per message instead of per turn, and a task that spins on checkpoints needs passes as well.

One trio second is one virtual microsecond. Trio deadlines work but cost 6 to 22 us each, a kernel event about 1 us.
"""

import math
from collections.abc import Awaitable, Callable
from functools import partial
from heapq import heappop, heappush
from typing import Final, Literal, TypeAlias, TypeVarTuple

import trio

from network.collector import rare_collections
from network.inbox import Caller, Drain
from network.lanes import DESTINATION, Lanes, QueuedEvent, has_one_each
from network.outcome import (
    KernelError,
    KernelOutcome,
    KernelStatistics,
    PostedInPastError,
    RunFailedError,
)
from network.tasks import Revocable, describe_tasks, end_tasks, first_cause, run_trio
from network.trace import Trace
from network.types import SUPERVISOR, EventKind, Micros, NodeId

Arguments = TypeVarTuple("Arguments")

PULLS_PER_TURN: Final = 10_000
"""Greatest number of events that a task may pull in a turn; a task that posts events without end returns to trio."""

EVENTS_PER_PASS: Final = 1_024
"""Number of events after which trio's loop runs even without a waiting task: it may have to take an interrupt."""

Delivery: TypeAlias = Literal["direct", "direct, now and then in reverse", "by tasks"]
"""The caller of handlers: the kernel, in the order of nodes or not, or the tasks that serve their mailboxes."""


class Kernel(trio.abc.Clock, trio.abc.Instrument):
    """The event queue of a run, and the clock of the run's trio loop. A kernel runs once.

    Args:
        trace: The trace whose chains the kernel folds at each turn.
        step_limit: Passes of trio's loop after which the run ends with the reason "step-limit".
        start_us: The virtual time at which the run begins; it is above 0 for a continued run.
        time_limit_us: The last instant of events; the run then ends with the reason "time-limit".
        delivery: The caller of handlers; it changes no event.
    """

    def __init__(
        self,
        trace: Trace,
        *,
        step_limit: int,
        time_limit_us: Micros,
        start_us: Micros = 0,
        delivery: Delivery = "direct",
    ) -> None:
        if step_limit <= 0 or time_limit_us < 0:
            raise KernelError(f"limits must be positive: step_limit={step_limit}, time_limit_us={time_limit_us}")
        self.now_us: Micros = start_us
        self._trace = trace
        self._step_limit = step_limit
        self._time_limit_us = time_limit_us
        self._instants: dict[Micros, list[QueuedEvent]] = {}
        self._instant_heap: list[Micros] = []
        self._lanes = Lanes()
        self._may_pull = self._may_go_on = self._is_counted = False
        self._turns = self._steps = self._handed_out = 0
        self._pulls: dict[NodeId, int] = {}
        self._delivery = delivery
        self._is_reversing = delivery == "direct, now and then in reverse"
        self._served: dict[NodeId, None] = {}
        self._called: list[Drain] = []
        self._scope = trio.CancelScope()
        self._main_task: trio.lowlevel.Task | None = None
        self._handles: list[Revocable] = []
        self._ending: tuple[str, str] | None = None
        self._failure: Exception | None = None
        self._was_idle = self._is_closed = self._is_over = False

    # Calls by bus, ports and tasks

    def post(  # noqa: PLR0917  # called once per message: keywords would cost 10 % of a post
        self,
        at_us: Micros,
        destination: NodeId,
        kind: EventKind,
        source: NodeId,
        ordinal: int,
        action: Callable[[*Arguments], None],
        *arguments: *Arguments,
    ) -> None:
        """Queue an event for a later instant or for this instant; its turn calls `action(*arguments)`.

        (destination, kind, source, ordinal) must be unique within an instant.

        Raises:
            PostedInPastError: `at_us` lies before `now_us`.
        """
        self.enqueue(at_us, (destination, kind, source, ordinal, action, arguments))

    def enqueue(self, at_us: Micros, event: QueuedEvent) -> None:
        """Queue an event that the bus has built; every other caller uses `post`."""
        if at_us > self.now_us:
            instant = self._instants.get(at_us)
            if instant is None:
                self._instants[at_us] = [event]
                heappush(self._instant_heap, at_us)
            else:
                instant.append(event)
        elif at_us == self.now_us:
            self._lanes.join(at_us, event)
        else:
            raise PostedInPastError(
                f"event {event[1].name} from {event[2]} to {event[0]} posted for {at_us} us; it is {self.now_us} us"
            )

    def pull(self, destination: NodeId) -> bool:
        """Hand out the next event of this instant to a destination that asks for it.

        The order is that of the following turns. Returns False without an event, and in a turn of the supervisor.
        """
        if not self._may_pull:
            return False
        lane = self._lanes.by_node.get(destination)
        if not lane:
            return False
        # Each destination has its own limit: the limit must not depend on other tasks of the turn.
        pulls = self._pulls.get(destination, 0)
        if pulls >= PULLS_PER_TURN:
            return False
        # Counted before the action, because the action may pull again.
        self._pulls[destination] = pulls + 1
        event = lane.popleft()
        self._steps += 1
        self._handed_out += 1
        event[4](*event[5])
        return True

    def stop(self, reason: str = "stopped", detail: str = "") -> None:
        """End the run: no further event is handed out, and every task is cancelled.

        The kernel completes the current turn, then closes the trace and revokes all adopted handles. So no event shows
        clean-up code. The first reason stays.
        """
        if self._ending is None:
            self._ending = (reason, detail)
            self._scope.cancel()

    def adopt(self, handle: Revocable) -> None:
        """Revoke this handle when the run ends."""
        self._handles.append(handle)

    def release(self, handle: Revocable) -> None:
        """Forget an adopted handle; ignores any other handle."""
        if handle in self._handles:
            self._handles.remove(handle)

    def caller(self, node: NodeId) -> Caller | None:
        """Return the caller of the handler of this node's mailbox; None if a task calls the handler."""
        return None if self._delivery == "by tasks" else Caller(node, self._called, self._served)

    def run(self, main: Callable[[], Awaitable[None]]) -> KernelOutcome:
        """Run `main` under this clock until it returns or the run ends.

        Raises:
            RunFailedError: An action, a sink or a task raised an exception.
            KernelError: This kernel has run before.
        """
        if self._main_task is not None:
            raise KernelError("a kernel runs once: build another for the next run")
        with rare_collections():
            error = run_trio(partial(self._root, main), self, self)
        if self._failure is not None:
            raise self._failure
        if error is not None:
            cause = first_cause(error)
            raise RunFailedError(f"a task raised at {self.now_us} us in turn {self._turns}: {cause!r}") from error
        assert self._ending is not None, "the root task ended without a reason"
        reason, detail = self._ending
        return KernelOutcome(reason, detail, self.now_us, self._turns, self._steps)

    def statistics(self) -> KernelStatistics:
        """Return the counters of this kernel."""
        queued = len(self._lanes) + sum(map(len, self._instants.values()))
        return KernelStatistics(self.now_us, self._turns, self._steps, self._handed_out + queued, queued)

    # Calls by trio

    def start_clock(self) -> None:
        """Do nothing: time moves with the events."""

    def current_time(self) -> float:
        """Return the virtual time in microseconds: a whole number, exact up to 2^53."""
        return self.now_us

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Take a turn, and further turns while no task has to run between them; return 0."""
        until = self._handed_out + EVENTS_PER_PASS
        try:
            self._take_turn(deadline)
            while self._may_go_on and self._handed_out < until and deadline == math.inf:
                self._take_short_turns(until)
                if self._may_go_on and self._handed_out < until:
                    self._take_turn(deadline)
        except Exception as error:  # noqa: BLE001  # the clock must never raise; `run` raises the error after the run
            self._fail(error, "the kernel")
        return 0

    def before_io_wait(self, timeout: float) -> None:  # noqa: ARG002  # the instrument's signature
        """Count a step unless the turn has counted it, and close an ended run at the next pass."""
        if not self._is_counted:
            self._steps += 1
            self._check_end()
        self._is_counted = False
        if self._ending is not None and not self._is_closed:
            self._close()

    def _check_end(self) -> None:
        if self._steps > self._step_limit:
            self.stop("step-limit", f"{self._step_limit} steps by {self.now_us} us: {describe_tasks(self._main_task)}")
        if self._ending is not None and not self._is_closed:
            self._close()

    # Turns

    def _take_turn(self, deadline: float) -> None:
        self._may_go_on = self._is_counted = False
        # Folding sorts the events of the last turn by node, so that trio's task order stays invisible.
        self._trace.fold()
        if self._is_over:
            return
        if self._ending is not None:
            self._end_stuck_tasks()
        elif self._lanes:
            self._hand_out(self._lanes.next_of_each(self.now_us))
        elif deadline != math.inf and (not self._instant_heap or deadline <= self._instant_heap[0]):
            self._move_to_deadline(math.ceil(deadline))
        elif self._instant_heap:
            self._begin_instant(self._instant_heap[0])
        else:
            self._note_idle()

    def _take_short_turns(self, until: int) -> None:
        """Take turns while each is a whole instant, with at most one event for each mailbox with a handler.

        With jitter nearly all turns are of this kind, and without lanes a message costs a fifth less.
        """
        fold, lanes, heap, instants = self._trace.fold, self._lanes, self._instant_heap, self._instants
        by_node, served, limit_us = lanes.by_node, self._served, self._time_limit_us
        while self._may_go_on and self._handed_out < until:
            fold()
            if not heap or lanes.joined or self._ending is not None or (by_node and any(by_node.values())):
                return
            at_us = heap[0]
            events = instants[at_us]
            if at_us > limit_us:
                return
            if len(events) > 1:
                if not has_one_each(events, served):
                    return
                events.sort(key=DESTINATION)
            elif events[0][0] not in served:
                return
            heappop(heap)
            del instants[at_us]
            by_node.clear()
            self.now_us = at_us
            self._may_pull = True
            self._act(events)
            self._call_handlers()

    def _begin_instant(self, at_us: Micros) -> None:
        if at_us > self._time_limit_us:
            self._reach_time_limit()
            return
        heappop(self._instant_heap)
        self.now_us = at_us
        events = self._instants.pop(at_us)
        self._lanes.begin(at_us, events)
        self._hand_out(self._lanes.next_of_each(at_us))

    def _hand_out(self, events: list[QueuedEvent]) -> None:
        self._was_idle = False
        self._may_pull = events[0][0] != SUPERVISOR
        is_served = all(event[0] in self._served for event in events)
        self._act(events)
        if is_served or self._called:
            self._call_handlers()
            self._may_go_on = self._may_go_on and is_served

    def _act(self, events: list[QueuedEvent]) -> None:
        """Call the actions of a turn."""
        self._turns += 1
        self._handed_out += len(events)
        if self._pulls:
            self._pulls.clear()
        for event in events:
            try:
                event[4](*event[5])
            except Exception as error:  # noqa: BLE001  # see deadline_to_sleep_time
                self._fail(error, f"event {event[1].name} from {event[2]} to {event[0]}")
                break

    def _call_handlers(self) -> None:
        """Drain the mailboxes of this turn."""
        # As with tasks: a run that reaches its step limit ends before the handlers run.
        self._steps += 1
        if self._steps > self._step_limit or self._ending is not None:
            self._check_end()
        self._is_counted = True
        called, is_drained = self._called, True
        if self._is_reversing and self._turns % 3 == 0:
            called.reverse()
        for drain in called:
            if not drain():
                is_drained = False
        called.clear()
        self._may_go_on = is_drained and self._ending is None

    def _move_to_deadline(self, deadline_us: Micros) -> None:
        if deadline_us > self._time_limit_us:
            self._reach_time_limit()
            return
        self._was_idle = False
        # A task may set a deadline in the past; time must not go back.
        self.now_us = max(self.now_us, deadline_us)

    # Ends

    def _note_idle(self) -> None:
        if self._was_idle:
            self.stop("deadlock", f"nothing is queued at {self.now_us} us: {describe_tasks(self._main_task)}")
        self._was_idle = True

    def _reach_time_limit(self) -> None:
        self.now_us = self._time_limit_us
        self.stop("time-limit", f"events remain after {self._time_limit_us} us")

    def _fail(self, error: Exception, place: str) -> None:
        if self._failure is None:
            failure = RunFailedError(f"{place} raised at {self.now_us} us in turn {self._turns}: {error!r}")
            failure.__cause__ = error
            self._failure = failure
        self.stop("failed", str(self._failure))

    def _close(self) -> None:
        self._is_closed = True
        try:
            self._trace.close()
        except Exception as error:  # noqa: BLE001  # an instrument that raises is silently removed by trio
            self._fail(error, "a sink")
        # A copy, because `revoke` releases the handle.
        for handle in tuple(self._handles):
            handle.revoke()

    def _end_stuck_tasks(self) -> None:
        # The root scope is cancelled: a task that still waits is shielded, and no event can wake it.
        if not self._was_idle:
            self._was_idle = True
            return
        self._was_idle = False
        end_tasks(self._main_task)

    # The root task

    async def _root(self, main: Callable[[], Awaitable[None]]) -> None:
        self._main_task = trio.lowlevel.current_task()
        try:
            with self._scope:
                await main()
            self.stop("stopped", "the main task returned")
        finally:
            self._is_over = True
            if not self._is_closed:
                self._close()
