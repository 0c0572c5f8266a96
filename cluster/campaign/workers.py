"""Worker processes: they share nothing, end with the campaign, and leave no half-written directory.

Each worker is a process with its own replay process; only tasks and results pass between it and the campaign. A worker
ignores interrupts, because a terminal sends them to all processes at once, also when it closes. A worker ends when its
parent ends, or when the other end of its lifeline closes because the command ended or was interrupted. An exception
breaks off its task, so that the task removes every directory that it writes.
"""

import multiprocessing
import multiprocessing.util
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor
from concurrent.futures import wait as wait_for_futures
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Final, Self

from checker.record.fingerprint import this_code
from checker.record.program import CHILD_FLAGS
from cluster.campaign.results_db import SeedResult
from cluster.campaign.tasks import Task, broken_result, run_task
from network.interrupts import interrupts_held
from report.visible import guard_standard_error

TASKS_PER_JOB: Final = 2
"""The number of tasks that wait for each worker; small, so that a campaign ends soon when told to."""

GRACE_SECONDS: Final = 0.5
"""Real seconds after which a worker that has not broken off its work is ended."""

_CONTEXT: Final = multiprocessing.get_context("spawn")
"""Workers are spawned: a forked worker would inherit the state of its parent."""

_UTIL: Final[Any] = multiprocessing.util
_parents_flags: Final[Callable[[], list[str]]] = _UTIL._args_from_interpreter_flags  # noqa: SLF001 - see below


def _childrens_flags() -> list[str]:
    """Return the flags of the interpreter in the processes that `multiprocessing` starts."""
    return [*_parents_flags(), *CHILD_FLAGS]


# It has no other way to name flags. PYTHONSAFEPATH is not seen by an interpreter that ignores its environment (-E).
_UTIL._args_from_interpreter_flags = _childrens_flags  # noqa: SLF001 - its private name, in each Python that is supported


class Workers:
    """Processes that run tasks; a context manager.

    A process that is killed (a run that computes for ever, a machine without memory) ends the whole pool. The tasks
    under way are then run again, each alone. A task that ends its process again gets a failed result.

    Args:
        jobs: The number of processes.
        run_one: Runs a task in a process.
    """

    def __init__(self, jobs: int, run_one: Callable[[Task], SeedResult] = run_task) -> None:
        self._jobs = jobs
        self._run_one = run_one
        self._pending: dict[Future[SeedResult], Task] = {}
        self.under_way: list[Task] = []
        """The tasks that the processes were at work on when an error ended the campaign."""
        # Workers hold the other end, and end when this end closes.
        self._other_end, self._lifeline = _CONTEXT.Pipe(duplex=False)
        self._pool = self._make_pool(jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            # Processes take tasks in their order.
            waiting = [task for future, task in self._pending.items() if not future.done()]
            self.under_way = waiting[: self._jobs]
            # No result of a task under way is wanted any more.
            self._lifeline.close()
        self._pool.shutdown(cancel_futures=True)
        self._lifeline.close()
        self._other_end.close()

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, SeedResult]]:
        """Run tasks and yield each with its result, in the order in which they are done."""
        queue = iter(tasks)
        # Tasks that a campaign gave up do not belong to the next campaign.
        pending = self._pending = {}
        while True:
            for task in islice(queue, self._jobs * TASKS_PER_JOB - len(pending)):
                pending[self._submit(task)] = task
            if not pending:
                return
            finished, _ = wait_for_futures(pending, return_when=FIRST_COMPLETED)
            try:
                for future in finished:
                    result = future.result()
                    yield pending.pop(future), result
            except BrokenProcessPool:
                suspects = list(pending.values())
                pending.clear()
                self._pool = self._make_pool(self._jobs)
                for task in suspects:
                    yield task, self._run_alone(task)

    def _run_alone(self, task: Task) -> SeedResult:
        before, self._pool = self._pool, self._make_pool(1)
        try:
            result = self._submit(task).result()
        except BrokenProcessPool:
            result = broken_result(task, "its process ended: a task computes for ever, or no memory is left")
        self._pool.shutdown()
        self._pool = before
        return result

    def _submit(self, task: Task) -> Future[SeedResult]:
        with interrupts_held(signal.SIGINT, signal.SIGHUP):
            return self._pool.submit(_work, self._run_one, task)

    def _make_pool(self, jobs: int) -> ProcessPoolExecutor:
        # It starts a process of its own, which has to outlive the workers.
        with interrupts_held(signal.SIGHUP):
            return ProcessPoolExecutor(
                jobs, mp_context=_CONTEXT, initializer=_start_worker, initargs=(self._other_end,)
            )


_under_way: list[object] = []
"""The task that this process is at work on."""


def _start_worker(lifeline: Connection) -> None:
    """Make this process a worker; it reads the fingerprint of the code before the code can change."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _break_off)
    guard_standard_error()
    parent = parent_process()
    assert parent is not None, "a worker has a parent"
    waiting = [parent.sentinel, lifeline]
    threading.Thread(target=_end_with, args=(waiting,), daemon=True).start()
    this_code()


def _work(run_one: Callable[[Task], SeedResult], task: Task) -> SeedResult:
    """Run a task in this worker."""
    _under_way.append(task)
    try:
        return run_one(task)
    finally:
        _under_way.clear()
        if _is_ending.is_set():
            os._exit(1)


_is_ending = threading.Event()


def _end_with(waiting: list[Connection | int]) -> None:
    wait(waiting)
    _is_ending.set()
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
    # If the main thread is blocked, the process is ended after this time.
    threading.Event().wait(GRACE_SECONDS)
    os._exit(1)


def _break_off(_signal: int, _frame: object) -> None:
    if not _under_way:
        os._exit(1)
    raise KeyboardInterrupt
