"""The waiting set of the bias auction, in an order that need not be made anew as all of it grows older (D-1, D-2).

Timers of one first height and one gas limit, a *cohort*, have the same bias and the same divisor in every block. Among
them bids decide, now and later, whatever lambda does. So a block computes one score for each cohort, at most one for
each waiting timer. It computes none for a group of cohorts whose best possible score is below the last score that it
needs. It computes one more score for each timer that it looks at.

Rejected: a kinetic tournament, which keeps the order of any two timers until the block in which it turns. It saves the
scores of cohorts, but every change of lambda moves all of those blocks, and rounding makes some turn twice.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Final, NamedTuple, TypeAlias

from scheduler.bias import SCALE, bias
from scheduler.bias_selection import Competitor, Walk, scaled_score
from scheduler.pool import DuePool
from scheduler.types import Timer


class BidEntry(NamedTuple):
    """A timer in its cohort: the greatest bid first, then the waiting order; no two have the same place."""

    negated_bid: int
    due: int
    sequence: int
    timer: Timer


class HeightGroup:
    """The cohorts of one first height, by gas limit, with bounds of what is in them."""

    __slots__ = ("cohorts", "gas_min", "top_bid")

    def __init__(self) -> None:
        self.cohorts: dict[int, list[BidEntry]] = {}
        self.gas_min = 1 << 63
        self.top_bid = 0

    def add(self, entry: BidEntry) -> None:
        """Put a timer in."""
        gas = entry.timer.gas_limit
        cohort = self.cohorts.get(gas)
        if cohort is None:
            cohort = self.cohorts[gas] = []
        # The last of its cohort in most cases: timers come in the waiting order, many with the same bid.
        insort(cohort, entry)
        # Bounds that stay when a timer leaves: too good costs a look, too poor would hide a timer.
        self.gas_min, self.top_bid = min(self.gas_min, gas), max(self.top_bid, -entry.negated_bid)

    def remove(self, entry: BidEntry) -> None:
        """Take a timer out."""
        gas = entry.timer.gas_limit
        cohort = self.cohorts[gas]
        # Found by what stands before the timer, which is never compared.
        del cohort[bisect_left(cohort, entry[:3])]
        if not cohort:
            del self.cohorts[gas]


@dataclass(frozen=True, slots=True)
class BiasPoolRules:
    """The rules that the pool's classes depend on: the greatest gas limit that competes."""

    gas_limit_cap: int

    def open_pool(self) -> "BiasPool":
        """Return an empty pool under these rules."""
        return BiasPool(self)


