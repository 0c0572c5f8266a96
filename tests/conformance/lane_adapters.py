"""Adapters for the timer lane: fee market, bids, fairness, order, packing, settlement, activation (part A)."""

from fractions import Fraction
from math import lcm

import msgspec

from scheduler import (
    Bid,
    LaneConfig,
    Prices,
    Rejected,
    RunOutcome,
    Timer,
    TimerDeferred,
    TimerFired,
    TimerPriorityClampedAtSchedule,
    WaitingPool,
)
from scheduler.fairness import open_window, read_weights
from scheduler.fee_market import basefee_delta, doubled_median, median_tip, next_lane_basefee
from scheduler.pool import PoolRules
from scheduler.quotes import freeze_quote, tip_of_tier
from scheduler.ranking import Ranking, Scale
from scheduler.types import MAX_U63, Quote
from tests.support.chain_harness import make_genesis, policies_of
from tests.support.lane_doubles import PROPOSER, LaneBench, free
from tests.support.scheduler_doubles import Bench
from validators.execution.run import Rules

ACTOR = b"\xaa" * 20
RICH = 10**15


def text_of(value):
    return str(Fraction(value))


def timer_of(name, actor, *, gas_limit=0, fee=MAX_U63, tip=0, sequence=0, due=1, quoted=True, is_default=False):
    """Return a timer of the case's own name: as pending, so that no check of admission stands in the way."""
    quote = Quote(fee, tip) if quoted else None
    actor = actor.encode()
    return Timer(name.encode(), actor, due, sequence, b"", "tick", actor, gas_limit, is_default, 10**9, quote)


def basefee(inputs, system):
    config = LaneConfig(min_lane_basefee=inputs["min_basefee"])
    value, exact = inputs["basefee0"], Fraction(inputs["basefee0"])
    found = {"exact": [], "recommended": []}
    for used in inputs["cycles_used_per_block"]:
        exact *= 1 + basefee_delta(used, inputs["lane"], config)
        value = next_lane_basefee(value, used, inputs["lane"], config)
        found["exact"].append(text_of(exact))
        found["recommended"].append(value)
    return found


def slope(inputs, system):
    readings = {"literal_delta": LaneConfig(), "classic_eip1559_delta": LaneConfig(slope="classic")}
    return [
        {"cycles_used": used}
        | {name: text_of(basefee_delta(used, inputs["lane"], config)) for name, config in readings.items()}
        for used in inputs["cycles_used"]
    ]


def schedule_check(inputs, system):
    bench = LaneBench(basefee=inputs["basefee_lane_timer"], p50=inputs["p50"])
    bench.ledger.balances[ACTOR] = RICH
    try:
        events = bench.bid(ACTOR, 5, fee=inputs["max_fee_per_cycle"], tip=inputs["max_priority_fee_per_cycle"])
    except Rejected as error:
        return {"accepted": False, "error": error.name, "events": [], "escrow": RICH - bench.ledger.balance(ACTOR)}
    quote = bench.tables.timers[events[0].timer_id].quote
    clamps = [event for event in events if isinstance(event, TimerPriorityClampedAtSchedule)]
    return {
        "accepted": True,
        "max_fee_per_cycle": quote.max_fee_per_cycle,
        "max_priority_fee_per_cycle": quote.max_priority_fee_per_cycle,
        "events": [{type(event).__name__: [event.stated, event.clamped]} for event in clamps],
        "escrow": RICH - bench.ledger.balance(ACTOR),
    }


def default_gba(inputs, system):
    tips = inputs["fired_tips_prev_block"]
    counts = {tip: tips.count(tip) for tip in tips}
    p50 = median_tip(tips, "mean")
    params = Prices(0, inputs["basefee_cell"], inputs["basefee_lane_timer"], p50).default_params()
    return {"p50_exact": text_of(Fraction(doubled_median(counts, "mean"), 2)), "p50": p50} | {
        name: getattr(params, name) for name in params.__struct_fields__
    }


