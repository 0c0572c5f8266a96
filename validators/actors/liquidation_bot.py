"""The liquidation bot: checks its positions on a timer, more often the nearer a position is to its limit.

A position's risk is debt / (collateral x price). Above 7/10 the bot looks again at the next opportunity, above 9/10 it
liquidates (seed, example of a bidding agent).
"""

import contextlib
from typing import Annotated, ClassVar, Final

import msgspec

from scheduler import UnknownTimer
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

POSITIONS_PER_CHECK: Final = 16
"""Positions that a check covers; the next check continues after them."""

RISK_CYCLES: Final = 500
"""Cycles for computing the risk of a position."""

RISK_PARTS: Final = 10
"""Risks are counted in tenths."""

ALARM_RISK: Final = 7
"""Tenths of the collateral's value; with a debt above them the next check comes at once."""

LIQUIDATION_RISK: Final = 9
"""Tenths of the collateral's value; a position with a debt above them is liquidated."""

Units = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
"""An amount of collateral or debt, or a price."""


class PositionOrder(Order, frozen=True):
    """Open a position with collateral and debt."""

    traced_name: ClassVar[str] = "PositionOrder"

    collateral: Units
    debt: Units


class PriceOrder(Order, frozen=True):
    """Take over a price, and check every `interval`; a `gas_limit` of 0 means the protocol's default."""

    traced_name: ClassVar[str] = "PriceOrder"

    price: Units
    interval: Interval
    gas_limit: Count = 0


class LiquidationBot(Actor):
    """Checks positions in turn and liquidates positions above the risk limit."""

    handlers = ("open", "price", "handle_timer")

    def open(self, payload: bytes) -> None:
        """Add a position; anybody may."""
        order = decode_order(payload, PositionOrder)
        index = self._number(b"opened")
        record = order.collateral.to_bytes(8, "big") + order.debt.to_bytes(8, "big")
        self.host.put(_position_key(index), record)
        self._put_number(b"opened", index + 1)

    def price(self, payload: bytes) -> None:
        """Adopt a price and check at once, replacing a pending check. Only the owner may."""
        require_owner(self)
        decode_order(payload, PriceOrder)
        self.host.put(b"order", payload)
        pending = self.host.get(b"next")
        if pending is not None:
            with contextlib.suppress(UnknownTimer):
                self.host.cancel_timer(pending)
        self._schedule_next(1)

    def handle_timer(self, payload: bytes) -> None:
        """Check the next positions in turn, and schedule the next check."""
        require_own_timer(self)
        require_empty(payload)
        order = decode_order(self.host.get(b"order") or b"", PriceOrder)
        is_alarmed = self._check_positions(order.price)
        self._schedule_next(1 if is_alarmed else order.interval)

    def _check_positions(self, price: int) -> bool:
        """Check up to POSITIONS_PER_CHECK positions; return whether a remaining position is near its limit."""
        opened, cursor = self._number(b"opened"), self._number(b"cursor")
        looked_at = min(POSITIONS_PER_CHECK, opened)
        alarms = [self._check((cursor + step) % opened, price) for step in range(looked_at)]
        if opened:
            self._put_number(b"cursor", (cursor + looked_at) % opened)
        return any(alarms)

    def _check(self, index: int, price: int) -> bool:
        record = self.host.get(_position_key(index))
        if record is None:
            return False
        self.host.compute(RISK_CYCLES)
        value = int.from_bytes(record[:8], "big") * price
        debt = int.from_bytes(record[8:], "big") * RISK_PARTS
        if debt > LIQUIDATION_RISK * value:
            self.host.delete(_position_key(index))
            self.host.emit("liquidated", index.to_bytes(8, "big"))
            return False
        return debt > ALARM_RISK * value

    def _schedule_next(self, delay: int) -> None:
        order = decode_order(self.host.get(b"order") or b"", PriceOrder)
        timer_id = schedule_on_terms(self, self.host.now + delay, b"", gas_limit=order.gas_limit or None)
        self.host.put(b"next", timer_id)

    def _number(self, key: bytes) -> int:
        return int.from_bytes(self.host.get(key) or bytes(8), "big")

    def _put_number(self, key: bytes, number: int) -> None:
        self.host.put(key, number.to_bytes(8, "big"))


def _position_key(index: int) -> bytes:
    return b"p" + index.to_bytes(8, "big")
