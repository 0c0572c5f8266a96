"""Waits of timers in blocks, from heights alone (Q-23, Q-45, K-45; docs/state.md, slot rows).

In slot time a block serves many slots, so one row per block says which it served first. A slot may have further blocks:
one that triggers timers has a row as well, so that their wait starts with it, whoever else waits. A row is kept while a
timer waits that it may be asked for.
"""

from bisect import bisect_left
from collections.abc import Iterator

from scheduler.bias_records import SLOT_ROW, SLOT_ROWS, SlotRow, SlotRows, row_key
from scheduler.tables import StateTables
from scheduler.types import Moment, Timer

_NO_ROWS = SlotRows(0, 0)


class WaitClock:
    """The waits of one block."""

    def __init__(self, state: StateTables, moment: Moment, activated_at: int) -> None:
        self._state = state
        self._moment = moment
        self._activated_at = activated_at
        self._found: dict[int, list[SlotRow]] = {}
        """The rows of a due, once they were asked for: many timers share one."""

    def open(self) -> None:
        """Add the block's row, where it is the first to serve its slot."""
        if self._moment.timebase != "slot":
            return
        rows = self._rows()
        if rows.head == rows.tail or self._row(rows.tail - 1).slot < self._moment.slot:
            self._append(0)

    def note_triggers(self, first: int) -> bool:
        """Let the timers of the present slot from a sequence on wait since this block; say whether that takes a row."""
        if self._moment.timebase != "slot" or self._row(self._rows().tail - 1).height == self._moment.height:
            return False
        self._append(first)
        return True

    def first_height(self, timer: Timer) -> int:
        """Return the height of the first block in which a timer that is due by now waited."""
        if self._moment.timebase != "slot":
            return max(timer.due, self._activated_at)
        rows = self._found.get(timer.due)
        if rows is None:
            rows = self._found[timer.due] = list(self._rows_of(timer.due))
        # The last one: a bucket that was emptied within its slot begins again at sequence 0.
        return next(row.height for row in reversed(rows) if row.first <= timer.sequence)

    def waited(self, timer: Timer) -> int:
        """Return the number of blocks that deferred a timer so far."""
        return self._moment.height - self.first_height(timer)

    def is_behind_slots(self, timer: Timer) -> bool:
        """Say whether a wait in blocks is shorter than in slots."""
        return self._moment.timebase == "slot" and self.waited(timer) < self._moment.slot - timer.due

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

    def _append(self, first: int) -> None:
        """Add a row of this block."""
        rows = self._rows()
        self._state.set(row_key(rows.tail), SlotRow(self._moment.slot, self._moment.height, first))
        self._state.set(SLOT_ROWS.key(), SlotRows(rows.head, rows.tail + 1))
        self._found.clear()

    def _rows_of(self, due: int) -> Iterator[SlotRow]:
        """Yield the row of the first block that served a due, and those of later blocks of the same slot."""
        rows = self._rows()
        index = rows.head + bisect_left(range(rows.head, rows.tail), due, key=lambda index: self._row(index).slot)
        yield self._row(index)
        while index + 1 < rows.tail and self._row(index + 1).slot == due:
            index += 1
            yield self._row(index)

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