def tier_hint(inputs, system):
    ratios = {name: Fraction(value).as_integer_ratio() for name, value in inputs["multipliers"].items()}
    config = LaneConfig(**{f"tier_{name}": ratio for name, ratio in ratios.items()})
    prices = Prices(0, 0, 0, inputs["p50"])
    quotes = {name: freeze_quote(Bid(MAX_U63, None, name), prices, config)[0] for name in ratios}
    assert all(
        quote.max_priority_fee_per_cycle == tip_of_tier(name, inputs["p50"], config) for name, quote in quotes.items()
    )
    return {name: quote.max_priority_fee_per_cycle for name, quote in quotes.items()}


def weights_of(inputs, median):
    bench = LaneBench(lane=LaneConfig(median=median))
    for name, count in inputs["recent_executions"].items():
        if count:
            bench.lane_tables.set_recent_fires(name.encode(), count)
    weights = read_weights(bench.lane)
    found = {name: text_of(weights.weight(name.encode())) for name in inputs["recent_executions"]}
    return text_of(Fraction(doubled_median(bench.lane_tables.fire_counts(), median), 2)), found


def fairness_w(inputs, system):
    median, found = weights_of(inputs, "mean")
    return {"network_median": median, "W": found}


def window(inputs, system):
    bench = LaneBench(free(), LaneConfig(fairness_window_blocks=inputs["window"]))
    bench.ledger.balances[ACTOR] = RICH
    bench.bid(ACTOR, inputs["fire_block"], fee=MAX_U63, tip=0)
    found = {}
    for height in range(1, max(inputs["observe_at"]) + 1):
        bench.moment = bench.at(height)
        if height in inputs["observe_at"]:
            open_window(bench.lane, height)
            found[str(height)] = bench.lane_tables.recent_fires(ACTOR) > 0
        bench.run(height)
    return found


def rank(inputs, system):
    price = inputs["basefee_lane_timer"]
    weights = {name.encode(): Fraction(value) for name, value in inputs["W"].items()}
    denominator = lcm(*(weight.denominator for weight in weights.values()))
    scale = Scale(
        price=price,
        default_fee=0,
        default_tip=0,
        denominator=denominator,
        is_additive=False,
        numerator_of=lambda actor: int(weights[actor] * denominator),
    )
    pool = WaitingPool(PoolRules(gas_limit_cap=1, default_gas_limit=1, legacy_max_fee=0, is_by_age=False))
    for sequence, timer in enumerate(inputs["timers"]):
        fee, tip = timer["max_fee"], timer["max_priority"]
        pool.add(timer_of(timer["id"], timer["actor"], fee=fee, tip=tip, sequence=sequence))
    below = pool.fixed_fees.below(price)
    ranking = Ranking(pool, scale, answers={}, skipped={}, bankrupt={})
    taken = []
    while (found := ranking.take(1)) is not None:
        taken.append(found)
    order = [timer.timer_id.decode() for timer, _ in taken]
    left = [timer["id"] for timer in inputs["timers"] if timer["id"] not in order]
    assert below == len(left)
    effective = {
        timer.timer_id.decode(): Fraction(scale.effective(priority, scale.numerator_of(timer.actor)), denominator)
        for timer, priority in taken
    }
    return {
        "order": order,
        "priority_per_cycle": {timer.timer_id.decode(): priority for timer, priority in taken},
        "effective_priority": {name: text_of(value) for name, value in effective.items()},
        "below_basefee": left,
    }


