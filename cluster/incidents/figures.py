"""The figures of a run that stand beside those of an incident.

`COLUMN.HOW` reduces a column of the final blocks: a count of the block's summary, or `gap_ms` and `slots`, the time and
the slots since the parent. `scenario.KEY` is a number of the scenario. `OWN` has further names; any other name is a
figure of the verdict.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from statistics import median_low
from typing import Any, Final, TypeVar

import msgspec

from checker.record.streams import read_event_record
from cluster.scenario.model import Scenario
from cluster.verdict.result import PipelineResult
from faults.nearest import did_you_mean
from network.events import Event, TraceEvent, events_of_type
from validators.consensus.quorum import quorum_of
from validators.events import BlockRolledBack, Entered
from validators.execution import BlockSummary

OfKind = TypeVar("OfKind", bound=TraceEvent)

OF_TIME: Final = ("gap_ms", "slots")

COLUMNS: Final = (*BlockSummary.__struct_fields__, *OF_TIME)


def _longest_row(values: Sequence[int]) -> int:
    most = max(values, default=0)
    return max((len([*row]) for value, row in groupby(values) if value == most > 0), default=0)


HOWS: Final[Mapping[str, Callable[[Sequence[int]], int]]] = {
    "most": lambda values: max(values, default=0),
    "usual": lambda values: median_low(values) if values else 0,
    "total": sum,
    "blocks": lambda values: sum(value > 0 for value in values),
    "row": _longest_row,
    "last": lambda values: values[-1] if values else 0,
}
"""The reductions of a column to a figure; `row` is the longest row of blocks that have the greatest value."""

OF_SCENARIO: Final = "scenario."


def _events(result: PipelineResult, kind: type[OfKind]) -> Iterator[tuple[Event, OfKind]]:
    decoded = map(read_event_record, map(msgspec.msgpack.decode, result.trace.events()))
    return events_of_type(decoded, kind)


def _reorg_depth(result: PipelineResult) -> int:
    given_up = Counter((event.node, event.at_us) for event, _ in _events(result, BlockRolledBack))
    return max(given_up.values(), default=0)


def _leaders_of_rounds(result: PipelineResult) -> list[int]:
    """Return for each round the leaders with a final block; in a round each validator leads one view."""
    validators = result.scenario.cluster.validators
    finished = OWN["views"](result) // validators
    leaders = Counter((block.header.view - 1) // validators for block in result.chain)
    return [leaders[each] for each in range(finished)]


OWN: Final[Mapping[str, Callable[[PipelineResult], int]]] = {
    "validators": lambda result: result.scenario.cluster.validators,
    "quorum": lambda result: quorum_of(result.scenario.cluster.validators),
    "holders": lambda result: max(map(len, result.scenario.mutants.values()), default=0),
    "views": lambda result: max((entered.view - 1 for _, entered in _events(result, Entered)), default=0),
    "missed_views": lambda result: OWN["views"](result) - len(result.chain),
    "reorg_depth": _reorg_depth,
    "leaders_most": lambda result: max(_leaders_of_rounds(result), default=0),
    "leaders_least": lambda result: min(_leaders_of_rounds(result), default=0),
}
"""Further figures: `quorum` are the votes of a certificate, `holders` the validators with the planted mutant, `views`
the ended views, `missed_views` the views that ended without a final block, and `reorg_depth` the most heights that a
validator gave up at once. `leaders_most` and `leaders_least` are the leaders with a final block in a round of as many
views as validators."""


def unknown_figure(name: str, scenario: Scenario) -> str:
    """Return why a run of a scenario has no figure of this name; an empty text if it has one, or may have it."""
    if name.startswith(OF_SCENARIO):
        return "" if isinstance(_key_of(scenario, name), int) else f"{name!r} is no number of the scenario"
    column, dot, how = name.partition(".")
    if not dot:
        return ""
    if column not in COLUMNS:
        return f"no column is named {column!r}{did_you_mean(column, COLUMNS)}; there are {', '.join(COLUMNS)}"
    return "" if how in HOWS else f"{how!r} is none of {', '.join(HOWS)}"


def figure_of(result: PipelineResult, name: str) -> int | None:
    """Return a figure of a finished run; None if the run has none of this name."""
    if name.startswith(OF_SCENARIO):
        found: object = _key_of(result.scenario, name)
    elif "." in name:
        column, _, how = name.partition(".")
        found = HOWS[how](_column(result, column))
    elif name in OWN:
        found = OWN[name](result)
    else:
        found = result.figures.get(name)
    return found if isinstance(found, int) else None


def _column(result: PipelineResult, column: str) -> list[int]:
    if column not in OF_TIME:
        return [getattr(block.summary, column) for block in result.chain]
    name = "timestamp_ms" if column == "gap_ms" else "slot"
    values = [getattr(block.header, name) for block in result.chain]
    return [after - before for before, after in pairwise(values)]


def _key_of(scenario: Scenario, name: str) -> Any:  # noqa: ANN401 - any value of a scenario
    found: Any = msgspec.to_builtins(scenario)
    for key in name.removeprefix(OF_SCENARIO).split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
