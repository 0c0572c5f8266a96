"""What a person sees in a terminal: progress while a run goes on, then the verdict.

Progress goes to standard error and results to standard output, so that output can be piped. The wall
clock is read here and only here, to decide when to draw; nothing of it reaches a run.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from checker.results import CheckResult

DRAW_SECONDS = 0.2
PLAIN_LINE_SECONDS = 2.0

_STATUS_STYLE = {"passed": "green", "failed": "bold red", "inconclusive": "yellow"}


class ProgressView(Protocol):
    """The live figures of a run; see cluster.run.Progress."""

    finalized_heights: list[int]
    now_us: int
    target_height: int
    waiting_dead: int
    waiting_live: int
    events: int
    phase: str


class LiveProgress:
    """Draws a run's progress at most a few times a second; on a pipe, a plain line every two seconds."""

    def __init__(self, *, title: str, is_quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._title = title
        self._is_quiet = is_quiet
        self._live: Live | None = None
        self._started = time.perf_counter()
        self._next_draw = self._started
        self._spent: dict[str, float] = {}

    def __enter__(self) -> Self:
        if not self._is_quiet and self._console.is_terminal:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, progress: ProgressView) -> None:
        """Draw, if it is time to."""
        now = time.perf_counter()
        if self._is_quiet or now < self._next_draw:
            return
        line = self._line(progress, now)
        if self._live is not None:
            self._next_draw = now + DRAW_SECONDS
            self._live.update(Text(line), refresh=True)
        else:
            self._next_draw = now + PLAIN_LINE_SECONDS
            self._console.print(line)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Note how long a part of the judging takes; nothing of it gets into what is written."""
        started = time.perf_counter()
        yield
        self._spent[part] = time.perf_counter() - started

    @property
    def times(self) -> str:
        """Real time so far, and what each timed part took of it."""
        parts = [f", {part} {seconds:.1f} s of it" for part, seconds in self._spent.items()]
        return f"took {time.perf_counter() - self._started:.1f} s{''.join(parts)}"

    def note(self, message: str) -> None:
        """Say what goes on besides the run itself."""
        if self._live is not None:
            self._live.update(Text(f"{self._title}: {message}"), refresh=True)
        elif not self._is_quiet and time.perf_counter() - self._started > PLAIN_LINE_SECONDS:
            self._console.print(f"{self._title}: {message}")

    def _line(self, progress: ProgressView, now: float) -> str:
        heights = " ".join(str(height) for height in progress.finalized_heights)
        waiting = progress.waiting_dead + progress.waiting_live
        return (
            f"{self._title}  virtual {progress.now_us / 1e6:7.1f} s  real {now - self._started:5.1f} s  "
            f"finalized [{heights}] of {progress.target_height}  timers waiting {waiting}  {progress.phase}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorRow:
    """What the verdict says of one validator at the end of a run; ``state_root`` in hexadecimal."""

    node: int
    height: int
    finalized_height: int
    state_root: str
    executed: int
    rolled_back: int
    undone: int
    fired: int
    expired: int
    insolvent: int
    waiting: int
    note: str
    standing: str = "voter"
    """``voter``; ``observer``, without a vote; ``stopped``, with the reason in the note; or ``dishonest``."""


def validator_table(rows: Sequence[ValidatorRow]) -> Table:
    """Return the table of validators."""
    table = Table(title="validators", title_justify="left")
    for column in ("validator", "height", "finalized", "state root", "executed", "rolled back", "undone"):
        table.add_column(column, justify="right")
    for column in ("fired", "expired", "insolvent", "waiting"):
        table.add_column(column, justify="right")
    has_notes = any(row.note for row in rows)
    if has_notes:
        table.add_column("note")
    for row in rows:
        figures = (row.executed, row.rolled_back, row.undone, row.fired, row.expired, row.insolvent, row.waiting)
        cells = [str(row.node), str(row.height), str(row.finalized_height), row.state_root[:12]]
        cells += [f"{figure:,}" for figure in figures] + ([row.note] if has_notes else [])
        table.add_row(*cells)
    return table


def check_table(checks: Sequence[CheckResult]) -> Table:
    """Return the table of checks."""
    table = Table(title="checks", title_justify="left")
    table.add_column("check")
    table.add_column("result")
    table.add_column("what was seen", overflow="fold")
    for check in checks:
        style = _STATUS_STYLE.get(check.status, "")
        table.add_row(check.name, Text(check.status, style=style), Text(check.summary))
    return table


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables to standard output, at full width where it is not a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    for table in tables:
        console.print(table)
