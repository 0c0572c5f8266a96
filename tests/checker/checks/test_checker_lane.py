"""The lane's books: a price, a burn, a tip or a sum that does not follow from what fired fails exactly this check."""

from fractions import Fraction

import msgspec
import pytest

from checker.checks.lane import median, next_basefee
from checker.tables import FEE_MARKET_KEY, LANE_CONFIG, LANE_MARKET_KEY
from scheduler import LaneConfig
from scheduler.fee_market import median_tip as production_median
from scheduler.fee_market import next_lane_basefee as production_next
from tests.support.chain_harness import policies_of
from tests.support.checker_history import ACTOR, FIRES, RULES, assert_only, failing, fired, pack, planned, write_history
from validators.execution import PolicyEntry
from validators.execution.receipts import TimerReceipt

LANE_CONFIG_KEY = bytes((LANE_CONFIG,)).ljust(32, b"\0")

CONFIG = LaneConfig(fairness_window_blocks=2)
FIRE = fired(FIRES, 3, cycles=300)
"""At a cycle basefee of 800 and a lane price of 700 it burns 300 * 1,500, and it tips 9 a cycle."""


def fires_key(height):
    return b"\x10" + height.to_bytes(8, "big") + bytes(23)


RECENT = (b"\x11" + ACTOR).ljust(32, b"\0")


def write_lane(plans):
    """A lane from height 2 on, in which one timer fires, at height 3."""
    plans[1].changes |= {LANE_CONFIG_KEY: msgspec.msgpack.encode(CONFIG), FEE_MARKET_KEY: pack(800, 800)}
    plans[2].changes |= {LANE_MARKET_KEY: pack(800, 0, 0, 2, 800, 0)}
    fire = msgspec.structs.replace(FIRE, burned=300 * 1_600, tip=300 * 9)
    plans[3].receipts[-1] = TimerReceipt(fire)
    plans[3].changes |= {
        LANE_MARKET_KEY: pack(800, 9, 300, 2, 800, 300 * 800),
        fires_key(3): pack([ACTOR, 1]),
        RECENT: pack(1),
    }
    plans[4].changes |= {LANE_MARKET_KEY: pack(800, 0, 0, 2, 800, 300 * 800)}


def result_of(change=lambda plans: None, lane_from=2):
    def both(plans):
        write_lane(plans)
        change(plans)

    history = write_history(both)
    history.rules = RULES._replace(policies=policies_of("eip1559", lane_from) if lane_from else policies_of())
    return history.judge()


def test_a_lane_whose_books_add_up_passes():
    """One fire, its burn, its tip, its place in the window."""
    results = result_of()

    assert failing(results) == []
    assert (
        "the dearest cycle cost 800, 240,000 units burned for the lane and 2,700 tipped"
        in results["lane-books"].summary
    )


def market_of(plan, *fields):
    return lambda plans: plans[plan].changes.update({LANE_MARKET_KEY: pack(*fields)})


def refire(**changes):
    def change(plans):
        event = plans[3].receipts[-1].event
        plans[3].receipts[-1] = TimerReceipt(msgspec.structs.replace(event, **changes))

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (market_of(3, 801, 9, 300, 2, 800, 240_000), "the lane's basefee is 801, what fired leads to 800"),
        (market_of(3, 800, 8, 300, 2, 800, 240_000), "the lane's p50_tip is 8, what fired leads to 9"),
        (market_of(3, 800, 9, 299, 2, 800, 240_000), "the lane's used_cycles is 299, what fired leads to 300"),
        (market_of(3, 800, 9, 300, 1, 800, 240_000), "the lane's window_start is 1, what fired leads to 2"),
        (market_of(3, 800, 9, 300, 2, 800, 240_001), "the lane's burned is 240001, what fired leads to 240000"),
        (market_of(4, 800, 0, 0, 2, 801, 240_000), "the lane's activation_basefee is 801, what fired leads to 800"),
        (market_of(4, 800, 0, 0, 2, 800), "the lane's market is [800, 0, 0, 2, 800]"),
        (refire(burned=300 * 800), "burned 240000, its cycles and cells come to 480000"),
        (refire(tip=301), "tipped 301"),
        (lambda plans: plans[3].changes.update({RECENT: pack(2)}), "a subject is said to have fired 2, it fired 1"),
        (lambda plans: plans[3].changes.pop(RECENT), "the sums of 1 subjects were not written"),
        (lambda plans: plans[3].changes.update({fires_key(3): pack([ACTOR, 2])}), "the block's fires are"),
        (lambda plans: plans[1].changes.pop(LANE_CONFIG_KEY), "the lane has no configuration"),
    ],
)
def test_books_that_do_not_follow_fail(change, words):
    """The summary names the height and both values."""
    assert_only(result_of(change), "lane-books", words)


