"""Adapters for the bias auction: the bias, N_max, the walk with its payments, the value-decay constraint (part D)."""

from fractions import Fraction
from typing import get_args

from scheduler import TimerFired
from scheduler.bias import MILLION, SCALE, bias, growth, log_floor, n_max, outgrows_values, waits_at_most
from scheduler.bias_selection import PaymentRule, Walk, payment, price, scaled_score, walk_all
from scheduler.bias_waits import WaitClock
from tests.conformance.lane_adapters import RICH
from tests.support.auction_bench import deferred
from tests.support.bias_bench import bias_bench
from tests.support.bias_order import sort_by_score

HEIGHT = 1_000
"""The height of the block in which the timers of a case compete."""


def lambda_of(stated):
    """Return a lambda in millionths."""
    return int(Fraction(stated) * MILLION)


def decimals(parts, places, scale=SCALE):
    """Return a fixed-point number as text, truncated."""
    whole, rest = divmod(parts, scale)
    return f"{whole}.{rest * 10**places // scale:0{places}d}" if places else str(whole)


def bias_of(inputs, system):
    return {"bias_fp18": str(bias(inputs["n"], lambda_of(inputs["lambda"])))}


def n_max_of(inputs, system):
    tokens, lambda_ = inputs["T"], lambda_of(inputs["lambda"])
    found = n_max(tokens, lambda_)
    return {"n_max": decimals(found, 12) if found else "0", "first_whole_block": waits_at_most(tokens, lambda_)}


def n_max_counter(inputs, system):
    waiting = scaled_score(bias(inputs["n"], lambda_of(inputs["lambda"])), inputs["waiting_cycles"])
    rival = scaled_score(inputs["rival_bid"] * SCALE, inputs["rival_cycles"])
    return {"waiting_score_higher": waiting > rival}


def constraint(inputs, system):
    lambda_, decay = lambda_of(inputs["lambda"]), Fraction(inputs["Y"])
    about = inputs["n"], lambda_
    holds = not outgrows_values(*about, (decay.numerator, decay.denominator), inputs["dn"])
    return {"bias_increase": decimals(growth(*about, inputs["dn"]), 12), "holds": holds}


def lambda_max(inputs, system):
    """Return the greatest lambda that keeps the constraint from the first block on, `ln(1 + Y * dn) / dn` (D-3)."""
    pairs = zip(map(Fraction, inputs["Y"]), inputs["dn"], strict=True)
    bounds = [(1 + decay * blocks, blocks) for decay, blocks in pairs]
    return [decimals(log_floor(grown.numerator, grown.denominator) // blocks, 12) for grown, blocks in bounds]


REASONS = {"lane_full": "budget", "block_cap": "block_cap", "actor_cap": "actor_cap"}
"""The cases' words for why a timer waits."""


def open_auction(inputs, rule):
    """Return a chain with the timers of a case, each of which has waited as long as the case says, and their names."""
    caps = {name: inputs[name] for name in ("max_fires_per_block", "max_fires_per_actor") if name in inputs}
    own = {"bias_lambda": lambda_of(inputs["lambda"]), "reserve": int(inputs["reserve"]), "payment": rule, **caps}
    bench = bias_bench(inputs["budget"], own=own)
    names = {}
    for timer in inputs["timers"]:
        actor = timer["actor"].encode()
        bench.ledger.balances[actor] = RICH
        due = HEIGHT - timer["n"]
        names[bench.carried(actor, due, bid=timer["bid"], gas_limit=timer["cycles"])] = timer["id"]
    bench.moment = bench.at(HEIGHT)
    return bench, names


def payments_of(winner, runner_up, reserve):
    """Return what a winner pays by each rule; the literal one without and with the bid as its bound."""
    asked = {rule: max(reserve * SCALE, price(winner, runner_up, rule)) for rule in get_args(PaymentRule)}
    capped = {rule: min(winner.bid * SCALE, amount) for rule, amount in asked.items()}
    for rule, amount in capped.items():
        assert payment(winner, runner_up, rule=rule, reserve=reserve) == amount // SCALE
    return {
        "literal": decimals(asked["vcg-literal"], 9),
        "literal_capped_at_bid": decimals(capped["vcg-literal"], 9),
        "critical_value_capped": decimals(capped["vcg-critical"], 9),
        "first_price": decimals(capped["first-price"], 9),
    }


def auction(inputs, system):
    """A block of the policy by each payment rule, and its walk, which has the payments before they are whole units."""
    bench, names = open_auction(inputs, "vcg-literal")
    block = bench.block()
    clock, lambda_ = WaitClock(bench.state, block.moment, 1), lambda_of(inputs["lambda"])
    order = sort_by_score(bench.tables.collect(HEIGHT), block.escrow.bid, clock, lambda_)
    caps = bench.own.max_fires_per_block, bench.own.max_fires_per_actor
    walk = walk_all(order, Walk(inputs["budget"], *caps), lambda one: True)
    paid = {names[one.timer.timer_id]: payments_of(one, walk.runner_up, int(inputs["reserve"])) for one in walk.winners}
    for rule in get_args(PaymentRule):
        bench, names = open_auction(inputs, rule)
        result = bench.run(HEIGHT)
        tips = [(names[event.timer_id], event.tip) for event in result.events if isinstance(event, TimerFired)]
        about = {"rule": rule, "reserve": int(inputs["reserve"])}
        assert tips == [(names[one.timer.timer_id], payment(one, walk.runner_up, **about)) for one in walk.winners]
    return {
        "order": [names[one.timer.timer_id] for one in order],
        "winners": list(paid),
        "excluded": [[names[timer_id], REASONS[reason]] for timer_id, reason in deferred(result).items()],
        "runner_up": None if walk.runner_up is None else names[walk.runner_up.timer.timer_id],
        "cycles": result.lane_cycles,
        "payments": paid,
    }


ADAPTERS = {
    "bias": bias_of,
    "nmax": n_max_of,
    "nmax_counter": n_max_counter,
    "lambda_constraint": constraint,
    "lambda_max": lambda_max,
    "auction": auction,
}
