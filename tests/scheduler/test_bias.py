"""The bias in fixed point against another way to compute it, and what follows from it."""

from decimal import ROUND_FLOOR, Decimal, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.bias import SCALE, bias, exp_floor, log_floor, n_max, outgrows_values, waits_at_most


@given(waited=st.integers(0, 5_000), lambda_=st.integers(0, 1_000_000))
def test_d2_the_bias_is_the_floor_of_the_exact_value(waited, lambda_):
    with localcontext() as context:
        context.prec = 120
        exact = (Decimal(min(waited * lambda_, 80_000_000)) / 1_000_000).exp() * SCALE

        assert bias(waited, lambda_) == int(exact.to_integral_value(ROUND_FLOOR))


def test_d2_a_fresh_timer_has_a_bias_of_one_unit():
    assert (bias(0, 100_000), bias(7, 0)) == (SCALE, SCALE)


def test_d2_the_bias_stops_growing_at_its_bound():
    assert bias(800, 100_000) == bias(801, 100_000) == bias(10**12, 100_000) > bias(799, 100_000)


@given(numerator=st.integers(1, 10**19), denominator=st.integers(1, 10**6))
def test_the_logarithm_undoes_the_exponential(numerator, denominator):
    if numerator < denominator:
        return
    found = log_floor(numerator, denominator, 10**9)

    assert exp_floor(found, 10**9, 1) * denominator <= numerator < (exp_floor(found + 1, 10**9, 1) + 1) * denominator


@pytest.mark.parametrize(("tokens", "blocks"), [(0, 0), (3, 0), (4, 3), (1_000_000, 128), (10**15, 335)])
def test_n_max_is_the_first_block_that_no_bid_beats(tokens, blocks):
    assert waits_at_most(tokens, 100_000) == blocks
    assert n_max(tokens, 100_000) // SCALE in (blocks, blocks - 1)


def test_d3_bias_may_not_grow_by_more_than_values_lose():
    assert not outgrows_values(22, 100_000, (1, 1))
    assert outgrows_values(23, 100_000, (1, 1))
