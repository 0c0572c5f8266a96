"""The page of all rule cells, made of their declarations: as a program it prints the page."""

import sys
from collections.abc import Iterator
from typing import Final

from checker.coverage.refusals import UNREACHED
from checker.coverage.registry import CELLS, ROOMS
from checker.coverage.unpromised import REASONS
from checker.coverage.without_point import WITHOUT_POINT
from scheduler import SWARM, UNPROMISED, CoveragePoint, RefusalPoint

_HEAD: Final = """\
# Rule coverage

Every branch of a rule that a run can reach, and which runs reach it.
`stampede docs rule-coverage` prints this page from the declarations in the code; `make site` has it too.

A run may pass because nothing of what it drew took effect. So each branch of a rule is a *cell*, and each run notes
which cells it reached. Only effects that stayed count: what a refused or reverted call did is dropped with it, a block
that lost counts for nothing. The cells are in no state, no receipt and no digest, and no validator reads them.

`sweep` prints in how many runs each room's cells were reached; `--json` and the results file have every cell, and
`verdict.json` those of one run (`rules`). A cell is promised by the swarm or by a scenario, or, where its line says
so, by none: it takes a rare race, or something that no workload does. A sweep of the swarm over 2,000 seeds or
more, without `--set`, is *inconclusive* if a cell that the swarm promises stayed empty, or if a workload had an effect
in none of the runs that had it, and names it; below that nothing is promised. `--require-coverage` asks for it in any
sweep, of a scenario for the scenario's cells.
A line has the cell, its rule ([rules.md](rules.md)) or the page that describes it, and the thing that happened.

A *refusal* is a cell too: something that the code says no to. Its line has the text by which it refuses, in receipts
or in the trace, instead of a rule; a call's begins with what was called. Refusals count wherever an honest replica
refused, also in calls whose program caught the refusal and went on. A test compares them with the source, so that a new
refusal needs a cell, or a place in the list at the end.
"""

_WITHOUT: Final = """\

## Rules without a cell

Rules of [rules.md](rules.md) that no cell is a branch of, and why.
"""

_FOOT: Final = """\

## Refusals that no run reaches

Unit tests reach them. Each line has the text, and why no run of the programs and adversaries that are shipped can.
"""


def page() -> Iterator[str]:
    """Yield the lines of the page `rule-coverage`."""
    yield from _HEAD.splitlines()
    yield from ("", f"There are {len(CELLS)} cells.")
    for room, cells in ROOMS.items():
        yield from ("", f"## {room[0].upper()}{room[1:]}", "")
        for cell in cells:
            yield f"- `{cell.label}`, {_origin(cell)}: {cell.sentence}{_promise(cell)}"
    yield from _WITHOUT.splitlines()
    for code, why in WITHOUT_POINT.items():
        yield f"- {code}: {why}."
    yield from _FOOT.splitlines()
    for text, reason in UNREACHED.items():
        yield f"- `{text}`: {reason}."


def _origin(cell: CoveragePoint) -> str:
    if isinstance(cell, RefusalPoint):
        return f"`{cell.words}`"
    return f"[{cell.code}]({cell.code})" if cell.code.endswith(".md") else cell.code


def _promise(cell: CoveragePoint) -> str:
    if cell.promised_by == SWARM:
        return ""
    if cell.promised_by != UNPROMISED:
        return f" Promised by the scenario `{cell.promised_by}`."
    return f" Promised by none: {REASONS[cell.label]}." if cell.label in REASONS else " Promised by none."


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in page()))
