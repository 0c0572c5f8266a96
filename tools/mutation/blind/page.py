"""The page of the published figure, made of the rows: `python -m tools.mutation.blind.page > docs/mutants.md`."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from network.words import counted
from tools.mutation.blind.catalogue import AREAS
from tools.mutation.blind.rows import SEEDS, Row, read_rows

_HEAD: Final = """\
# Strength

How many bugs the runs see, and how many the tests see, of a hundred that were written without a look at either.
`python -m tools.mutation.blind.page > docs/mutants.md` writes this page from `tools/mutation/blind/rows.json`; do not
edit it.

Each bug changes a few lines of the code: a wrong comparison, a lost copy, a forgotten case. All validators have the
bug, or the test bed has it. Its author knew the code and looked at no check, no test and no draw of the swarm. No
check, draw or run is added to raise this figure.

- *Seen by runs*: a run of the swarm with the bug fails or breaks in one of the seeds {seeds}. An inconclusive run does
  not count.
- *Seen by tests*: a property or a test of the area fails with the bug in place. Long tests and soak tests are left out.

| area | bugs | seen by runs | seen by tests | seen by either | seen by neither |
|---|---|---|---|---|---|
"""

_NEITHER: Final = """
## Seen by neither

"""

_COMMANDS: Final = """
## Commands

```
python -m tools.mutation blind                                       measure bugs without a row
python -m tools.mutation blind --only pool-of-another-branch         measure a bug again
python -m tools.mutation blind --only pool-of-another-branch --parts tests
python -m tools.mutation.blind.page > docs/mutants.md                write this page
python -m tools.mutation.blind.page --out dist                       write the table of all bugs
python -m tools.mutation mutants --only tip-burned                   a known bug of the catalogue
```

`tools/mutation/blind/bugs` has the bugs with their edits. The table has each bug with the first seed and check, and the
first test, that saw it. Soak tests put each bug in again and expect its test to fail. The measurement stops at an edit
whose text is no longer in the code: fit the edit to the code, or remove the bug.

## Limits of the numbers

- A hundred bugs are few, and one author chose their kinds. The share of future bugs may differ.
- A wrong root and a wasted request count the same.
- A row names the check of the first failing run, and says nothing of the other checks.
- Bugs that neither sees may be harmless, or show in races that 40 seeds do not meet.
- No bug is in several places, or in one validator alone. The catalogue of mutants has bugs of one validator
  ([invariants.md](invariants.md)); the scan has changes that nobody chose ([mutation-scan.md](mutation-scan.md)).
- No row says how soon a run sees a bug: [mutant-distances.md](mutant-distances.md) does, for the catalogue.
"""


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table of all bugs, a file of a release."""
    yield from (
        "# Bugs written blind",
        "",
        "| bug | area | seed | check | test | measured at |",
        "|---|---|--:|---|---|---|",
    )
    for row in rows:
        seed = "" if row.seed is None else row.seed
        test = f"`{_name_of(row.test)}`" if row.test else ""
        commits = ", ".join(dict.fromkeys(commit for commit in (row.runs_at, row.tests_at) if commit))
        yield f"| `{row.name}` | {row.bug.area} | {seed} | {row.check} | {test} | {commits} |"


def page(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of docs/mutants.md."""
    yield from _HEAD.format(seeds=SEEDS.replace("..", " to ")).splitlines()
    for area in AREAS:
        yield _line(area, [row for row in rows if row.bug.area == area])
    yield _line("all", rows)
    seeds = sorted(row.seed for row in rows if row.seed is not None)
    yield ""
    if seeds:
        first = int(SEEDS.split("..")[0])
        tried = [seed - first + 1 for seed in seeds]
        yield f"Runs need {counted(tried[len(tried) // 2], 'seeds')} in the median, {tried[-1]} at most."
    commits = dict.fromkeys(commit for row in rows for commit in (row.runs_at, row.tests_at) if commit)
    yield f"Measured at {counted(len(commits), 'commits')}."
    is_open = [row.name for row in rows if not row.is_whole]
    if is_open:
        yield ""
        yield f"{counted(len(is_open), 'bugs')} are not fully measured: of a cell *x of y*, y were tried."
    yield from _NEITHER.splitlines()
    unseen = [row for row in rows if row.is_whole and not row.is_seen]
    yield from (f"- `{row.name}` ({row.bug.area}): {row.bug.sentence}" for row in unseen)
    if not unseen:
        yield "None."
    yield from _COMMANDS.splitlines()


def _line(title: str, rows: Sequence[Row]) -> str:
    cells = (
        title,
        str(len(rows)),
        _share([bool(row.check) for row in rows if row.runs_at], len(rows)),
        _share([bool(row.test) for row in rows if row.tests_at], len(rows)),
        str(sum(row.is_seen for row in rows)),
        str(sum(row.is_whole and not row.is_seen for row in rows)),
    )
    return f"| {' | '.join(cells)} |"


def _name_of(test: str) -> str:
    """Return the name of a test without its folder and class; of a property, the name of the part."""
    name, _, case = test.rpartition("::")[2].partition("[")
    return case.removesuffix("]") if case.startswith("check_") else name


def _share(seen: Sequence[bool], total: int) -> str:
    """Return how many of the tried are seen, with the number of the tried where not all were."""
    return str(sum(seen)) if len(seen) == total else f"{sum(seen)} of {len(seen)}"


def main(arguments: Sequence[str]) -> None:
    """Print the page, or write the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation.blind.page", description=__doc__)
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the table of all bugs there")
    options = parser.parse_args(arguments)
    rows = list(read_rows().values())
    if options.out is None:
        sys.stdout.write("".join(f"{line}\n" for line in page(rows)))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "mutants.md").write_text("".join(f"{line}\n" for line in table(rows)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
