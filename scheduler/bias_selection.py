"""The choice of the bias auction: scores, their order, one walk under caps and a budget, payments (D-2, D-4 to D-7).

Pure functions of numbers; who can pay is asked of the caller, and what a fire does is the policy's.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from scheduler.bias import SCALE, is_saturated
from scheduler.rules import BiasRule, CoveragePoint
from scheduler.types import Timer

_SCORE_BITS: Final = 128
"""Scores of two gas limits below 2^63 differ by more than 2^-126, so that floors of this many bits order them."""

PaymentRule = Literal["vcg-literal", "vcg-critical", "first-price"]
"""The reading of what a winner pays (K-21)."""


class Competitor(NamedTuple):
    """A timer that competes; `bid` in units, `bias` in 10^-18 units, `waited` in blocks."""

    timer: Timer
    bid: int
    waited: int
    bias: int

    @property
    def gas(self) -> int:
        """The cycles that the score is divided by."""
        return max(self.timer.gas_limit, 1)

    @property
    def value(self) -> int:
        """Bid and bias, in 10^-18 units."""
        return self.bid * SCALE + self.bias

    @property
    def rank(self) -> tuple[int, int, int]:
        """The key of the order: greatest score, then the place in the waiting order."""
        return -scaled_score(self.value, self.gas), self.timer.due, self.timer.sequence


def scaled_score(value: int, gas: int) -> int:
    """Return a number that orders scores exactly: equal for equal ones, and greater for a greater one (Q-22)."""
    return (value << _SCORE_BITS) // gas


@dataclass(slots=True)
class Walk:
    """The state of one walk in score order: who won, who was left out first, how much room is left."""

    room: int
    max_fires: int
    max_fires_per_actor: int
    winners: list[Competitor] = field(default_factory=list)
    runner_up: Competitor | None = None
    wins: dict[bytes, int] = field(default_factory=dict)
    reached: list[CoveragePoint] = field(default_factory=list)

    @property
    def is_full(self) -> bool:
        """Whether as many have won as may."""
        return len(self.winners) >= self.max_fires

    def is_capped(self, actor: bytes) -> bool:
        """Say whether an actor has won as often as it may."""
        return self.wins.get(actor, 0) >= self.max_fires_per_actor

    def has_room(self, gas_limit: int) -> bool:
        """Say whether a timer can still win, its actor and payer aside."""
        return not self.is_full and gas_limit <= self.room

    def visit(self, one: Competitor, can_pay: Callable[[Competitor], bool]) -> None:
        """Judge the next one in score order (Q-46)."""
        actor = one.timer.actor
        # Before the block's cap and the room: who is out for its actor's cap sets no price.
        if self.is_capped(actor):
            self.reached.append(BiasRule.ACTOR_PASSED_OVER)
            return
        if not self.has_room(one.timer.gas_limit):
            self.reached.append(BiasRule.BLOCK_CAPPED if self.is_full else BiasRule.ROOM_SHORT)
            self.runner_up = self.runner_up or one
        elif can_pay(one):
            self.reached += () if self.runner_up is None else (BiasRule.WON_BEHIND_MISFIT,)
            self.winners.append(one)
            self.room -= one.timer.gas_limit
            self.wins[actor] = self.wins.get(actor, 0) + 1


def walk_all(order: Iterable[Competitor], walk: Walk, can_pay: Callable[[Competitor], bool]) -> Walk:
    """Visit competitors in score order until as many have won as may and the runner-up is known."""
    for one in order:
        walk.visit(one, can_pay)
        if walk.runner_up is not None and walk.is_full:
            break
    return walk


def cells_of_payments(walk: Walk, payments: Sequence[int], reserve: int) -> Iterator[CoveragePoint]:
    """Yield the coverage points of what decided who won, and of what winners pay."""
    left_out = () if walk.runner_up is None else (walk.runner_up,)
    for one, behind in pairwise((*walk.winners, *left_out)):
        if one.bid * behind.gas < behind.bid * one.gas:
            yield BiasRule.WON_BY_BIAS
    for winner, paid in zip(walk.winners, payments, strict=True):
        # The exponential of 0 is 1, that of another fraction never a fraction.
        if winner.bias > SCALE:
            yield BiasRule.BIAS_SATURATED if is_saturated(winner.bias) else BiasRule.BIAS_FLOORED
        if not winner.bid:
            yield BiasRule.WON_WITHOUT_BID
        elif paid == winner.bid:
            yield BiasRule.PAID_BID
        else:
            yield BiasRule.PAID_RESERVE if paid <= reserve else BiasRule.PRICED_BY_RUNNER_UP


def price(winner: Competitor, runner_up: Competitor | None, rule: PaymentRule) -> int:
    """Return what a rule asks of a winner, in 10^-18 units, before reserve and bid bound it (D-5, D-6)."""
    if rule == "first-price":
        return winner.bid * SCALE
    if runner_up is None:
        return 0
    if rule == "vcg-literal":
        return runner_up.bid * SCALE - winner.bias
    return winner.gas * runner_up.value // runner_up.gas - winner.bias


def payment(winner: Competitor, runner_up: Competitor | None, *, rule: PaymentRule, reserve: int) -> int:
    """Return what a winner pays, in units: the price, at least the reserve, at most its bid (Q-24, Q-46)."""
    return min(winner.bid, max(reserve, price(winner, runner_up, rule) // SCALE))
