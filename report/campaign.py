"""The progress of campaigns, and the tables of a sweep: its failures by signature, and its coverage."""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self, TypeAlias

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from report.layout import VisibleConsole
from report.visible import visible
from report.words import result_of

DRAW_SECONDS = 0.2
PLAIN_LINE_SECONDS = 2.0
GROUPS_SHOWN = 12
SEEDS_SHOWN = 4

Groups: TypeAlias = Mapping[str, Sequence[tuple[int, int]]]
"""Milliseconds and number of each seed, the fastest first, by signature."""


class CampaignProgress:
    """The progress of a campaign on standard error: a live picture on a terminal, lines on a pipe, nothing if quiet.

    `header` precedes the first line.
    """

    def __init__(self, *, header: str = "", is_quiet: bool = False) -> None:
        self._console = VisibleConsole(stderr=True)
        self._header = header
        self._is_quiet = is_quiet
        self._started = time.perf_counter()
        self._live = None if is_quiet or not self._console.is_terminal else self._make_live()

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def seconds(self) -> float:
        """Real seconds since the start."""
        return time.perf_counter() - self._started

    def say(self, line: str) -> None:
        """Print a line, below the header."""
        if not self._is_quiet:
            header, self._header = self._header, ""
            for each in [*header.splitlines(), line]:
                self._print(each)

    def draw(self, *parts: RenderableType) -> None:
        """Draw the live picture, on a terminal."""
        if self._live is not None:
            self._live.update(Group(*parts), refresh=True)

    def _print(self, line: str) -> None:
        self._console.print(visible(line), soft_wrap=True)

    def _make_live(self) -> Live:
        return Live(console=self._console, transient=True, auto_refresh=False)


class SweepCounts(NamedTuple):
    """The progress of a sweep: all seeds, finished seeds, seeds of an earlier sweep, and seeds by verdict."""

    total: int
    done: int
    resumed: int
    verdicts: Mapping[str, int]


SEED_SYMBOLS: Mapping[str, str] = {
    "passed": ".",
    "failed as expected": "x",
    "safety": "S",
    "liveness": "L",
    "inconclusive": "?",
    "determinism": "D",
    "environment": "E",
}
"""The symbol of a seed by its verdict, in a sweep's progress (docs/live.md)."""

SYMBOLS_SHOWN = 72
"""Greatest number of latest seeds in the picture of a sweep."""

BAR_CHARACTERS = 28


class SweepProgress(CampaignProgress):
    """Draws a sweep's progress; on a pipe, prints a line every two seconds and a line for each new failure.

    A line ends with a symbol for each seed since the last line, in the order of arrival.
    """

    def __init__(self, *, title: str, is_quiet: bool = False) -> None:
        header = f"{visible(title)}\n{'real s':>8}{'done':>10}{'of':>10}{'seeds/h':>10}  verdicts"
        super().__init__(header=header, is_quiet=is_quiet)
        self._title = title
        self._next_draw = 0.0
        self._known: list[str] = []
        self._symbols = ""

    def show(self, counts: SweepCounts, groups: Groups, verdict: str = "") -> None:
        """Add a seed's verdict, and draw if the next drawing is due."""
        self._symbols += SEED_SYMBOLS.get(verdict, "!" if verdict else "")
        if self._live is None:
            self._tell_new(groups)
        # The last seed has its line, however soon it comes.
        if self.seconds >= self._next_draw or counts.done == counts.total:
            self._next_draw = self.seconds + (PLAIN_LINE_SECONDS if self._live is None else DRAW_SECONDS)
            self._show_counts(counts, groups)

    def _tell_new(self, groups: Groups) -> None:
        for signature, seeds in groups.items():
            if signature not in self._known and not self._is_quiet:
                self._known.append(signature)
                self._print(f"{self._title}: seed {seeds[0][1]}: {signature}")

    def _show_counts(self, counts: SweepCounts, groups: Groups) -> None:
        rate = seeds_per_hour(counts.done - counts.resumed, self.seconds)
        verdicts = ", ".join(f"{count:,} {result_of(verdict)}" for verdict, count in counts.verdicts.items())
        if self._live is None:
            line = f"{self.seconds:8.1f}{counts.done:>10,}{counts.total:>10,}{rate:>10,}  {verdicts}  {self._symbols}"
            self.say(line.rstrip())
            self._symbols = ""
            return
        self._symbols = self._symbols[-SYMBOLS_SHOWN:]
        line = f"{self._title}  {counts.done:,} of {counts.total:,} seeds  {rate:,} seeds/h  {verdicts}"
        one_line = Text(line, no_wrap=True, overflow="ellipsis", style="bold")
        bar = Table.grid(padding=(0, 1))
        left = Text(self._time_left(counts), no_wrap=True, overflow="ellipsis")
        bar.add_row(ProgressBar(total=counts.total, completed=counts.done, width=BAR_CHARACTERS), left)
        self.draw(one_line, bar, Text(self._symbols), *([group_table(groups)] if groups else []))

    def _time_left(self, counts: SweepCounts) -> str:
        fresh = counts.done - counts.resumed
        share = f"{100 * counts.done // max(counts.total, 1):>3} %"
        if not fresh:
            return share
        left_s = self.seconds * (counts.total - counts.done) / fresh
        return f"{share}  about {left_s:.0f} s left, judging {counts.total - counts.done:,} more"


def seeds_per_hour(seeds: int, seconds: float) -> int:
    """Return the rate of a sweep until now."""
    return int(seeds * 3600 / seconds) if seconds > 0 else 0


def group_table(groups: Groups) -> Table:
    """Return the table of failures by signature, the most frequent first, with each signature's fastest seeds."""
    table = Table(title="failures by signature", title_justify="left")
    table.add_column("seeds", justify="right")
    table.add_column("signature", overflow="fold")
    table.add_column("example seeds", overflow="fold")
    ranked = sorted(groups.items(), key=lambda item: -len(item[1]))
    for signature, seeds in ranked[:GROUPS_SHOWN]:
        table.add_row(
            f"{len(seeds):,}", Text(visible(signature)), ", ".join(str(seed) for _, seed in seeds[:SEEDS_SHOWN])
        )
    if len(ranked) > GROUPS_SHOWN:
        table.add_row("", f"and {len(ranked) - GROUPS_SHOWN} more signatures", "")
    return table


class ShrinkProgress(CampaignProgress):
    """Prints each reduction that still fails; on a pipe, at most one line every two seconds."""

    def __init__(self, *, title: str, is_quiet: bool = False) -> None:
        super().__init__(is_quiet=is_quiet)
        self._title = title
        self._next_line = 0.0

    def show(self, what: str, runs: int) -> None:
        """Print the last reduction and the number of runs until now."""
        if self._console.is_terminal or self.seconds >= self._next_line:
            self._next_line = self.seconds + PLAIN_LINE_SECONDS
            self.say(f"{self._title}: run {runs}: {what}")
