"""The engine's events in the protocol's terms; an engine's due, dead timer waits for its clean-up.

The engine reports a deferral once, and a dead timer only when it leaves. The protocol asks for a deferral of each due
timer that stays. So dead timers are reported here, from the timers that were set on the path to a block.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from cluster.outside.answers import Event
from cluster.outside.frames import INTEGER_MAX, Value
from scheduler.events import (
    FailureCode,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerDeferred,
    TimerExpired,
    TimerFired,
    TimerScheduled,
    TimerTriggered,
    TransactionCancelled,
    TransactionFailed,
)

_REMOVED: Final[Mapping[type[msgspec.Struct], str]] = {
    TimerExpired: "expired",
    TimerCancelledInsufficientFunds: "insolvent",
    TimerCancelled: "cancelled",
    TimerCancelledForDelay: "cancelled",
    TransactionCancelled: "cancelled",
    TransactionFailed: "expired",
}


@dataclass(slots=True)
class BlockTimers:
    """The timers that a block set, with their due times, and the timers that left in it."""

    present: int
    parent: bytes
    due: dict[str, int] = field(default_factory=dict)
    gone: dict[str, None] = field(default_factory=dict)


class EventTeller:
    """Gives the events of blocks, above a block whose waiting timers are known.

    Args:
        digest: The first block.
        present: That block's height or slot.
        waiting: The timers that wait there.
    """

    def __init__(self, digest: bytes, present: int, waiting: Mapping[str, int]) -> None:
        self._blocks = {digest: BlockTimers(present, b"", dict(waiting))}

    def tell(
        self, digest: bytes, events: Iterable[msgspec.Struct], *, parent: bytes, present: int
    ) -> tuple[Event, ...]:
        """Return the events of a block at a height or slot; its parent was given before."""
        timers = self._blocks[digest] = BlockTimers(present, parent)
        told = [event for each in events for event in _in_words(each, timers)]
        deferred = {event["timer"]: None for event in told if event["event"] == "timer-deferred"}
        before = self._blocks[parent].present
        waiting = self._waiting(digest).items()
        # Timers that were due before have had their deferral.
        late = [timer for timer, due in waiting if before < due <= present and timer not in deferred]
        # A resumed life read its timers in another order than they were set.
        told += [{"event": "timer-deferred", "timer": timer} for timer in sorted(late)]
        return tuple(told)

    def finalize(self, digest: bytes) -> None:
        """Forget every block that is not above a final block, which becomes the first block."""
        first = BlockTimers(self._blocks[digest].present, b"", self._waiting(digest))
        kept = {digest: first}
        # Parents stand before their children.
        for each, timers in self._blocks.items():
            if timers.parent in kept:
                kept[each] = timers
        self._blocks = kept

    def _waiting(self, digest: bytes) -> dict[str, int]:
        """Return the timers that wait after a block, with their due times, from the oldest on."""
        path: list[BlockTimers] = []
        while digest:
            path.append(self._blocks[digest])
            digest = path[-1].parent
        waiting: dict[str, int] = {}
        for timers in reversed(path):
            waiting |= timers.due
            for timer in timers.gone:
                waiting.pop(timer, None)
        return waiting


def _in_words(event: msgspec.Struct, timers: BlockTimers) -> Iterator[Event]:
    """Yield an event of the engine in the protocol's terms, and note its effect on a timer."""
    fields = msgspec.to_builtins(event, builtin_types=(bytes,))
    timer = getattr(event, "timer_id", getattr(event, "txn_id", b"")).hex()
    if isinstance(event, TimerScheduled):
        timers.due[timer] = max(event.due, timers.present + 1)
        yield {"event": "timer-set", "timer": timer, "due": event.due}
    elif isinstance(event, TimerFired):
        timers.gone[timer] = None
        yield {"event": "timer-fired", "timer": timer}
    elif _is_removal(event):
        timers.gone[timer] = None
        yield {"event": "timer-removed", "timer": timer, "why": _REMOVED.get(type(event), "cancelled")}
    elif isinstance(event, TimerDeferred):
        yield {"event": "timer-deferred", "timer": timer}
    elif isinstance(event, TimerTriggered):
        timers.due[timer] = max(event.due, timers.present + 1)
        yield {"event": "timer-moved", "timer": timer, "due": event.due}
    else:
        yield {"event": type(event).__name__, "fields": _plain(fields)}


def _is_removal(event: msgspec.Struct) -> bool:
    """Return whether a timer leaves by an event without having fired."""
    if isinstance(event, TransactionFailed):
        # A timer that ran and aborted has left by the TimerFired before this.
        return event.code is not FailureCode.FAILED
    return type(event) in _REMOVED or (isinstance(event, TimerCancelledByGovernance) and event.was_live)


def _plain(value: object) -> Value:
    """Return content in an event's form: bytes in hexadecimal, large numbers in decimal text."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > INTEGER_MAX:
        return str(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if value is None or isinstance(value, bool | int | str):
        return "" if value is None else value
    return str(value)
