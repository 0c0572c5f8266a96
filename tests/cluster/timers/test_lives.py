"""The lives of timers, against what each block counts of its own."""

from collections import Counter

import pytest

from cluster.timers.lives import TimerLives
from tests.support.cluster_runs import applied_blocks
from tests.support.golden_pages import SMALL_STORM


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
