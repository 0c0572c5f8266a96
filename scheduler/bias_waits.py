"""Waits of timers in blocks, from heights alone (Q-23, Q-45; docs/state.md, slot rows).

In slot time a block serves many slots, so one row per block says which it served first. A row is kept while a timer
waits that it may be asked for.
"""

from bisect import bisect_left

from scheduler.bias_records import SLOT_ROW, SLOT_ROWS, SlotRow, SlotRows, row_key
from scheduler.tables import StateTables
from scheduler.types import Moment

_NO_ROWS = SlotRows(0, 0)


class WaitClock:
    """The waits of one block."""

    def __init__(self, state: StateTables, moment: Moment, activated_at: int) -> None:
        self._state = state
        self._moment = moment
        self._activated_at = activated_at

    def open(self) -> None:
        """Add the block's row, where it is the first to serve its slot."""
        if self._moment.timebase != "slot":
            return
        rows = self._rows()
        if rows.head == rows.tail or self._row(rows.tail - 1).slot < self._moment.slot:
            self._state.set(row_key(rows.tail), SlotRow(self._moment.slot, self._moment.height))
            self._state.set(SLOT_ROWS.key(), SlotRows(rows.head, rows.tail + 1))

    def first_height(self, due: int) -> int:
        """Return the height of the first block in which a timer that is due by now may have competed."""
        if self._moment.timebase != "slot":
            return max(due, self._activated_at)
        rows = self._rows()
        found = bisect_left(range(rows.head, rows.tail), due, key=lambda index: self._row(index).slot)
        return self._row(rows.head + found).height

    def waited(self, due: int) -> int:
        """Return the number of blocks that deferred a timer so far."""
        return self._moment.height - self.first_height(due)

    def is_behind_slots(self, due: int) -> bool:
        """Say whether a wait in blocks is shorter than in slots."""
        return self._moment.timebase == "slot" and self.waited(due) < self._moment.slot - due

    def close(self, oldest_due: int | None) -> None:
        """Remove the rows that no timer needs that still waits; None where none does."""
        if self._moment.timebase != "slot":
            return
        rows = self._rows()
        head = rows.head
        while head < rows.tail and (oldest_due is None or self._row(head).slot < oldest_due):
            self._state.set(row_key(head), None)
            head += 1
        if head != rows.head:
            self._state.set(SLOT_ROWS.key(), SlotRows(head, rows.tail) if head < rows.tail else None)

    def _rows(self) -> SlotRows:
        return self._state.get(SLOT_ROWS, SLOT_ROWS.key()) or _NO_ROWS

    def _row(self, index: int) -> SlotRow:
        row = self._state.get(SLOT_ROW, row_key(index))
        assert row is not None, f"slot row {index} is missing"
        return row

    def last_slot_before(self, height: int) -> int:
        """Return the last slot that was served below a height, of those that have a row; -1 where there is none."""
        rows = self._rows()
        older = bisect_left(range(rows.head, rows.tail), height, key=lambda index: self._row(index).height)
        return self._row(rows.head + older - 1).slot if older else -1
