"""The storm maker: makes any number of timers, of every kind that is a burden.

Its timers may call one of its own handlers by the JSON convention. So a storm can consist of fires that revert, run out
of gas, fail, or take the money of all later fires.
"""

import base64
import contextlib
from typing import Annotated, ClassVar, Final

import msgspec

from scheduler import MAX_PAYLOAD_BYTES, MAX_U63, UnknownTimer
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

MAX_STORM_TIMERS: Final = 10_000
"""The most timers that one order to a storm maker may name; the per-actor cap usually stands lower."""


class StormOrder(Order, frozen=True):
    """Make `count` timers; the i-th is due at max(now + delay, not_before) + (offset + i) modulo spread.

    Each expires `ttl` after it is due. Times are in the chain's timebase. A `gas_limit` of 0 means the protocol's
    default. With a `handler` the timers call it by the JSON convention; with `sender_pays` their payer is the sender of
    the order.
    """

    traced_name: ClassVar[str] = "StormOrder"

    count: Annotated[int, msgspec.Meta(ge=1, le=MAX_STORM_TIMERS)]
    delay: Positive
    not_before: Count
    spread: Positive
    ttl: Count
    gas_limit: Count = 0
    payload_size: Annotated[int, msgspec.Meta(ge=0, le=MAX_PAYLOAD_BYTES)] = 8
    handler: Annotated[str, msgspec.Meta(pattern=r"^[a-z_]{0,32}\Z")] = ""
    sender_pays: bool = False
    terms: FeeTerms = NO_TERMS
    offset: Count = 0


class CancelOrder(Order, frozen=True):
    """Cancel timers of the actor by the names that scheduling returned; timers that are gone are skipped."""

    traced_name: ClassVar[str] = "CancelOrder"

    timer_ids: Annotated[tuple[bytes, ...], msgspec.Meta(max_length=MAX_STORM_TIMERS)]


class StormMaker(Actor):
    """Schedules the requested number of timers, for a storm after an outage; each fire writes a little."""

    handlers = ("make", "cancel", "withdraw", "handle_timer", "fail", "spin", "crash", "spend")

    def make(self, payload: bytes) -> None:
        """Schedule the timers of a StormOrder, all of them or none."""
        order = decode_order(payload, StormOrder)
        base = max(self.host.now + order.delay, order.not_before)
        for index in range(order.count):
            due = storm_due(order, index, base)
            schedule_on_terms(
                self,
                due,
                storm_payload(order, index),
                order.terms,
                fee_payer=self.host.sender if order.sender_pays else None,
                gas_limit=order.gas_limit or None,
                expires_at=due + order.ttl,
            )

    def cancel(self, payload: bytes) -> None:
        """Cancel the timers of a CancelOrder. Only the owner may."""
        require_owner(self)
        for timer_id in decode_order(payload, CancelOrder).timer_ids:
            with contextlib.suppress(UnknownTimer):
                self.host.cancel_timer(timer_id)

    def withdraw(self, payload: bytes) -> None:
        """Send the actor's whole balance to its owner, which leaves its timers insolvent. Only the owner may."""
        require_owner(self)
        require_empty(payload)
        self._send_all()

    def handle_timer(self, payload: bytes) -> None:
        """Count the fire and remember its payload's first bytes."""
        require_own_timer(self)
        fired = int.from_bytes(self.host.get(b"fired") or bytes(8), "big") + 1
        self.host.put(b"fired", fired.to_bytes(8, "big"))
        self.host.put(b"last", payload[:8])

    def fail(self, payload: bytes) -> None:
        """Write something and revert."""
        require_own_timer(self)
        self.host.put(b"failed", payload[:8])
        raise Revert("as ordered")

    def spin(self, payload: bytes) -> None:
        """Use more cycles than any limit has."""
        require_own_timer(self)
        self.host.put(b"spun", payload[:8])
        self.host.compute(MAX_U63)

    def crash(self, payload: bytes) -> None:
        """Fail with an unexpected error."""
        require_own_timer(self)
        self.host.put(b"crashed", payload[:8])
        raise ArithmeticError("a bug of the program")

    def spend(self, payload: bytes) -> None:
        """Send the actor's whole balance to its owner, so that its other timers of this block cannot pay."""
        require_own_timer(self)
        self.host.emit("spend", payload[:8])
        self._send_all()

    def _send_all(self) -> None:
        self.host.transfer(self.host.owner, self.host.balance())


def storm_due(order: StormOrder, index: int, base: int) -> int:
    """Return the due time of an order's timer, where the order's first time is `base`."""
    return base + (order.offset + index) % order.spread


def storm_payload(order: StormOrder, index: int) -> bytes:
    """Return the payload of an order's timer: its index and zeros, wrapped where a handler is named."""
    size = order.payload_size
    body = index.to_bytes(8, "big")[:size].ljust(size, b"\0")
    if not order.handler:
        return body
    text = base64.b64encode(body).decode("ascii")
    return f'{{"_handler":"{order.handler}","_payload":"{text}"}}'.encode("ascii")
