"""The programs `risk-agent`, `liquidation-agent` and `chaos-agent` as docs/programs.md has them."""

from collections.abc import Callable, Sequence

import msgspec

from checker.oracle.calls import Call, RevertedError
from checker.oracle.orders import FieldRule, read_order, require_owner, within
from checker.oracle.records import MAX_INTEGER
from checker.oracle.storm import CrashedError

RISK_ORDER = (within(0, 2**40),) * 3
FEED_RISK_ORDER = (within(0, 2**40), within(0, 2**40), lambda field: isinstance(field, bytes) and len(field) == 20)
BID_CONTEXT = (within(0),) * 8
AUCTION_CONTEXT: tuple[FieldRule, ...] = (within(0),) * 6
ASSESS_CYCLES = 500

NO_BIDS = {
    b"negative": [-1, 1, 1, 1],
    b"great": [2**64 - 1, 1, 1, 1],
    b"short": [1, 1, 1],
    b"nothing": [0, 0, 0, 0],
}


def read_context(payload: bytes) -> list[int]:
    """Return the eight numbers of a bid's context; those of the GBA auction are six, and stand in their places."""
    try:
        return read_order(payload, BID_CONTEXT, (), "BidContext")
    except RevertedError:
        due, now, cycle, cell, used, balance = read_order(payload, AUCTION_CONTEXT, (), "BidContext")
        return [due, now, cycle, cell, cycle, used, 0, balance]


def bid_by_default(_call: Call, payload: bytes) -> bytes:
    """Bid twice the lane's price and the median tip."""
    context = read_context(payload)
    return msgspec.msgpack.encode([min(2 * context[4], MAX_INTEGER), context[6], context[3], 0])


def assess(call: Call, payload: bytes) -> None:
    """Keep a position."""
    require_owner(call)
    read_order(payload, RISK_ORDER, (), "RiskOrder")
    call.put(b"order", payload)


def bid_by_risk(call: Call, payload: bytes) -> bytes:
    """Bid the defaults, or more where the position is near its limit."""
    return _bid_at_risk(call, payload, _stated_position)


def follow(call: Call, payload: bytes) -> None:
    """Keep a position and the feed of its price."""
    require_owner(call)
    read_order(payload, FEED_RISK_ORDER, (), "FeedRiskOrder")
    call.put(b"order", payload)


def bid_by_feed(call: Call, payload: bytes) -> bytes:
    """Bid by risk at the price that a feed has published."""
    return _bid_at_risk(call, payload, _priced_position)


def _stated_position(call: Call) -> Sequence[int] | None:
    order = call.get(b"order")
    return None if order is None else read_order(order, RISK_ORDER, (), "RiskOrder")


def _priced_position(call: Call) -> Sequence[int] | None:
    order = call.get(b"order")
    if order is None:
        return None
    collateral, debt, feed = read_order(order, FEED_RISK_ORDER, (), "FeedRiskOrder")
    published = call.get(b"value", feed)
    return None if published is None else (collateral, debt, int.from_bytes(published[:8], "big"))


def _bid_at_risk(call: Call, payload: bytes, find: Callable[[Call], Sequence[int] | None]) -> bytes:
    context = read_context(payload)
    cell_price, lane_price, median = context[3], context[4], context[6]
    fee, tip = 2 * lane_price, median
    position = find(call)
    if position is not None:
        collateral, debt, price = position
        call.compute(ASSESS_CYCLES)
        if 10 * debt > 9 * collateral * price:
            fee, tip = 16 * lane_price, 8 * (median + 1)
        elif 10 * debt > 7 * collateral * price:
            fee, tip = 4 * lane_price, 2 * (median + 1)
    return msgspec.msgpack.encode([min(fee, MAX_INTEGER), min(tip, MAX_INTEGER), cell_price, 0])


def bid_badly(call: Call, payload: bytes) -> bytes:
    """Misbehave in the way that the stored mode names."""
    context = read_context(payload)
    mode = call.get(b"mode") or b""
    if mode == b"revert":
        raise RevertedError("as ordered")
    if mode == b"crash":
        raise CrashedError
    if mode == b"spin":
        call.compute(MAX_INTEGER)
    if mode == b"write":
        call.put(b"asked", payload)
    if mode == b"garbage":
        return b"\xc1"
    return msgspec.msgpack.encode(NO_BIDS.get(mode, [context[4], 0, 0, 0]))
