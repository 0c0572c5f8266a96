"""Exponential bias in fixed point, and what follows from it: N_max, the value-decay constraint (D-2, D-3, Q-22).

Whole numbers only. A series with guard bits, whose error is known, gives the floor of the exact value. Where the error
leaves the floor open, the series is computed again with more bits. Exponents are fractions (numerator, denominator).
"""

from typing import Final

SCALE: Final = 10**18
"""Parts of a unit in which biases and payments count."""

MILLION: Final = 1_000_000
"""Parts of 1 in which lambda is stated."""

EXPONENT_MAX: Final = 80
"""The exponent from which on the bias does not grow (Q-22)."""

_GUARD_BITS: Final = 64
_HALVINGS: Final = 12
"""Times that the exponent is halved before the series, and the result squared after it."""


def bias(waited: int, lambda_: int) -> int:
    """Return `floor(10^18 * e^(waited * lambda))`, lambda in millionths, the exponent at most 80 (Q-22)."""
    return exp_floor(min(waited * lambda_, EXPONENT_MAX * MILLION), MILLION)


def is_saturated(bias_: int) -> bool:
    """Say whether a bias is the greatest one there is."""
    return bias_ >= _BIAS_MAX


def exp_floor(numerator: int, denominator: int, scale: int = SCALE) -> int:
    """Return `floor(scale * e^(numerator / denominator))` for an exponent of 0 or more."""
    # An exponent below 1.45 for each bit of the result before the point.
    bits = _GUARD_BITS + scale.bit_length() + 2 * (numerator // denominator) + 2 * _HALVINGS
    while True:
        low, high = _exp_between(numerator, denominator, bits)
        floors = low * scale >> bits, high * scale >> bits
        if floors[0] == floors[1]:
            return floors[0]
        bits *= 2


def _exp_between(numerator: int, denominator: int, bits: int) -> tuple[int, int]:
    """Return bounds of `2^bits * e^(numerator / denominator)`, by a series of the exponent over 2^12 and squarings."""
    one = 1 << bits
    exponent = (numerator << bits) // (denominator << _HALVINGS)
    total, term, place = one, one, 1
    while term:
        term = (term * exponent >> bits) // place
        total += term
        place += 1
    # Each of `place` terms was rounded down by less than 2, and the tail that was left out is below that again.
    low, high = total, total + 4 * place
    if not exponent and not numerator:
        return one, one
    for _ in range(_HALVINGS):
        low, high = low * low >> bits, (high * high >> bits) + 1
    return low, high


def log_floor(numerator: int, denominator: int, scale: int = SCALE) -> int:
    """Return `floor(scale * ln(numerator / denominator))` for a fraction of 1 or more, by bisection of `exp_floor`."""
    # ln(2^k) < k: the least power of 2 above the fraction bounds it.
    low, high = 0, (numerator.bit_length() - denominator.bit_length() + 2) * scale
    while high - low > 1:
        middle = (low + high) // 2
        # e^middle <= fraction, compared with more digits than both have.
        parts = scale * scale
        if exp_floor(middle, scale, parts) * denominator < numerator * parts:
            low = middle
        else:
            high = middle
    return low


def n_max(tokens: int, lambda_: int) -> int:
    """Return N_max as the text has it, `floor(10^18 * ln(tokens / 3) / lambda)`, at least 0 (D-2)."""
    return log_floor(tokens, 3) * MILLION // lambda_ if tokens > 3 else 0


def waits_at_most(tokens: int, lambda_: int) -> int:
    """Return N_max in whole blocks: the least n with `3 * e^(n * lambda) >= tokens`, 0 where tokens are at most 3."""
    if tokens <= 3:
        return 0
    found = n_max(tokens, lambda_) // SCALE
    while 3 * exp_floor(found * lambda_, MILLION) < tokens * SCALE:
        found += 1
    return found


def growth(waited: int, lambda_: int, blocks: int = 1) -> int:
    """Return by how much the bias grows in some blocks more, in 10^-18 units."""
    return bias(waited + blocks, lambda_) - bias(waited, lambda_)


def outgrows_values(waited: int, lambda_: int, value_decay: tuple[int, int], blocks: int = 1) -> bool:
    """Say whether the bias grows by more than a value loses in the same blocks: the constraint of D-3 is broken."""
    return value_decay[0] * blocks * SCALE < growth(waited, lambda_, blocks) * value_decay[1]


_BIAS_MAX: Final = bias(EXPONENT_MAX, MILLION)
