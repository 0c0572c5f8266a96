"""The page of all rule cells, made of their declarations: as a program it prints the page."""

import sys
from collections.abc import Iterator
from typing import Final

from checker.coverage.refusals import UNREACHED
from checker.coverage.registry import POINTS, ROOMS
from checker.coverage.unpromised import REASONS
from checker.coverage.without_point import WITHOUT_POINT
from scheduler import SWARM, UNPROMISED, CoveragePoint, RefusalPoint

_HEAD: Final = """\
# Rule coverage

Every branch of a rule that a run can reach, and which runs reach it.
`stampede docs rule-coverage` prints this page from the declarations in the code; `make site` has it too.

A run may pass although nothing that it drew took effect. So each branch of a rule is a *coverage point*, and each run
notes the points that it reached. Only lasting effects count: the effects of a refused or reverted call, or of a block
that lost to another block, are dropped. The points are in no state, receipt or digest, and no validator reads them.

`sweep` prints in how many runs each group's points were reached. `--json` and the results file have every point, and
`verdict.json` has the points of one run (`rules`). The swarm or a scenario promises a point. Some points nobody
promises: they take a rare race, or an act that no workload makes; their lines say so. A sweep of the swarm over 2,000
seeds or more, without `--set`, is *inconclusive* if no run reached a promised point, or if a workload had no effect in
any run; it names both. A shorter sweep promises nothing. `--require-coverage` makes any sweep ask for its points; the
sweep of a scenario asks for the scenario's points.
A line has the point, its rule ([rules.md](rules.md)) or the page that describes it, and the event that reaches it.

A *refusal* is a point too: the code rejects an input. Instead of a rule its line has the text of the refusal, as in
receipts or in the trace; for a call, the text begins with the name of the called function. A refusal by any honest
replica counts, even if the calling program caught it and went on. A test compares the refusals with the source: a new
refusal needs a point, or a place in the list at the end.
"""

_WITHOUT: Final = """\

## Rules without a point

Rules of [rules.md](rules.md) without a branch that a point could name, and why.
"""

_FOOT: Final = """\

## Refusals that no run reaches

Unit tests reach them. Each line has the text, and the reason why no run of the shipped programs and adversaries can.
"""


def page() -> Iterator[str]:
    """Yield the lines of the page `rule-coverage`."""
    yield from _HEAD.splitlines()
    yield from ("", f"There are {len(POINTS)} points.")
    for room, points in ROOMS.items():
        yield from ("", f"## {room[0].upper()}{room[1:]}", "")
        for point in points:
            yield f"- `{point.label}`, {_origin(point)}: {point.sentence}{_promise(point)}"
    yield from _WITHOUT.splitlines()
    for code, why in WITHOUT_POINT.items():
        yield f"- {code}: {why}."
    yield from _FOOT.splitlines()
    for text, reason in UNREACHED.items():
        yield f"- `{text}`: {reason}."


def _origin(point: CoveragePoint) -> str:
    if isinstance(point, RefusalPoint):
        return f"`{point.words}`"
    return f"[{point.code}]({point.code})" if point.code.endswith(".md") else point.code


def _promise(point: CoveragePoint) -> str:
    if point.promised_by == SWARM:
        return ""
    if point.promised_by != UNPROMISED:
        return f" Promised by the scenario `{point.promised_by}`."
    return f" Not promised: {REASONS[point.label]}." if point.label in REASONS else " Not promised."


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in page()))
