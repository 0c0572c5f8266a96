"""The weights of the GBA auction: sums of an epoch, the score that they give, and the weight that moves towards it.

Exact: a step is a fraction, the state keeps millionths of it, rounded down. A weight is written when its actor was
scored and decayed when it is read. So an actor without timers costs nothing (docs/spec.md, epochs and weights).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, NamedTuple

from scheduler.gba_records import (
    AUCTION_ACTOR,
    AUCTION_BOOKS,
    AUCTION_TALLY,
    AUCTION_WEIGHT,
    ActorTally,
    ActorWeight,
    AuctionBooks,
    AuctionConfig,
    TalliedActor,
    index_key,
)
from scheduler.rules import AuctionRule, CoveragePoint
from scheduler.tables import StateTables
from scheduler.types import MAX_U63, Ratio

UNIT: Final = 1_000_000
"""The parts of a weight of 1 in the state."""


class WeightRules(NamedTuple):
    """The rules of a step; None stands for a bound that is not there."""

    ema_lambda: Fraction
    low: Fraction | None = None
    high: Fraction | None = None
    starvation_floor: Fraction | None = None


def rules_of(config: AuctionConfig) -> WeightRules:
    """Return the rules of a step that a configuration states."""
    ratios = (config.ema_lambda, config.weight_min, config.weight_max, config.starvation_floor)
    return WeightRules(*(Fraction(*ratio) for ratio in ratios))


def step_weight(weight: Fraction, score: Fraction, rules: WeightRules, *, is_starved: bool = False) -> Fraction:
    """Return the weight after an epoch with this score: average, then bounds, then the floor of the starved (Q-47)."""
    moved = (1 - rules.ema_lambda) * weight + rules.ema_lambda * score
    if rules.high is not None:
        moved = min(moved, rules.high)
    if rules.low is not None:
        moved = max(moved, rules.low)
    if is_starved and rules.starvation_floor is not None:
        moved = max(moved, rules.starvation_floor)
    return moved


def score_of(tally: ActorTally, *, median_tip: Fraction, epoch_length: int, budget_cycles: int) -> Fraction:
    """Return an actor's score: the mean of four terms in [0, 1]; 0 for an actor without a fire (Q-43, Q-47)."""
    if not tally.fires:
        return Fraction(0)
    tip = Fraction(tally.tips, tally.fires)
    share = min(Fraction(tally.cycles, budget_cycles), Fraction(1)) if budget_cycles else Fraction(0)
    terms = (
        Fraction(tip, tip + median_tip) if tip + median_tip else Fraction(1, 2),
        Fraction(tally.succeeded, tally.fires),
        min(Fraction(tally.lateness, tally.fires * epoch_length), Fraction(1)),
        1 - share,
    )
    return Fraction(sum(terms, Fraction(0)), len(terms))


