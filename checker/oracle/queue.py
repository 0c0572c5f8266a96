"""The queue of scheduled transactions in one block: its order, its deposits, its status, and how entries leave it."""

from collections.abc import Iterable, Iterator
from typing import Final

from checker.oracle.bias_records import SLOT_ROW, SLOT_ROWS
from checker.oracle.contents import Contents, Timer
from checker.oracle.queue_records import (
    ACTIVE,
    DEPOSITS,
    ENTRIES,
    NUMBERS,
    SLOTS,
    STATUS,
    QueueConfig,
    QueueEntry,
    Token,
    deposit_of,
    gas_priority,
    key_of,
    number_of_id,
    price_of,
    slot_of,
)
from checker.oracle.timer_tables import remove_timer

TXN_FAILED: Final = 66
"""Tag of the event of an entry that leaves without a run, or whose run failed."""


class Queue:
    """The queue of a block.

    Attributes:
        runs: The token, or None, of the entry whose handler is running; empty between runs.
        is_collected: Whether the timer phase has begun, after which due entries can no longer be cancelled.
    """

    def __init__(self, contents: Contents, config: QueueConfig, *, slot_ms: int, block_ms: int, height: int) -> None:
        self.contents = contents
        self.config = config
        self.slot_ms = slot_ms
        self.block_ms = block_ms
        self.height = height
        self.runs: tuple[Token | None, ...] = ()
        self.is_collected = False

    @property
    def status(self) -> int:
        """The status of the service at this moment."""
        return self.contents.own(STATUS).get(None) or ACTIVE

    def number_of(self, actor: bytes) -> int:
        """Return an actor's authorization number, 0 by default."""
        return self.contents.own(NUMBERS).get(actor) or 0

    def time_of(self, due: int) -> int:
        """Return the scheduled time of a due slot, in milliseconds."""
        return due * self.slot_ms

    def key_of(self, timer: Timer) -> bytes:
        """Return the key of an entry."""
        return key_of(self.time_of(timer.due), price_of(timer), timer.timer_id)

    def entry_of(self, timer: Timer) -> QueueEntry:
        """Return the queue's record of an entry."""
        entry: QueueEntry = self.contents.own(ENTRIES).rows[self.key_of(timer)]
        return entry

    def is_expired(self, due: int) -> bool:
        """Return whether the entries of a due slot are expired by the common expiry."""
        if self.config.expiry_by == "blocks":
            # The number of blocks that served the slot, without the first.
            return 0 < self.config.expiry_blocks < self.height - self._first_block_of(due)
        unit, expiry = self.config.time_unit_ms, self.config.expiry_ms
        if self.config.expiry == "at_run" or not expiry:
            return False
        return self.block_ms // unit - self.time_of(due) // unit > expiry // unit

    def _first_block_of(self, due: int) -> int:
        rows = self.contents.own(SLOT_ROW).rows.values()
        return min((row[1] for row in rows if row[0] >= due), default=self.height)

    def begin_block(self, slot: int) -> None:
        """Note the first block of a slot, if blocks are counted."""
        rows, bounds = self.contents.own(SLOT_ROW), self.contents.own(SLOT_ROWS)
        head, tail = bounds.get(None) or (0, 0)
        if self.config.expiry_by == "blocks" and (head == tail or rows.rows[tail - 1][0] < slot):
            rows.put(tail, (slot, self.height, 0))
            bounds.put(None, (head, tail + 1))

    def end_block(self, now: int) -> None:
        """Forget the slots before all waiting entries; every slot if no entry waits or no blocks are counted."""
        rows, bounds = self.contents.own(SLOT_ROW), self.contents.own(SLOT_ROWS)
        if None not in bounds.rows:
            return
        head, tail = bounds.rows[None]
        waiting = self.dues(now) if self.config.expiry_by == "blocks" else []
        gone = [index for index in range(head, tail) if not waiting or rows.rows[index][0] < waiting[0]]
        for index in gone:
            rows.put(index, None)
        bounds.put(None, (head + len(gone), tail) if waiting else None)

    def dues(self, upto: int | None = None) -> list[int]:
        """Return the slots for which an entry waits, ascending."""
        return sorted(due for due in self.contents.buckets.rows if upto is None or due <= upto)

    def in_order(self, dues: Iterable[int]) -> Iterator[Timer]:
        """Yield the entries of these slots in key order.

        Slot by slot, because a block takes few entries: entries behind the last taken entry are never sorted.
        """
        places, timers = self.contents.bucket_entries.rows, self.contents.timers.rows
        for due in dues:
            numbers = range(self.contents.buckets.rows[due].tail)
            entries = [timers[places[due, number]] for number in numbers if (due, number) in places]
            yield from sorted(entries, key=lambda it: (gas_priority(price_of(it)), _number_of(it)))

    def in_turn_order(self, dues: Iterable[int]) -> Iterator[Timer]:
        """Yield the entries of these slots in the order in which they have their turns."""
        if self.config.ready_order == "key":
            return self.in_order(dues)
        return iter(sorted(self.in_order(dues), key=lambda it: (gas_priority(price_of(it)), it.due, _number_of(it))))

    def take_out(self, timer: Timer) -> None:
        """Remove body and key of an entry, and return its whole deposit."""
        self.contents.own(ENTRIES).put(self.key_of(timer), None)
        remove_timer(self.contents, timer)
        self.pay_out(timer)

    def pay_out(self, timer: Timer, fee: int = 0) -> None:
        """Return the deposit of an entry to its actor but for a fee."""
        self.contents.credit(DEPOSITS, -deposit_of(timer))
        self.contents.credit(timer.actor, deposit_of(timer) - fee)

    def mark(self, timer: Timer) -> None:
        """Remove the body of an entry at its turn, and leave its key for the next block to remove."""
        remove_timer(self.contents, timer)
        slot, slots = slot_of(timer.timer_id, self.config.removal_slots), self.contents.own(SLOTS)
        slots.put(slot, (*(slots.get(slot) or ()), self.key_of(timer)))

    def remove_marked(self) -> None:
        """Remove the keys that the block before has marked."""
        slots, entries = self.contents.own(SLOTS), self.contents.own(ENTRIES)
        for slot, keys in list(slots.rows.items()):
            for key in keys:
                entries.put(key, None)
            slots.put(slot, None)

    def failed(self, timer: Timer, code: str) -> list[object]:
        """Return the event of an entry that failed."""
        return [TXN_FAILED, timer.timer_id, self.key_of(timer), timer.actor, code]


def _number_of(timer: Timer) -> int:
    return number_of_id(timer.timer_id)
