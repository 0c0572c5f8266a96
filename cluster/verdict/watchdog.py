"""The watchdog, which ends a process whose run makes no steps.

The kernel detects a run that waits for ever and a run that takes too many steps. It cannot detect a task that computes
for ever, because trio never reads the time again. A separate thread can: every few real seconds it checks whether the
count of steps has grown.
"""

import os
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from checker.record.program import program_name
from cluster.scenario.model import Scenario
from network.interrupts import INTERRUPTS, interrupts_held

STUCK_SECONDS: Final = 120
"""Real seconds without a step after which a run is given up; the slowest block takes a few."""

EXIT_ENVIRONMENT: Final = 6


def patience_seconds(scenario: Scenario) -> float:
    """Return the real seconds without a step after which a run is given up: an answer may take as long as it may."""
    asked = scenario.application
    return STUCK_SECONDS + (0 if asked is None else asked.call_timeout_ms / 1_000)


def end_process(message: str) -> None:
    """Say why and leave at once: the thread that is stuck cannot be interrupted from here."""
    sys.stderr.write(f"{program_name()}: {message}\n")
    sys.stderr.flush()
    os._exit(EXIT_ENVIRONMENT)


class Watchdog:
    """Calls ``give_up`` with a message when ``count`` has not grown for ``seconds``; a context manager."""

    def __init__(
        self,
        count: Callable[[], int],
        what: str,
        *,
        seconds: float = STUCK_SECONDS,
        give_up: Callable[[str], None] = end_process,
    ) -> None:
        self._count = count
        self._what = what
        self._seconds = seconds
        self._give_up = give_up
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def __enter__(self) -> Self:
        # An interrupt in the midst of the locks that a start takes comes out as an error of theirs.
        with interrupts_held(*INTERRUPTS):
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        self._thread.join()

    def _watch(self) -> None:
        before = self._count()
        while not self._is_over.wait(self._seconds):
            now = self._count()
            if now == before:
                self._give_up(
                    f"{self._what} has not moved for {self._seconds:g} s of real time: a task computes for ever"
                )
                return
            before = now
