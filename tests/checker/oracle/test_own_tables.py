"""The oracle's audit of tables that one policy keeps: deposits, bids and watches against the timers."""

import pytest

from checker.oracle import watches
from checker.oracle.contents import Quote
from checker.oracle.escrow import BIDS
from checker.oracle.queue_records import DEPOSITS, ENTRIES, SLOTS, QueueEntry
from tests.support.oracle_bench import RICH, Bench

KEYS = tuple(bytes([1, number]).ljust(32, b"\0") for number in range(2))


def queue_with_an_entry():
    """Return a chain with one entry, whose deposit was taken."""
    bench = Bench({"a": RICH}, queue={}, slot_ms=1)
    timer = bench.add("entry", "a", 9_000, gas_limit=500, quote=Quote(200, 0, None))
    bench.contents.credit(timer.actor, -100_000)
    bench.contents.credit(DEPOSITS, 100_000)
    bench.contents.own(ENTRIES).put(b"key", QueueEntry(0, None, True))
    bench.contents.settle()
    return bench


def auction_with_a_bid():
    """Return a chain with a timer that bids and watches two keys."""
    bench = Bench({"a": RICH}, bias={})
    timer = bench.add("bidder", "a", 9)
    bench.lock(timer, 70)
    watches.begin(bench.contents, timer, KEYS)
    bench.contents.settle()
    return bench


@pytest.mark.parametrize("made", [queue_with_an_entry, auction_with_a_bid])
def test_tables_that_agree_pass(made):
    assert made().chain.audit() == ""


def more_deposited(contents):
    contents.credit(DEPOSITS, 5)
    contents.credit(b"a".ljust(20, b"."), -5)


def key_marked_twice(contents):
    contents.own(SLOTS).put(3, (b"key",))


def more_in_escrow(contents):
    contents.credit(bytes(19) + b"\x0d", 5)
    contents.credit(b"a".ljust(20, b"."), -5)


def bid_moved(contents):
    contents.own(BIDS).put((9, 0), None)
    contents.own(BIDS).put((9, 4), (b"bidder", 70))


def watch_without_its_timer(contents):
    contents.own(watches.WATCH).put(b"gone", ((KEYS[0], 9),))


def place_without_its_watch(contents):
    contents.own(watches.WATCHER).put((KEYS[0], 9), b"bidder")


def one_watcher_too_many(contents):
    row = contents.own(watches.WATCHED).rows[KEYS[1]]
    contents.own(watches.WATCHED).put(KEYS[1], row._replace(live=2))


@pytest.mark.parametrize(
    ("made", "breaks", "told"),
    [
        (
            queue_with_an_entry,
            more_deposited,
            "100005 units are deposited, the queued entries have deposited 100000 units",
        ),
        (queue_with_an_entry, key_marked_twice, "the queue has 1 keys, 1 bodies and 1 marks"),
        (auction_with_a_bid, more_in_escrow, "the escrow holds 75, bids are 70"),
        (auction_with_a_bid, bid_moved, "a bid is at place (9, 4) without its timer"),
        (auction_with_a_bid, watch_without_its_timer, f"timer {b'gone'.hex()} watches and is gone"),
        (auction_with_a_bid, place_without_its_watch, "3 places have a watcher, timers name 2"),
        (auction_with_a_bid, one_watcher_too_many, f"key {KEYS[1].hex()} has 1 watchers and counts 2"),
    ],
)
def test_tables_that_contradict_the_timers_are_named(made, breaks, told):
    bench = made()
    breaks(bench.contents)
    bench.contents.settle()

    assert bench.chain.audit() == told