def packed(inputs, *, account="use", misfit="skip"):
    config = free(lane_timer_cycles=inputs["lane_cycles"])
    lane = LaneConfig(packing_account=account, packing_misfit=misfit, max_cycles_per_fire_auction_phase=inputs["cap"])
    bench = LaneBench(config, lane, basefee=0)
    timers = inputs["timers_best_first"]
    used = {timer["id"]: timer.get("used", timer.get("used_cycles", timer["gas_limit"])) for timer in timers}
    for sequence, timer in enumerate(timers):
        tip = len(timers) - sequence
        bench.tables.insert(timer_of(timer["id"], "a", gas_limit=timer["gas_limit"], tip=tip, sequence=sequence))
    bench.ledger.balances[b"a"] = RICH
    run = lambda timer: RunOutcome(True, used[timer.timer_id.decode()], 0, ())  # noqa: E731
    result = bench.run(1, run, already_used=inputs["already_used"])
    held = {event.timer_id.decode(): event.reason for event in result.events if isinstance(event, TimerDeferred)}
    return {
        "fired": [event.timer_id.decode() for event in result.events if isinstance(event, TimerFired)],
        "deferred": [timer["id"] for timer in timers if held.get(timer["id"]) == "lane_full"],
        "over_cap": [timer["id"] for timer in timers if held.get(timer["id"]) == "over_cap"],
        "lane_cycles": result.lane_cycles if account == "use" else reserved_cycles(timers, result),
    }


def reserved_cycles(timers, result):
    """Return the limits of the timers that fired, as the case states them: what they took of the lane."""
    limits = {timer["id"]: timer["gas_limit"] for timer in timers}
    return sum(limits[event.timer_id.decode()] for event in result.events if isinstance(event, TimerFired))


def pack(inputs, system):
    return packed(inputs)


PACKINGS = {
    **dict.fromkeys(("reserved", "reserve", "limit"), ("account", "limit")),
    **dict.fromkeys(("used", "use"), ("account", "use")),
    "stop": ("misfit", "stop"),
    "skip": ("misfit", "skip"),
}
"""The words by which a reading of packing is named (K-34, Q-17): what a fire takes, and what a misfit does."""


class PackingReadings:
    """The readings of packing by name, which is made of words of `PACKINGS`; one that is not stated is the default."""

    def __contains__(self, name):
        return any(word in PACKINGS for word in name.split("_"))

    def __getitem__(self, name):
        switches = dict(PACKINGS[word] for word in name.split("_") if word in PACKINGS)
        return lambda inputs: packed(inputs, **switches)


def settled(inputs, settlement):
    config = free(lane_timer_cycles=10**7)
    config = msgspec.structs.replace(config, max_cells_per_fire=inputs["max_cells"])
    lane = LaneConfig(settlement=settlement, max_cycles_per_fire_auction_phase=10**7)
    price, priority = inputs["basefee_lane"], inputs["priority_per_cycle"]
    bench = LaneBench(config, lane, basefee=price, cycle=inputs["basefee_cycle"], cell=inputs["basefee_cell"])
    bench.ledger.balances[b"a"] = RICH
    charged, charge = [], bench.ledger.charge
    bench.ledger.charge = lambda address, amount: (charged.append(amount), charge(address, amount))
    bench.tables.insert(timer_of("t", "a", gas_limit=inputs["gas_limit"], tip=priority))
    ok = not inputs.get("reverted", False)
    outcome = RunOutcome(ok, inputs["used_cycles"], inputs["used_cells"] if ok else 0, ())
    result = bench.run(1, lambda timer: outcome)
    return {
        "max_cost": charged[0],
        "burn_cycle": result.burned - result.lane_burned - result.cells_burned,
        "burn_lane": result.lane_burned,
        "burn_cell": result.cells_burned,
        "tip_to_proposer": bench.ledger.balance(PROPOSER),
        "refund": bench.ledger.balance(b"a") - (RICH - charged[0]),
    }


def settle(inputs, system):
    return {settlement: settled(inputs, settlement) for settlement in ("additive", "literal")}


