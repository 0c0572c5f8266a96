"""Latencies: integer tables against the distributions that they stand for."""

import math
from statistics import NormalDist, fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.chance import Chance
from network.latency import Latency, LatencyError, exponential_quantile, normal_quantile
from network.quantiles import EXPONENTIAL, NORMAL_HALF, NORMAL_TAIL

DRAWS = st.integers(0, 2**64 - 1)
MILLION = 1_000_000


def uniform_of(draw: int) -> float:
    """The probability that a 64-bit draw stands for: the middle of its 2^-64."""
    return (draw + 0.5) / 2**64


def test_the_normal_tables_are_those_of_the_distribution():
    """Each literal is the quantile that its place says, to a millionth."""
    inverse = NormalDist().inv_cdf
    assert len(NORMAL_HALF) + len(NORMAL_TAIL) == 513
    for index, value in enumerate(NORMAL_HALF):
        assert abs(value - inverse(0.5 + index / 512) * MILLION) < 1
    for index, value in enumerate(NORMAL_TAIL[:-1]):
        assert abs(value - inverse(511 / 512 + index / 131072) * MILLION) < 1
    assert abs(NORMAL_TAIL[-1] - inverse(1 - 1 / 262144) * MILLION) < 1


def test_the_exponential_table_is_that_of_the_distribution():
    """Each literal is -ln(1 - i/256) to a millionth."""
    assert len(EXPONENTIAL) == 257
    for index, value in enumerate(EXPONENTIAL[:-1]):
        assert abs(value + math.log(1 - index / 256) * MILLION) < 1
    assert abs(EXPONENTIAL[-1] - math.log(512) * MILLION) < 1


@given(DRAWS)
def test_normal_quantiles_follow_the_inverse_distribution(draw):
    """Interpolation is off by hardly more than a hundredth of a standard deviation, up to the last cell of the tail."""
    magnitude = draw & (2**63 - 1)
    probability = 0.5 + (magnitude + 0.5) / 2**64
    expected = min(NormalDist().inv_cdf(min(probability, 1 - 1e-12)), 4.48)
    tolerance = 0.0101 if probability < 1 - 1 / 131072 else 0.3
    sign = 1 if draw >> 63 else -1

    assert abs(sign * normal_quantile(draw) / MILLION - expected) < tolerance


@given(DRAWS)
def test_exponential_quantiles_follow_the_inverse_distribution(draw):
    """Interpolation is off by at most two hundredths of the mean, except in the very last cell."""
    expected = -math.log(1 - uniform_of(draw)) if draw < 2**64 - 2**11 else 0.0
    if draw < 2**64 - 2**42:
        # The cell before the last of a level spans ln 2: there a chord is off by up to 0.06.
        assert abs(exponential_quantile(draw) / MILLION - expected) < 0.07


@given(DRAWS, DRAWS)
def test_larger_draws_give_longer_exponential_latencies(one, other):
    """The map from draws to values never falls."""
    low, high = sorted((one, other))
    assert exponential_quantile(low) <= exponential_quantile(high)


@pytest.mark.parametrize(
    ("latency", "mean_us", "deviation_us"),
    [
        (Latency("fixed", 10_000), 10_000, 0),
        (Latency("uniform", 10_000, 3_000), 10_000, 3_000 / math.sqrt(3)),
        (Latency("normal", 10_000, 1_000), 10_000, 1_000),
        (Latency("exponential", 10_000), 10_000, 10_000),
        (Latency("exponential", 10_000, min_us=4_000), 10_000, 6_000),
    ],
)
def test_samples_have_the_mean_and_deviation_that_were_asked_for(latency, mean_us, deviation_us):
    """Within 2 % over 40,000 samples."""
    stream = Chance(3).stream("latency", "0->1")
    samples = [latency.sample(stream.at(ordinal)) for ordinal in range(40_000)]
    assert fmean(samples) == pytest.approx(mean_us, rel=0.02)
    assert pstdev(samples) == pytest.approx(deviation_us, rel=0.02)


@given(st.sampled_from(["uniform", "normal"]), DRAWS, st.integers(0, 10**9))
def test_no_sample_is_shorter_than_the_minimum(kind, draw, jitter_us):
    """However wide the jitter; and a sample is a whole number."""
    sample_us = Latency(kind, 200_000, jitter_us, min_us=150).sample(draw)
    assert sample_us >= 150
    assert type(sample_us) is int


def test_a_uniform_latency_reaches_both_ends():
    """Mean minus and plus the jitter, both included."""
    latency = Latency("uniform", 100, 10)
    assert (latency.sample(0), latency.sample(2**64 - 1)) == (90, 110)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gamma", 10), "'gamma' is not one of fixed, uniform"),
        (("fixed", 10, 3), "fixed latency has no jitter"),
        (("exponential", 10, 3), "exponential latency has no jitter"),
        (("normal", 10, -3), "jitter_us=-3"),
        (("fixed", 0), "mean_us=0"),
        (("fixed", 10, 0, 0), "min_us=0"),
    ],
)
def test_parameters_that_describe_no_latency_are_refused(arguments, message):
    """The message has the values."""
    with pytest.raises(LatencyError, match=message):
        Latency(*arguments)
