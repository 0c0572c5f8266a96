"""The calendar queue against a sorted list, at its edges and over random lives."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import CalendarProfile, CalendarQueue, Tier
from scheduler.height_tree import EMPTY
from tests.support.properties import examples

INTRO = CalendarProfile(256, 360, 13)
SIZES = ((4, 3, 2), (8, 3, 2), (3, 8, 1), (1, 1, 0), (5, 5, 0), (64, 2, 1))
PROFILES = tuple(CalendarProfile(*sizes) for sizes in SIZES)


def plain_root(heights, records):
    """Return the root of the overflow tree by its definition in docs/state.md, from a list."""
    if len(heights) == 1:
        (height,) = heights
        return hashlib.sha256(b"\x00" + height.to_bytes(8, "big") + records[height]).digest()
    bit = next(bit for bit in range(64) if len({height >> (63 - bit) & 1 for height in heights}) == 2)
    low = [height for height in heights if not height >> (63 - bit) & 1]
    high = [height for height in heights if height >> (63 - bit) & 1]
    return hashlib.sha256(b"\x01" + bytes([bit]) + plain_root(low, records) + plain_root(high, records)).digest()


def assert_is_as_of_a_list(queue, records):
    """Compare a queue with one made from nothing but the heights."""
    profile, now = queue.profile, queue.now
    tiers = {height: profile.tier_of(height, now, is_queued=is_queued) for height, (_, is_queued) in records.items()}
    assert sorted(queue.heights()) == sorted(records)
    epochs: dict[int, int] = {}
    for height, tier in tiers.items():
        if tier is Tier.EPOCH:
            epochs[profile.epoch_of(height)] = epochs.get(profile.epoch_of(height), 0) + 1
    assert queue.epochs == epochs
    beyond = sorted(height for height, tier in tiers.items() if tier is Tier.OVERFLOW)
    assert list(queue.overflow) == beyond
    assert len(queue.overflow) == len(beyond)
    if beyond:
        assert queue.overflow.root() == plain_root(beyond, {height: record for height, (record, _) in records.items()})


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


OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(("put", "put", "put", "drop", "step", "jump", "fork", "resize")),
        st.integers(0, 40),
        st.binary(max_size=2),
    ),
    max_size=60,
)


@examples(300)
@given(st.sampled_from(PROFILES), st.integers(0, 50), OPERATIONS)
def test_the_queue_equals_a_sorted_list(profile, now, operations):
    """Through scheduling, cancelling, advancing and jumping, with forks left behind, the due are those of a list."""
    queue, records, left = CalendarQueue(profile, now), {}, []
    for operation, number, record in operations:
        if operation == "put":
            height = queue.now + 1 + number
            # A height that has a bucket keeps its flag; one that was made in range of a longer ring is not queued.
            is_queued = records[height][1] if height in records else profile.is_queued(height, queue.now)
            queue.put(height, record, is_queued=is_queued)
            records[height] = record, is_queued
        elif operation == "drop" and records:
            height = sorted(records)[number % len(records)]
            queue.drop(height)
            del records[height]
        elif operation in ("step", "jump"):
            target = queue.now + (number % 3 if operation == "step" else number)
            advance = queue.advance(target)
            assert advance.due == sorted(height for height in records if height <= target)
            records = {height: record for height, record in records.items() if height > target}
        elif operation == "resize":
            profile = PROFILES[number % len(PROFILES)]
            now, queue = queue.now, CalendarQueue(profile, queue.now)
            for height, (known, is_queued) in records.items():
                queue.put(height, known, is_queued=is_queued)
        elif operation == "fork":
            left.append((queue, dict(records)))
            queue = queue.fork()
        assert_is_as_of_a_list(queue, records)
    for branch, known in left:
        assert_is_as_of_a_list(branch, known)


@examples(100)
@given(
    st.dictionaries(st.integers(0, 2**63 - 1), st.binary(max_size=3), min_size=1, max_size=30),
    st.randoms(use_true_random=False),
)
def test_the_root_does_not_depend_on_the_way_to_it(records, shuffle):
    """Whatever was put in and taken out in between, and in whatever order, the same heights have the same root."""
    tree, order = EMPTY, list(records)
    shuffle.shuffle(order)
    for height in order:
        tree = tree.put(height ^ 1, b"gone").put(height, b"old").put(height, records[height])
    for height in order:
        other = height ^ 1
        tree = tree.put(other, records[other]) if other in records else tree.drop(other)

    assert list(tree) == sorted(records)
    assert tree.root() == plain_root(sorted(records), records)
