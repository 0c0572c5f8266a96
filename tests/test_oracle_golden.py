"""The published golden cases through the oracle's restatement; the adapters compute nothing."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from checker.oracle import market, selection
from checker.oracle.contents import Timer
from checker.oracle.fairness import fires_in_window, weights
from checker.oracle.market import Bid

CASES = {
    case["id"]: case for case in json.loads((Path(__file__).parent / "vectors" / "scheduler.json").read_text())["cases"]
}
ONE, TWO = Fraction(1), Fraction(2)


def timer(name, *, actor=b"", gas_limit=0):
    return Timer(name.encode(), actor, 1, 0, b"", "", b"", gas_limit, False, 9)


def basefee(inputs):
    found, current = [], inputs["basefee0"]
    for used in inputs["cycles_used_per_block"]:
        current = market.next_lane_basefee(current, used, inputs["lane"], inputs["min_basefee"])
        found.append(current)
    return {"recommended": found}


def slope(inputs):
    names = {"literal_delta": "literal", "classic_eip1559_delta": "eip1559"}
    return [
        {"cycles_used": used}
        | {key: str(market.change_of_basefee(used, inputs["lane"], name)) for key, name in names.items()}
        for used in inputs["cycles_used"]
    ]


def default_gba(inputs):
    exact = market.median(inputs["fired_tips_prev_block"])
    bid = market.default_bid(inputs["basefee_lane_timer"], int(exact), inputs["basefee_cell"])
    return {"p50_exact": str(exact), "p50": int(exact), **bid._asdict()}


def tier_hint(inputs):
    return {
        name: market.tier_tip(inputs["p50"], Fraction(multiplier)) for name, multiplier in inputs["multipliers"].items()
    }


def fairness_w(inputs):
    recent = inputs["recent_executions"]
    exact = market.median([count for count in recent.values() if count])
    return {
        "network_median": str(exact),
        "W": {actor: str(weight) for actor, weight in weights(recent, ONE, TWO).items()},
    }


def window(inputs):
    blocks = {inputs["fire_block"]: {b"a": 1}}
    return {str(height): b"a" in fires_in_window(blocks, height, inputs["window"]) for height in inputs["observe_at"]}


def rank(inputs):
    by_actor = {actor.encode(): Fraction(weight) for actor, weight in inputs["W"].items()}
    tips = {
        item["id"]: market.tip_of(inputs["basefee_lane_timer"], Bid(item["max_fee"], item["max_priority"]))
        for item in inputs["timers"]
    }
    timers = [timer(item["id"], actor=item["actor"].encode()) for item in inputs["timers"]]
    by_timer = {name.encode(): tip for name, tip in tips.items()}
    return {
        "order": [it.timer_id.decode() for it in selection.ranked(timers, by_timer, by_actor, TWO)],
        "priority_per_cycle": tips,
        "below_basefee": [name for name, tip in tips.items() if tip < 0],
    }


def pack(inputs):
    timers = [timer(item["id"], gas_limit=item["gas_limit"]) for item in inputs["timers_best_first"]]
    fired = []

    def attempt(it):
        fired.append(it)
        return it.gas_limit

    allowed = [it for it in timers if it.gas_limit <= inputs["cap"]]
    held = selection.fill(allowed, inputs["lane_cycles"] - inputs["already_used"], attempt)
    return {
        "fired": [it.timer_id.decode() for it in fired],
        "deferred": [it.timer_id.decode() for it in held],
        "over_cap": [it.timer_id.decode() for it in timers if it not in allowed],
        "lane_cycles": sum(it.gas_limit for it in fired),
    }


def settle(inputs):
    found = {}
    for name, lane_basefee in (("additive", inputs["basefee_lane"]), ("literal", 0)):
        prices = selection.Prices(
            inputs["basefee_cycle"], inputs["basefee_cell"], lane_basefee, inputs["priority_per_cycle"]
        )
        most = selection.fee_of(inputs["gas_limit"], inputs["max_cells"], prices).total
        fee = selection.fee_of(inputs["used_cycles"], inputs["used_cells"], prices)
        found[name] = {
            "max_cost": most,
            "burn_cycle": fee.burned_cycle,
            "burn_lane": fee.burned_lane,
            "burn_cell": fee.burned_cell,
            "tip_to_proposer": fee.tip,
            "refund": most - fee.total,
        }
    return found


ADAPTERS = {
    adapter.__name__: adapter
    for adapter in (basefee, slope, default_gba, tier_hint, fairness_w, window, rank, pack, settle)
}
OTHER_READINGS = ("exact", "floor_product", "effective_priority")
"""What some cases give beside the reading that was built."""


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case["kind"] in ADAPTERS])
def test_the_oracle_comes_to_the_published_value(name):
    """Case by case."""
    case, expected = CASES[name], CASES[name]["expected"]
    if isinstance(expected, dict):
        expected = {key: value for key, value in expected.items() if key not in OTHER_READINGS}

    assert ADAPTERS[case["kind"]](case["inputs"]) == expected
