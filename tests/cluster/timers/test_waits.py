"""The oldest waits of timers by class of tip, against a scan of every life of a chain."""

from functools import cache

import msgspec
import pytest

from checker.record.streams import OldestWait
from cluster.page.storm import CLASSES_MAX, make_storm
from cluster.scenario.load import load_scenario
from cluster.timers.lifecycles import NOT_YET, TimerLives
from cluster.timers.waits import BIDS, LEFT_OPEN, NO_TIP, TIPS, OldestWaits, class_of, name_of_class
from scheduler.types import Quote, Timer
from tests.support.cluster_runs import applied_blocks
from tests.support.keystones import first_of, third_of

TIMER = Timer(bytes(32), bytes(20), 5, 0, b"", "handle_timer", bytes(20), 700, False, 9)


@cache
def chain_of(name, *settings):
    _, applied = applied_blocks(name, *settings)
    return [executed for node, executed in applied if node == 0]


def quoted(tip):
    return msgspec.structs.replace(TIMER, quote=Quote(10**9, tip))


def scanned(chain):
    """Return the oldest waits of each block by looking at every timer, with classes by what `TimerLives` reads."""
    lives, found = TimerLives(), []
    has_quote = any(timer.quote is not None for timer in timers_of(chain))
    for executed in chain:
        now, oldest = executed.header.slot, {}
        left = [life for life in lives.follow(executed) if life.exit != "insolvent"]
        insolvent = {timer_id.hex() for timer_id in executed.insolvent_left}
        for life in (*left, *lives.waiting()):
            if life.due <= now <= life.expires_at and life.timer_id not in insolvent:
                number = (LEFT_OPEN if has_quote else NO_TIP) if life.tip == NOT_YET else NO_TIP
                number = TIPS + len(str(life.tip)) - 1 if life.tip > 0 else number
                oldest[number] = max(oldest.get(number, 0), now - life.due)
        found.append(tuple(OldestWait(number, oldest[number]) for number in sorted(oldest)))
    return found


def timers_of(chain):
    values = [value for executed in chain for key, value in executed.changes.items() if key[0] == 5 and value]
    return [msgspec.msgpack.decode(value, type=Timer) for value in values]


@pytest.mark.parametrize(
    ("name", "settings"),
    first_of(
        [
            ("congestion", ("run.until_height=16",)),
            ("cancel-flood", ()),
            ("lane-triggers", ()),
            ("insolvency-storm", ()),
            ("storm-under-auction", ()),
        ]
    ),
)
def test_a_scan_of_all_timers_finds_the_same(name, settings):
    chain, waits = chain_of(name, *settings), OldestWaits({})
    followed = [waits.follow(executed, executed.header.slot) for executed in chain]

    assert followed == scanned(chain)
    assert sum(map(len, followed)) > len(chain) // 2


@pytest.mark.parametrize(
    ("name", "settings"),
    third_of(
        [
            ("insolvency-storm", ()),
            ("storm-under-auction", ()),
            ("insolvency-storm", ("chain.policy=bias-auction", "chain.timers.gc_cycles_per_block=50_000")),
        ]
    ),
)
@pytest.mark.soak
def test_live_timers_are_those_that_the_block_counts_as_live(name, settings):
    """A payer that cannot pay leaves its timers dead, however long they have waited."""
    lives, insolvent = TimerLives(), 0
    for executed in chain_of(name, *settings):
        left = {timer_id.hex() for timer_id in executed.insolvent_left}
        list(lives.follow(executed))
        now, insolvent = executed.header.slot, insolvent + len(left)
        waiting = [life.timer_id for life in lives.waiting() if life.due <= now <= life.expires_at]

        assert left <= set(waiting)
        assert len([timer_id for timer_id in waiting if timer_id not in left]) == executed.summary.waiting_live
    assert insolvent > 0


@pytest.mark.parametrize(
    ("timer", "bid", "number", "words"),
    [
        (TIMER, 0, NO_TIP, "no tip"),
        (quoted(0), 0, NO_TIP, "no tip"),
        (quoted(None), 0, LEFT_OPEN, "tip left open"),
        (quoted(9), 0, TIPS, "tip 1 to 9"),
        (quoted(10), 0, TIPS + 1, "tip 10 to 99"),
        (TIMER, 1_000, BIDS + 3, "bid 1,000 to 9,999"),
        (quoted(2**63 - 1), 0, TIPS + 18, f"tip {10**18:,} to {10**19 - 1:,}"),
    ],
)
def test_a_class_is_what_a_timer_offers(timer, bid, number, words):
    assert (class_of(timer, bid), name_of_class(number)) == (number, words)


@pytest.mark.soak
def test_bids_are_classes_of_their_own():
    waits = OldestWaits({})
    found = [
        each for executed in chain_of("bids-after-outage") for each in waits.follow(executed, executed.header.slot)
    ]

    assert {each.tip_class >= BIDS for each in found} >= {True}


def test_a_record_that_cannot_be_read_is_passed_over():
    assert OldestWaits({b"\x05" + bytes(31): b"\xff"}).follow(chain_of("calm", "run.until_height=1")[0], 1) == ()


class TestPane:
    SCENARIO = load_scenario("calm", ())

    def made(self, waits):
        summaries = [executed.summary for executed in chain_of("calm", "run.until_height=2")]
        return make_storm(summaries, [1_000] * len(summaries), self.SCENARIO, waits)

    def test_a_record_without_waits_has_no_picture_of_them(self):
        assert (self.made([]).waits, self.made([]).waited) == ({}, "")

    def test_the_longest_wait_of_each_class_is_said_in_words(self):
        rows = self.made([(OldestWait(NO_TIP, 7),), (OldestWait(NO_TIP, 1), OldestWait(TIPS, 1))])

        assert rows.waited == "no tip: 7 slots; tip 1 to 9: 1 slot"
        assert {name: list(values) for name, values in rows.waits.items()} == {"no tip": [7, 1], "tip 1 to 9": [-1, 1]}

    def test_the_classes_that_waited_longest_are_drawn(self):
        many = [OldestWait(TIPS + decade, decade) for decade in range(CLASSES_MAX + 3)]
        rows = self.made([many, ()])

        assert next(iter(rows.waits)) == name_of_class(TIPS + 3)
        assert len(rows.waits) == CLASSES_MAX
