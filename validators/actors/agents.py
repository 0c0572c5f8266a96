"""Gas bidding agents: the documents' agent that bids by risk, and an agent that does everything an agent must not.

An agent is asked read-only in each block in which a timer that names it is due. It answers with the encoded fees of
TxFeeParams (CIP-1, section 7). Risk is debt / (collateral x price), as for the liquidation bot.
"""

from typing import ClassVar, Final

import msgspec

from scheduler import MAX_U63, FeeParams
from validators.actors.calls import Actor
from validators.actors.host import Host, Revert
from validators.actors.liquidation_bot import ALARM_RISK, LIQUIDATION_RISK, RISK_CYCLES, RISK_PARTS, Units
from validators.actors.orders import Address, Count, Order, decode_order, require_owner

ALARMED: Final = (4, 2)
"""Above the alarm: an agent's greatest multiples of the lane's price, and of the median tip and a unit."""

DESPERATE: Final = (16, 8)
"""The same above the limit."""


class BidContext(Order, frozen=True):
    """The chain's context for a bidding agent (CIP-1, section 7.2): heights in the timebase, fees per cycle or cell."""

    traced_name: ClassVar[str] = "BidContext"

    trigger_block_height: Count
    current_block_height: Count
    basefee_cycle: Count
    basefee_cell: Count
    basefee_lane_timer: Count
    last_block_cycle_usage: Count
    previous_block_p50_priority_tip_per_cycle: Count
    owner_actor_balance: Count


class AuctionBidContext(Order, frozen=True):
    """The context of the GBA auction (the older CIP-1, section 4.2): neither a lane's basefee nor a median tip."""

    traced_name: ClassVar[str] = "BidContext"

    trigger_block_height: Count
    current_block_height: Count
    basefee_cycle: Count
    basefee_cell: Count
    last_block_cycle_usage: Count
    owner_actor_balance: Count


def decode_context(payload: bytes) -> BidContext:
    """Return either context; in the auction's the cycle basefee is the lane's as well, and the median tip is 0.

    Raises:
        Revert: The payload is neither.
    """
    try:
        return decode_order(payload, BidContext)
    except Revert:
        told = decode_order(payload, AuctionBidContext)
    return BidContext(
        trigger_block_height=told.trigger_block_height,
        current_block_height=told.current_block_height,
        basefee_cycle=told.basefee_cycle,
        basefee_cell=told.basefee_cell,
        basefee_lane_timer=told.basefee_cycle,
        last_block_cycle_usage=told.last_block_cycle_usage,
        previous_block_p50_priority_tip_per_cycle=0,
        owner_actor_balance=told.owner_actor_balance,
    )


class DefaultAgent(Actor):
    """Bids the default values of CIP-1, section 7.1: twice the price, the median tip, the cell basefee."""

    handlers = ("get_gas_bid",)

    def get_gas_bid(self, payload: bytes) -> bytes:
        """Return the default values of the block."""
        context = decode_context(payload)
        fee, tip = 2 * context.basefee_lane_timer, context.previous_block_p50_priority_tip_per_cycle
        return msgspec.msgpack.encode(FeeParams(min(fee, MAX_U63), tip, context.basefee_cell, 0))


class PricedOrder(Order, frozen=True):
    """A debt against collateral, and the source of the collateral's price."""

    collateral: Units
    debt: Units

    def price_now(self, host: Host) -> int | None:
        """Return the price at which the agent of this host is to bid, None where there is none yet."""
        raise NotImplementedError


class RiskOrder(PricedOrder, frozen=True):
    """A position and its price, from which the agent's bids follow."""

    traced_name: ClassVar[str] = "RiskOrder"

    price: Units

    def price_now(self, host: Host) -> int | None:
        """Return the price that the order states."""
        del host
        return self.price


class FeedRiskOrder(PricedOrder, frozen=True):
    """A position, and the oracle feed whose value is its price."""

    traced_name: ClassVar[str] = "FeedRiskOrder"

    feed: Address

    def price_now(self, host: Host) -> int | None:
        """Return the value that the feed has published by now (K-40)."""
        value = host.get(b"value", self.feed)
        return None if value is None else int.from_bytes(value[:8], "big")


class RiskAgent(Actor):
    """Bids more the nearer its position is to the limit (seed, example of a bidding agent)."""

    handlers = ("assess", "get_gas_bid")
    kind_of_order: ClassVar[type[PricedOrder]] = RiskOrder

    def assess(self, payload: bytes) -> None:
        """Remember the position. Only the owner may."""
        require_owner(self)
        decode_order(payload, self.kind_of_order)
        self.host.put(b"order", payload)

    def get_gas_bid(self, payload: bytes) -> bytes:
        """Return the bid: the default values, or multiples of them, by risk."""
        context = decode_context(payload)
        fee, tip = 2 * context.basefee_lane_timer, context.previous_block_p50_priority_tip_per_cycle
        multiples = self._multiples()
        if multiples is not None:
            fee, tip = multiples[0] * context.basefee_lane_timer, multiples[1] * (tip + 1)
        return msgspec.msgpack.encode(FeeParams(min(fee, MAX_U63), min(tip, MAX_U63), context.basefee_cell, 0))

    def _multiples(self) -> tuple[int, int] | None:
        stored = self.host.get(b"order")
        order = None if stored is None else decode_order(stored, self.kind_of_order)
        price = None if order is None else order.price_now(self.host)
        if order is None or price is None:
            return None
        self.host.compute(RISK_CYCLES)
        value, debt = order.collateral * price, order.debt * RISK_PARTS
        if debt > LIQUIDATION_RISK * value:
            return DESPERATE
        return ALARMED if debt > ALARM_RISK * value else None


class LiquidationAgent(RiskAgent):
    """Bids by risk at the latest price of an oracle feed (CIP-1, section 7.2; K-40)."""

    kind_of_order = FeedRiskOrder


class ChaosAgent(Actor):
    """Fails as its storage says under `mode`, so that every path to the default values is taken."""

    handlers = ("get_gas_bid",)

    def get_gas_bid(self, payload: bytes) -> bytes:
        """Revert, run out of cycles, fail, change something, or return an invalid bid."""
        context = decode_context(payload)
        mode = self.host.get(b"mode") or b""
        if mode == b"revert":
            raise Revert("as ordered")
        if mode == b"spin":
            self.host.compute(MAX_U63)
        if mode == b"crash":
            raise ArithmeticError("a bug of the program")
        if mode == b"write":
            self.host.put(b"asked", payload)
        return ABSURD_ANSWERS.get(mode) or msgspec.msgpack.encode([context.basefee_lane_timer, 0, 0, 0])


ABSURD_ANSWERS: Final = {
    b"negative": b"\x94\x01\xff\x01\x01",
    b"great": b"\x94\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x01",
    b"garbage": b"\xc1",
    b"short": b"\x93\x01\x01\x01",
    b"nothing": b"\x94\0\0\0\0",
}
"""Invalid bids: -1, 2^64 - 1, no msgpack, too few numbers; and a bid of nothing."""
