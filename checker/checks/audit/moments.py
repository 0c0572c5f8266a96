"""The moments that anchors name, as the trace shows them: which kind of event, and whose it is.

An anchor comes in the instant of an event of its moment's kind: of the validator that it is about, if it is about one,
and when there have been as many as it counts. Whether a block begins an epoch or a storm is not asked.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from faults.events import Crashed, DiskSynced, Restarted
from network.events import Delivered, Event, Handlers, Sent, TraceEvent
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    BlockRolledBack,
    BlockUndone,
    Booted,
    DamageFound,
    Entered,
    Reported,
    SnapshotJoined,
    Voted,
)

KINDS: Final[Mapping[str, type[TraceEvent]]] = {
    "view": Entered,
    "vote": Voted,
    "timeout": Reported,
    "executed": BlockExecuted,
    "rolled-back": BlockRolledBack,
    "rewind": BlockUndone,
    "crash": Crashed,
    "restart": Restarted,
    "boot": Booted,
    "damage": DamageFound,
    "synced": DiskSynced,
    "snapshot-asked": Sent,
    "snapshot-part": Delivered,
    "joined": SnapshotJoined,
    "finalized": BlockFinalized,
    "epoch": BlockFinalized,
    "storm": BlockFinalized,
    "half-drained": BlockFinalized,
    "drained": BlockFinalized,
}
"""Moments, and the event that each is read off."""

Handler: TypeAlias = Callable[[Event, Any], None]


class SeenMoments:
    """Instants of the events that some anchors may be read off, by kind and by validator."""

    def __init__(self, anchors: Iterable[Mapping[str, Any]]) -> None:
        kinds = (KINDS.get(anchor["event"]) for anchor in anchors)
        self.handlers: Final[Handlers] = {kind: self._see for kind in kinds if kind is not None}
        self._last_us: dict[tuple[type[TraceEvent], int | None], int] = {}
        self._counts: dict[tuple[type[TraceEvent], int | None], int] = {}

    def find_fault(self, anchor: Mapping[str, Any], now_us: int) -> str:
        """Return why an anchor cannot come now, or an empty string."""
        kind = KINDS.get(anchor["event"])
        if kind is None:
            return ""
        about = kind, anchor["of"]
        if self._last_us.get(about) != now_us:
            whose = "of any validator" if anchor["of"] is None else f"of validator {anchor['of']}"
            return f"no {kind.kind!r} {whose} is there"
        count = self._counts[about]
        return f"it counts {anchor['nth']} of them, and there were {count}" if count < anchor["nth"] else ""

    def _see(self, event: Event, body: TraceEvent) -> None:
        subject = body.machine if isinstance(body, Crashed | Restarted) else event.node
        for about in ((type(body), subject), (type(body), None)):
            self._last_us[about] = event.at_us
            self._counts[about] = self._counts.get(about, 0) + 1


def with_both(one: Handlers, other: Handlers) -> Handlers:
    """Return handlers that call both where both have one for a type of event."""
    merged = dict(one)
    for kind, handler in other.items():
        merged[kind] = _call_both(merged[kind], handler) if kind in merged else handler
    return merged


def _call_both(before: Handler, after: Handler) -> Handler:
    def call(event: Event, body: TraceEvent) -> None:
        before(event, body)
        after(event, body)

    return call
