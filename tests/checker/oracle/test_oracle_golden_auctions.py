"""The published golden cases of the auctions through the oracle's restatement; the adapters compute nothing."""

import json
from fractions import Fraction

import pytest

from checker.oracle import bias_scores
from checker.oracle.auction import Contender
from checker.oracle.auction_records import AuctionConfig
from checker.oracle.auction_weights import MILLION, slices_of, stepped
from checker.oracle.bias_scores import Candidate
from checker.oracle.contents import Quote, Timer
from checker.oracle.lane_config import Calendar
from checker.oracle.market import Bid
from checker.oracle.tiers import tier_of
from checker.record.root import PROJECT_ROOT
from tests.support.oracle_bench import RICH, Bench, address, reported

CASES = {
    case["id"]: case
    for case in json.loads((PROJECT_ROOT / "tests" / "vectors" / "scheduler.json").read_text())["cases"]
    if case["system"] in ("B", "D") or case["kind"] in ("intro_pq", "rollover_pos")
}
NOT_RESTATED = {"nmax": "a figure of the report, and no rule", "lambda_max": "solves for a parameter"}
PAYMENTS = {
    "literal_capped_at_bid": "vcg-literal",
    "critical_value_capped": "vcg-critical",
    "first_price": "first-price",
}
"""Columns of the published auctions; the literal rule without the cap at the bid is none that a chain can have."""
NO_POINTS = {"max_cells_per_fire": 0, "lane_timer_cycles": 10**7}


def lone(name):
    return Timer(name.encode(), b"", 1, 0, b"", "handle_timer", b"", 0, False, 9)


def ratio(text):
    number = Fraction(text)
    return (number.numerator, number.denominator)


def old_weight(inputs):
    bounds = {name: ratio(inputs[name]) for name in ("weight_min", "weight_max", "starvation_floor") if inputs[name]}
    free = AuctionConfig()._replace(weight_min=(0, 1), weight_max=(MILLION, 1), ema_lambda=ratio(inputs["lambda"]))
    weight, found = Fraction(inputs["w0"]), []
    for score in inputs["S"]:
        is_starved = "starvation_floor" in bounds
        weight = stepped(weight, Fraction(score), free._replace(**bounds), is_starved=is_starved)
        found.append(str(weight))
    return found


def old_effective_tip(inputs):
    """The page's reading is the one that the case has."""
    bench = Bench({"a": RICH}, auction={"effective_tip": "intro"}, min_basefee=8, cycle_basefee=inputs["basefee_cycle"])
    bid = Bid(inputs["max_fee_per_cycle"], inputs["tip_per_cycle"])
    tip = bench.next_block().phase._effective_tip(lone("t"), bid)
    return {"effective_tip": tip, "eligible": tip >= 0}


def old_budget(inputs):
    found = {}
    for name, budget in (("hard_cap", "hard"), ("stop_after_exceeding", "literal")):
        bench = Bench({"a": RICH}, auction={"budget": budget}, timers={"lane_timer_cycles": inputs["budget"]})
        bench.tell("a", 10**6, 0)
        for number, gas in enumerate(inputs["gas"]):
            quote = Quote(None, len(inputs["gas"]) - number, address("a"))
            bench.add(str(number), "a", 1, gas_limit=gas, uses=gas, quote=quote)
        fired = [int(timer_id) for timer_id in reported(1, bench.run_block())]
        found[name] = {"executed": fired, "cycles": bench.result.counts["lane_cycles"]}
    return found


def old_tie(inputs):
    contenders = [
        Contender(lone(it["id"]), it["tip"], int(Fraction(it["weight"]) * MILLION)) for it in inputs["timers"]
    ]
    return [it.timer.timer_id.decode() for it in sorted(contenders, key=lambda contender: contender.rank("id"))]


def old_slices(inputs):
    weights = {name.encode(): int(Fraction(weight) * MILLION) for name, weight in inputs["weights"].items()}
    return {name.decode(): cycles for name, cycles in slices_of(inputs["budget"], weights).items()}


def old_balance(inputs):
    bench = Bench({"a": inputs["balance"]}, auction={}, timers=NO_POINTS, min_basefee=1, cycle_basefee=1)
    bench.tell("a", 1, 0)
    bench.add("t", "a", 1, gas_limit=inputs["bid_cost"], quote=Quote(None, None, address("a")))
    events = bench.run_block()
    return {"executed": bool(reported(1, events)), "state": "deferred" if reported(2, events) else "gone"}


def intro_pq(inputs):
    """The page's queue under its own readings, all of one agent."""
    block, gas = inputs["block"], inputs["gas_each"]
    page = {"effective_tip": "intro", "tie_break": "append", "ring_size": inputs["ring"]}
    bench = Bench({"a": RICH}, auction=page, timers={"lane_timer_cycles": inputs["budget"], "max_cycles_per_fire": gas})
    bench.tell("a", 10**6, 0)
    bench.jump(block)
    for name, tip in inputs["timers"]:
        bench.add(name, "a", block, gas_limit=gas, uses=gas, quote=Quote(None, tip, address("a")))
    events = bench.run_block()
    return {
        "executed": reported(1, events),
        "rolled_over_to_1001": reported(2, events),
        "cycles": bench.result.counts["lane_cycles"],
        "bucket_1001": tier_of(block + 1, block, False, Calendar(ring_size=inputs["ring"]))[1],
    }


