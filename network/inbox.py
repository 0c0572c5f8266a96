"""A mailbox: items that have come for a task and wait for it, or for the task's handler.

A task that only takes the next item and calls a synchronous function with it needs no pass of trio's loop. It says so
(`serve`), and the kernel calls the function itself, in the place where the task would have run. The order stays the
same: items come one by one, and items that an action puts in wait for their place.
"""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeAlias, TypeVar

import outcome
import trio

T = TypeVar("T")

Drain: TypeAlias = Callable[[], bool]
"""Calls a handler with all items of a mailbox; returns False where the handler raised, and its task has to run."""


class InboxError(Exception):
    """A second task waits on a mailbox, which belongs to a single task."""


class Caller:
    """Marks a node's mailbox for the kernel: when it is to be drained, and whether it has a handler."""

    __slots__ = ("_node", "_served", "call")

    def __init__(self, node: int, called: list[Drain], served: dict[int, None]) -> None:
        self._node = node
        self._served = served
        self.call: Callable[[Drain], None] = called.append
        """Has the mailbox drained after the actions of this turn."""

    def note_served(self, *, is_served: bool) -> None:
        """Note whether the mailbox has a handler."""
        if is_served:
            self._served[self._node] = None
        else:
            self._served.pop(self._node, None)


class Inbox(Generic[T]):
    """A queue with at most one waiting task. While it is paused it accepts every item and hands out none.

    Args:
        refill: is called when the task finds the queue empty, before it waits; it may put something in.
        caller: calls the handler of `serve`; if None, the task does.
    """

    __slots__ = (
        "_caller",
        "_drain_all",
        "_handler",
        "_is_called",
        "_is_paused",
        "_items",
        "_refill",
        "_served_by",
        "_waiting",
        "held",
    )

    def __init__(self, refill: Callable[[], object] | None = None, caller: Caller | None = None) -> None:
        self._items: deque[T] = deque()
        self._refill = refill
        self._caller = caller
        self._handler: Callable[[T], None] | None = None
        self._served_by: Callable[[T], None] | None = None
        self._drain_all: Drain = self._drain
        self._waiting: trio.lowlevel.Task | None = None
        self._is_called = False
        self._is_paused = False
        self.held = 0

    def put(self, item: T) -> None:
        """Append an item and wake the waiting task, if any."""
        self._items.append(item)
        if self._is_paused:
            self.held += 1
        elif self._waiting is not None and not self._is_called:
            self._wake(self._waiting)

    @property
    def is_paused(self) -> bool:
        """Return whether it accepts every item and hands out none."""
        return self._is_paused

    def pause(self) -> None:
        """Hand out no item until `resume`; items that come meanwhile are counted in `held`."""
        self._is_paused = True
        self.held = 0

    def resume(self) -> None:
        """Hand out items again, the oldest first."""
        self._is_paused = False
        if self._items and self._waiting is not None and not self._is_called:
            self._wake(self._waiting)

    def _wake(self, task: trio.lowlevel.Task) -> None:
        if self._handler is not None and self._caller is not None:
            # Until it has been drained: the same loop takes the items that its own handler puts in.
            self._is_called = True
            self._caller.call(self._drain_all)
        else:
            trio.lowlevel.reschedule(task)
            self._waiting = None

    async def receive(self) -> T:
        """Return the oldest item; wait for an item if there is none.

        Raises:
            InboxError: another task waits here already.
        """
        if not self._items and self._refill is not None:
            self._refill()
        # Not "if": a woken task may find the mailbox closed meanwhile, and then waits for its cancellation.
        while not self._items or self._is_paused:
            self._await_as(trio.lowlevel.current_task())
            await trio.lowlevel.wait_task_rescheduled(self._stop_waiting)
        return self._items.popleft()

    async def serve(self, handler: Callable[[T], None]) -> None:
        """Have `handler` called with each item, oldest first, until this task is cancelled; its errors are raised here.

        Raises:
            InboxError: another task waits here already.
        """
        if self._caller is None:
            while True:
                handler(await self.receive())
        # Earlier items: in this task, like everything that it does in its first turn.
        self._is_called = True
        try:
            self._give(handler)
        finally:
            self._is_called = False
        self._await_as(trio.lowlevel.current_task())
        self._handler = handler
        # Kept beside the other: whatever ends this task in a turn, the turn is completed.
        self._served_by = handler
        self._caller.note_served(is_served=True)
        await trio.lowlevel.wait_task_rescheduled(self._stop_waiting)

    def _drain(self) -> bool:
        """Call the handler with all items; returns False where it raised, and then the waiting task raises."""
        try:
            if self._items and self._served_by is not None:
                self._give(self._served_by)
        except BaseException as error:  # noqa: BLE001 - an interrupt too: it must end the task, as if that had run
            task = self._waiting
            self._stop_waiting()
            # None where the handler has cancelled it by its own action: the power went in the midst of a step.
            if task is not None:
                trio.lowlevel.reschedule(task, outcome.Error(error))
            return False
        finally:
            self._is_called = False
        return True

    # Trio calls its clock with interrupts held back; a handler may compute for long.
    @trio.lowlevel.disable_ki_protection
    def _give(self, handler: Callable[[T], None]) -> None:
        items = self._items
        while True:
            if not items and self._refill is not None:
                self._refill()
            if not items or self._is_paused:
                return
            handler(items.popleft())

    def close(self) -> None:
        """Hand out no more items, and request none; items that were not received can still be counted."""
        self._is_paused = True
        self._refill = None

    def __len__(self) -> int:
        return len(self._items)

    def _await_as(self, task: trio.lowlevel.Task) -> None:
        if self._waiting is not None:
            raise InboxError(f"{task.name} would wait where {self._waiting.name} waits")
        self._waiting = task

    def _stop_waiting(self, _raise_cancel: object = None) -> trio.lowlevel.Abort:
        if self._handler is not None and self._caller is not None:
            self._caller.note_served(is_served=False)
        self._waiting = self._handler = None
        return trio.lowlevel.Abort.SUCCEEDED
