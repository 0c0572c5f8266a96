"""Trio's tasks as the kernel ends and names them, their handles, and errors in them."""

from collections.abc import Awaitable, Callable
from typing import Protocol

import outcome
import trio

from network.interrupts import read_record_types
from network.outcome import StuckTaskError


class Revocable(Protocol):
    """A handle that can be made inert."""

    def revoke(self) -> None:
        """Make every further call on the handle do nothing."""


def blocked_tasks(main_task: trio.lowlevel.Task | None) -> list[trio.lowlevel.Task]:
    """Return the waiting tasks, except tasks that only wait for their children: they do not show what is missing."""
    blocked: list[trio.lowlevel.Task] = []
    waiting = [] if main_task is None else [main_task]
    while waiting:
        task = waiting.pop()
        children = [child for nursery in task.child_nurseries for child in nursery.child_tasks]
        waiting += children
        if not children:
            blocked.append(task)
    return blocked


def describe_tasks(main_task: trio.lowlevel.Task | None) -> str:
    """Return how many tasks wait, and their names."""
    # Sorted: trio keeps tasks in sets, and this text is part of the outcome.
    names = sorted(task.name for task in blocked_tasks(main_task))
    return f"{len(names)} tasks left ({', '.join(names)})"


def first_cause(error: BaseException) -> BaseException:
    """Return the first error of a group, or the error itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def end_tasks(main_task: trio.lowlevel.Task | None) -> None:
    """Wake every task that waits, with an error: nothing else ever will."""
    for task in blocked_tasks(main_task):
        trio.lowlevel.reschedule(task, outcome.Error(StuckTaskError(f"{task.name} waits behind a shield")))


def run_trio(
    root: Callable[[], Awaitable[None]], clock: trio.abc.Clock, instrument: trio.abc.Instrument
) -> BaseException | None:
    """Run a root task; return its error, raise KeyboardInterrupt."""
    read_record_types()
    try:
        trio.run(root, clock=clock, instruments=[instrument])
    except BaseExceptionGroup as group:
        if group.subgroup(KeyboardInterrupt) is not None:
            raise KeyboardInterrupt from group
        return group
    except Exception as error:  # noqa: BLE001  # the kernel raises it again with its place in virtual time
        return error
    return None
