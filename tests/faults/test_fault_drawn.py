"""Faults with drawn times: within what the plan says, the same for the same seed, untouched by other faults."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from faults.kinds.clog import Clog
from faults.kinds.partitions import Partitions
from faults.kinds.restart_storm import RestartStorm
from faults.kinds.swizzle_clog import SwizzleClog
from network.chance import Chance

STORM = RestartStorm(start_ms=0, stop_ms=20_000, every_ms=(300, 900), down_ms=(200, 2_500))
PARTITIONS = Partitions(start_ms=1_000, stop_ms=41_000, every_ms=300, length_ms=100)
SWIZZLE = SwizzleClog(start_ms=1_000, stop_ms=9_000, pairs=3)


def outages(fault=STORM, name="storm", seed=0, validators=5):
    return list(fault.drawn_outages(name, Chance(seed), validators))


def windows(fault=SWIZZLE, seed=0, validators=6):
    return list(fault.windows("swizzle", Chance(seed), validators))


@given(seed=st.integers(0, 1_000), is_drawn=st.booleans(), count=st.integers(1, 7))
def test_a_storm_keeps_to_its_bounds_and_hits_nobody_who_is_off(seed, is_drawn, count):
    """Cuts within the span and `every_ms` apart, or more where all are off; outages of `down_ms`."""
    drawn = outages(msgspec.structs.replace(STORM, is_drawn=is_drawn), seed=seed, validators=count)

    gaps_ms = [later.at_ms - sooner.at_ms for sooner, later in pairwise(drawn)]
    assert drawn[0].at_ms == 0
    assert all(outage.at_ms < 20_000 and 200 <= outage.back_ms - outage.at_ms <= 2_500 for outage in drawn)
    assert all(gap_ms >= 300 for gap_ms in gaps_ms)
    assert count < 7 or max(gaps_ms) <= 1_800
    for node in range(count):
        own = [outage for outage in drawn if outage.node == node]
        assert all(sooner.back_ms < later.at_ms for sooner, later in pairwise(own))


def test_a_storm_in_turn_goes_round():
    """With short outages no validator is passed over: it is a rolling restart without end."""
    drawn = outages(msgspec.structs.replace(STORM, down_ms=(10, 20), validators=(2, 0, 4)))

    assert [outage.node for outage in drawn] == [(2, 0, 4)[place % 3] for place in range(len(drawn))]
    assert len(drawn) > 20


def test_a_drawn_storm_does_not_go_round():
    drawn = outages(msgspec.structs.replace(STORM, down_ms=(10, 20), is_drawn=True))

    assert [outage.node for outage in drawn] != [place % 5 for place in range(len(drawn))]
    assert sorted(dict.fromkeys(outage.node for outage in drawn)) == [0, 1, 2, 3, 4]


def test_two_storms_of_one_plan_and_two_seeds_draw_differently():
    assert outages() == outages()
    assert outages() != outages(name="other")
    assert outages() != outages(seed=1)


@given(seed=st.integers(0, 1_000), nodes=st.integers(2, 7))
def test_partitions_never_overlap_and_have_two_sides(seed, nodes):
    drawn = list(PARTITIONS.splits("it", Chance(seed), nodes))
    times_ms = [at_ms for each in drawn for at_ms in (each.start_ms, each.stop_ms)]

    assert times_ms[0] > 1_000
    assert times_ms[-1] <= 41_000
    assert all(sooner < later for sooner, later in pairwise(times_ms))
    for each in drawn:
        assert all(each.groups)
        assert sorted(node for group in each.groups for node in group) == list(range(nodes))
    assert drawn != list(PARTITIONS.splits("other", Chance(seed), nodes))


def test_partitions_have_the_stated_rate_and_length():
    """Over 20 seeds: a hundred in 40 s each, a quarter of the time; an exponential time is below its mean in 63 %."""
    drawn = [each for seed in range(20) for each in PARTITIONS.splits("it", Chance(seed), 4)]
    lengths_ms = [each.stop_ms - each.start_ms for each in drawn]

    assert 1_850 < len(drawn) < 2_150
    assert 95 < sum(lengths_ms) / len(drawn) < 105
    assert 0.60 < sum(length_ms < 100 for length_ms in lengths_ms) / len(drawn) < 0.66
    assert len({each.groups for each in drawn[:100]}) > 30


def test_partitions_of_named_groups_draw_no_sides():
    """Times are drawn as without groups."""
    named = msgspec.structs.replace(PARTITIONS, groups=((0, 1), (3,)))
    drawn, others = (list(fault.splits("it", Chance(4), 4)) for fault in (named, PARTITIONS))

    assert {each.groups for each in drawn} == {((0, 1), (3,))}
    assert [each[:2] for each in drawn] == [each[:2] for each in others]


@given(seed=st.integers(0, 1_000))
def test_a_swizzle_clogs_in_the_first_half_and_unclogs_in_the_second(seed):
    """Half of six validators, and three links."""
    drawn = windows(seed=seed)

    assert all(1_000 <= each.start_ms < 5_000 < each.stop_ms <= 9_000 for each in drawn)
    assert [len(each.links) for each in drawn] == [10, 10, 10, 2, 2, 2]
    assert len(dict.fromkeys(each.part for each in drawn)) == 6


def test_a_swizzle_unclogs_in_another_order_than_it_clogs():
    """Over some seeds at least; each end is a draw of its own."""
    orders = [
        tuple(sorted(range(6), key=lambda place: getattr(drawn[place], edge)) for edge in ("start_ms", "stop_ms"))
        for drawn in (windows(seed=seed) for seed in range(10))
    ]

    assert sum(first != second for first, second in orders) >= 9


def test_a_swizzle_of_named_validators_draws_nobody_else():
    drawn = windows(msgspec.structs.replace(SWIZZLE, validators=(4, 1), pairs=0))

    assert [each.part for each in drawn] == ["4", "1"]


@pytest.mark.parametrize(
    ("clog", "links"),
    [
        ({"validators": (0,), "way": "in"}, [(1, 0), (2, 0)]),
        ({"validators": (0,), "way": "out"}, [(0, 1), (0, 2)]),
        ({"validators": (0,)}, [(0, 1), (0, 2), (1, 0), (2, 0)]),
        ({"between": ((2, 1),)}, [(1, 2), (2, 1)]),
        ({"validators": (0,), "way": "in", "between": ((2, 1),)}, [(1, 0), (1, 2), (2, 0), (2, 1)]),
    ],
)
def test_a_clog_is_about_the_links_of_whom_it_names(clog, links):
    """On their way in or out; pairs both ways."""
    assert list(Clog(start_ms=0, stop_ms=9, **clog).links(3)) == links
