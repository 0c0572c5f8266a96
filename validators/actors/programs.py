"""The programs that every chain has: the heartbeat and the storm maker.

Payloads from transactions are hostile: each handler decodes its order strictly and reverts on anything else.
"""

import contextlib
from types import MappingProxyType
from typing import Annotated, Final, TypeVar, final

import msgspec

from scheduler import MAX_U63, UnknownTimer
from validators.actors.calls import Actor, Programs
from validators.actors.host import Revert

MAX_STORM_TIMERS: Final = 10_000
"""The most timers that one order to a storm maker may name; the per-actor cap usually stands lower."""

MAX_TIMER_PAYLOAD_BYTES: Final = 4_096
"""The longest payload that a storm maker gives its timers."""

_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_U63)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_U63)]


@final
class HeartbeatOrder(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Beat every `interval`, in the chain's timebase; a `gas_limit` of 0 means the protocol's default."""

    interval: _Positive
    gas_limit: _Count = 0


@final
class StormOrder(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Make `count` timers; the i-th is due at max(now + delay, not_before) + i modulo spread and expires `ttl` later.

    Times are in the chain's timebase. A `gas_limit` of 0 means the protocol's default.
    """

    count: Annotated[int, msgspec.Meta(ge=1, le=MAX_STORM_TIMERS)]
    delay: _Positive
    not_before: _Count
    spread: _Positive
    ttl: _Count
    gas_limit: _Count = 0
    payload_size: Annotated[int, msgspec.Meta(ge=0, le=MAX_TIMER_PAYLOAD_BYTES)] = 8


Order = TypeVar("Order", bound=msgspec.Struct)


@final
class Heartbeat(Actor):
    """Schedules its own next call whenever it is called, and counts its beats (seed, appendix B)."""

    handlers = ("start", "stop", "handle_timer")

    def start(self, payload: bytes) -> None:
        """Remember the order and schedule the first beat in the place of one that may be pending."""
        decode_order(payload, HeartbeatOrder)
        pending = self.host.get(b"next")
        if pending is not None:
            # A beat that expired or could not be paid for is gone, and the heart must be able to start again.
            with contextlib.suppress(UnknownTimer):
                self.host.cancel_timer(pending)
        self.host.put(b"order", payload)
        self._schedule_next()

    def stop(self, payload: bytes) -> None:
        """Cancel the next beat. Only the owner may; the payload is empty."""
        require_owner(self, payload)
        timer_id = self.host.get(b"next")
        if timer_id is None:
            raise Revert("does not beat")
        self.host.cancel_timer(timer_id)
        self.host.delete(b"next")

    def handle_timer(self, payload: bytes) -> None:
        """Count a beat and schedule the next one."""
        if payload or self.host.sender != self.host.actor:
            raise Revert("not a beat of this heart")
        beats = int.from_bytes(self.host.get(b"beats") or bytes(8), "big") + 1
        self.host.put(b"beats", beats.to_bytes(8, "big"))
        self._schedule_next()

    def _schedule_next(self) -> None:
        order = decode_order(self.host.get(b"order") or b"", HeartbeatOrder)
        timer_id = self.host.schedule_timer_ex(self.host.now + order.interval, b"", gas_limit=order.gas_limit or None)
        self.host.put(b"next", timer_id)


@final
class StormMaker(Actor):
    """Schedules as many timers as it is told to, for a storm after an outage; each fire writes a little."""

    handlers = ("make", "withdraw", "handle_timer")

    def make(self, payload: bytes) -> None:
        """Schedule the timers of a StormOrder, all of them or none."""
        order = decode_order(payload, StormOrder)
        base = max(self.host.now + order.delay, order.not_before)
        filling = bytes(max(order.payload_size - 8, 0))
        for index in range(order.count):
            due = base + index % order.spread
            body = (index.to_bytes(8, "big") + filling)[: order.payload_size]
            self.host.schedule_timer_ex(due, body, gas_limit=order.gas_limit or None, expires_at=due + order.ttl)

    def withdraw(self, payload: bytes) -> None:
        """Send the actor's whole balance to its owner, which leaves its timers insolvent. Only the owner may."""
        require_owner(self, payload)
        self.host.transfer(self.host.owner, self.host.balance())

    def handle_timer(self, payload: bytes) -> None:
        """Count the fire and remember its payload's first bytes."""
        if self.host.sender != self.host.actor:
            raise Revert("not a timer of this actor")
        fired = int.from_bytes(self.host.get(b"fired") or bytes(8), "big") + 1
        self.host.put(b"fired", fired.to_bytes(8, "big"))
        self.host.put(b"last", payload[:8])


def decode_order(payload: bytes, kind: type[Order]) -> Order:
    """Decode the order of a call: a msgpack array in the order of the fields.

    Raises:
        Revert: It is anything else.
    """
    try:
        return msgspec.msgpack.decode(payload, type=kind)
    except (msgspec.MsgspecError, UnicodeError):
        raise Revert(f"not a {kind.__name__}") from None


def require_owner(program: Actor, payload: bytes) -> None:
    """Check that the owner calls a handler that takes no payload.

    Raises:
        Revert: Somebody else does, or there is a payload.
    """
    if program.host.sender != program.host.owner or payload:
        raise Revert("only the owner, with an empty payload")


PROGRAMS: Final[Programs] = MappingProxyType({"heartbeat": Heartbeat, "storm-maker": StormMaker})
"""Programs by the name under which genesis refers to them."""
