"""Adapters for the GBA auction: weights, effective tips, ties, slices (part B)."""

from fractions import Fraction
from math import lcm

from scheduler.gba_selection import Contender, effective_tip, share_out
from scheduler.gba_weights import UNIT, WeightRules, step_weight
from tests.conformance.lane_adapters import timer_of


def old_weight(inputs, system):
    """The weights after each score; a case that states a starvation floor is about an actor that starves."""
    bounds = (inputs["weight_min"], inputs["weight_max"], inputs["starvation_floor"])
    rules = WeightRules(Fraction(inputs["lambda"]), *(None if bound is None else Fraction(bound) for bound in bounds))
    weight, found = Fraction(inputs["w0"]), []
    for score in inputs["S"]:
        weight = step_weight(weight, Fraction(score), rules, is_starved=True)
        found.append(str(weight))
    return found


def effective_tip_of(inputs, reading):
    tip = effective_tip(
        inputs["max_fee_per_cycle"], inputs["tip_per_cycle"], basefee=inputs["basefee_cycle"], reading=reading
    )
    return {"effective_tip": tip, "eligible": tip >= 0}


def old_effective_tip(inputs, system):
    """The page's own tip: the text of the auction names none (docs/spec.md)."""
    return effective_tip_of(inputs, "intro")


def old_tie(inputs, system):
    candidates = [
        Contender(timer_of(timer["id"], "owner"), timer["tip"], int(Fraction(timer["weight"]) * UNIT))
        for timer in inputs["timers"]
    ]
    return [candidate.timer.timer_id.decode() for candidate in sorted(candidates, key=lambda each: each.rank)]


def old_slices(inputs, system):
    weights = {name.encode(): Fraction(weight) for name, weight in inputs["weights"].items()}
    scale = lcm(*(weight.denominator for weight in weights.values()))
    slices = share_out(inputs["budget"], {actor: int(weight * scale) for actor, weight in weights.items()})
    return {actor.decode(): cycles for actor, cycles in slices.items()}


ADAPTERS = {
    "old_weight": old_weight,
    "old_effective_tip": old_effective_tip,
    "old_tie": old_tie,
    "old_slices": old_slices,
}
