"""The part of a log that an export takes: a window of virtual time, at most so many events, around what differs."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from network.events import Event, read_event
from validators.events import BlockExecuted


class ExportWindow(NamedTuple):
    """Virtual time from `from_us` up to and without `to_us`."""

    from_us: int = 0
    to_us: int = 1 << 62

    def holds(self, at_us: int) -> bool:
        """Return whether a moment is in the window."""
        return self.from_us <= at_us < self.to_us


EVERYTHING: Final = ExportWindow()

MACHINE_KINDS: Final = frozenset({"work", "sync", "disk", "timer"})
"""Kinds of events about a machine's own doings, of which there are many in each view."""


def first_difference_of_roots(events: Iterable[Event]) -> int | None:
    """Return the index of the first execution with another root of a block than an earlier execution, or None."""
    roots: dict[bytes, bytes] = {}
    for index, event in enumerate(events):
        executed = read_event(event, BlockExecuted)
        if executed is not None and roots.setdefault(executed.digest, executed.root) != executed.root:
            return index
    return None
