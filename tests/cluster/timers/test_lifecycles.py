"""The lives of timers, against what each block counts of its own."""

from collections import Counter

import msgspec
import pytest

from cluster.timers.lifecycles import TimerLives
from scheduler import (
    Quote,
    Timer,
    TimerCancelled,
    TimerFired,
    TimerScheduled,
    TimerTriggered,
    TransactionFailed,
)
from scheduler.events import BidLocked, FailureCode, TimerWatches, TransactionScheduled
from tests.support.cluster_runs import applied_blocks
from tests.support.golden_pages import SMALL_STORM
from validators.execution.schema import timer_key


@pytest.fixture(scope="module")
def chain():
    _, applied = applied_blocks("outage-storm", *SMALL_STORM)
    return [executed for node, executed in applied if node == 0]


def test_every_timer_leaves_once_in_the_block_that_counts_it(chain):
    lives, left = TimerLives(), []
    for executed in chain:
        exits = Counter(life.exit for life in lives.follow(executed))
        left.append(exits)
        summary = executed.summary
        assert exits["fired"] + exits["reverted"] == summary.fired
        assert (exits["reverted"], exits["expired"], exits["insolvent"]) == (
            summary.reverted,
            summary.expired,
            summary.insolvent,
        )

    scheduled = sum(executed.summary.scheduled for executed in chain)
    assert sum(map(Counter.total, left)) + len(list(lives.waiting())) == scheduled > 300
    assert sum(left, Counter())["expired"] > 200


def test_a_life_says_when_it_began_and_was_held_back(chain):
    lives = TimerLives()
    left = [life for executed in chain for life in lives.follow(executed)]

    assert all(0 < life.scheduled_height <= life.exit_height for life in left)
    assert {life.handler for life in left} >= {"handle_timer"}
    held = [life for life in left if life.deferral]
    assert all(life.scheduled_height < life.deferred_height <= life.exit_height for life in held)


ONE, TWO, ACTOR = bytes([1]) * 32, bytes([2]) * 32, bytes(20)


def scheduled(timer_id):
    return TimerScheduled(timer_id, ACTOR, 9, 0, ACTOR, 500, 8)


def test_a_life_knows_what_its_timer_put_down():
    """A bid in escrow, or a deposit for all the gas that an entry of the queue may use."""
    lives = TimerLives()
    entry = TransactionScheduled(1_000, TWO, ACTOR, 9_000, 500, 3, auth_required=False)
    events = [scheduled(ONE), BidLocked(ONE, ACTOR, 70), scheduled(TWO), entry]
    assert list(lives.take(1, events, {})) == []

    left = list(
        lives.take(2, [TimerCancelled(ONE, ACTOR), TransactionFailed(TWO, b"", ACTOR, FailureCode.EXPIRED)], {})
    )
    assert [(life.exit, life.deposit) for life in left] == [("cancelled", 70), ("failed: Expired", 1_500)]


def test_a_life_watches_until_a_change_triggers_its_timer():
    lives = TimerLives()
    list(lives.take(1, [scheduled(ONE), TimerWatches(ONE, (TWO, ONE))], {}))
    (watching,) = lives.waiting()
    assert (watching.watched_keys, watching.due) == (2, 9)

    list(lives.take(2, [TimerTriggered(ONE, 2, 5, TWO)], {}))
    (triggered,) = lives.waiting()
    assert (triggered.watched_keys, triggered.due, triggered.sequence) == (0, 2, 5)


def test_a_record_of_a_timer_that_has_left_is_passed_over():
    """A known bug may write it again."""
    lives = TimerLives()
    fired = TimerFired(ONE, ACTOR, 9, ok=True, used_cycles=1, used_cells=0, burned=8, tip=0)
    list(lives.take(1, [scheduled(ONE), fired], {}))
    timer = Timer(
        TWO, ACTOR, 9, 0, b"", "tick", ACTOR, 500, gas_limit_is_default=False, expires_at=8, quote=Quote(5, 1)
    )

    assert list(lives.take(2, [], {timer_key(TWO): msgspec.msgpack.encode(timer)})) == []
    assert list(lives.waiting()) == []
