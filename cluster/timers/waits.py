"""The oldest waits of timers, by class of tip: in each block the oldest live due timer, which left or stays.

A timer is live until it expires, while its payer can pay for it by the policy of the block. A class is a timer's offer
for its turn: nothing, a tip in units per cycle, a bid in units, or the decision of an agent or default in each block.
Tips and bids fall into decades, so that a chain has few classes.
"""

import heapq
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar

import msgspec

from checker.record.streams import OldestWait
from scheduler import InvalidInput, Timer, TimerCancelledInsufficientFunds
from scheduler.escrow import BID, LockedBid
from validators.execution import Executed
from validators.execution.schema import TIMERS, timer_key

_Record = TypeVar("_Record", bound=msgspec.Struct)

NO_TIP: Final = 0
LEFT_OPEN: Final = 1
TIPS: Final = 10
"""The class of tips from 1 to 9; each further decade has the next number."""

BIDS: Final = 40
"""The class of bids from 1 to 9; each further decade has the next number."""


def name_of_class(number: int) -> str:
    """Return the offer of the timers of a class, in words."""
    if number < TIPS:
        return "no tip" if number == NO_TIP else "tip left open"
    what, decade = ("bid", number - BIDS) if number >= BIDS else ("tip", number - TIPS)
    return f"{what} {10**decade:,} to {10 ** (decade + 1) - 1:,}"


def class_of(timer: Timer, bid: int = 0) -> int:
    """Return the class of a timer that has a bid in escrow, or none."""
    if bid:
        return BIDS + len(str(bid)) - 1
    if timer.quote is None:
        return NO_TIP
    tip = timer.quote.max_priority_fee_per_cycle
    if tip is None:
        return LEFT_OPEN
    return TIPS + len(str(tip)) - 1 if tip else NO_TIP


class OldestWaits:
    """The timers that wait, class by class; it reads their records alone, as blocks write and remove them.

    Args:
        genesis: The values of genesis, whose timers wait from the start.
    """

    def __init__(self, genesis: Mapping[bytes, bytes]) -> None:
        self._waiting: dict[bytes, tuple[int, int, int]] = {}
        self._by_due: dict[int, list[tuple[int, bytes]]] = {}
        for key, value in genesis.items():
            if key[0] == TIMERS.code and (timer := _read(value, Timer)) is not None:
                self._take(key, timer, 0)

    def follow(self, executed: Executed, now: int) -> tuple[OldestWait, ...]:
        """See the next block of the chain; return the oldest wait of each class that had a timer due, in its order."""
        oldest: dict[int, int] = {}
        bids = _bids(executed.changes)
        insolvent = dict.fromkeys(map(timer_key, _insolvent(executed)))
        for key, value in executed.changes.items():
            if key[0] != TIMERS.code:
                continue
            if value is not None and (timer := _read(value, Timer)) is not None:
                self._take(key, timer, bids.get(timer.timer_id, 0))
                continue
            left = self._waiting.pop(key, None)
            if left is not None and left[0] <= now <= left[2] and key not in insolvent:
                oldest[left[1]] = max(oldest.get(left[1], 0), now - left[0])
        for number in self._by_due:
            if (due := self._first_due(number, now, insolvent)) <= now:
                oldest[number] = max(oldest.get(number, 0), now - due)
        return tuple(OldestWait(number, oldest[number]) for number in sorted(oldest))

    def _first_due(self, number: int, now: int, insolvent: Mapping[bytes, None]) -> int:
        """Return when the first live timer of a class is due, a time after `now` where none is due by then."""
        heap = self._by_due[number]
        while heap and self._is_gone(*heap[0], number, now):
            heapq.heappop(heap)
        if not heap or heap[0][1] not in insolvent:
            return heap[0][0] if heap else now + 1
        solvent = (place for place in heap if place[1] not in insolvent and not self._is_gone(*place, number, now))
        return min(solvent, default=(now + 1, b""))[0]

    def _take(self, key: bytes, timer: Timer, bid: int) -> None:
        number = class_of(timer, bid)
        known = self._waiting.get(key)
        if known is not None and known[1] >= BIDS:
            # Its bid stays in escrow while its record changes.
            number = known[1]
        if known != (place := (timer.due, number, timer.expires_at)):
            self._waiting[key] = place
            heapq.heappush(self._by_due.setdefault(number, []), (timer.due, key))

    def _is_gone(self, due: int, key: bytes, number: int, now: int) -> bool:
        """Return whether a place in a heap is no live timer's: it left, has another place, or is past its expiry."""
        place = self._waiting.get(key)
        return place is None or place[:2] != (due, number) or place[2] < now


def _insolvent(executed: Executed) -> Iterator[bytes]:
    """Yield the identifiers of the timers whose payers cannot pay for them: removed in the block, or left by it."""
    yield from executed.insolvent_left
    yield from (each.timer_id for each in executed.events if type(each) is TimerCancelledInsufficientFunds)


def _bids(changes: Mapping[bytes, bytes | None]) -> dict[bytes, int]:
    """Return the bids that a block locked, by their timers."""
    values = (value for key, value in changes.items() if value is not None and key[0] == BID.code)
    return {each.timer_id: each.bid for value in values if (each := _read(value, LockedBid)) is not None}


def _read(value: bytes, kind: type[_Record]) -> _Record | None:
    """Return a record; None for an unreadable record, which checks report."""
    try:
        return msgspec.msgpack.decode(value, type=kind)
    except (msgspec.MsgspecError, InvalidInput):
        return None
