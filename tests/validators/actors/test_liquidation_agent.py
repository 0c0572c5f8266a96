"""The program `liquidation-agent`: it bids by risk at the price that the feed of its order has published (K-40)."""

import msgspec
import pytest

from scheduler import ZERO_ORIGIN
from validators.actors import FeedRiskOrder, Frame, Meter, Status
from validators.actors.agents import LiquidationAgent
from validators.actors.calls import call_handler

AGENT, FEED, OWNER = b"\x01" * 20, b"\x02" * 20, b"\x03" * 20
ORDER = msgspec.msgpack.encode(FeedRiskOrder(10, 70, FEED))
PRICE, MEDIAN, CELL = 100, 6, 9
"""The lane's price of a cycle, the median tip, and the price of a cell."""

CONTEXT = msgspec.msgpack.encode([5, 5, 1, CELL, PRICE, 0, MEDIAN, 0])
CALL, GET, RISK = 200, 50, 500
"""Cycles of a call, of reading a value, and of weighing a risk."""


class World:
    """The storage of some actors, all of one owner."""

    def __init__(self, also):
        self.storage = {(AGENT, b"order"): ORDER, (AGENT, b"value"): be8(1), **also}
        self.puts = []

    def owner(self, _actor):
        return OWNER

    def storage_get(self, actor, key):
        return self.storage.get((actor, key))

    def storage_put(self, actor, key, value):
        self.puts.append((actor, key, value))

    def refused(self, _what, _error):
        pass


def be8(number):
    return number.to_bytes(8, "big")


def bid_at(also, cycles=10_000):
    frame = Frame(AGENT, AGENT, ZERO_ORIGIN, 0, is_read_only=True)
    meter = Meter(cycles, cycles)
    result = call_handler(LiquidationAgent, World(also), frame, meter, handler="get_gas_bid", payload=CONTEXT)
    return result, msgspec.msgpack.decode(result.answer) if result.answer else None


@pytest.mark.parametrize(
    ("price", "fee", "tip"),
    [
        # A debt of 70 against a collateral of 10: at 10 seven tenths of its value, below 8 above nine tenths.
        *((10, 2 * PRICE, MEDIAN), (9, 4 * PRICE, 2 * (MEDIAN + 1)), (8, 4 * PRICE, 2 * (MEDIAN + 1))),
        *((7, 16 * PRICE, 8 * (MEDIAN + 1)), (0, 16 * PRICE, 8 * (MEDIAN + 1))),
    ],
)
def test_the_bid_follows_the_value_of_the_feed(price, fee, tip):
    result, bid = bid_at({(FEED, b"value"): be8(price)})

    assert bid == [fee, tip, CELL, 0]
    assert (result.cycles, result.cells) == (CALL + 2 * GET + RISK, 8)


@pytest.mark.parametrize(
    ("also", "cycles"),
    [({}, CALL + 2 * GET), ({(AGENT, b"order"): None, (FEED, b"value"): be8(7)}, CALL + GET)],
    ids=["a feed without a value", "an agent without an order"],
)
def test_without_a_price_it_bids_the_default_values(also, cycles):
    result, bid = bid_at(also)

    assert bid == [2 * PRICE, MEDIAN, CELL, 0]
    assert (result.cycles, result.cells) == (cycles, 0)


def test_the_price_is_the_first_eight_bytes_and_all_bytes_are_paid():
    result, bid = bid_at({(FEED, b"value"): be8(8) + b"more"})

    assert (bid[:2], result.cells) == ([4 * PRICE, 2 * (MEDIAN + 1)], 12)


def test_cycles_that_do_not_pay_for_the_risk_give_no_bid():
    needed = CALL + 2 * GET + RISK
    results = [bid_at({(FEED, b"value"): be8(10)}, cycles)[0].status for cycles in (needed, needed - 1)]

    assert results == [Status.OK, Status.OUT_OF_GAS]


def assessed(payload, sender=OWNER):
    world = World({})
    frame, meter = Frame(AGENT, sender, ZERO_ORIGIN, 0), Meter(10_000, 10_000)
    return call_handler(LiquidationAgent, world, frame, meter, handler="assess", payload=payload), world


def test_its_owner_gives_it_another_order():
    result, world = assessed(ORDER)

    assert (result.status, world.puts) == (Status.OK, [(AGENT, b"order", ORDER)])


@pytest.mark.parametrize(
    ("payload", "sender", "error"),
    [
        (ORDER, AGENT, "not the owner"),
        (msgspec.msgpack.encode([10, 70, 1]), OWNER, "not a FeedRiskOrder"),
        (msgspec.msgpack.encode([10, 70, b"short"]), OWNER, "not a FeedRiskOrder"),
        (msgspec.msgpack.encode([10, 2**40 + 1, FEED]), OWNER, "not a FeedRiskOrder"),
    ],
)
def test_it_takes_no_other_order(payload, sender, error):
    result, world = assessed(payload, sender)

    assert (result.status, result.error, world.puts) == (Status.REVERTED, error, [])
