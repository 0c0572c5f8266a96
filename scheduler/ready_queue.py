"""The entries of the queue that are due, in key order: the range index of the policy `aptos`.

The state cannot be read in key order (docs/state.md), so a validator keeps due entries by slot. Each slot is sorted by
key when it is first walked. A walk costs what it yields. Where the highest price comes first (K-24), the same entries
are kept by price too. Invariant: the content follows from the entries that were added and not discarded.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.aptos_keys import gas_priority, key_order, price_of
from scheduler.pool import DuePool
from scheduler.types import Timer


class Slots:
    """Entries by slot, each slot's in key order."""

    def __init__(self) -> None:
        self._dues: list[int] = []
        self._slots: dict[int, dict[bytes, Timer]] = {}
        self._unsorted: dict[int, None] = {}

    def __bool__(self) -> bool:
        """Whether there is an entry."""
        return bool(self._dues)

    @property
    def first_due(self) -> int | None:
        """The lowest slot; None where there is no entry."""
        return self._dues[0] if self._dues else None

    def add(self, timer: Timer) -> None:
        """Put an entry in."""
        slot = self._slots.get(timer.due)
        if slot is None:
            slot = self._slots[timer.due] = {}
            insort(self._dues, timer.due)
        slot[timer.timer_id] = timer
        self._unsorted[timer.due] = None

    def discard(self, timer: Timer) -> None:
        """Take an entry out."""
        slot = self._slots[timer.due]
        del slot[timer.timer_id]
        if not slot:
            del self._slots[timer.due], self._dues[bisect_left(self._dues, timer.due)]

    def in_key_order(self, from_due: int = -1) -> Iterator[Timer]:
        """Yield the entries due at a slot or later, in key order. Not to be changed meanwhile."""
        for index in range(bisect_left(self._dues, from_due), len(self._dues)):
            yield from self._sorted(self._dues[index]).values()

    def count_before(self, due: int) -> int:
        """Return the number of entries due before a slot."""
        return sum(len(self._slots[each]) for each in self._dues[: bisect_left(self._dues, due)])

    def _sorted(self, due: int) -> dict[bytes, Timer]:
        """Return a slot's entries in key order, sorted once: what leaves changes no order."""
        if due in self._unsorted:
            del self._unsorted[due]
            ordered = sorted(self._slots[due].values(), key=key_order)
            self._slots[due] = {timer.timer_id: timer for timer in ordered}
        return self._slots[due]


class ReadyQueue(DuePool):
    """Every entry that is due, expired ones included; it keeps no places within a slot, only the order of keys."""

    def __init__(self, rules: "QueueRules") -> None:
        super().__init__()
        self.rules: QueueRules = rules
        self._by_time = Slots()
        self._by_price: dict[int, Slots] = {}
        self._priorities: list[int] = []

    @property
    def first_due(self) -> int | None:
        """The lowest due slot of what waits; None where nothing does."""
        return self._by_time.first_due

    def add(self, timer: Timer) -> None:
        """Put an entry in that has become due."""
        self._count += 1
        self._by_time.add(timer)
        if not self.rules.is_price_first:
            return
        priority = gas_priority(price_of(timer))
        if priority not in self._by_price:
            self._by_price[priority] = Slots()
            insort(self._priorities, priority)
        self._by_price[priority].add(timer)

    def discard(self, timer: Timer) -> None:
        """Take an entry out."""
        self._count -= 1
        self._by_time.discard(timer)
        if not self.rules.is_price_first:
            return
        priority = gas_priority(price_of(timer))
        self._by_price[priority].discard(timer)
        if not self._by_price[priority]:
            del self._by_price[priority], self._priorities[bisect_left(self._priorities, priority)]

    def in_key_order(self, from_due: int = -1) -> Iterator[Timer]:
        """Yield the entries due at a slot or later, in key order. Not to be changed meanwhile."""
        return self._by_time.in_key_order(from_due)

    def in_turn(self, from_due: int = -1) -> Iterator[Timer]:
        """Yield the same entries as they are taken: in key order, or the highest price first."""
        if not self.rules.is_price_first:
            yield from self.in_key_order(from_due)
        for priority in self._priorities:
            yield from self._by_price[priority].in_key_order(from_due)

    def count_before(self, due: int) -> int:
        """Return the number of entries due before a slot."""
        return self._by_time.count_before(due)


@dataclass(frozen=True, slots=True)
class QueueRules:
    """The rules of the index: whether the entries that are due are taken by price before time."""

    is_price_first: bool = False

    def open_pool(self) -> ReadyQueue:
        """Return an index without entries."""
        return ReadyQueue(self)
