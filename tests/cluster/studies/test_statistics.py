"""Intervals over seeds: exact for chosen values, and over the true mean about as often as they say."""

from cluster.studies.statistics import Interval, difference_of, direction_of, interval_of
from network.chance import Chance, below


def test_equal_values_have_an_interval_without_width():
    assert interval_of([3.0] * 8) == Interval(3.0, 3.0, 3.0)


def test_without_a_value_there_is_no_interval():
    assert interval_of([]) is None
    assert difference_of([None, 1.0], [2.0, None]) is None


def test_two_seeds_have_their_own_values_as_ends():
    assert interval_of([1.0, 5.0]) == Interval(3.0, 1.0, 5.0)


def test_an_interval_is_the_same_each_time_and_holds_the_mean():
    values = [float(value * value % 17) for value in range(12)]
    found = interval_of(values)

    assert found == interval_of(values)
    assert min(values) < found.low < found.mean < found.high < max(values)


def test_intervals_cover_the_true_mean_about_as_often_as_they_say():
    """Of 200 samples of 12 even draws: a percentile bootstrap of few values is somewhat too narrow."""
    draws = Chance(5).stream("coverage", "")
    samples = [[below(draws.at(12 * sample + place), 1_001) for place in range(12)] for sample in range(200)]
    covered = sum(found.low <= 500 <= found.high for found in map(interval_of, samples))

    assert 170 <= covered <= 198


def test_differences_are_taken_seed_by_seed():
    """The arms differ by 1 in each seed, and far more from seed to seed."""
    first = [10.0, 500.0, 90.0, 7.0]

    assert difference_of(first, [value + 1 for value in first]) == Interval(1.0, 1.0, 1.0)


def test_a_direction_needs_an_interval_on_one_side_of_nothing():
    assert direction_of(Interval(2.0, 0.5, 3.0)) == "rises"
    assert direction_of(Interval(-2.0, -3.0, -0.5)) == "falls"
    assert direction_of(Interval(0.1, -0.5, 0.7)) == "unclear"
    assert direction_of(Interval(0.1, -0.5, 0.7), within=0.7) == "level"
