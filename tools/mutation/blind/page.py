"""The page of the published figure, made of the rows: `python -m tools.mutation.blind.page > docs/mutants.md`."""

import sys
from collections.abc import Iterator, Sequence
from typing import Final

from network.words import counted
from tools.mutation.blind.catalogue import AREAS
from tools.mutation.blind.rows import SEEDS, Row, read_rows

_HEAD: Final = """\
# Strength

How many bugs the runs see, and how many the tests see, of a hundred that were written without a look at either.
`python -m tools.mutation.blind.page > docs/mutants.md` writes this page from `tools/mutation/blind/rows.json`; do not
edit it.

Each bug changes a few lines of the code: a wrong comparison, a lost copy, a forgotten case. It stands in all validators
at once, or in the test bed. Its author knew the code and looked at no check, no test and no draw of the swarm. No
check, draw or run is added to raise this figure.

- *Seen by runs*: a run of the swarm with the bug fails, or breaks, in one of the seeds {seeds}. An inconclusive run
  does not count.
- *Seen by tests*: a property or a test of the area fails with the bug in place. Long tests and those of `make soak` are
  left out.

| area | bugs | seen by runs | seen by tests | seen by either | seen by neither |
|---|---|---|---|---|---|
"""

_BY_TESTS: Final = """
## Seen by tests and by no run

| bug | test |
|---|---|
"""

_NEITHER: Final = """
## Seen by neither

"""

_COMMANDS: Final = """
## Commands

```
python -m tools.mutation blind                                       measure what has no row yet
python -m tools.mutation blind --only pool-of-another-branch         measure a bug again
python -m tools.mutation blind --only pool-of-another-branch --parts tests
python -m tools.mutation.blind.page > docs/mutants.md                write this page
python -m tools.mutation mutants --only tip-burned                   a known bug of the catalogue
```

The bugs with their edits are in `tools/mutation/blind/bugs`. `rows.json` has for each bug the seed and the check of the
first run that failed, and the first test that failed. The soak tests put each bug in again and expect its
test to fail. An edit whose text is no longer in the code stops the measurement; it is fitted to the code, or the bug
leaves the list.

## What the numbers do not say

- The share of bugs that are found in code to come: a hundred bugs are few, and one author chose their kinds.
- The cost of a bug: a wrong root counts as a wasted request does.
- The strength of one check: a row names what decided the first failing run.
- That a bug of the last column does harm. Some have an effect in races alone that 40 seeds do not meet.
- Anything of bugs in several places, or of one validator alone. The catalogue of mutants has those of one validator
  ([invariants.md](invariants.md)), the scan has changes that nobody chose ([mutation-scan.md](mutation-scan.md)).
"""


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
    yield f"Measured at {', '.join(commits)}."
    is_open = [row.name for row in rows if not row.is_whole]
    if is_open:
        yield ""
        yield f"{counted(len(is_open), 'bugs')} are not fully measured: of a cell *x of y*, y were tried."
    yield from _BY_TESTS.splitlines()
    yield from (f"| `{row.name}` | `{_name_of(row.test)}` |" for row in rows if row.test and not row.check)
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


if __name__ == "__main__":
    sys.stdout.write("\n".join(page(list(read_rows().values()))) + "\n")
