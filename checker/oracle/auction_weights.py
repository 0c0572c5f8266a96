"""Weights of the GBA auction: how an epoch is scored, how a weight decays, what it gives (docs/gba-auction.md)."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Final

from checker.oracle.auction_records import AuctionConfig, Tally, Weight

MILLION: Final = 10**6


def scores_of(tallies: Mapping[bytes, Tally], budget_cycles: int, epoch_length: int) -> dict[bytes, Fraction]:
    """Return the score of each actor with a tally in an ended epoch."""
    means = {actor: Fraction(tally.tips, tally.fires) for actor, tally in tallies.items() if tally.fires}
    middle = _lower_median(list(means.values()))
    return {
        actor: _score(tally, means[actor], middle, budget_cycles=budget_cycles, epoch_length=epoch_length)
        if tally.fires
        else Fraction(0)
        for actor, tally in tallies.items()
    }


def _score(tally: Tally, mean: Fraction, middle: Fraction, *, budget_cycles: int, epoch_length: int) -> Fraction:
    share = Fraction(tally.cycles, budget_cycles) if budget_cycles else Fraction(0)
    terms = (
        Fraction(mean, mean + middle) if mean + middle else Fraction(1, 2),
        Fraction(tally.succeeded, tally.fires),
        min(Fraction(1), Fraction(tally.lateness, tally.fires * epoch_length)),
        1 - min(Fraction(1), share),
    )
    return Fraction(sum(terms, Fraction(0)), len(terms))


def _lower_median(values: Sequence[Fraction]) -> Fraction:
    ordered = sorted(values)
    return ordered[(len(ordered) - 1) // 2] if ordered else Fraction(0)


def stepped(weight: Fraction, score: Fraction, config: AuctionConfig, *, is_starved: bool) -> Fraction:
    """Return the weight after an epoch with this score; the floor of a starved actor comes last."""
    part = Fraction(*config.ema_lambda)
    moved = min((1 - part) * weight + part * score, Fraction(*config.weight_max))
    bounded = max(moved, Fraction(*config.weight_min))
    return max(bounded, Fraction(*config.starvation_floor)) if is_starved else bounded


def weight_in(epoch: int, record: Weight | None, config: AuctionConfig) -> int:
    """Return the weight in millionths that an actor's record is read as in an epoch."""
    if record is None or record.epoch < config.reset_epoch:
        return floor(Fraction(*config.weight_initial) * MILLION)
    least, most = (floor(Fraction(*bound) * MILLION) for bound in (config.weight_min, config.weight_max))
    weight = record.millionths
    if record.epoch < config.rescale_epoch:
        weight = floor(weight * Fraction(*config.rescale))
    weight = max(min(weight, most), least)
    for _ in range(epoch - record.epoch):
        decayed = max(floor((1 - Fraction(*config.ema_lambda)) * weight), least)
        if decayed == weight:
            break
        weight = decayed
    return weight


def slices_of(budget: int, weights: Mapping[bytes, int]) -> dict[bytes, int]:
    """Return the cycles by weight: whole parts, then a cycle each by greatest remainder, ties by address."""
    total = sum(weights.values())
    if not total:
        return dict.fromkeys(weights, 0)
    slices = {actor: budget * weight // total for actor, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda actor: (-(budget * weights[actor] % total), actor))
    for actor in by_remainder[: budget - sum(slices.values())]:
        slices[actor] += 1
    return slices
