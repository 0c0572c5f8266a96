"""The heartbeat: an actor that schedules its own next call."""

import contextlib
from typing import ClassVar

from scheduler import UnknownTimer
from validators.actors.calls import Actor
from validators.actors.host import Revert
from validators.actors.orders import (
    NO_TERMS,
    Count,
    FeeTerms,
    Order,
    Positive,
    decode_order,
    require_empty,
    require_own_timer,
    require_owner,
    schedule_on_terms,
)


class HeartbeatOrder(Order, frozen=True):
    """Beat every `interval`, in the chain's timebase; a `gas_limit` of 0 means the protocol's default."""

    traced_name: ClassVar[str] = "HeartbeatOrder"

    interval: Positive
    gas_limit: Count = 0
    terms: FeeTerms = NO_TERMS


class Heartbeat(Actor):
    """Schedules its own next call whenever it is called, and counts its beats (seed, appendix B)."""

    handlers = ("start", "stop", "handle_timer")

    def start(self, payload: bytes) -> None:
        """Remember the order and schedule the first beat, replacing a pending beat."""
        decode_order(payload, HeartbeatOrder)
        pending = self.host.get(b"next")
        if pending is not None:
            # A beat that expired or could not be paid for is gone, and the heartbeat must be able to start again.
            with contextlib.suppress(UnknownTimer):
                self.host.cancel_timer(pending)
        self.host.put(b"order", payload)
        self._schedule_next()

    def stop(self, payload: bytes) -> None:
        """Cancel the next beat. Only the owner may; the payload is empty."""
        require_owner(self)
        require_empty(payload)
        timer_id = self.host.get(b"next")
        if timer_id is None:
            raise Revert("does not beat")
        self.host.cancel_timer(timer_id)
        self.host.delete(b"next")

    def handle_timer(self, payload: bytes) -> None:
        """Count a beat and schedule the next beat."""
        require_own_timer(self)
        require_empty(payload)
        beats = int.from_bytes(self.host.get(b"beats") or bytes(8), "big") + 1
        self.host.put(b"beats", beats.to_bytes(8, "big"))
        self._schedule_next()

    def _schedule_next(self) -> None:
        order = decode_order(self.host.get(b"order") or b"", HeartbeatOrder)
        due = self.host.now + order.interval
        timer_id = schedule_on_terms(self, due, b"", order.terms, gas_limit=order.gas_limit or None)
        self.host.put(b"next", timer_id)
