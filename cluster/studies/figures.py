"""The figures of a trial: what its blocks did, counted for the chain and for each group of actors.

A figure is a number or None, where the trial has nothing to count. Waits are in blocks after the block in which a timer
was due, prices and utilities in units per cycle. `FIGURE@A..B` counts only blocks A to B, and timers due in them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import gcd, sqrt
from typing import Final

from cluster.workloads.submission import FUNDS
from faults.nearest import did_you_mean
from scheduler.bias import waits_at_most

CHAIN_FIGURES: Final = {
    "lane_use": "the share of the timer lane that fires used, mean over blocks",
    "lane_most": "the most of the lane that the fires of a block used, as a share of it",
    "congested": "the share of blocks that left a live timer waiting",
    "lane_price": "the lane price, mean over blocks",
    "price_spread": "the standard deviation of the lane price over its mean",
    "price_turns": "the share of blocks in which the lane price changed its direction",
    "clearing": "the lowest winning bid of blocks that left a timer waiting, mean",
    "clearing_spread": "the standard deviation of that bid over its mean",
    "clearing_falls": "the share of these blocks in which that bid fell by a quarter or more from block to block",
    "revenue": "the proposers' tips and payments of a block, in thousands of units, mean",
    "burned": "the units that fires burn in a block, in thousands, mean",
    "waiting_most": "the most timers, live or dead, that waited after a block",
    "drain_blocks": "blocks from the end of the outage, or else from the warm-up, until no due timer waits",
    "efficiency": "the worth that fired over the most that the lane had room for, from what waited in each block",
    "welfare": "the worth of all fires in a block, in thousands of units, mean",
    "fairness": "Jain's index of fires over the actors that scheduled: 1 is equal, 1/n is one actor alone",
    "gc_use": "the most of the clean-up budget that a block used, as a share",
    "triggers": "watching timers that a block triggered, most",
    "shutdown_blocks": "blocks from the start of a shutdown of the queue to its end, both counted",
    "lambda_mean": "lambda of the bias auction in millionths, mean over blocks",
    "n_max": "N_max of CIP-5 9.2 in blocks, at the mean lambda, against a rival with the funds of a bidder",
}
"""The figures of a whole chain."""

GROUP_FIGURES: Final = {
    "fires": "timers that fired",
    "share": "the share of all fires",
    "served": "the share of tasks due that were done: that fired, or whose call ran",
    "fired": "the share of timers due that fired",
    "timers_per_task": "timers scheduled for each task",
    "refused": "the share of orders that the chain refused",
    "expired": "the share of timers due that expired",
    "wait_mean": "blocks that fired timers waited, mean",
    "wait_p50": "the same, median",
    "wait_p99": "the same, 99th percentile",
    "wait_worst": "the longest wait, counting timers that still wait",
    "paid": "what a fire paid beyond the basefees, in units per cycle used, mean",
    "paid_spread": "the standard deviation of that over its mean",
    "cost": "what all its fires paid, basefees included, in thousands of units",
    "delay_cost": "what the fires of other groups paid, in thousands of units, for each block that a timer waited",
    "utility": "worth less payment of a due timer, in units per cycle used, mean; 0 for a timer that did not fire",
    "utility_spread": "the variance of utility over bid, over fires with a bid",
    "tip_rank": "the share of fired timers with a lower bid than this group's mean bid",
    "stale": "the share of fires whose input was stale",
    "n_max_used": "the longest wait over N_max, counting timers that still wait",
    "trigger_mean": "blocks from the change of a watched value to the trigger of its timer, mean",
    "trigger_worst": "the same, longest",
    "late_mean": "blocks from the change of a watched value to the fire of its timer, mean",
}
"""The figures of a group of bidders, of a workload, or of `all`: written NAME.FIGURE."""

ALL: Final = "all"

OF_WHOLE_TRIALS: Final = ("drain_blocks", "served", "timers_per_task", "refused")
"""The figures that count orders and tasks, whose blocks are not kept, or blocks of their own."""

_SPAN: Final = re.compile(r"([1-9]\d{0,8})\.\.([1-9]\d{0,8})", re.ASCII)


def unknown_figure(name: str, groups: Sequence[str], blocks: int | None = None) -> str:
    """Return why there is no such figure in a trial of so many blocks, if that is known; empty if there is one."""
    name, at, span = name.partition("@")
    if at and (reason := _unknown_span(name.rpartition(".")[2], span, blocks)):
        return reason
    group, dot, figure = name.rpartition(".")
    if not dot:
        if name in CHAIN_FIGURES:
            return ""
        return f"no figure is named {name!r}{did_you_mean(name, CHAIN_FIGURES)}; there are {', '.join(CHAIN_FIGURES)}"
    if group not in (*groups, ALL):
        return f"no group is named {group!r}{did_you_mean(group, groups)}; there are {', '.join((*groups, ALL))}"
    if figure not in GROUP_FIGURES:
        hint = did_you_mean(figure, GROUP_FIGURES)
        return f"no figure of a group is named {figure!r}{hint}; there are {', '.join(GROUP_FIGURES)}"
    return ""


def _unknown_span(figure: str, span: str, blocks: int | None) -> str:
    found = _SPAN.fullmatch(span)
    if found is None or int(found[1]) > int(found[2]):
        return f"{figure}@{span}: the blocks after @ must read FIRST..LAST, such as 100..199"
    if blocks is not None and int(found[2]) > blocks:
        return f"{figure}@{span}: a trial has {blocks:,} blocks"
    return f"{figure} counts the whole trial, and takes no blocks after @" if figure in OF_WHOLE_TRIALS else ""


@dataclass(slots=True, eq=False)
class TimerStory:
    """A timer of a trial, from its order to its end; blocks are heights, `worth` and `bid` are per cycle.

    `due_block` is the first block in which it could fire; None while that block has not come.
    """

    group: str
    actor: bytes
    due: int
    gas_limit: int
    cycles: int
    worth: int = 0
    decay: int = 0
    bid: int | None = None
    task: int = -1
    due_block: int | None = None
    fired_block: int | None = None
    left: bool = False
    """Whether it left without a fire: it expired, was cancelled, or had no funds."""
    expired: bool = False
    paid: int = 0
    cost: int = 0
    used: int = 0
    input_age: int | None = None
    changed_block: int | None = None
    """Of a timer that a change triggered: the first block since it watches that changed the value."""
    triggered_block: int | None = None

    def worth_after(self, blocks: int) -> int:
        """Return the worth per cycle after a wait of so many blocks; at least 0."""
        return max(0, self.worth - self.decay * blocks)


@dataclass(frozen=True, slots=True)
class BlockFigures:
    """A block in the numbers that figures are made of; `clearing` is 0 where it left no live timer waiting."""

    height: int
    lane_cycles: int
    gc_cycles: int
    waiting_live: int
    waiting_dead: int
    price: int
    clearing: int
    tips: int
    burned: int
    triggers: int
    worth_fired: int
    worth_possible: int
    lambda_: int = 0


@dataclass(slots=True)
class TrialLog:
    """All that a trial leaves for its figures."""

    lane: int
    gc_budget: int
    warmup: int
    resumed_at: int
    stale_blocks: Mapping[str, int] = field(default_factory=dict)
    shutdown: dict[bool, int] = field(default_factory=dict)
    """The heights at which the last shutdown of the queue began (false) and was complete (true)."""
    blocks: list[BlockFigures] = field(default_factory=list)
    timers: list[TimerStory] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    orders: dict[str, int] = field(default_factory=dict)
    tasks: dict[str, int] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)

    def figure(self, name: str) -> float | None:
        """Return a figure by its name."""
        name, _, span = name.partition("@")
        first, last = map(int, span.split("..")) if span else (self.warmup + 1, len(self.blocks))
        group, dot, figure = name.rpartition(".")
        every = [each for each in self.timers if each.due_block is not None and first <= each.due_block <= last]
        if not dot:
            return _CHAIN[figure](self, [block for block in self.blocks if first <= block.height <= last], every)
        return _GROUP[figure](self, group, [each for each in every if group in (ALL, each.group)], every)


def knapsack(items: Sequence[tuple[int, int]], room: int) -> int:
    """Return the greatest total worth of items, (cycles, worth) each, whose cycles fit into the room: exact."""
    unit = gcd(room, *(cycles for cycles, _ in items)) or 1
    best = [0] * (room // unit + 1)
    for cycles, worth in items:
        size = cycles // unit
        for place in range(len(best) - 1, size - 1, -1):
            best[place] = max(best[place], best[place - size] + worth)
    return best[-1]


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _spread(values: Sequence[float]) -> float | None:
    mean = _mean(values)
    if not mean:
        return None
    return sqrt(sum((value - mean) ** 2 for value in values) / len(values)) / mean


def _rank(values: Sequence[int], percent: int) -> float | None:
    """Return the percentile by the nearest rank."""
    return float(sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]) if values else None


def _turns(values: Sequence[int]) -> float | None:
    moves = [later - earlier for earlier, later in pairwise(values) if later != earlier]
    turns = sum((one < 0) != (two < 0) for one, two in pairwise(moves))
    return turns / len(values) if values else None


def _falls(values: Sequence[int]) -> float | None:
    pairs = [*pairwise(values)]
    return sum(4 * later <= 3 * earlier for earlier, later in pairs) / len(pairs) if pairs else None


def _drain(log: TrialLog, blocks: Sequence[BlockFigures]) -> float | None:
    """Return the blocks until no timer waits after a block; None if timers wait after every block."""
    start = log.resumed_at or log.warmup + 1
    after = [block for block in blocks if block.height >= start]
    return next((float(n) for n, block in enumerate(after, 1) if not block.waiting_live + block.waiting_dead), None)


def _fairness(every: Sequence[TimerStory]) -> float | None:
    counts: dict[bytes, int] = {}
    for timer in every:
        counts[timer.actor] = counts.get(timer.actor, 0) + (timer.fired_block is not None)
    squares = sum(count * count for count in counts.values())
    return sum(counts.values()) ** 2 / (len(counts) * squares) if squares else None


def _efficiency(blocks: Sequence[BlockFigures]) -> float | None:
    possible = sum(block.worth_possible for block in blocks)
    return sum(block.worth_fired for block in blocks) / possible if possible else None


def _clearings(blocks: Sequence[BlockFigures]) -> list[int]:
    return [block.clearing for block in blocks if block.waiting_live]


def _n_max(log: TrialLog) -> float | None:
    lambdas = [block.lambda_ for block in log.blocks if block.height > log.warmup]
    return float(waits_at_most(FUNDS, sum(lambdas) // len(lambdas))) if any(lambdas) else None


_CHAIN: Final[Mapping[str, Callable[[TrialLog, list[BlockFigures], list[TimerStory]], float | None]]] = {
    "lane_use": lambda log, blocks, _: _mean([block.lane_cycles / log.lane for block in blocks]),
    "lane_most": lambda log, blocks, _: max((block.lane_cycles / log.lane for block in blocks), default=None),
    "congested": lambda _, blocks, __: _mean([float(block.waiting_live > 0) for block in blocks]),
    "lane_price": lambda _, blocks, __: _mean([block.price for block in blocks]),
    "price_spread": lambda _, blocks, __: _spread([block.price for block in blocks]),
    "price_turns": lambda _, blocks, __: _turns([block.price for block in blocks]),
    "clearing": lambda _, blocks, __: _mean(_clearings(blocks)),
    "clearing_spread": lambda _, blocks, __: _spread(_clearings(blocks)),
    "clearing_falls": lambda _, blocks, __: _falls(_clearings(blocks)),
    "revenue": lambda _, blocks, __: _mean([block.tips / 1_000 for block in blocks]),
    "burned": lambda _, blocks, __: _mean([block.burned / 1_000 for block in blocks]),
    "waiting_most": lambda _, blocks, __: max(
        (float(each.waiting_live + each.waiting_dead) for each in blocks), default=None
    ),
    "drain_blocks": lambda log, blocks, _: _drain(log, blocks),
    "efficiency": lambda _, blocks, __: _efficiency(blocks),
    "welfare": lambda _, blocks, __: _mean([block.worth_fired / 1_000 for block in blocks]),
    "fairness": lambda _, __, every: _fairness(every),
    "gc_use": lambda log, blocks, _: (
        max((block.gc_cycles / log.gc_budget for block in blocks), default=None) if log.gc_budget else None
    ),
    "triggers": lambda _, blocks, __: max((float(block.triggers) for block in blocks), default=None),
    "shutdown_blocks": lambda log, _, __: (
        log.shutdown[True] - log.shutdown[False] + 1.0 if len(log.shutdown) == 2 else None
    ),
    "lambda_mean": lambda _, blocks, __: _mean([block.lambda_ for block in blocks]) or None,
    "n_max": lambda log, _, __: _n_max(log),
}


def _fired(due: Sequence[TimerStory]) -> list[TimerStory]:
    return [timer for timer in due if timer.fired_block is not None]


def _wait(timer: TimerStory) -> int:
    assert timer.fired_block is not None, "it fired"
    assert timer.due_block is not None, "it was due before it fired"
    return timer.fired_block - timer.due_block


def _waits(due: Sequence[TimerStory]) -> list[int]:
    return [_wait(timer) for timer in _fired(due)]


def _longest(log: TrialLog, due: Sequence[TimerStory]) -> float | None:
    last = log.blocks[-1].height
    waiting = [last - (each.due_block or 0) for each in due if each.fired_block is None and not each.left]
    return max(map(float, (*_waits(due), *waiting)), default=None)


def _paid(due: Sequence[TimerStory]) -> list[float]:
    return [timer.paid / timer.used for timer in _fired(due) if timer.used]


def _cost(due: Sequence[TimerStory]) -> float:
    return sum(timer.cost for timer in _fired(due)) / 1_000


def _delay_cost(due: Sequence[TimerStory], every: Sequence[TimerStory]) -> float | None:
    """Return what others paid for each block of waiting; None where nothing waited."""
    waited = sum(_waits(due))
    return (_cost(every) - _cost(due)) / waited if waited else None


def _utility(timer: TimerStory) -> float:
    if timer.fired_block is None or not timer.used:
        return 0.0
    return timer.worth_after(_wait(timer)) - timer.paid / timer.used


def _utility_spread(due: Sequence[TimerStory]) -> float | None:
    ratios = [_utility(timer) / timer.bid for timer in _fired(due) if timer.bid]
    mean = _mean(ratios)
    return None if mean is None else sum((ratio - mean) ** 2 for ratio in ratios) / len(ratios)


def _share(due: Sequence[TimerStory], every: Sequence[TimerStory]) -> float | None:
    fires = len(_fired(every))
    return len(_fired(due)) / fires if fires else None


def _of_counts(numbers: Mapping[str, int], others: Mapping[str, int], group: str) -> float | None:
    """Return the ratio of two counts of a group."""
    top, under = (sum(counts.values()) if group == ALL else counts.get(group, 0) for counts in (numbers, others))
    return top / under if under else None


def _served(log: TrialLog, group: str, due: Sequence[TimerStory]) -> float | None:
    if not _of_counts(log.tasks, log.tasks, group):
        return len(_fired(due)) / len(due) if due else None
    return _of_counts(log.done, log.tasks, group)


def _tip_rank(log: TrialLog, due: Sequence[TimerStory]) -> float | None:
    mean = _mean([timer.bid for timer in due if timer.bid is not None])
    bids = [timer.bid for timer in _fired(log.timers) if timer.bid is not None]
    return None if mean is None or not bids else sum(bid < mean for bid in bids) / len(bids)


def _stale(log: TrialLog, group: str, due: Sequence[TimerStory]) -> float | None:
    ages = [timer.input_age for timer in _fired(due) if timer.input_age is not None]
    return sum(age > log.stale_blocks.get(group, 0) for age in ages) / len(ages) if ages else None


def _n_max_used(log: TrialLog, due: Sequence[TimerStory]) -> float | None:
    longest, bound = _longest(log, due), _n_max(log)
    return None if longest is None or not bound else longest / bound


def _trigger_delays(due: Sequence[TimerStory]) -> list[int]:
    return [
        each.triggered_block - each.changed_block
        for each in due
        if each.triggered_block is not None and each.changed_block is not None
    ]


_GROUP: Final[Mapping[str, Callable[[TrialLog, str, list[TimerStory], list[TimerStory]], float | None]]] = {
    "fires": lambda _, __, due, ___: float(len(_fired(due))),
    "share": lambda _, __, due, every: _share(due, every),
    "served": lambda log, group, due, _: _served(log, group, due),
    "fired": lambda _, __, due, ___: len(_fired(due)) / len(due) if due else None,
    "timers_per_task": lambda log, group, _, __: _of_counts(log.orders, log.tasks, group),
    "refused": lambda log, group, _, __: _of_counts(log.refused, log.orders, group),
    "expired": lambda _, __, due, ___: sum(each.expired for each in due) / len(due) if due else None,
    "wait_mean": lambda _, __, due, ___: _mean(_waits(due)),
    "wait_p50": lambda _, __, due, ___: _rank(_waits(due), 50),
    "wait_p99": lambda _, __, due, ___: _rank(_waits(due), 99),
    "wait_worst": lambda log, _, due, __: _longest(log, due),
    "paid": lambda _, __, due, ___: _mean(_paid(due)),
    "paid_spread": lambda _, __, due, ___: _spread(_paid(due)),
    "cost": lambda _, __, due, ___: _cost(due),
    "delay_cost": lambda _, __, due, every: _delay_cost(due, every),
    "utility": lambda _, __, due, ___: _mean([_utility(timer) for timer in due]),
    "utility_spread": lambda _, __, due, ___: _utility_spread(due),
    "tip_rank": lambda log, _, due, __: _tip_rank(log, due),
    "stale": lambda log, group, due, _: _stale(log, group, due),
    "n_max_used": lambda log, _, due, __: _n_max_used(log, due),
    "trigger_mean": lambda _, __, due, ___: _mean(_trigger_delays(due)),
    "trigger_worst": lambda _, __, due, ___: max(map(float, _trigger_delays(due)), default=None),
    "late_mean": lambda _, __, due, ___: _mean(
        [(each.fired_block or 0) - each.changed_block for each in _fired(due) if each.changed_block is not None]
    ),
}