OWNER = bytes(range(20))
OWNERS_RECENT = (b"\x11" + OWNER).ljust(32, b"\0")


def counted_by_deployer(plans):
    """The fire of height 3 counts for the actor's deployer; from height 4 on fires count for actors."""
    by_deployer = msgspec.structs.replace(CONFIG, fairness_subject="deployer")
    plans[1].changes |= {LANE_CONFIG_KEY: msgspec.msgpack.encode(by_deployer)}
    plans[3].changes |= {fires_key(3): pack([OWNER, 1]), OWNERS_RECENT: pack(1)}
    plans[3].changes[LANE_CONFIG_KEY] = msgspec.msgpack.encode(CONFIG)
    del plans[3].changes[RECENT]


def test_fires_of_deployers_are_followed_over_a_change_of_the_reading():
    """The record of a deployer after the change still follows from the fires before it."""

    def change(plans):
        counted_by_deployer(plans)
        plans[4].changes[OWNERS_RECENT] = pack(1)

    assert failing(result_of(change)) == []


def test_a_list_of_deployers_with_another_number_of_fires_fails():
    def change(plans):
        counted_by_deployer(plans)
        plans[3].changes[fires_key(3)] = pack([OWNER, 2])

    assert_only(result_of(change), "lane-books", "2 fires are listed, 1 were")


@pytest.mark.parametrize(("written", "status"), [(False, "passed"), (True, "failed")])
def test_a_policy_after_the_lane_leaves_its_records_alone(written, status):
    """They stay in the state, and no block of the other policy moves them."""

    def change(plans):
        write_lane(plans)
        market = plans[4].changes.pop(LANE_MARKET_KEY)
        plans[4].changes |= {LANE_MARKET_KEY: market} if written else {}

    history = write_history(change)
    entries = (*policies_of("eip1559", 2), PolicyEntry(4, "gba-auction"))
    history.rules = RULES._replace(policies=entries)

    assert history.judge()["lane-books"].status == status


def test_a_chain_without_a_lane_holds_none():
    """Not one entry of its tables."""
    assert_only(result_of(lane_from=0), "lane-books", "the state holds 1 entries of a lane, and none is active")
    assert failing(planned(lambda plans: None)) == []


@pytest.mark.parametrize("slope", ["literal", "classic"])
@pytest.mark.parametrize("used", [0, 1, 437, 438, 500, 501, 562, 563, 1_000])
def test_the_checkers_own_arithmetic_is_the_schedulers(slope, used):
    """Two ways to one number."""

    config = LaneConfig(slope=slope)
    for basefee in (800, 801, 12_345, 10**12 + 7):
        assert next_basefee(basefee, Fraction(used, 1_000), config) == production_next(basefee, used, 1_000, config)


@pytest.mark.parametrize("kind", ["mean", "lower", "upper"])
@pytest.mark.parametrize("values", [[], [5], [1, 4], [3, 1, 2], [7, 7, 0, 2]])
def test_the_checkers_own_median_is_the_schedulers(kind, values):
    """Of any number of values."""
    assert median(values, kind) == production_median(values, kind)
