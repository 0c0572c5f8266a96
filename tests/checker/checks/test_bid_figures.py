"""Figures of the bias auction: waits from heights, payments from receipts."""

from types import SimpleNamespace

import msgspec
import pytest

from checker.checks.bid_figures import BidFigures, Spread
from scheduler import BidLocked, TimerFired, TimerTriggered
from tests.support.checks import make_run
from tests.support.cluster_runs import check_named, result_of
from validators.execution import PolicyEntry

ONE = b"\x01" * 32
BOOKS = b"\x1d" + bytes(31)
encode = msgspec.msgpack.encode
RICH = {b"\x01" * 32: encode([1_000_000, 0])}


def figures(*blocks, slots=(), policy="bias-auction"):
    """The figures of blocks, each its events, of one slot each or of `slots`."""
    run = make_run(genesis_values=RICH)
    run.rules = run.rules._replace(policies=(PolicyEntry(1, policy),))
    made = BidFigures(run)
    for height, events in enumerate(blocks, 1):
        now = slots[height - 1] if slots else height
        changes = {BOOKS: encode([100_000])} if height == 1 else {}
        made.settle(SimpleNamespace(height=height, now=now, changes=changes, events=lambda events=events: events))
    return made.figures()


LOCKED = [BidLocked(ONE, bytes(20), 100)]
FIRED = [TimerFired(ONE, bytes(20), 2, True, 100, 0, 0, 60)]


def test_a_fire_waits_from_its_slot_and_pays_its_tip():
    found = figures(LOCKED, [], [], FIRED)

    assert found == {
        "worst_wait": 2,
        "n_max": 128,
        "paid": 60,
        "between": 1,
        "utility_variance": 0,
        "efficiency_variance": 0,
    }


def test_a_wait_starts_at_the_hit():
    """Slot 2 has two blocks, and the second one triggers."""
    assert figures(LOCKED, [], [TimerTriggered(ONE, 2, 0, bytes(32))], FIRED, slots=(1, 2, 2, 3))["worst_wait"] == 1


def test_another_policy_has_none():
    assert figures(LOCKED, FIRED, policy="fifo") == {}


def test_they_stand_beside_the_timers_of_a_run():
    evidence = dict(check_named(result_of("bias-aging", "run.until_height=8"), "timer-delivery").evidence)

    assert evidence["paid"] > 0
    assert evidence["n_max"] > evidence["worst_wait"]


@pytest.mark.parametrize(("shares", "variance"), [((), 0), ((1_000_000, 3_000_000), 1_000_000)])
def test_a_spread_is_the_variance_of_its_shares(shares, variance):
    spread = Spread()
    for share in shares:
        spread.add(share)

    assert spread.variance == variance
