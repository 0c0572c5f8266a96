"""The life of a worker process: it ends as soon as nobody waits for it, and leaves nothing half-written.

A worker takes no interrupts of its own, which a terminal sends to all processes at once. It ends when the other end of
its lifeline closes, because the command is over or was interrupted, or when the process that started it is gone. What
it is at work on is broken off by an exception, so that every directory that it writes is removed.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import Final, TypeVar

GRACE_SECONDS: Final = 0.5
"""Real seconds in which a worker has to have broken off its work."""

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")

_under_way: list[object] = []
"""The task that this process is at work on."""


def start_worker(lifeline: Connection) -> None:
    """Make this process a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _break_off)
    parent = parent_process()
    assert parent is not None, "a worker has a parent"
    waiting = [parent.sentinel, lifeline]
    threading.Thread(target=_end_with, args=(waiting,), daemon=True).start()


def work(judge_one: Callable[[_Task], _Result], task: _Task) -> _Result:
    """Judge one task in this worker."""
    _under_way.append(task)
    try:
        return judge_one(task)
    finally:
        _under_way.clear()
        if _is_ending.is_set():
            os._exit(1)


_is_ending = threading.Event()


def _end_with(waiting: list[Connection | int]) -> None:
    wait(waiting)
    _is_ending.set()
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
    # Whatever holds the main thread up: the process is gone by then.
    threading.Event().wait(GRACE_SECONDS)
    os._exit(1)


def _break_off(_signal: int, _frame: object) -> None:
    if not _under_way:
        os._exit(1)
    raise KeyboardInterrupt


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold interrupts back, for this process and those that it starts meanwhile, which never take any."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