def activation(inputs, system):
    height_of_activation = inputs["H_activation"]
    lane = LaneConfig(bid_deprecation_blocks=inputs["deprecation_ends"] - height_of_activation)
    genesis = make_genesis(policies=policies_of("eip1559", height_of_activation, lane))
    rules = Rules(genesis, {}, lambda transaction: True)
    orders = {"fifo": "fifo", "eip1559": "effective_priority"}
    found = []
    for height, is_default, gas_limit in inputs["queries"]:
        policy = rules.policy_at(height)
        bench = (
            Bench() if policy.name == "fifo" else LaneBench(lane=lane, basefee=800, activated_at=height_of_activation)
        )
        # Pending since before the activation.
        pending = timer_of("t", "a", gas_limit=gas_limit or 550_000, due=height, quoted=False, is_default=is_default)
        bench.tables.insert(pending)
        bench.ledger.balances = {b"a": RICH, ACTOR: RICH}
        bench.moment = bench.at(height)
        answer = {"order": orders[policy.name], "cap": bench.context.gas_limit_ceiling}
        if is_default:
            answer["bid_arg"] = bid_argument(bench, height)
        answer["default_gas_limit"] = gas_limit_as_read(bench, pending, height)
        found.append(answer)
    return found


def bid_argument(bench, height):
    try:
        bench.schedule(ACTOR, height + 1, bid=7)
    except Rejected as error:
        return error.name
    return "ignored"


def gas_limit_as_read(bench, pending, height):
    """Return the limit that the timer runs with; where it is held as over the cap, the one that it stated."""
    seen = []

    def run(timer):
        seen.append(timer.gas_limit)
        return RunOutcome(True, 0, 0, ())

    result = bench.run(height, run)
    if seen:
        return seen[0]
    assert TimerDeferred(pending.timer_id, "over_cap") in result.events
    return bench.tables.timers[pending.timer_id].gas_limit


def e2e(inputs, system):
    bench = LaneBench(
        free(lane_timer_cycles=inputs["lane"]), LaneConfig(min_lane_basefee=8), basefee=inputs["basefee0"]
    )
    used = {timer["id"]: timer["used"] for timer in inputs["timers"]}
    actors = list(dict.fromkeys(timer["actor"] for timer in inputs["timers"]))
    bench.ledger.balances = {actor.encode(): RICH for actor in actors}
    for sequence, timer in enumerate(inputs["timers"]):
        terms = {"gas_limit": timer["gas_limit"], "fee": timer["max_fee"], "tip": timer["max_priority"]}
        bench.tables.insert(timer_of(timer["id"], timer["actor"], sequence=sequence, **terms))
    found = []
    for block in range(1, inputs["blocks"] + 1):
        basefee_now = bench.lane.price
        open_window(bench.lane, block)
        weights = read_weights(bench.lane)
        before = {actor: text_of(weights.weight(actor.encode())) for actor in actors}
        result = bench.run(block, lambda timer: RunOutcome(True, used[timer.timer_id.decode()], 0, ()))
        found.append(
            {
                "block": block,
                "basefee": basefee_now,
                "W": before,
                "fired": [event.timer_id.decode() for event in result.events if isinstance(event, TimerFired)],
                "deferred": sorted(timer.decode() for timer in bench.tables.timers),
                "lane_cycles": result.lane_cycles,
                "p50": bench.lane.market.p50_tip,
            }
        )
    return found


def delays(inputs, _system):
    """Return the number of blocks that passed a timer over, and whether the hook handles it then."""
    config = LaneConfig(max_allowed_delays=inputs["max_allowed_delays"])
    return [[count, config.is_excessive(count)] for count in range(1, inputs["blocks_passed_over"] + 1)]


ADAPTERS = {
    "basefee": basefee,
    "slope": slope,
    "schedule_check": schedule_check,
    "default_gba": default_gba,
    "tier_hint": tier_hint,
    "fairness_w": fairness_w,
    "window": window,
    "rank": rank,
    "pack": pack,
    "settle": settle,
    "activation": activation,
    "e2e": e2e,
    "delays": delays,
}

ALTERNATIVES = {
    "default_gba": {
        "lower_median": lambda inputs: median_tip(inputs["fired_tips_prev_block"], "lower"),
        "upper_median": lambda inputs: median_tip(inputs["fired_tips_prev_block"], "upper"),
    },
    "fairness_w": {
        "W_lower_median": lambda inputs: weights_of(inputs, "lower")[1],
        "W_upper_median": lambda inputs: weights_of(inputs, "upper")[1],
    },
    "pack": PackingReadings(),
}
"""Other readings that a switch selects, by the name that a case gives them."""
