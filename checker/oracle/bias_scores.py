"""Numbers of the bias auction: the bias of a wait, the score of a timer, a winner's payment, the next lambda."""

from decimal import Context, Decimal
from fractions import Fraction
from functools import cache
from math import floor
from typing import Final, NamedTuple

from checker.oracle.bias_records import BiasConfig
from checker.oracle.contents import Timer

UNIT: Final = 10**18
"""The bias of a wait of 0, and the number of parts of a unit in which payments are computed."""

MILLION: Final = 10**6
GREATEST_EXPONENT: Final = 80

_EXACT: Final = Context(prec=120)
"""Twice the digits of the greatest bias, so that rounding down is right."""


@cache
def bias(wait: int, lambda_: int) -> int:
    """Return the bias after a wait in blocks, in parts of a unit, rounded down."""
    exponent = min(wait * lambda_, GREATEST_EXPONENT * MILLION)
    grown = _EXACT.exp(_EXACT.scaleb(Decimal(exponent), -6))
    return int(_EXACT.scaleb(grown, 18))


class Candidate(NamedTuple):
    """A timer that competes: its bid, its wait in blocks and the bias of its wait."""

    timer: Timer
    bid: int
    wait: int
    bias: int

    @property
    def cycles(self) -> int:
        """The cycles by which its score is divided."""
        return max(self.timer.gas_limit, 1)

    @property
    def score(self) -> Fraction:
        """Bid and bias together, per cycle."""
        return Fraction(self.bid * UNIT + self.bias, self.cycles)

    @property
    def rank(self) -> tuple[Fraction, int, int]:
        """The place in the order: the greatest score first, equal scores in waiting order."""
        return -self.score, self.timer.due, self.timer.sequence


def payment_of(winner: Candidate, runner_up: Candidate | None, config: BiasConfig) -> int:
    """Return a winner's payment in units, at most its bid."""
    if config.payment == "first-price":
        return winner.bid
    if runner_up is None:
        return min(winner.bid, config.reserve)
    if config.payment == "vcg-literal":
        asked = runner_up.bid * UNIT - winner.bias
    else:
        asked = floor(winner.cycles * runner_up.score) - winner.bias
    return min(winner.bid, max(config.reserve, asked // UNIT))


def next_lambda(lambda_: int, mean_wait: int, worst_wait: int, config: BiasConfig) -> int:
    """Return lambda after a window: lower if bias outgrows values, higher if a timer waits too long."""
    growth = bias(mean_wait + 1, lambda_) - bias(mean_wait, lambda_)
    moved = lambda_
    if Fraction(*config.value_decay) * UNIT < growth:
        moved = lambda_ * 7 // 8
    elif worst_wait > config.target_wait:
        moved = lambda_ * 9 // 8
    return bounded_lambda(moved, config)


def bounded_lambda(lambda_: int, config: BiasConfig) -> int:
    """Return a lambda within the bounds of the configuration."""
    return min(max(lambda_, config.lambda_min), config.lambda_max)
