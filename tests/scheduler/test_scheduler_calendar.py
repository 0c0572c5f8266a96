"""The calendar queue at its edges."""

import pytest

from scheduler import CalendarProfile, CalendarQueue, Tier

INTRO = CalendarProfile(256, 360, 13)


def queue_with(profile, now, *heights):
    """Return a queue with heights whose buckets are made at `now`."""
    queue = CalendarQueue(profile, now)
    for height in heights:
        queue.put(height, b"r", is_queued=profile.is_queued(height, now))
    return queue


class TestTiers:
    @pytest.mark.parametrize(
        ("distance", "tier"),
        [
            (-1, None),
            (0, None),
            (1, Tier.RING),
            (255, Tier.RING),
            (256, Tier.EPOCH),
            (4759, Tier.EPOCH),
            (4760, Tier.OVERFLOW),
        ],
    )
    def test_the_edges_of_each_tier(self, distance, tier):
        """At 1,000 the ring ends at distance 255, the horizon with epoch 15."""
        height = 1_000 + distance
        assert INTRO.tier_of(height, 1_000, is_queued=INTRO.is_queued(height, 1_000)) is tier

    def test_a_height_waits_in_its_epoch_until_that_begins(self):
        """1,500 scheduled at 1,000 is in range from 1,245 on and goes to the ring at 1,440; 1,255 is there at once."""
        queue = queue_with(INTRO, 1_000, 1_500, 1_255)

        assert queue.epochs == {4: 1}
        queue.advance(1_439)
        assert queue.epochs == {4: 1}
        queue.advance(1_440)
        assert queue.epochs == {}

    def test_a_height_out_of_range_enters_the_ring_within_its_epoch(self):
        """With a ring shorter than an epoch, a height of the epoch that runs is promoted when it comes into range."""
        queue = queue_with(INTRO, 1_000, 1_700)

        queue.advance(1_444)
        assert queue.epochs == {4: 1}
        queue.advance(1_445)
        assert queue.epochs == {}

    def test_without_a_horizon_a_height_leaves_overflow_when_its_epoch_begins(self):
        """However near it is by then: the ring takes queued heights of begun epochs alone."""
        queue = queue_with(CalendarProfile(8, 3, 0), 0, 9)
        queue.advance(8)
        assert list(queue.overflow) == [9]

        assert queue.advance(9).left_overflow == 1

    def test_what_a_shorter_ring_left_behind_comes_back_before_its_epoch(self):
        """Its bucket was made in range, so it is not queued: 7 is in the ring of four places at 4, and 9 at 6."""
        queue = CalendarQueue(CalendarProfile(4, 100, 0), 0)
        for height in (7, 9):
            queue.put(height, b"", is_queued=False)
        overdue = CalendarQueue(CalendarProfile(4, 3, 0), 0)
        overdue.put(9, b"", is_queued=False)

        assert (queue.epochs, list(overdue.overflow)) == ({0: 2}, [9])
        queue.advance(4)
        assert queue.epochs == {0: 1}
        assert (overdue.advance(5).left_overflow, list(overdue.overflow)) == (0, [9])
        assert (overdue.advance(6).left_overflow, list(overdue.overflow)) == (1, [])

    def test_heights_that_share_a_place_of_the_ring_do_not_mix(self):
        """1444 and 1700 have place 164 both; the second is not due when the first is."""
        queue = queue_with(INTRO, 1_440, 1_444, 1_700)

        assert queue.advance(1_444).due == [1_444]
        assert queue.advance(1_699).due == []
        assert queue.advance(1_700).due == [1_700]

    def test_a_jump_over_all_tiers_takes_everything_out_in_order(self):
        """After an outage the slots of every tier are due at once."""
        queue = queue_with(INTRO, 0, 90_000, 5, 4_000, 300, 90_001)

        advance = queue.advance(90_000)

        assert advance.due == [5, 300, 4_000, 90_000]
        assert advance.left_overflow == 2
        assert list(queue.heights()) == [90_001]

    def test_a_fork_leaves_the_other_as_it_was(self):
        """Both branches go on alone."""
        queue = queue_with(INTRO, 0, 5, 500, 50_000)
        root = queue.overflow.root()
        fork = queue.fork()
        fork.advance(500)
        fork.put(60_000, b"s", is_queued=True)

        assert sorted(queue.heights()) == [5, 500, 50_000]
        assert queue.overflow.root() == root
        assert sorted(fork.heights()) == [50_000, 60_000]

    def test_a_fork_brings_back_what_a_shorter_ring_left_for_itself_alone(self):
        """Height 9 of `test_what_a_shorter_ring_left_behind_comes_back_before_its_epoch`, on two branches."""
        queue = CalendarQueue(CalendarProfile(4, 3, 0), 0)
        queue.put(9, b"", is_queued=False)
        fork = queue.fork()

        assert (fork.advance(6).left_overflow, list(fork.overflow)) == (1, [])
        assert (queue.advance(6).left_overflow, list(queue.overflow)) == (1, [])
