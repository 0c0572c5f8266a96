"""The entries of the queue that are due, in key order: the range index of the policy `aptos`.

The state cannot be read in key order (docs/state.md), so a validator keeps what is due by slot, each slot sorted by key
when it is first walked. A walk costs what it yields. Invariant: the content follows from the entries that were added
and not discarded.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass

from scheduler.aptos_keys import key_order
from scheduler.pool import DuePool
from scheduler.types import Timer


class ReadyQueue(DuePool):
    """Every entry that is due, expired ones included; it keeps no places within a slot, only the order of keys."""

    def __init__(self, rules: "QueueRules") -> None:
        super().__init__()
        self.rules: QueueRules = rules
        self._slots: dict[int, dict[bytes, Timer]] = {}
        self._unsorted: dict[int, None] = {}

    def add(self, timer: Timer) -> None:
        """Put an entry in that has become due."""
        slot = self._slots.get(timer.due)
        if slot is None:
            slot = self._slots[timer.due] = {}
            insort(self._dues, timer.due)
        slot[timer.timer_id] = timer
        self._unsorted[timer.due] = None
        self._count += 1

    def discard(self, timer: Timer) -> None:
        """Take an entry out."""
        slot = self._slots[timer.due]
        del slot[timer.timer_id]
        self._count -= 1
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


@dataclass(frozen=True, slots=True)
class QueueRules:
    """The rules of the index: there are none, its order is that of the keys."""

    def open_pool(self) -> ReadyQueue:
        """Return an index without entries."""
        return ReadyQueue(self)
