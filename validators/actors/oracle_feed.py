"""The oracle feed: publishes what its owner submits, on a timer of its own.

The feed's next update expires only a few intervals after it is due, and every submission extends it. So a feed that no
account supplies any more comes to rest, and the next submission revives it.
"""

from typing import ClassVar, Final

from scheduler import Rejected
from validators.actors.calls import Actor
from validators.actors.orders import (
    Count,
    Interval,
    Order,
    decode_order,
    require_empty,
    require_own_timer,
    require_owner,
    schedule_on_terms,
)

PATIENCE: Final = 4
"""Intervals by which an update may be late before it expires."""


class FeedOrder(Order, frozen=True):
    """Publish every `interval`, in the chain's timebase; a `gas_limit` of 0 means the protocol's default."""

    traced_name: ClassVar[str] = "FeedOrder"

    interval: Interval
    gas_limit: Count = 0


class Submission(Order, frozen=True):
    """A value found off the chain."""

    traced_name: ClassVar[str] = "Submission"

    value: Count


class OracleFeed(Actor):
    """Publishes the latest submitted value at its interval, once for each change (seed, use cases)."""

    handlers = ("start", "submit", "handle_timer")

    def start(self, payload: bytes) -> None:
        """Remember the order and schedule the first update. Only the owner may, and once."""
        require_owner(self)
        order = decode_order(payload, FeedOrder)
        self.host.put(b"order", payload)
        self._schedule_next(order)

    def submit(self, payload: bytes) -> None:
        """Keep a value for the next update, and extend that update. Only the owner may."""
        require_owner(self)
        value = decode_order(payload, Submission).value
        order = decode_order(self.host.get(b"order") or b"", FeedOrder)
        self.host.put(b"submitted", value.to_bytes(8, "big"))
        try:
            pending = self.host.get(b"next") or b""
            self.host.extend_timer(pending, self.host.now + (PATIENCE + 1) * order.interval)
        except Rejected:
            self._schedule_next(order)

    def handle_timer(self, payload: bytes) -> None:
        """Publish a changed value and schedule the next update."""
        require_own_timer(self)
        require_empty(payload)
        submitted = self.host.get(b"submitted")
        if submitted is not None and submitted != self.host.get(b"value"):
            self.host.put(b"value", submitted)
            self.host.put(b"at", self.host.now.to_bytes(8, "big"))
            self.host.emit("value", submitted)
        self._schedule_next(decode_order(self.host.get(b"order") or b"", FeedOrder))

    def _schedule_next(self, order: FeedOrder) -> None:
        due = self.host.now + order.interval
        expires_at = due + PATIENCE * order.interval
        timer_id = schedule_on_terms(self, due, b"", gas_limit=order.gas_limit or None, expires_at=expires_at)
        self.host.put(b"next", timer_id)
