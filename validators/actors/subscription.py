"""The subscription and the merchant that it pays: periodic renewals, pay as you go (seed, use cases).

A subscription pays for its renewals and its timers out of its own units, and ends when they run dry. It lapses when it
cannot pay the price, and its timer dies as insolvent when it cannot pay for the fire. Subscribing again revives it.
"""

import contextlib
from typing import ClassVar, Final

from scheduler import UnknownTimer
from validators.actors.calls import Actor
from validators.actors.host import Revert
from validators.actors.orders import (
    Address,
    Count,
    Interval,
    Order,
    decode_order,
    get_count,
    put_count,
    require_empty,
    require_own_timer,
    require_owner,
    schedule_on_terms,
)

RECEIPT_CYCLES: Final = 1_000
"""Cycles that a subscription gives to its message to the merchant."""


class PlanOrder(Order, frozen=True):
    """Pay a merchant `price` units every `interval`, in the chain's timebase; a `gas_limit` of 0 means the default."""

    traced_name: ClassVar[str] = "PlanOrder"

    merchant: Address
    price: Count
    interval: Interval
    gas_limit: Count = 0


class Subscription(Actor):
    """Pays its merchant at each renewal, and tells it so."""

    handlers = ("subscribe", "cancel", "handle_timer")

    def subscribe(self, payload: bytes) -> None:
        """Remember the order and renew at the next opportunity. Only the owner may."""
        require_owner(self)
        order = decode_order(payload, PlanOrder)
        self._cancel_pending()
        self.host.put(b"order", payload)
        self._schedule_next(order, 1)

    def cancel(self, payload: bytes) -> None:
        """Cancel the next renewal. Only the owner may; the payload is empty."""
        require_owner(self)
        require_empty(payload)
        if not self._cancel_pending():
            raise Revert("no subscription")
        self.host.delete(b"next")

    def handle_timer(self, payload: bytes) -> None:
        """Renew, or lapse where the price cannot be paid."""
        require_own_timer(self)
        require_empty(payload)
        order = decode_order(self.host.get(b"order") or b"", PlanOrder)
        if self.host.balance() < order.price:
            self.host.delete(b"next")
            self.host.emit("lapsed")
            return
        self.host.transfer(order.merchant, order.price)
        renewals = get_count(self, b"renewals") + 1
        put_count(self, b"renewals", renewals)
        self.host.send(order.merchant, "paid", renewals.to_bytes(8, "big"), RECEIPT_CYCLES)
        self._schedule_next(order, order.interval)

    def _cancel_pending(self) -> bool:
        """Cancel a pending renewal; return whether a timer of it was stored."""
        pending = self.host.get(b"next")
        if pending is None:
            return False
        # A renewal that expired or could not be paid for is gone already.
        with contextlib.suppress(UnknownTimer):
            self.host.cancel_timer(pending)
        return True

    def _schedule_next(self, order: PlanOrder, delay: int) -> None:
        timer_id = schedule_on_terms(self, self.host.now + delay, b"", gas_limit=order.gas_limit or None)
        self.host.put(b"next", timer_id)


class Merchant(Actor):
    """Keeps its subscribers' messages."""

    handlers = ("paid",)

    def paid(self, payload: bytes) -> None:
        """Remember how many renewals the sender says it has paid, and count the messages."""
        self.host.put(b"paid" + self.host.sender, payload[:8])
        put_count(self, b"payments", get_count(self, b"payments") + 1)
