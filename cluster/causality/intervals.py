"""Wilson's score interval of a share, in whole millionths and without floats."""

from fractions import Fraction
from math import isqrt
from typing import Final

Z: Final = Fraction(196, 100)
"""Standard deviations on either side: 95 of 100 such intervals hold the true share."""

MILLION: Final = 1_000_000
_DIGITS: Final = 10**24


def wilson_ppm(hits: int, runs: int) -> tuple[int, int]:
    """Return the lower bound, rounded down, and the upper bound, rounded up, of a share in millionths.

    Args:
        hits: The runs that count.
        runs: All runs; without any the share may be anything.
    """
    if not runs:
        return 0, MILLION
    square = Z * Z
    middle, spread = hits + square / 2, square * (Fraction(hits * (runs - hits), runs) + square / 4)
    # The root is an integer root of a scaled number, so that no platform rounds it otherwise.
    root_low = Fraction(isqrt(spread.numerator * _DIGITS // spread.denominator), isqrt(_DIGITS))
    root_high = root_low + Fraction(1, isqrt(_DIGITS))
    low, high = (middle - root_high) / (runs + square), (middle + root_high) / (runs + square)
    low_ppm, high_ppm = low.numerator * MILLION // low.denominator, -(-high.numerator * MILLION // high.denominator)
    return max(0, low_ppm), min(MILLION, high_ppm)
