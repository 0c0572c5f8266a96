"""The life of each timer of a chain, followed block by block."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import msgspec

from scheduler import (
    Timer,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerDeferred,
    TimerExpired,
    TimerExtended,
    TimerExtendedByGovernance,
    TimerFired,
    TimerScheduled,
    TimerTriggered,
    TransactionCancelled,
    TransactionFailed,
)
from scheduler.events import BidLocked, FailureCode, TimerWatches, TransactionScheduled
from validators.execution import Executed
from validators.execution.schema import TIMERS

NOT_YET: Final = -1
"""Stands for a height that did not come, and for a price that was not stated."""

Exits: TypeAlias = dict[type, Callable[[Any], str]]

EXITS: Final[Exits] = {
    TimerFired: lambda event: "fired" if event.ok else "reverted",
    TimerExpired: lambda _event: "expired",
    TimerCancelledInsufficientFunds: lambda _event: "insolvent",
    TimerCancelled: lambda _event: "cancelled",
    TransactionCancelled: lambda _event: "cancelled",
    TimerCancelledForDelay: lambda _event: "passed over too often",
    TimerCancelledByGovernance: lambda event: "cancelled by governance" if event.was_live else "",
    # A run that failed has fired: the event of its fire stands before this event.
    TransactionFailed: lambda event: "" if event.code is FailureCode.FAILED else f"failed: {event.code.value}",
}
"""By the type of an event, the exit that it reports; empty if the timer does not leave by it."""


class TimerLife(msgspec.Struct):
    """A timer: its terms, and the heights at which it was scheduled, first held back, and left.

    `due` and `expires_at` are in the chain's timebase. `max_fee` and `tip` are its stated fees in units per cycle;
    `burned` and `tipped` are the cost of its fire. `deposit` is its deposit in units: a bid in escrow, or the deposit
    of a queue's entry. Both come back at its exit, less the cost of a fire. A timer with `watched_keys` is due when any
    of them has changed. `exit` is empty while it waits.
    """

    timer_id: str
    actor: str
    fee_payer: str
    handler: str
    scheduled_height: int
    due: int
    sequence: int
    gas_limit: int
    expires_at: int
    max_fee: int = NOT_YET
    tip: int = NOT_YET
    deposit: int = 0
    watched_keys: int = 0
    deferred_height: int = NOT_YET
    deferral: str = ""
    exit_height: int = NOT_YET
    exit: str = ""
    used_cycles: int = 0
    used_cells: int = 0
    burned: int = 0
    tipped: int = 0


class TimerLives:
    """The timers that wait, and what each block does to them."""

    def __init__(self) -> None:
        self._waiting: dict[bytes, TimerLife] = {}

    def follow(self, executed: Executed) -> Iterator[TimerLife]:
        """See the next block of the chain, and yield the timers that leave in it."""
        yield from self.take(executed.header.height, executed.events, executed.changes)

    def take(
        self, height: int, events: Iterable[msgspec.Struct], changes: Mapping[bytes, bytes | None]
    ) -> Iterator[TimerLife]:
        """See the events and the changed keys of a block, and yield the timers that leave in it."""
        for event in events:
            if type(event) is TimerScheduled:
                self._waiting[event.timer_id] = _scheduled(event, height)
            elif (life := self._waiting.get(_timer_of(event))) is not None:
                _change(life, event, height)
                if life.exit:
                    life.exit_height = height
                    del self._waiting[bytes.fromhex(life.timer_id)]
                    yield life
        self._read_records(changes)

    def waiting(self) -> Iterator[TimerLife]:
        """Yield the timers that wait, in the order in which they were scheduled."""
        yield from self._waiting.values()

    def _read_records(self, changes: Mapping[bytes, bytes | None]) -> None:
        """Take from the timers' records what their events do not say."""
        for key, value in changes.items():
            if value is not None and key[0] == TIMERS.code:
                timer = msgspec.msgpack.decode(value, type=Timer)
                life = self._waiting.get(timer.timer_id)
                if life is None:
                    # A known bug wrote the record of a timer that has left.
                    continue
                life.handler = timer.handler
                if timer.quote is not None:
                    life.max_fee = _or_not_yet(timer.quote.max_fee_per_cycle)
                    life.tip = _or_not_yet(timer.quote.max_priority_fee_per_cycle)


def _timer_of(event: msgspec.Struct) -> bytes:
    """Return the identifier of the timer that an event is about; empty where it is about none."""
    if isinstance(event, TransactionScheduled):
        return event.txn_id
    timer_id: bytes = getattr(event, "timer_id", b"")
    return timer_id


def _or_not_yet(value: int | None) -> int:
    return NOT_YET if value is None else value


def _scheduled(event: TimerScheduled, height: int) -> TimerLife:
    return TimerLife(
        timer_id=event.timer_id.hex(),
        actor=event.actor.hex(),
        fee_payer=event.fee_payer.hex(),
        handler="",
        scheduled_height=height,
        due=event.due,
        sequence=event.sequence,
        gas_limit=event.gas_limit,
        expires_at=event.expires_at,
    )


def _change(life: TimerLife, event: msgspec.Struct, height: int) -> None:
    match event:
        case TimerDeferred() if life.deferred_height == NOT_YET:
            life.deferred_height, life.deferral = height, event.reason.value
        case TimerExtended() | TimerExtendedByGovernance():
            life.expires_at = event.expires_at
        case BidLocked():
            life.deposit = event.bid
        case TransactionScheduled():
            life.deposit = event.max_gas_amount * event.gas_unit_price
        case TimerWatches():
            life.watched_keys = len(event.keys)
        case TimerTriggered():
            life.due, life.sequence, life.watched_keys = event.due, event.sequence, 0
        case TimerFired():
            life.used_cycles, life.used_cells = event.used_cycles, event.used_cells
            life.burned, life.tipped = event.burned, event.tip
    if type(event) in EXITS:
        life.exit = EXITS[type(event)](event)
