"""The published golden cases of the auctions through the oracle's restatement; the adapters compute nothing."""

import json
from fractions import Fraction

import pytest

from checker.oracle.auction import Contender
from checker.oracle.auction_records import AuctionConfig
from checker.oracle.auction_weights import MILLION, slices_of, stepped
from checker.oracle.contents import Quote, Timer
from checker.oracle.lane_config import Calendar
from checker.oracle.market import Bid
from checker.oracle.tiers import tier_of
from checker.record.root import PROJECT_ROOT
from tests.support.oracle_bench import RICH, Bench, address, reported

CASES = {
    case["id"]: case
    for case in json.loads((PROJECT_ROOT / "tests" / "vectors" / "scheduler.json").read_text())["cases"]
    if case["system"] == "B" or case["kind"] in ("intro_pq", "rollover_pos")
}
NO_CELLS = {"max_cells_per_fire": 0, "lane_timer_cycles": 10**7}


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
    bench = Bench({"a": inputs["balance"]}, auction={}, timers=NO_CELLS, min_basefee=1, cycle_basefee=1)
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


ALL = (old_weight, old_effective_tip, old_budget, old_tie, old_slices, old_balance, intro_pq, rollover_pos)
ADAPTERS = {adapter.__name__: adapter for adapter in ALL}


@pytest.mark.parametrize("name", CASES)
def test_the_oracle_comes_to_the_published_value(name):
    case = CASES[name]
    expected = case["expected"]
    if case["kind"] == "rollover_pos":
        expected = {"page_append": expected["page_append"]}

    assert ADAPTERS[case["kind"]](case["inputs"]) == expected
