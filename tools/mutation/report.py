"""The report of mutation testing: the progress of its searches, the matrix, and a page of both."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from rich.table import Table
from rich.text import Text

from report.campaign import CampaignProgress
from report.layout import fitting_columns


class MutantRow(NamedTuple):
    """One mutant in the matrix; `size` are faults, validators and workloads of its shrunk scenario."""

    name: str
    description: str
    area: str
    cause: str
    held_by: str
    is_killed: bool
    check: str
    seeds: int
    seconds: float
    size: tuple[int, int, int] | None
    is_small: bool
    explained: str | None = None

    def cells(self) -> tuple[str, ...]:
        """Return the row as text."""
        shrunk = " / ".join(map(str, self.size or ()))
        killed = self.check if self.is_killed else f"**no** {self.check}".strip()
        explained = {None: "", "": "yes"}.get(self.explained, f"**no**: {self.explained}")[:CELL_CHARACTERS_MAX]
        counts = (str(self.seeds), f"{self.seconds:.1f}")
        return (self.name, self.area, self.cause, self.held_by, killed, *counts, shrunk, explained)


COLUMNS = ("mutant", "area", "cause", "held by", "killed by", "seeds", "seconds", "shrunk", "explained")

CELL_CHARACTERS_MAX: Final = 110
"""The longest cell of the matrix; the JSON object has the whole text."""

_DROPPED_FIRST: Final = ("explained", "shrunk", "held by", "cause", "area", "seconds")
"""Columns that a narrow terminal does without; the page of docs/ has all of them."""


class MutantsProgress(CampaignProgress):
    """Says the result of each mutant, in fixed columns under one header; a terminal shows the last seed as well.

    `names` are the mutants: the column is as wide as the longest.
    """

    def __init__(self, names: Iterable[str], *, is_quiet: bool) -> None:
        self._width = max(map(len, (*names, "mutant")))
        super().__init__(header=f"{'real s':>8}{'seeds':>7}  {'mutant':<{self._width}}  result", is_quiet=is_quiet)

    def tell(self, name: str, seeds: int, result: str) -> None:
        """Print a line: a mutant, the number of its seeds, and its result."""
        self.say(f"{self.seconds:8.1f}{seeds:>7,}  {name:<{self._width}}  {result}")

    def show(self, line: str) -> None:
        """Draw the last seed, on a terminal."""
        self.draw(Text(line, no_wrap=True, overflow="ellipsis"))


def mutants_table(rows: Sequence[MutantRow], width: int) -> Table:
    """Return the matrix for a terminal, with as many columns as `width` has room for."""
    cells = [row.cells() for row in rows]
    columns = {header: [row[place] for row in cells] for place, header in enumerate(COLUMNS)}
    shown = fitting_columns(columns, width, _DROPPED_FIRST)
    table = Table(title="mutants", title_justify="left")
    for header in shown:
        table.add_column(header, justify="right" if header in {"seeds", "seconds"} else "left", overflow="fold")
    for place in range(len(rows)):
        table.add_row(*(columns[header][place] for header in shown))
    return table


def mutants_totals(rows: Sequence[MutantRow]) -> Iterator[str]:
    """Yield the totals of the matrix, in lines."""
    killed = [row for row in rows if row.is_killed]
    # Rounded down: one that survives must not be rounded away.
    percent = 100 * len(killed) // max(len(rows), 1)
    yield f"{len(killed)} of {len(rows)} mutants killed ({percent} %), each by a check that names what is wrong"
    if killed:
        seeds = sorted(row.seeds for row in killed)
        yield f"seeds it took: {seeds[len(seeds) // 2]} in the median, {seeds[-1]} at most"
    shrunk = [row for row in killed if row.size is not None]
    if shrunk:
        small = sum(row.is_small for row in shrunk)
        yield f"{small} of {len(shrunk)} shrunk scenarios have at most 3 faults and 4 validators"
    explained = [row for row in killed if row.explained is not None]
    if explained:
        named = sum(row.explained == "" for row in explained)
        yield f"{named} of {len(explained)} killed mutants that change the state are explained in full"


def mutants_page(rows: Sequence[MutantRow], seeds: int) -> str:
    """Return the page of a campaign: its totals, the matrix, and the description of each mutant."""
    totals = "\n".join(f"- {line}" for line in mutants_totals(rows))
    head = f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n"
    matrix = "".join(f"| {' | '.join((f'`{row.name}`', *row.cells()[1:]))} |\n" for row in rows)
    catalogue = "".join(f"| `{row.name}` | {row.description} |\n" for row in rows)
    return _PAGE.format(seeds=seeds, totals=totals, matrix=head + matrix, catalogue=catalogue)


_PAGE = """# Mutation testing

Known bugs that the checks have to find: which check kills each, and after how many seeds.
This page is written by `python -m tools.mutation mutants --out`; a change by hand is lost.

The checks are worth as much as the mistakes that they find. `tools/mutation/plugin` keeps a catalogue of mutants:
known-bad versions of a validator's code. The campaign runs each of them alone in swarm seeds 0, 1, 2 ...
(`run_cluster.py sweep --swarm`), at most {seeds}, until a check finds it. A mutant is killed only if a check failed
that the mutant itself names: one whose failure says what is wrong. A mutant that no such check finds survives.
docs/extend/mutant.md says how to write one.

{totals}

- *Held by*: one validator (another one in each seed), or all, because one alone would only be outvoted and all together
  would agree on something wrong.
- *Cause*: why states differ, in one word; it is empty where the state is not what goes wrong.
- *Seeds* and *seconds*: until it was killed, one seed after the other.
- *Shrunk*: faults, validators and workloads of the smallest scenario found that goes wrong in the same way.
- *Explained*: whether `run_cluster.py explain`, asked about the first run that killed the mutant, names the cause, a
  height no later than the run itself shows, the holders and no other validator on the wrong side, the write and the
  keys, both values, and the timer where one is concerned. The words that have to stand there are those of the mutant
  (`shows` in the catalogue); the height is compared with the roots in the run's events and the oracle's check.

{matrix}
## What each does

| mutant | |
|---|---|
{catalogue}"""
