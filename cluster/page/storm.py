"""The storm in figures, block by block, and the drain that the budget predicts, beside the one that was measured."""

from array import array
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final

from checker.record.streams import OldestWait
from cluster.scenario.model import Scenario
from cluster.timers.waits import name_of_class
from report.page.rows import NO_WAIT, Columns, StormRows
from scheduler import POLICIES
from validators.execution import BlockSummary

CLASSES_MAX: Final = 8
"""The most classes of tips that are drawn: those that waited longest."""

POINTS_MAX: Final = 4_000
"""The most points of a series."""

SUMMED: Final = ("fired", "expired", "insolvent", "cancelled")
GREATEST: Final = ("deferred", "waiting_live", "waiting_dead", "lane_cycles", "gc_cycles")
LAST: Final = ("cycle_basefee", "cell_basefee", "lane_price")


def make_storm(
    summaries: Sequence[BlockSummary],
    times_ms: Sequence[int],
    scenario: Scenario,
    waits: Sequence[Sequence[OldestWait]] = (),
) -> StormRows | None:
    """Return the figures of each block; None where the record has none, and no waits where it has none of those."""
    if not summaries:
        return None
    timers = scenario.chain.timers
    config = timers.config()
    budget = config.gc_budget
    predicted, prediction = _predict(summaries, budget, scenario)
    per_point = max(1, -(-len(summaries) // POINTS_MAX))
    groups = [range(first, min(first + per_point, len(summaries))) for first in range(0, len(summaries), per_point)]
    columns: dict[str, array[int] | array[float]] = {
        "height": array("I", (group[-1] + 1 for group in groups)),
        "time_ms": array("d", (times_ms[group[-1]] for group in groups)),
        "predicted": array("d", (predicted[group[0]] for group in groups)),
    }
    folds: tuple[tuple[Sequence[str], Callable[[Sequence[int]], int]], ...] = (
        (SUMMED, sum),
        (GREATEST, max),
        (LAST, _last),
    )
    for names, fold in folds:
        for name in names:
            values = [int(getattr(summary, name)) for summary in summaries]
            columns[name] = array("d", (fold([values[index] for index in group]) for group in groups))
    note = (
        ""
        if per_point == 1
        else (
            f"{len(summaries):,} blocks in {len(groups):,} points: counts are summed, of backlogs the greatest stands."
        )
    )
    budgets = {"lane": config.lane_timer_cycles, "gc": config.gc_cycles_per_block, "removals": budget}
    series, unit = _waits_of(waits, groups), "block" if scenario.chain.timebase == "height" else "slot"
    return StormRows(
        Columns(columns, note), budgets, prediction, series, _waited(series, unit), f"{unit}s", _equal(summaries)
    )


def _waits_of(waits: Sequence[Sequence[OldestWait]], groups: Sequence[range]) -> "dict[str, array[int]]":
    """Return the oldest waits of each class by its name, a point a group of blocks."""
    by_class: dict[int, list[int]] = {}
    for index, oldest in enumerate(waits):
        for each in oldest:
            by_class.setdefault(each.tip_class, [NO_WAIT] * len(waits))[index] = each.wait
    kept = sorted(sorted(by_class, key=lambda number: -max(by_class[number]))[:CLASSES_MAX])
    return {
        name_of_class(number): array("i", (max(by_class[number][index] for index in group) for group in groups))
        for number in kept
    }


def _equal(summaries: Sequence[BlockSummary]) -> tuple[str, ...]:
    """Return a sentence for each two prices whose curves cover each other, in the whole run."""
    said = []
    for first, second in combinations(LAST, 2):
        if all(getattr(each, first) == getattr(each, second) for each in summaries):
            said.append(
                f"{first.replace('_', ' ')} and {second.replace('_', ' ')} are equal in every block.".capitalize()
            )
    return tuple(said)


def _waited(series: "Mapping[str, array[int]]", unit: str) -> str:
    """Return in words how long the timers of each class waited at most."""
    told = (f"{name}: {max(waits):,} {unit}{'s' if max(waits) != 1 else ''}" for name, waits in series.items())
    return "; ".join(told)


def _last(values: Sequence[int]) -> int:
    return values[-1]


def _predict(summaries: Sequence[BlockSummary], budget: int, scenario: Scenario) -> tuple[list[int], str]:
    """Return the dead timers that should be left after each block from the storm's peak on, else -1; and in words."""
    nothing = [-1] * len(summaries)
    dead = [each.expired + each.insolvent + each.waiting_dead for each in summaries]
    peak = max(dead)
    if not peak:
        return nothing, "No dead timer was met, so there is no drain to predict."
    chain = scenario.chain
    policy = POLICIES.get(chain.policy)
    kind = None if policy is None else policy.config_type
    own = next((each for each in chain.parameters() if kind is not None and isinstance(each, kind)), None)
    promised = None if policy is None else policy().guarantees(own)
    if promised is None or not (promised.clears_dead or promised.dead_per_block):
        return nothing, f"The policy {chain.policy} promises no drain, so none is predicted."
    bound = "the GC budget of genesis"
    if promised.dead_per_block is not None:
        budget, bound = promised.dead_per_block, f"the bound of {chain.policy} at genesis"
    first = max(index for index, count in enumerate(dead) if count == peak)
    for index in range(first, len(summaries)):
        nothing[index] = max(0, peak - budget * (index - first + 1))
    blocks = -(-peak // budget) if budget else 0
    said = f"{peak:,} dead timers at height {first + 1} and {budget:,} removals a block ({bound}): "
    return nothing, said + (f"drained in {blocks:,} blocks." if blocks else "never drained.")
