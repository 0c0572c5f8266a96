"""What a person sees of a sweep: its rate and its failures by signature, while it goes on and when it is over."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from report.layout import natural_width

DRAW_SECONDS = 0.2
PLAIN_LINE_SECONDS = 2.0
GROUPS_SHOWN = 12
SEEDS_SHOWN = 4


class ResultView(Protocol):
    """One judged seed; see cluster.campaign.results_db.SeedResult."""

    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def milliseconds(self) -> int: ...  # noqa: D102
    @property
    def headline(self) -> str: ...  # noqa: D102
    @property
    def directory(self) -> str: ...  # noqa: D102


class TallyView(Protocol):
    """How far a sweep has come; see cluster.campaign.sweep.Tally."""

    total: int
    done: int
    resumed: int
    verdicts: dict[str, int]

    @property
    def groups(self) -> Mapping[str, Sequence[ResultView]]: ...  # noqa: D102


class SweepProgress:
    """Draws a sweep's progress; on a pipe, a line in columns every two seconds, and one for each new failure."""

    def __init__(self, *, title: str, is_quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._title = title
        self._is_quiet = is_quiet
        self._live: Live | None = None
        self._started = time.perf_counter()
        self._next_draw = self._started
        self._known: list[str] = []
        self._has_header = False

    def __enter__(self) -> Self:
        if not self._is_quiet and self._console.is_terminal:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def seconds(self) -> float:
        """Real seconds since the start."""
        return time.perf_counter() - self._started

    def show(self, tally: TallyView) -> None:
        """Draw, if it is time to."""
        now = time.perf_counter()
        if self._is_quiet:
            return
        if self._live is not None:
            if now >= self._next_draw:
                self._next_draw = now + DRAW_SECONDS
                parts = (
                    [Text(self._line(tally)), group_table(tally.groups)] if tally.groups else [Text(self._line(tally))]
                )
                self._live.update(Group(*parts), refresh=True)
            return
        for signature, results in tally.groups.items():
            if signature not in self._known:
                self._known.append(signature)
                self._console.print(f"{self._title}: seed {results[0].seed}: {signature}", soft_wrap=True, markup=False)
        if now >= self._next_draw:
            self._next_draw = now + PLAIN_LINE_SECONDS
            self._say(tally)

    def _say(self, tally: TallyView) -> None:
        """Print a line of the column log."""
        if not self._has_header:
            self._has_header = True
            header = f"{self._title}\n{'real s':>8}{'seeds':>10}{'of':>10}{'seeds/h':>10}  verdicts"
            self._console.print(header, soft_wrap=True, markup=False)
        figures = f"{self.seconds:8.1f}{tally.done:>10,}{tally.total:>10,}{self._rate(tally):>10,}"
        self._console.print(f"{figures}  {_verdicts(tally)}", soft_wrap=True, markup=False)

    def _line(self, tally: TallyView) -> str:
        seeds = f"{tally.done:,} of {tally.total:,} seeds"
        return f"{self._title}  {seeds}  {self._rate(tally):,} seeds/h  {_verdicts(tally)}"

    def _rate(self, tally: TallyView) -> int:
        return seeds_per_hour(tally.done - tally.resumed, self.seconds)


def _verdicts(tally: TallyView) -> str:
    return ", ".join(f"{count:,} {verdict}" for verdict, count in tally.verdicts.items())


def seeds_per_hour(seeds: int, seconds: float) -> int:
    """Return the rate of a sweep so far."""
    return int(seeds * 3600 / seconds) if seconds > 0 else 0


def group_table(groups: Mapping[str, Sequence[ResultView]]) -> Table:
    """Return the table of what went wrong, the most frequent signature first; the quickest seeds stand for each."""
    table = Table(title="what went wrong", title_justify="left")
    table.add_column("seeds", justify="right")
    table.add_column("signature", overflow="fold")
    table.add_column("such as seed", overflow="fold")
    ranked = sorted(groups.items(), key=lambda item: -len(item[1]))
    for signature, results in ranked[:GROUPS_SHOWN]:
        quickest = sorted(results, key=lambda result: (result.milliseconds, result.seed))[:SEEDS_SHOWN]
        table.add_row(f"{len(results):,}", Text(signature), ", ".join(str(result.seed) for result in quickest))
    if len(ranked) > GROUPS_SHOWN:
        table.add_row("", f"and {len(ranked) - GROUPS_SHOWN} more signatures", "")
    return table


def coverage_table(
    runs: Mapping[tuple[str, str, str], int],
    empty: Collection[tuple[str, str, str]],
    phases: Iterable[str],
    roles: Sequence[str],
    *,
    width: int,
) -> Table:
    """Return in how many runs each kind of fault hit each role in each phase; a promised cell that is empty stands out.

    ``runs`` and ``empty`` are by kind, phase and role; a phase that nothing reached or promised has no column. Where
    the columns of all phases need more than ``width``, each row names its phases instead.
    """
    places = [*runs, *empty]
    shown = [phase for phase in phases if any(place[1] == phase for place in places)]
    rows = {
        (kind, role): [_cell(runs.get(place), is_empty=place in empty) for place in ((kind, it, role) for it in shown)]
        for kind in sorted(dict.fromkeys(place[0] for place in places))
        for role in roles
        if any(place[0] == kind and place[2] == role for place in places)
    }
    columns = {"fault": [kind for kind, _ in rows], "role": [role for _, role in rows]}
    columns |= {phase.replace("-", " "): [cells[at].plain for cells in rows.values()] for at, phase in enumerate(shown)}
    is_wide = natural_width(columns) <= width
    table = Table(title="runs in which a fault hit a validator, by its phase and role", title_justify="left")
    table.add_column("fault", no_wrap=True)
    table.add_column("role", no_wrap=True)
    for phase in shown if is_wide else ():
        table.add_column(phase.replace("-", " "), justify="right")
    if not is_wide:
        table.add_column("runs by phase", overflow="fold")
    for (kind, role), cells in rows.items():
        table.add_row(kind, role, *(cells if is_wide else [_named_cells(shown, cells)]))
    return table


def _cell(runs: int | None, *, is_empty: bool) -> Text:
    return Text("none!", style="bold red") if is_empty else Text("" if runs is None else f"{runs:,}")


def _named_cells(phases: Sequence[str], cells: Sequence[Text]) -> Text:
    """Return a row's cells in words, without those that are blank."""
    named = [Text.assemble(f"{phase} ", cell) for phase, cell in zip(phases, cells, strict=True) if cell.plain]
    return Text(", ").join(named)


class ShrinkProgress:
    """Says each reduction that holds; on a pipe, at most one line every two seconds."""

    def __init__(self, *, title: str, is_quiet: bool = False) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._title = title
        self._is_quiet = is_quiet
        self._next_line = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        pass

    def show(self, what: str, runs: int) -> None:
        """Say what was reduced last, and how many runs it took so far."""
        now = time.perf_counter()
        if not self._is_quiet and (self._console.is_terminal or now >= self._next_line):
            self._next_line = now + PLAIN_LINE_SECONDS
            self._console.print(f"{self._title}: run {runs}: {what}", soft_wrap=True, markup=False)