def rollover_pos(inputs):
    """The page appends; the other reading is no switch of this policy."""
    bench = Bench({"a": RICH}, auction={"tie_break": "append"})
    bench.tell("a", 10**6, 0)
    for due, names in ((2, inputs["next_bucket"]), (1, inputs["carried"])):
        for name in names:
            bench.add(name, "a", due, quote=Quote(None, None, address("a")))
    bench.jump(2)
    return {"page_append": reported(1, bench.run_block())}


def millionths(text):
    return int(Fraction(text) * MILLION)


def bias_of(inputs):
    return {"bias_fp18": str(bias_scores.bias(inputs["n"], millionths(inputs["lambda"])))}


def lambda_constraint(inputs):
    waits = (inputs["n"], inputs["n"] + inputs["dn"])
    before, after = (bias_scores.bias(wait, millionths(inputs["lambda"])) for wait in waits)
    decimals = (after - before) // MILLION
    return {
        "bias_increase": f"{decimals // 10**12}.{decimals % 10**12:012d}",
        "holds": Fraction(inputs["Y"]) * inputs["dn"] * bias_scores.UNIT >= after - before,
    }


def nmax_counter(inputs):
    waiting = lone("w")._replace(gas_limit=inputs["waiting_cycles"])
    rival = lone("r")._replace(gas_limit=inputs["rival_cycles"])
    biases = [bias_scores.bias(wait, millionths(inputs["lambda"])) for wait in (inputs["n"], 0)]
    scores = (
        Candidate(waiting, 0, inputs["n"], biases[0]).score,
        Candidate(rival, inputs["rival_bid"], 0, biases[1]).score,
    )
    return {"waiting_score_higher": scores[0] > scores[1]}


def auction_of(inputs, payment):
    """The block in which all of a case's timers compete, and the events of its fires."""
    caps = {name: inputs[name] for name in ("max_fires_per_block", "max_fires_per_actor") if name in inputs}
    config = {
        "reserve": int(inputs["reserve"]),
        "bias_lambda": millionths(inputs["lambda"]),
        "payment": payment,
        **caps,
    }
    limits = {"lane_timer_cycles": inputs["budget"]}
    bench = Bench(dict.fromkeys((it["actor"] for it in inputs["timers"]), RICH), bias=config, timers=limits)
    bench.jump(1_000)
    for item in inputs["timers"]:
        cycles = item["cycles"]
        timer = bench.add(item["id"], item["actor"], 1_000 - item["n"], gas_limit=cycles, uses=cycles)
        if item["bid"]:
            bench.lock(timer, item["bid"])
    phase = bench.next_block().phase
    phase.lambda_ = config["bias_lambda"]
    ranked = sorted((phase._candidate(timer) for timer in phase._waiting()), key=lambda candidate: candidate.rank)
    phase.run()
    return [candidate.timer.timer_id.decode() for candidate in ranked], phase


def auction(inputs):
    found = {}
    for column, payment in PAYMENTS.items():
        order, phase = auction_of(inputs, payment)
        for event in phase.events:
            if event[0] == 1:
                found.setdefault(event[1].decode(), {})[column] = f"{event[8]}.000000000"
    reasons = {timer_id.decode(): phase._reason_of(timer) for timer_id, timer in phase.contents.timers.rows.items()}
    words = {"lane_full": "budget"}
    return {
        "order": order,
        "winners": [winner.timer.timer_id.decode() for winner in phase.winners],
        "excluded": [[name, words.get(reasons[name], reasons[name])] for name in order if name in reasons],
        "runner_up": phase.runner_up and phase.runner_up.timer.timer_id.decode(),
        "cycles": phase.lane_cycles,
        "payments": found,
    }


OF_BIAS = {"bias": bias_of, "lambda_constraint": lambda_constraint, "nmax_counter": nmax_counter, "auction": auction}
ALL = (old_weight, old_effective_tip, old_budget, old_tie, old_slices, old_balance, intro_pq, rollover_pos)
ADAPTERS = {adapter.__name__: adapter for adapter in ALL} | OF_BIAS


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] not in NOT_RESTATED])
def test_the_oracle_comes_to_the_published_value(name):
    case = CASES[name]
    expected = case["expected"]
    if case["kind"] == "rollover_pos":
        expected = {"page_append": expected["page_append"]}
    if case["kind"] == "auction":
        paid = {
            name: {column: columns[column] for column in PAYMENTS} for name, columns in expected["payments"].items()
        }
        expected = expected | {"payments": paid}

    assert ADAPTERS[case["kind"]](case["inputs"]) == expected
