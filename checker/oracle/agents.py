"""The programs `risk-agent`, `liquidation-agent` and `chaos-agent` as docs/programs.md has them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from checker.oracle.calls import Call, RevertedError
from checker.oracle.orders import FieldRule, read_order, require_owner, within
from checker.oracle.records import MAX_INTEGER
from checker.oracle.storm import CrashedError

UNITS = within(0, 2**40)
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
    """Return the eight numbers of a bid's context; the GBA auction has six of them, in the same places."""
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
    """Keep a position and its price."""
    _keep(call, payload, STATED)


def follow(call: Call, payload: bytes) -> None:
    """Keep a position and the feed of its price."""
    _keep(call, payload, PUBLISHED)


def bid_by_risk(call: Call, payload: bytes) -> bytes:
    """Bid the defaults, or more where the position is near its limit."""
    return _bid_at_risk(call, payload, STATED)


def bid_by_feed(call: Call, payload: bytes) -> bytes:
    """Bid by risk at the price that a feed has published."""
    return _bid_at_risk(call, payload, PUBLISHED)


class Priced(NamedTuple):
    """An order of a position: its name, the rule of its last field, and the price that this field leads to."""

    name: str
    rule: FieldRule
    price: Callable[[Call, Any], int | None]

    def read(self, payload: bytes) -> list[Any]:
        """Return collateral, debt, and the source of the price."""
        return read_order(payload, (UNITS, UNITS, self.rule), (), self.name)


def _published_price(call: Call, feed: bytes) -> int | None:
    published = call.get(b"value", feed)
    return None if published is None else int.from_bytes(published[:8], "big")


STATED = Priced("RiskOrder", UNITS, lambda _call, price: price)
PUBLISHED = Priced("FeedRiskOrder", lambda feed: isinstance(feed, bytes) and len(feed) == 20, _published_price)


def _keep(call: Call, payload: bytes, kind: Priced) -> None:
    require_owner(call)
    kind.read(payload)
    call.put(b"order", payload)


def _position(call: Call, kind: Priced) -> tuple[int, int, int] | None:
    order = call.get(b"order")
    if order is None:
        return None
    collateral, debt, source = kind.read(order)
    price = kind.price(call, source)
    return None if price is None else (collateral, debt, price)


def _bid_at_risk(call: Call, payload: bytes, kind: Priced) -> bytes:
    context = read_context(payload)
    cell_price, lane_price, median = context[3], context[4], context[6]
    fee, tip = 2 * lane_price, median
    position = _position(call, kind)
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
