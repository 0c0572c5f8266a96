"""What a person sees of the campaign against the planted variants: its progress, the matrix, the page in docs/."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from report.layout import fitting_columns


class SizeView(Protocol):
    """The size of a shrunk scenario; see cluster.campaign.mutants.Size."""

    @property
    def faults(self) -> int: ...  # noqa: D102
    @property
    def validators(self) -> int: ...  # noqa: D102
    @property
    def workloads(self) -> int: ...  # noqa: D102


class TeethRow(NamedTuple):
    """One variant in the matrix."""

    name: str
    what: str
    area: str
    cause: str
    held_by: str
    is_caught: bool
    check: str
    seeds: int
    seconds: float
    size: SizeView | None
    is_small: bool
    explained: str | None = None

    def cells(self) -> tuple[str, ...]:
        """Return the row as text."""
        size = self.size
        shrunk = "" if size is None else f"{size.faults} / {size.validators} / {size.workloads}"
        caught = self.check if self.is_caught else f"**no** {self.check}".strip()
        explained = {None: "", "": "yes"}.get(self.explained, f"**no**: {self.explained}")
        counts = (str(self.seeds), f"{self.seconds:.1f}")
        return (self.name, self.area, self.cause, self.held_by, caught, *counts, shrunk, explained)


COLUMNS = ("variant", "area", "cause", "held by", "caught by", "seeds", "seconds", "shrunk", "explained")

_DROPPED_FIRST: Final = ("explained", "shrunk", "held by", "cause", "area", "seconds")
"""Columns that a narrow terminal does without; the page of docs/ has all of them."""


class TeethProgress:
    """Says what came of each variant, in fixed columns under one header; a terminal shows the last seed as well.

    `names` are the variants: the column is as wide as the longest.
    """

    def __init__(self, names: Iterable[str], *, is_quiet: bool) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._is_quiet = is_quiet
        self._width = max(map(len, (*names, "variant")))
        self._live: Live | None = None
        self._started = time.perf_counter()
        self._has_header = False

    def __enter__(self) -> Self:
        if not self._is_quiet and self._console.is_terminal:
            self._live = Live(console=self._console, transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(self, *failure: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, name: str, seeds: int, what: str) -> None:
        """Print a line: a variant, how many seeds it took, and what came of it."""
        if not self._is_quiet:
            if not self._has_header:
                self._has_header = True
                self._print(f"{'real s':>8}{'seeds':>7}  {'variant':<{self._width}}  what came of it")
            self._print(f"{time.perf_counter() - self._started:8.1f}{seeds:>7,}  {name:<{self._width}}  {what}")

    def show(self, line: str) -> None:
        """Draw what was done last, on a terminal."""
        if self._live is not None:
            self._live.update(Text(line, no_wrap=True, overflow="ellipsis"), refresh=True)

    def _print(self, line: str) -> None:
        self._console.print(line, soft_wrap=True, markup=False)


def teeth_table(rows: Sequence[TeethRow], width: int) -> Table:
    """Return the matrix for a terminal, with as many columns as `width` has room for."""
    cells = [row.cells() for row in rows]
    columns = {header: [row[place] for row in cells] for place, header in enumerate(COLUMNS)}
    shown = fitting_columns(columns, width, _DROPPED_FIRST)
    table = Table(title="planted variants", title_justify="left")
    for header in shown:
        table.add_column(header, justify="right" if header in {"seeds", "seconds"} else "left", overflow="fold")
    for place in range(len(rows)):
        table.add_row(*(columns[header][place] for header in shown))
    return table


def teeth_totals(rows: Sequence[TeethRow]) -> Iterator[str]:
    """Yield what the matrix comes to."""
    caught = [row for row in rows if row.is_caught]
    percent = 100 * len(caught) / max(len(rows), 1)
    yield f"{len(caught)} of {len(rows)} variants caught ({percent:.0f} %), each by a check that names what is wrong"
    if caught:
        seeds = sorted(row.seeds for row in caught)
        yield f"seeds it took: {seeds[len(seeds) // 2]} in the median, {seeds[-1]} at most"
    shrunk = [row for row in caught if row.size is not None]
    if shrunk:
        small = sum(row.is_small for row in shrunk)
        yield f"{small} of {len(shrunk)} shrunk scenarios have at most 3 faults and 4 validators"
    told = [row for row in caught if row.explained is not None]
    if told:
        named = sum(row.explained == "" for row in told)
        yield f"{named} of {len(told)} caught variants that change the state are explained in full"


CLEAN_HEADING: Final = "## The swarm without a planted bug"
"""Begins the section of the page that is written by hand: the record of campaigns that must stay silent."""


def teeth_page(rows: Sequence[TeethRow], seeds: int, before: str = "") -> str:
    """Return the page of docs/: what the campaign is, what came of it, the matrix, what each variant does.

    `before` is the page that stood there; its section from CLEAN_HEADING on is kept.
    """
    totals = "\n".join(f"- {line}" for line in teeth_totals(rows))
    head = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
    matrix = "".join(f"| {' | '.join((f'`{row.name}`', *row.cells()[1:]))} |\n" for row in rows)
    catalogue = "".join(f"| `{row.name}` | {row.what} |\n" for row in rows)
    _, heading, record = before.partition(f"\n{CLEAN_HEADING}\n")
    page = _PAGE.format(seeds=seeds, totals=totals, matrix=head + matrix, catalogue=catalogue)
    return page + heading + record


_PAGE = """# Teeth

This page is written by `run_cluster.py teeth --shrink --explain --out docs/teeth.md`; a change by hand is lost,
but for the last section.

`checker/planted/` keeps a catalogue of known-bad variants of a validator. The campaign plants each of them alone in
swarm seeds 0, 1, 2 ... (`run_cluster.py sweep --swarm`), at most {seeds}, until a check finds it. A variant is caught
only if a check failed that the variant itself names: one whose failure says what is wrong.

{totals}

*Held by*: one validator (another one in each seed), or all, because one alone would only be outvoted and all together
would agree on something wrong. *Cause*: what makes states differ, in one word; without one the state is not what goes
wrong. *Seeds* and *seconds*: until it was caught, one seed after the other. *Shrunk*: faults, validators and workloads
of the smallest scenario found that goes wrong in the same way. *Explained*: whether `run_cluster.py explain`, asked
about the first run that caught the variant, names the cause, a height no later than the run itself shows, the holders
and nobody else on the wrong side, the write and the keys, both values, and the timer where one is concerned. Which
words have to stand there is said by each variant (`shows` in `checker/planted/`); the height is held against the roots
in the run's events and the oracle's check.

{matrix}
## What each does

| variant | |
|---|---|
{catalogue}"""
