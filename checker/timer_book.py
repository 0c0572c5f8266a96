"""The timers of an outside application by its events: each timer leaves once, not early, and none is forgotten.

Rules: docs/application.md, timers. A timer that is set for now or earlier is due in the next block.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(slots=True)
class WaitingTimer:
    """A timer that was set: `due` in the chain's timebase, `sequence` in the order of setting.

    A timer that was set for now or earlier may leave from block `next_block` on, which may have the same slot. In the
    order of firing it may stand where it was `told` to be due, or where it is.
    """

    due: int
    told: int
    sequence: int
    next_block: int | None = None
    is_deferred: bool = False


class Exits(NamedTuple):
    """Timers that left in a block: fired, and removed as dead (`expired` and `insolvent`) or `cancelled`."""

    fired: int = 0
    dead: int = 0
    cancelled: int = 0


class TimerBook:
    """The timers that wait on a branch.

    Args:
        is_fifo: Whether the application says that timers fire in the order of due and set.
    """

    def __init__(self, *, is_fifo: bool) -> None:
        self._is_fifo = is_fifo
        self._waiting: dict[str, WaitingTimer] = {}
        self._set = 0
        self._blocks = 0
        self._last_fired: tuple[tuple[int, int], str] = ((0, 0), "")

    @property
    def set_count(self) -> int:
        """The number of timers that were set."""
        return self._set

    def overdue(self, now: int) -> int:
        """Return the number of timers that wait and are due at a height or slot."""
        return sum(found.due <= now for found in self._waiting.values())

    @property
    def waiting(self) -> Mapping[str, WaitingTimer]:
        """The timers that wait, by id, in the order of setting."""
        return self._waiting

    def follow(self, now: int, events: Iterable[Mapping[str, object]]) -> tuple[Exits, list[str]]:
        """Take the events of a block of a height or slot; return the timers that left, and every broken rule."""
        self._blocks += 1
        fired = dead = cancelled = 0
        faults: list[str] = []
        for event in events:
            timer, kind = str(event.get("timer")), event["event"]
            if kind == "timer-set":
                faults += self._set_timer(timer, event["due"], now)
            elif kind == "timer-fired":
                faults += self._fire(timer, now)
                fired += 1
            elif kind == "timer-removed":
                faults += self._remove(timer, str(event["why"]), now)
                cancelled += event["why"] == "cancelled"
                dead += event["why"] != "cancelled"
            elif kind == "timer-deferred":
                faults += self._defer(timer, now)
            elif kind == "timer-moved":
                faults += self._move(timer, event["due"], now)
        faults += self._find_forgotten(now)
        return Exits(fired, dead, cancelled), faults

    def _set_timer(self, timer: str, due: object, now: int) -> Iterator[str]:
        assert isinstance(due, int), "an answer with another event is refused as it comes"
        if timer in self._waiting:
            yield f"timer {timer!r} is set while it waits"
        self._set += 1
        self._waiting[timer] = WaitingTimer(max(due, now + 1), due, self._set, self._next_block(due, now))

    def _fire(self, timer: str, now: int) -> Iterator[str]:
        found = self._waiting.pop(timer, None)
        if found is None:
            yield f"timer {timer!r} fires, which does not wait"
            return
        if self._is_early(found, now):
            yield f"timer {timer!r} fires at {now}, {found.due - now} before it is due"
        if self._is_fifo and (min(found.due, now), found.sequence) < self._last_fired[0]:
            (due, _), before = self._last_fired
            yield f"timer {timer!r}, due {found.due}, fires after {before!r}, which was due {due} and set later"
        self._last_fired = max(self._last_fired, ((min(found.told, now), found.sequence), timer))

    def _remove(self, timer: str, why: str, now: int) -> Iterator[str]:
        found = self._waiting.pop(timer, None)
        if found is None:
            yield f"timer {timer!r} is removed ({why}), which does not wait"
        elif why == "expired" and self._is_early(found, now):
            yield f"timer {timer!r} expires at {now}, {found.due - now} before it is due"

    def _defer(self, timer: str, now: int) -> Iterator[str]:
        found = self._waiting.get(timer)
        if found is None:
            yield f"timer {timer!r} is deferred, which does not wait"
        elif self._is_early(found, now):
            yield f"timer {timer!r} is deferred at {now}, {found.due - now} before it is due"
        else:
            found.is_deferred = True

    def _move(self, timer: str, due: object, now: int) -> Iterator[str]:
        assert isinstance(due, int), "an answer with another event is refused as it comes"
        found = self._waiting.get(timer)
        if found is None:
            yield f"timer {timer!r} is moved, which does not wait"
        else:
            found.due, found.told, found.next_block = max(due, now + 1), due, self._next_block(due, now)
            found.is_deferred = False

    def _next_block(self, due: int, now: int) -> int | None:
        return self._blocks + 1 if due <= now else None

    def _is_early(self, found: WaitingTimer, now: int) -> bool:
        """Return whether a timer may not leave yet."""
        is_next = found.next_block is not None and found.next_block <= self._blocks
        return found.due > now and not is_next

    def _find_forgotten(self, now: int) -> Iterator[str]:
        for timer, found in self._waiting.items():
            if found.due <= now and not found.is_deferred:
                yield f"timer {timer!r} was due at {found.due}, and neither left nor was deferred at {now}"
                # Told once, and not again with every block.
                found.is_deferred = True
