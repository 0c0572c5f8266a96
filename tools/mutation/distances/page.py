"""The page of the distances, made of the rows: `python -m tools.mutation.distances.page > docs/mutant-distances.md`."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Final

from checker.families import FAMILIES
from cluster.causality.rise import END_RUNS, GENESIS_RUNS
from network.words import counted
from tools.mutation.catalogue import CATALOGUE
from tools.mutation.distances.measure import WITHIN_US
from tools.mutation.distances.rows import Row, read_rows

LONGEST: Final = 2
"""The mutants of each family that are listed by name where no chance avoids the failure."""

_HEAD: Final = f"""\
# How long a wrong state stays unseen

How much virtual time lies between the moment at which a mutant's failure is decided and the moment at which the run
notices it. `python -m tools.mutation.distances.page > docs/mutant-distances.md` writes this page from
`tools/mutation/distances/rows.json`; do not edit it.

Each mutant of the catalogue runs in the swarm seed that kills it. Continuations repeat that run up to a turn and draw
all later chance anew, as [`curve`](explain.md#curve) does.

- *Decided*: all of {END_RUNS} continuations from a turn on fail alike, so the lower bound of their share is above 0.9.
  Halving finds the turn to within {counted(WITHIN_US // 1_000_000, "seconds")}, as if a decided failure stayed decided.
- *From genesis*: all of {GENESIS_RUNS} continuations from the first turn on fail alike: no chance avoids the failure.
  Its distance counts from genesis.
- *Later*: other chance avoids the failure at first. A failure that is decided only in the run itself has distance 0.
- *Noticed*: the run ends. Two different roots or final blocks end a run two heights later (*stopped*). Every other
  check judges a run at its own end, so its distance is mostly the length of the run.
- *Shown*: an honest replica executes a block of the height that the check names. A check without a height has no such
  moment.
"""

_TABLE: Final = """
| family | mutants | stopped | from genesis | median | longest | later | median | longest |
|---|--:|--:|--:|--:|--:|--:|--:|--:|"""


_ROWS: Final = """\
| mutant | seed | noticed by | decided | shown | noticed |
|---|--:|---|--:|--:|--:|"""


def page(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of docs/mutant-distances.md."""
    measured = [row for row in rows if not row.unmeasured]
    yield from _HEAD.splitlines()
    yield from ("", f"{counted(len(measured), 'mutants')}, distances in virtual seconds.")
    yield from ("", "## From decided to noticed", *_TABLE.splitlines())
    for family, own in _by_family(measured):
        yield _line(family, own, [row.unseen_us for row in own])
    shown = [row for row in measured if row.hidden_us is not None]
    yield from ("", "## From decided to shown", *_TABLE.splitlines())
    for family, own in _by_family(shown):
        yield _line(family, own, [row.hidden_us or 0 for row in own])
    later = [row for row in measured if not row.is_unavoidable]
    yield from ("", "## Mutants that are decided later", "", *_ROWS.splitlines())
    yield from map(_row, sorted(later, key=_longest_first))
    yield from ("", "## The longest of each family from genesis", "", *_ROWS.splitlines())
    for family, own in _by_family([row for row in measured if row.is_unavoidable]):
        if family != "all":
            yield from map(_row, sorted(own, key=_longest_first)[:LONGEST])
    yield from _not_measured(rows)
    yield from ("", "## Commands", "", "```")
    yield "python -m tools.mutation distances                             measure mutants without a row"
    yield "python -m tools.mutation distances --only tip-burned --check   measure again and compare with the row"
    yield "```"


def _not_measured(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what is left out, with the reason."""
    known = {row.name: row.unmeasured for row in rows}
    lacking = [name for name in CATALOGUE if name not in known]
    left_out = [f"- `{name}`: {reason}" for name, reason in known.items() if reason]
    if lacking:
        left_out.append(f"- the time was over before their turn: {', '.join(f'`{name}`' for name in lacking)}")
    if left_out:
        yield from ("", "## Not measured", "", *left_out)


def _longest_first(row: Row) -> tuple[int, str]:
    return -row.unseen_us, row.name


def _by_family(rows: Sequence[Row]) -> Iterator[tuple[str, Sequence[Row]]]:
    """Yield the rows of each family in the order of a verdict, then all."""
    for family in (each.name for each in FAMILIES):
        own = [row for row in rows if row.family == family]
        if own:
            yield family, own
    yield "all", rows


def _line(family: str, rows: Sequence[Row], distances_us: Sequence[int]) -> str:
    cells = [family, str(len(rows)), str(sum(row.is_stopped for row in rows))]
    for is_unavoidable in (True, False):
        own = sorted(us for row, us in zip(rows, distances_us, strict=True) if row.is_unavoidable == is_unavoidable)
        median_us = (own[(len(own) - 1) // 2] + own[len(own) // 2]) // 2 if own else 0
        cells += [str(len(own)), *([_seconds(median_us), _seconds(own[-1])] if own else ["", ""])]
    return f"| {' | '.join(cells)} |"


def _row(row: Row) -> str:
    decided = "genesis" if row.is_unavoidable else _seconds(row.baked_us)
    shown = "" if row.shown_us is None else _seconds(row.shown_us)
    return f"| `{row.name}` | {row.seed} | {row.check} | {decided} | {shown} | {_seconds(row.end_us)} |"


def _seconds(us: int) -> str:
    """Return a time in tenths of a second, rounded half up without floats."""
    tenths = (us + 50_000) // 100_000
    return f"{tenths // 10:,}.{tenths % 10}"


def main(arguments: Sequence[str]) -> None:
    """Print the page."""
    argparse.ArgumentParser(prog="python -m tools.mutation.distances.page", description=__doc__).parse_args(arguments)
    sys.stdout.write("".join(f"{line}\n" for line in page(list(read_rows().values()))))


if __name__ == "__main__":
    main(sys.argv[1:])
