"""Adapters for the GBA auction: weights, effective tips, ties, slices (part B)."""

from fractions import Fraction
from math import lcm

from scheduler import TimerConfig
from scheduler.gba_records import AuctionConfig
from scheduler.gba_selection import Contender, effective_tip, rank_of, share_out
from scheduler.gba_weights import UNIT, WeightRules, step_weight
from tests.conformance.lane_adapters import ACTOR, RICH, timer_of
from tests.support.auction_bench import AuctionBench, deferred, fired


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
    return [candidate.timer.timer_id.decode() for candidate in sorted(candidates, key=rank_of)]


def old_slices(inputs, system):
    weights = {name.encode(): Fraction(weight) for name, weight in inputs["weights"].items()}
    scale = lcm(*(weight.denominator for weight in weights.values()))
    slices = share_out(inputs["budget"], {actor: int(weight * scale) for actor, weight in weights.items()})
    return {actor.decode(): cycles for actor, cycles in slices.items()}


def old_budget(inputs, system):
    """The timers that fire by either reading, all of one actor and in the order of their tips."""
    found = {}
    for name, reading in (("hard_cap", "hard"), ("stop_after_exceeding", "literal")):
        most = max(inputs["budget"], *inputs["gas"])
        bench = bench_of(inputs["budget"], AuctionConfig(budget=reading), max_cycles_per_fire=most)
        count = len(inputs["gas"])
        timers = [bench.timer(ACTOR, tip=count - place, gas_limit=gas) for place, gas in enumerate(inputs["gas"])]
        result = bench.run(1)
        executed = [timers.index(timer_id) for timer_id in fired(result)]
        found[name] = {"executed": executed, "cycles": result.lane_cycles}
    return found


def old_balance(inputs, system):
    bench = bench_of(10**7, AuctionConfig(), max_cycles_per_fire=10**7, cycle=1)
    bench.ledger.balances[ACTOR] = inputs["balance"]
    timer = bench.timer(ACTOR, gas_limit=inputs["bid_cost"])
    result = bench.run(1)
    state = "executed" if timer in fired(result) else "deferred" if timer in deferred(result) else "gone"
    return {"executed": timer in fired(result), "state": state}


def bench_of(budget, own, *, cycle=0, **config):
    """Return a chain in which cells cost nothing and the actor is rich."""
    bench = AuctionBench(TimerConfig(lane_timer_cycles=budget, max_cells_per_fire=0, **config), own, cycle=cycle)
    bench.ledger.balances[ACTOR] = RICH
    return bench


ALTERNATIVES = {
    "old_effective_tip": {"bid": lambda inputs: effective_tip_of(inputs, "bid")},
    "old_budget": {
        "hard_cap": lambda inputs: old_budget(inputs, "B")["hard_cap"],
        "stop_after_exceeding": lambda inputs: old_budget(inputs, "B")["stop_after_exceeding"],
    },
}
"""Other readings that a switch selects, by the name that a case gives them."""

ADAPTERS = {
    "old_budget": old_budget,
    "old_balance": old_balance,
    "old_weight": old_weight,
    "old_effective_tip": old_effective_tip,
    "old_tie": old_tie,
    "old_slices": old_slices,
}
