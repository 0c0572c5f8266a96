"""Adapters for the bias auction: the bias, N_max, the walk with its payments, the value-decay constraint (part D)."""

from fractions import Fraction
from typing import get_args

from scheduler import Moment, TimerFired
from scheduler.bias import MILLION, SCALE, bias, growth, log_floor, n_max, outgrows_values, waits_at_most
from scheduler.bias_records import BiasConfig
from scheduler.bias_selection import PaymentRule, Walk, payment, price, scaled_score
from scheduler.bias_waits import WaitClock
from tests.conformance.lane_adapters import RICH, timer_of
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


def timers_of(inputs):
    """Return the timers of a case, each of which has waited as long as the case says, and their bids by name."""
    timers = [
        timer_of(timer["id"], timer["actor"], gas_limit=timer["cycles"], due=HEIGHT - timer["n"], sequence=sequence)
        for sequence, timer in enumerate(inputs["timers"])
    ]
    return timers, {timer["id"]: timer["bid"] for timer in inputs["timers"]}


def reason_to_leave_out(walk, one):
    """Return why the next one of a walk does not win, in the cases' words; None for a winner."""
    if walk.is_capped(one.timer.actor):
        return "actor_cap"
    if walk.has_room(one.timer.gas_limit):
        return None
    return "block_cap" if walk.is_full else "budget"


def walk_of(inputs, own, order):
    """Return the walk over all of an order, and who is left out with the reason of each."""
    walk, excluded = Walk(inputs["budget"], own.max_fires_per_block, own.max_fires_per_actor), []
    for one in order:
        reason = reason_to_leave_out(walk, one)
        walk.visit(one, lambda one: True)
        excluded += [] if reason is None else [[name_of(one), reason]]
    return walk, excluded


def config_of(inputs, rule="vcg-literal"):
    caps = {name: inputs[name] for name in ("max_fires_per_block", "max_fires_per_actor") if name in inputs}
    return {"bias_lambda": lambda_of(inputs["lambda"]), "reserve": int(inputs["reserve"]), "payment": rule, **caps}


def tips_of_block(inputs, rule):
    """Return who fires in a block of the policy, and what each pays, in order."""
    budget = inputs["budget"]
    bench, names = bias_bench(budget, config={"max_cycles_per_fire": budget}, own=config_of(inputs, rule)), {}
    for timer in inputs["timers"]:
        actor = timer["actor"].encode()
        bench.ledger.balances[actor] = RICH
        due = HEIGHT - timer["n"]
        names[bench.carried(actor, due, bid=timer["bid"], gas_limit=timer["cycles"])] = timer["id"]
    events = bench.run(HEIGHT).events
    return [(names[event.timer_id], event.tip) for event in events if isinstance(event, TimerFired)]


def name_of(one):
    return one.timer.timer_id.decode()


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
    """The walk over the order, and payments before they are whole units; a block of the policy has to agree.

    A chain holds a timer above its lane apart, and lets it set no price; a case may have one, which is left out.
    """
    own, lambda_ = BiasConfig(**config_of(inputs)), lambda_of(inputs["lambda"])
    timers, bids = timers_of(inputs)
    clock = WaitClock(None, Moment(HEIGHT, HEIGHT, HEIGHT - 1, "height"), 1)
    order = sort_by_score(timers, lambda timer: bids[timer.timer_id.decode()], clock, lambda_)
    walk, excluded = walk_of(inputs, own, order)
    if all(timer["cycles"] <= inputs["budget"] for timer in inputs["timers"]):
        for rule in get_args(PaymentRule):
            about = {"rule": rule, "reserve": own.reserve}
            paid = [(name_of(one), payment(one, walk.runner_up, **about)) for one in walk.winners]
            assert tips_of_block(inputs, rule) == paid
    return {
        "order": [name_of(one) for one in order],
        "winners": [name_of(one) for one in walk.winners],
        "excluded": excluded,
        "runner_up": None if walk.runner_up is None else name_of(walk.runner_up),
        "cycles": inputs["budget"] - walk.room,
        "payments": {name_of(one): payments_of(one, walk.runner_up, own.reserve) for one in walk.winners},
    }


ADAPTERS = {
    "bias": bias_of,
    "nmax": n_max_of,
    "nmax_counter": n_max_counter,
    "lambda_constraint": constraint,
    "lambda_max": lambda_max,
    "auction": auction,
}
