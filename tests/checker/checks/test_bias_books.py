"""The accounts of the bias auction: each thing that receipts and state may disagree on is named."""

import re
from types import SimpleNamespace

import msgspec
import pytest

from checker.checks.bias_books import BiasAccounts, Spread
from scheduler import BiasWindowClosed, BidLocked, TimerCancelled, TimerFired, TimerTriggered
from scheduler.bias_records import BIAS_CONFIG, BiasConfig, BiasWindow, window_key
from scheduler.escrow import BID, ESCROW_ADDRESS, LockedBid

ONE = b"\x01" * 32
BID_KEY = BID.key(bytes(7) + b"\x02" + bytes(8))
ESCROW_KEY = b"\x01" + ESCROW_ADDRESS + bytes(11)
encode = msgspec.msgpack.encode


def fire(tip):
    return TimerFired(ONE, bytes(20), 2, True, 100, 0, 0, tip)


RICH = {b"\x01" * 32: encode([1_000_000, 0])}


def judge(*blocks, slots=(), genesis=RICH, **parameters):
    """Return the check's result over blocks, each its events and what it writes, and the first failure.

    Blocks are of one slot each, or of `slots`.
    """
    keeps = SimpleNamespace(first_with=lambda table: 1, keeps=lambda table, height: True)
    check = BiasAccounts(SimpleNamespace(rules=keeps, genesis_values=genesis))
    values = {BIAS_CONFIG.key(): encode(BiasConfig(**parameters))}
    for height, (events, changes) in enumerate(blocks, 1):
        block = SimpleNamespace(
            height=height,
            now=slots[height - 1] if slots else height,
            before=dict(values),
            changes=changes,
            events=lambda events=events: events,
        )
        check.settle(block)
        values.update(changes)
    return check.finish()


def locked(bid=100, held=100, stated=100):
    return [BidLocked(ONE, bytes(20), bid)], {ESCROW_KEY: encode([held, 0]), BID_KEY: encode(LockedBid(ONE, stated))}


EMPTY = {ESCROW_KEY: encode([0, 0])}
CLOSED = BiasWindow(1, 4, 1, 2, 2, 100_000, 112_500)


def closing(window, **changes):
    event = msgspec.structs.replace(BiasWindowClosed(0, 2, 100_000, 112_500), **changes)
    return [fire(60), event], {**EMPTY, window_key(0): encode(window)}


@pytest.mark.parametrize(("waited", "status"), [(0, "failed"), (1, "passed"), (2, "failed")])
def test_a_wait_is_held_to_start_at_the_hit(waited, status):
    """Slot 2 has two blocks, and the second one triggers."""
    hit = [TimerTriggered(ONE, 2, 0, bytes(32))]
    window = msgspec.structs.replace(CLOSED, waited=waited)
    result = judge(locked(), ([], {}), (hit, {}), closing(window), slots=(1, 2, 2, 3))

    assert result.status == status, result.summary


def test_a_bid_that_is_locked_and_paid_passes_with_its_figures():
    result = judge(locked(), ([], {}), ([], {}), closing(CLOSED))
    figures = dict(result.evidence)

    assert result.status == "passed"
    names = ("worst_wait", "n_max", "paid", "returned", "between", "windows")
    assert [figures[name] for name in names] == [2, 128, 60, 40, 1, 1]


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([locked(held=99)], "the escrow holds 99, bids are 100"),
        ([locked(stated=99)], "a bid of 99 is in the state, 100 was locked"),
        ([locked(), ([fire(101)], EMPTY)], "paid 101 of a bid of 100, at least 10"),
        ([locked(), ([fire(9)], EMPTY)], "paid 9 of a bid of 100, at least 10"),
        ([locked(), ([TimerCancelled(ONE, bytes(20))], {})], "the escrow holds 100, bids are 0"),
        (
            [locked(), ([], {}), ([], {}), closing(msgspec.structs.replace(CLOSED, waited=3))],
            r"a window counts \[1, 3\], fires make it \[1, 2\]",
        ),
        (
            [locked(), ([], {}), ([], {}), closing(CLOSED, worst_wait=1)],
            "a window's worst wait is 1, a fire waited 2",
        ),
        ([locked(), ([], {}), ([], {}), closing(CLOSED, next_lambda=110_000)], "lambda went to 110000, not"),
    ],
)
def test_what_does_not_add_up_is_named(blocks, words):
    result = judge(*blocks)

    assert result.status == "failed"
    assert re.search(words, result.summary), result.summary


def test_a_chain_without_accounts_has_a_result():
    """A run without workloads has none, such as a candidate of `shrink`."""
    assert judge(genesis={}).status == "inconclusive"


def test_by_first_price_less_than_the_bid_is_named():
    result = judge(locked(), ([fire(99)], EMPTY), payment="first-price")

    assert "paid 99 of a bid of 100, at least 100" in result.summary


def test_a_spread_is_the_variance_of_its_shares():
    spread = Spread()
    for share in (1_000_000, 3_000_000):
        spread.add(share)

    assert (spread.variance, Spread().variance) == (1_000_000, 0)
