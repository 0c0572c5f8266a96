"""The output in a terminal: progress while a run goes on, then the verdict.

Progress goes to standard error and results to standard output, so that output can be piped. The wall
clock is read here and only here, to decide when to draw; nothing of it reaches a run.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from report.layout import fitting_columns, output_console

DRAW_SECONDS = 0.2
PLAIN_LINE_SECONDS = 2.0

ROOT_DIGITS_SHOWN: Final = 10
"""Hexadecimal digits of a state root in the table: as wide as the column's header."""

_STATUS_STYLE = {"passed": "green", "failed": "bold red", "inconclusive": "yellow"}


class ProgressView(Protocol):
    """The live figures of a run; see cluster.runtime.cluster.Progress."""

    finalized_heights: list[int]
    now_us: int
    waiting_dead: int
    waiting_live: int

    @property
    def stage(self) -> str: ...  # noqa: D102
    @property
    def aim(self) -> str: ...  # noqa: D102


class LiveProgress:
    """Draws a run's progress at most a few times a second; on a pipe, a plain line for each change that lasts.

    Lines of a pipe have fixed columns and are never wrapped. A new stage of the run is always said, once the run has
    taken two seconds; figures that moved are said every two seconds.
    """

    def __init__(self, *, title: str, is_quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._title = title
        self._is_quiet = is_quiet
        self._live: Live | None = None
        self._started = time.perf_counter()
        self._next_draw = self._started + PLAIN_LINE_SECONDS
        self._has_header = False
        self._said: tuple[str, ...] = ()
        self._stage = ""
        self._spent: dict[str, float] = {}

    def __enter__(self) -> Self:
        if not self._is_quiet and self._console.is_terminal:
            self._next_draw = self._started
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, progress: ProgressView) -> None:
        """Draw, if it is time to."""
        if self._is_quiet:
            return
        now = time.perf_counter()
        is_new_stage = progress.stage != self._stage and now - self._started >= PLAIN_LINE_SECONDS
        if now < self._next_draw and not is_new_stage:
            return
        lowest, highest = min(progress.finalized_heights), max(progress.finalized_heights)
        waiting, virtual_seconds = progress.waiting_dead + progress.waiting_live, f"{progress.now_us / 1e6:.1f}"
        if self._live is not None:
            self._next_draw = now + DRAW_SECONDS
            heights = str(lowest) if lowest == highest else f"{lowest}..{highest}"
            figures = f"{virtual_seconds} s virtual  {now - self._started:.0f} s real  height {heights}"
            self._draw(f"{self._title}  {figures}  {waiting:,} timers wait  {progress.aim}")
            return
        self._next_draw = now + PLAIN_LINE_SECONDS
        self._stage = progress.stage
        self._say((virtual_seconds, f"{lowest:,}", f"{highest:,}", f"{waiting:,}"), progress.aim, now)

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
        now = time.perf_counter()
        if self._live is not None:
            self._draw(f"{self._title}: {message}")
        elif not self._is_quiet and now - self._started > PLAIN_LINE_SECONDS:
            self._say(("", "", "", ""), message, now)

    def _draw(self, line: str) -> None:
        assert self._live is not None, "lines are drawn on a terminal"
        self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)

    def _say(self, figures: tuple[str, ...], what: str, now: float) -> None:
        """Print a line of the column log, unless it says what the last one said."""
        if (*figures, what) == self._said:
            return
        if not self._has_header:
            self._has_header = True
            self._print(f"{self._title}\n{'real s':>8}{'virtual s':>11}{'lowest':>9}{'highest':>9}{'waiting':>11}  now")
        self._said = (*figures, what)
        virtual_seconds, lowest, highest, waiting = figures
        columns = f"{now - self._started:8.1f}{virtual_seconds:>11}{lowest:>9}{highest:>9}{waiting:>11}"
        self._print(f"{columns}  {what}")

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, markup=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidatorRow:
    """The verdict's row of one validator at the end of a run; `state_root` in hexadecimal."""

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
    status: str = "voter"
    """`voter`; `observer`, without a vote; `stopped`, with the reason in the note; or `byzantine`."""


_DROPPED_FIRST: Final = ("undone", "rolled back", "executed", "height", "note")
"""Columns of the validators' table that a narrow terminal does without; notes then stand below it."""


def validator_table(rows: Sequence[ValidatorRow], width: int) -> Table:
    """Return the table of validators, with as many columns as `width` has room for."""
    columns = _validator_columns(rows)
    shown = fitting_columns(columns, width, _DROPPED_FIRST)
    table = Table(title="validators", title_justify="left", caption_justify="left")
    for header in shown:
        table.add_column(header, justify="left" if header == "note" else "right")
    for place in range(len(rows)):
        table.add_row(*(Text(columns[header][place]) for header in shown))
    if "note" in columns and "note" not in shown:
        table.caption = Text("\n".join(f"{row.node}: {row.note}" for row in rows if row.note))
    return table


def _validator_columns(rows: Sequence[ValidatorRow]) -> dict[str, list[str]]:
    """Return the cells of the validators' table by header; `note` only where there is one."""
    columns = {
        "validator": [str(row.node) for row in rows],
        "height": [str(row.height) for row in rows],
        "finalized": [str(row.finalized_height) for row in rows],
        "state root": [row.state_root[:ROOT_DIGITS_SHOWN] for row in rows],
    }
    for name in ("executed", "rolled_back", "undone", "fired", "expired", "insolvent", "waiting"):
        columns[name.replace("_", " ")] = [f"{getattr(row, name):,}" for row in rows]
    if any(row.note for row in rows):
        columns["note"] = [row.note for row in rows]
    return columns


class CheckRow(NamedTuple):
    """One check in the verdict's table: its result in a word, and what it saw in a sentence."""

    name: str
    status: str
    summary: str


def check_table(checks: Sequence[CheckRow]) -> Table:
    """Return the table of checks; what was seen is folded into the width there is."""
    table = Table(title="checks", title_justify="left")
    table.add_column("check", no_wrap=True)
    table.add_column("result", no_wrap=True)
    table.add_column("what was seen", overflow="fold")
    for check in checks:
        style = _STATUS_STYLE.get(check.status, "")
        table.add_row(check.name, Text(check.status, style=style), Text(check.summary))
    return table


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables to standard output."""
    console = output_console()
    for table in tables:
        console.print(table)