def lower_median(values: Sequence[Fraction]) -> Fraction:
    """Return the middle value, the lower one of two; 0 without values."""
    return sorted(values)[(len(values) - 1) // 2] if values else Fraction(0)


def in_units(ratio: Ratio) -> int:
    """Return a ratio in millionths, rounded down."""
    return ratio[0] * UNIT // ratio[1]


def decay(weight: int, steps: int, config: AuctionConfig) -> int:
    """Return a weight, in millionths, after epochs without activity: a score of 0 each, rounded down each time."""
    over, under = config.ema_lambda
    low = in_units(config.weight_min)
    weight = max(min(weight, in_units(config.weight_max)), low)
    for _ in range(steps):
        after = max(weight * (under - over) // under, low)
        # It does not fall any further, however many epochs the chain was down for.
        if after == weight:
            break
        weight = after
    return weight


@dataclass(slots=True)
class AuctionWeights:
    """The weights that hold in one epoch, in millionths, and the sums from which the next ones follow."""

    state: StateTables
    config: AuctionConfig
    books: AuctionBooks
    reached: list[CoveragePoint] = field(default_factory=list)

    @classmethod
    def open(cls, state: StateTables, config: AuctionConfig, *, now: int, epoch_length: int) -> "AuctionWeights":
        """Return the weights of a block, having scored the epoch before if this one begins a new one."""
        epoch = now // epoch_length
        books = state.get(AUCTION_BOOKS, AUCTION_BOOKS.key()) or AuctionBooks(0, epoch, 0, 0)
        weights = cls(state, config, books)
        # An epoch that is made longer would let the number fall, and weights are for later epochs, never earlier ones.
        if epoch > books.epoch:
            weights._score_epoch(epoch_length)
            if epoch > books.epoch + 1:
                weights.reached.append(AuctionRule.EPOCHS_SKIPPED)
            weights.books = AuctionBooks(books.used_cycles, epoch, 0, 0)
        return weights

    def weight(self, actor: bytes) -> int:
        """Return the weight of an actor in the present epoch."""
        record, config = self.state.get(AUCTION_WEIGHT, AUCTION_WEIGHT.key(actor)), self.config
        if record is None:
            return in_units(config.weight_initial)
        if record.epoch < config.reset_epoch:
            self.reached.append(AuctionRule.WEIGHT_RESET)
            return in_units(config.weight_initial)
        weight = record.weight
        if record.epoch < config.rescale_epoch:
            self.reached.append(AuctionRule.WEIGHT_RESCALED)
            over, under = config.rescale
            weight = weight * over // under
        if record.epoch < self.books.epoch:
            self.reached.append(AuctionRule.WEIGHT_DECAYED)
        return decay(weight, self.books.epoch - record.epoch, config)

    def add(self, sums: Mapping[bytes, ActorTally], budget_cycles: int) -> None:
        """Add what a block did for its actors, and the budget that it had."""
        state, count = self.state, self.books.actors
        for actor, tally in sums.items():
            key = AUCTION_TALLY.key(actor)
            known = state.get(AUCTION_TALLY, key)
            if known is None:
                state.set(index_key(count), TalliedActor(actor))
                count += 1
            state.set(key, tally if known is None else known.plus(tally))
        budget = min(self.books.budget_cycles + budget_cycles, MAX_U63)
        self.books = AuctionBooks(self.books.used_cycles, self.books.epoch, count, budget)

    def _score_epoch(self, epoch_length: int) -> None:
        """Write the weights that follow from the epoch of the books, and take its sums away."""
        tallies = dict(self._take_tallies())
        fired = [Fraction(tally.tips, tally.fires) for tally in tallies.values() if tally.fires]
        median_tip, rules = lower_median(fired), rules_of(self.config)
        for actor, tally in tallies.items():
            before = self.weight(actor)
            score = score_of(
                tally, median_tip=median_tip, epoch_length=epoch_length, budget_cycles=self.books.budget_cycles
            )
            is_starved = tally.deferrals >= self.config.starvation_deferrals
            stepped = step_weight(Fraction(before, UNIT), score, rules, is_starved=is_starved)
            after = stepped.numerator * UNIT // stepped.denominator
            self.state.set(AUCTION_WEIGHT.key(actor), ActorWeight(self.books.epoch + 1, after))
            self._note_step(before, after, is_starved=is_starved)

    def _take_tallies(self) -> "list[tuple[bytes, ActorTally]]":
        found = []
        for index in range(self.books.actors):
            listed = self.state.get(AUCTION_ACTOR, index_key(index))
            assert listed is not None, f"the books count {self.books.actors} actors, and actor {index} is missing"
            key = AUCTION_TALLY.key(listed.actor)
            tally = self.state.get(AUCTION_TALLY, key)
            assert tally is not None, f"actor {listed.actor.hex()} is listed and has no tally"
            found.append((listed.actor, tally))
            self.state.set(index_key(index), None)
            self.state.set(key, None)
        return found

    def _note_step(self, before: int, after: int, *, is_starved: bool) -> None:
        config = self.config
        if after == in_units(config.weight_max):
            self.reached.append(AuctionRule.WEIGHT_AT_MOST)
        elif is_starved and after == in_units(config.starvation_floor):
            self.reached.append(AuctionRule.WEIGHT_OF_STARVED)
        elif after == in_units(config.weight_min):
            self.reached.append(AuctionRule.WEIGHT_AT_LEAST)
        elif after != before:
            self.reached.append(AuctionRule.WEIGHT_ROSE if after > before else AuctionRule.WEIGHT_FELL)