class BiasPool(DuePool):
    """All timers due, live and dead, in the orders of the bias auction. `enlist` before anything is asked of it."""

    def __init__(self, rules: BiasPoolRules, now: int = -1) -> None:
        super().__init__(now)
        self.rules: BiasPoolRules = rules
        self.over_cap: dict[bytes, Timer] = {}
        self.groups: dict[int, HeightGroup] = {}
        self.by_actor: dict[bytes, dict[bytes, Timer]] = {}
        self.competing: dict[bytes, tuple[int, BidEntry]] = {}
        """The first height and the entry of each timer that competes."""
        self._fresh: dict[bytes, Timer] = {}
        self._biases: dict[int, int] = {}
        self._lambda = 0

    def enlist(self, bid_of: Callable[[Timer], int], first_height: Callable[[Timer], int]) -> None:
        """Find out bid and first height of the timers that came in: both stay as they are while a timer waits."""
        for timer in self._fresh.values():
            height = first_height(timer)
            entry = BidEntry(-bid_of(timer), timer.due, timer.sequence, timer)
            group = self.groups.get(height)
            if group is None:
                group = self.groups[height] = HeightGroup()
            group.add(entry)
            self.competing[timer.timer_id] = (height, entry)
            self.by_actor.setdefault(timer.actor, {})[timer.timer_id] = timer
        self._fresh.clear()

    @property
    def oldest_height(self) -> int | None:
        """The lowest first height of those that compete; None where none does."""
        return min(self.groups, default=None)

    def count_above(self, gas_limit: int) -> int:
        """Return how many of those that compete have a greater gas limit."""
        return sum(
            len(cohort) for group in self.groups.values() for gas, cohort in group.cohorts.items() if gas > gas_limit
        )

    def order(self, height: int, lambda_: int, walk: Walk) -> Iterator[Competitor]:
        """Yield those that compete in the order of a block, but for some that cannot win any more.

        These are left out where the runner-up of the walk is known: behind it nobody matters who cannot win.
        """
        # Scores negated. A group's item stands before timers of the same score. So all its timers with that score are
        # there before any of them is yielded, and then places decide.
        heap = [self._item_of_group(first, height, lambda_) for first in self.groups]
        heapify(heap)
        opened: dict[int, list[tuple[int, int]]] = {}
        while heap:
            _, due, _, first, gas, index = heappop(heap)
            group, now = self.groups[first], self._bias(height - first, lambda_)
            if walk.runner_up is not None:
                if walk.is_full:
                    return
                if max(gas, group.gas_min) > walk.room:
                    continue
            if due >= 0:
                cohort = group.cohorts[gas]
                entry = cohort[index]
                yield Competitor(entry.timer, -entry.negated_bid, height - first, now)
                if index + 1 < len(cohort):
                    heappush(heap, _item_of_timer(cohort[index + 1], first, index + 1, now))
                continue
            heads = opened.get(first)
            if heads is None:
                heads = opened[first] = _heads(group, now)
            else:
                _, gas = heappop(heads)
                heappush(heap, _item_of_timer(group.cohorts[gas][0], first, 0, now))
            if heads:
                heappush(heap, (heads[0][0], *_NO_PLACE, first, 0, 0))

    def _item_of_group(self, first: int, height: int, lambda_: int) -> "_Item":
        group = self.groups[first]
        best = group.top_bid * SCALE + self._bias(height - first, lambda_)
        return -scaled_score(best, max(group.gas_min, 1)), *_NO_PLACE, first, 0, 0

    def _bias(self, waited: int, lambda_: int) -> int:
        """Return a bias, worked out once while lambda stays."""
        if lambda_ != self._lambda:
            self._biases, self._lambda = {}, lambda_
        found = self._biases.get(waited)
        if found is None:
            found = self._biases[waited] = bias(waited, lambda_)
        return found

    def _put(self, timer: Timer) -> None:
        if timer.gas_limit > self.rules.gas_limit_cap:
            self.over_cap[timer.timer_id] = timer
        else:
            self._fresh[timer.timer_id] = timer

    def _take(self, timer: Timer) -> None:
        timer_id = timer.timer_id
        if self.over_cap.pop(timer_id, None) is not None or self._fresh.pop(timer_id, None) is not None:
            return
        height, entry = self.competing.pop(timer_id)
        group = self.groups[height]
        group.remove(entry)
        if not group.cohorts:
            del self.groups[height]
        mine = self.by_actor[timer.actor]
        del mine[timer_id]
        if not mine:
            del self.by_actor[timer.actor]


_Item: TypeAlias = tuple[int, int, int, int, int, int]
"""A negated score, a place, a first height, a gas limit, and the index in the cohort; a group's has no place."""

_NO_PLACE: Final = (-1, -1)


def _item_of_timer(entry: BidEntry, first: int, index: int, now: int) -> _Item:
    gas = entry.timer.gas_limit
    score = scaled_score(-entry.negated_bid * SCALE + now, max(gas, 1))
    return -score, entry.due, entry.sequence, first, gas, index


def _heads(group: HeightGroup, now: int) -> list[tuple[int, int]]:
    """Return the negated score and the gas limit of the first timer of each cohort, as a heap."""
    found = [
        (-scaled_score(now - cohort[0].negated_bid * SCALE, gas or 1), gas) for gas, cohort in group.cohorts.items()
    ]
    heapify(found)
    return found
