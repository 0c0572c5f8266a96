"""The published golden cases through the oracle's restatement; the adapters compute nothing."""

import json
from fractions import Fraction

import msgspec
import pytest

from checker.oracle import market, selection, tiers
from checker.oracle.calls import RevertedError
from checker.oracle.contents import Market, Quote, Timer, TimerCounts
from checker.oracle.fairness import fires_since, weight_of_others, weights_of, window_start_of
from checker.oracle.lane import LanePhase
from checker.oracle.lane_config import Calendar, LaneConfig, is_excessive
from checker.oracle.market import Bid, Lane
from checker.oracle.timers import handler_of
from checker.record.root import PROJECT_ROOT
from tests.support.keystones import rest_in_soak
from tests.support.oracle_bench import LATE, RICH, Bench, address, reported

CASES = {
    case["id"]: case
    for case in json.loads((PROJECT_ROOT / "tests" / "vectors" / "scheduler.json").read_text())["cases"]
    if case["system"] in ("A", "C", "E")
}
NOT_RESTATED = {
    "timer_id": "the chain's identifiers have a counter that the published formula lacks",
    "timer_id_collision": "the same",
    "fifo_budget_split": "says what a program is left with, and no rule",
    "epoch": "an epoch is a quotient",
    "epoch_solve": "solves for a parameter",
    "overflow": "quotients again; `promotion` has the rule",
    "intro_range": "solves for a parameter",
}
OTHER_READINGS = ("exact", "floor_product", "effective_priority")
"""Keys of results by readings other than the one that was built."""

PLAIN = LaneConfig()._replace(min_lane_basefee=1)
FREE_OF_LANE = {"settlement": "literal", "max_cycles_per_fire_auction_phase": 10**7}
"""A lane whose timers pay the cycle basefee alone."""
ONE_UNIT = {"min_basefee": 1, "cycle_basefee": 1}
NO_POINTS = {"max_cells_per_fire": 0, "lane_timer_cycles": 10**7}


def quote(item):
    return Quote(item["max_fee"], item["max_priority"], None)


def lone(name, *, actor=b"", gas_limit=0, payload=b""):
    return Timer(name.encode(), actor, 1, 0, payload, "handle_timer", b"", gas_limit, False, 9)


def basefee(inputs):
    found, current = [], inputs["basefee0"]
    for used in inputs["cycles_used_per_block"]:
        current = market.next_lane_basefee(current, used, inputs["lane"], PLAIN)
        found.append(current)
    return {"recommended": found}


def slope(inputs):
    names = {"literal_delta": "literal", "classic_eip1559_delta": "classic"}
    return [
        {"cycles_used": used}
        | {
            key: str(market.change_of_basefee(used, inputs["lane"], PLAIN._replace(slope=name)))
            for key, name in names.items()
        }
        for used in inputs["cycles_used"]
    ]


def schedule_check(inputs):
    bench = Bench({"a": RICH}, lane={})
    bench.set_market(inputs["basefee_lane_timer"], inputs["p50"])
    names = ("max_fee_per_cycle", "max_priority_fee_per_cycle")
    events = bench.schedule("a", 9, **{name: inputs[name] for name in names})
    escrow = RICH - bench.units("a")
    if isinstance(events, str):
        return {"accepted": False, "error": events, "events": [], "escrow": escrow}
    (timer,) = bench.contents.timers.rows.values()
    clamped = [{"TimerPriorityClampedAtSchedule": event[2:]} for event in events if event[0] == 11]
    most, tip, _ = timer.quote
    return {
        "accepted": True,
        "max_fee_per_cycle": most,
        "max_priority_fee_per_cycle": tip,
        "events": clamped,
        "escrow": escrow,
    }


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
    found = weights_of(recent, LaneConfig())
    return {"network_median": str(exact), "W": {actor: str(weight) for actor, weight in found.items()}}


def window(inputs):
    blocks, found = {inputs["fire_block"]: {b"a": 1}}, {}
    for height in inputs["observe_at"]:
        start = window_start_of(1, height, inputs["window"])
        seen = {block: fires for block, fires in blocks.items() if block < height}
        found[str(height)] = b"a" in fires_since(seen, start)
    return found


def rank(inputs):
    basefee_lane = inputs["basefee_lane_timer"]
    priorities = {
        item["id"]: market.priority_of(basefee_lane, Bid(item["max_fee"], item["max_priority"]))
        for item in inputs["timers"]
    }
    weights = {actor.encode(): Fraction(weight) for actor, weight in inputs["W"].items()}
    timers = [lone(item["id"], actor=item["actor"].encode()) for item in inputs["timers"]]
    lane = Lane(LaneConfig(), Market(basefee_lane, 0, 0, 1, basefee_lane, 0), 1, 0)
    by_timer = {name.encode(): priority for name, priority in priorities.items()}
    return {
        "order": [it.timer_id.decode() for it in selection.ranked(timers, by_timer, weights, lane)],
        "priority_per_cycle": priorities,
        "below_basefee": [name for name, priority in priorities.items() if priority < 0],
    }


def pack(inputs):
    config = {"max_cycles_per_fire_auction_phase": inputs["cap"]}
    # What is used in the lane before is what the lane does not have.
    timers = {"lane_timer_cycles": inputs["lane_cycles"] - inputs["already_used"]}
    bench = Bench({"a": RICH}, lane=config, timers=timers)
    best_first = Quote(10**6, 10**5, None)
    for item in inputs["timers_best_first"]:
        bench.add(item["id"], "a", 1, gas_limit=item["gas_limit"], uses=item["gas_limit"], quote=best_first)
        best_first = best_first._replace(max_priority_fee_per_cycle=best_first.max_priority_fee_per_cycle - 1)
    events = bench.run_block()
    held = {event[1].decode(): event[2] for event in events if event[0] == 2}
    return {
        "fired": reported(1, events),
        "deferred": [name for name, reason in held.items() if reason == "lane_full"],
        "over_cap": [name for name, reason in held.items() if reason == "over_cap"],
        "lane_cycles": bench.result.counts["lane_cycles"],
    }


def settle(inputs):
    found = {}
    for name, lane_basefee in (("additive", inputs["basefee_lane"]), ("literal", 0)):
        prices = selection.Prices(
            inputs["basefee_cycle"], inputs["basefee_cell"], lane_basefee, inputs["priority_per_cycle"]
        )
        most = selection.max_cost_of(inputs["gas_limit"], inputs["max_cells"], prices)
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


def solvency(inputs):
    bench = Bench({"a": inputs["balance"]}, lane=FREE_OF_LANE, timers=NO_POINTS, **ONE_UNIT)
    bench.add("t", "a", 1, gas_limit=inputs["max_cost"])
    events = bench.run_block()
    return {"fires": reported(1, events) == ["t"], "event": next(iter(reported(4, events)), None)}


def solvency_pair(inputs):
    bench = Bench({"a": inputs["balance"]}, lane=FREE_OF_LANE, timers=NO_POINTS, **ONE_UNIT)
    for name in ("1", "2"):
        bench.add(name, "a", 1, gas_limit=inputs["max_cost"], uses=inputs["actual_cost"])
    events = bench.run_block()
    (fired,), (gone,) = reported(1, events), [event for event in events if event[0] == 4]
    return [
        {"timer": int(fired), "fires": True, "balance_after": bench.units("a")},
        {"timer": int(gone[1]), "fires": False, "available": gone[4]},
    ]


def ttl(inputs):
    found = {}
    for height in inputs["heights"]:
        bench = Bench({"a": RICH}, lane={})
        bench.jump(height)
        bench.add("t", "a", height, expires_at=inputs["expires_at"])
        found[str(height)] = "expired" if reported(3, bench.run_block()) else "live"
    return found


def gc_drain(inputs):
    names = ("gc_cycles_per_block", "gc_cost_per_timer")
    bench, removed = Bench({"a": RICH}, lane={}, timers={name: inputs[name] for name in names}), []
    for number in range(inputs["expired_timers"]):
        bench.add(str(number), "a", 1, expires_at=0)
    while bench.contents.timers.rows:
        block = bench.next_block()
        block.phase.run()
        removed.append(block.phase.expired)
    return {"removed_per_block": removed, "blocks": len(removed)}


def gc_reclassify(inputs):
    bench = Bench({"a": 0}, lane=FREE_OF_LANE, timers=NO_POINTS | {"gc_cycles_per_block": 0}, **ONE_UNIT)
    bench.jump(inputs["block_balance"][0][0])
    bench.add("t", "a", bench.next_header.height, gas_limit=inputs["max_cost"], quote=Quote(10**6, 0, None))
    found = []
    for height, balance in inputs["block_balance"]:
        bench.fund("a", balance - bench.units("a"))
        found.append([height, "fires" if reported(1, bench.run_block()) else "waiting for GC"])
    return found


def activation(inputs):
    found = []
    length = inputs["deprecation_ends"] - inputs["H_activation"]
    for height, has_bid, gas_limit in inputs["queries"]:
        lane = {"bid_deprecation_blocks": length}
        bench = Bench({"a": RICH}, lane=lane, activation=inputs["H_activation"])
        bench.jump(height)
        phase = bench.next_block().phase
        answer = {"order": "effective_priority" if isinstance(phase, LanePhase) else "fifo"}
        answer["cap"] = phase.present.gas_limit_ceiling
        if has_bid:
            events = bench.schedule("a", LATE, bid=5)
            answer["bid_arg"] = events if isinstance(events, str) else "ignored"
        if gas_limit:
            bench.add("t", "a", height, gas_limit=gas_limit)
            answer["default_gas_limit"] = bench.next_block().phase._waiting()[0].gas_limit
        else:
            answer["default_gas_limit"] = bench.schedule("a", LATE)[0][6]
        found.append(answer)
    return found


def e2e(inputs):
    config = {"initial_lane_basefee": inputs["basefee0"], "min_lane_basefee": 8}
    bench = Bench({"x": RICH, "y": RICH}, lane=config, timers={"lane_timer_cycles": inputs["lane"]})
    for item in inputs["timers"]:
        limits = {"gas_limit": item["gas_limit"], "uses": item["used"]}
        bench.add(item["id"], item["actor"], 1, quote=quote(item), **limits)
    found = []
    for number in range(inputs["blocks"]):
        lane = bench.next_block().rules.lane
        by_actor = weights_of(fires_since(bench.contents.fires.rows, 0), lane.config)
        weights = {name: str(by_actor.get(address(name), weight_of_others(lane.config))) for name in ("x", "y")}
        events = bench.run_block()
        found.append(
            {
                "block": number + 1,
                "basefee": lane.price,
                "W": weights,
                "fired": reported(1, events),
                "deferred": reported(2, events),
                "lane_cycles": bench.result.counts["lane_cycles"],
                "p50": bench.contents.market.rows[None].p50_tip,
            }
        )
    return found


def fifo(inputs):
    bench, fired = Bench({"a": RICH}), []
    for operation, *arguments in inputs["ops"]:
        if operation == "schedule":
            bench.add(arguments[0], "a", arguments[1])
        elif operation == "cancel":
            with pytest.raises(RevertedError, match="UnknownTimer"):
                bench.call("a").cancel(arguments[0].encode())
        else:
            bench.jump(arguments[0])
            fired += [[arguments[0], name] for name in reported(1, bench.run_block())]
    return {"fired": fired, "left": [timer_id.decode() for timer_id in bench.contents.timers.rows]}


def fifo_validate(inputs):
    bench = Bench({"a": RICH})
    bench.jump(inputs["current_height"])
    events = bench.schedule("a", inputs["height"], bytes(inputs["payload_len"]))
    return events if isinstance(events, str) else "ok"


def fifo_cost(inputs):
    costs = {
        "schedule_cycles": inputs["base_schedule"],
        "cancel_cycles": inputs["base_cancel"],
        "charges_index_cells": False,
    }
    bench, found = Bench({"a": RICH}, timers=costs), {}
    timer_ids = []
    for name in ("schedule", "cancel"):
        call = bench.call("a")
        if name == "schedule":
            timer_ids.append(call.schedule(10, bytes(inputs["payload_len"])))
        else:
            call.cancel(timer_ids[0])
        found[name] = {"cycles": call.gas.cycles, "cells": call.gas.cells}
    return found


def heartbeat(inputs):
    assert not inputs["delays"]
    bench, fired = Bench({"a": RICH}, program="heartbeat"), []
    # The block that deploys is the genesis.
    assert inputs["deploy_block"] == bench.chain.header.height
    call = bench.call("a")
    call.put(b"order", msgspec.msgpack.encode([inputs["interval"]]))
    call.schedule(inputs["interval"], b"")
    while len(fired) < inputs["fires"]:
        fired += [bench.chain.header.height for event in bench.run_block() if event[0] == 1 and event[4]]
    return fired


def actor_cap(inputs):
    outcomes = []
    for live in inputs["live"]:
        bench = Bench({"a": RICH}, timers={"max_timers_per_actor": inputs["cap"]})
        bench.contents.counts.put(address("a"), TimerCounts(live, live))
        events = bench.schedule("a", 5)
        outcomes.append(events if isinstance(events, str) else "ok")
    return outcomes


def fee_payer(inputs):
    bench = Bench({"a": RICH})
    call = bench.call("a", sender=bytes.fromhex(inputs["tx_sender"]))
    call.actor = bytes.fromhex(inputs["actor"])
    try:
        call.schedule(5, b"", fee_payer=bytes.fromhex(inputs["fee_payer"]))
    except RevertedError as error:
        return str(error)
    return "ok"


def extend(inputs):
    found = []
    for expires_at in inputs["new_expires_at"]:
        bench = Bench({"a": RICH}, timers={"max_ttl_blocks": inputs["max_ttl"]})
        bench.jump(inputs["current"])
        timer = bench.add("t", "a", 200)
        try:
            found.append(bench.call("a").extend(timer.timer_id, expires_at))
        except RevertedError as error:
            found.append(str(error))
    return found


def handler(inputs):
    name, payload = handler_of(lone("t", payload=inputs["payload"].encode()))
    return [name, payload.decode()]


def queue_config(inputs):
    fields = {"ring": "ring_size", "epoch_len": "epoch_length", "epoch_horizon": "epoch_horizon"}
    return Calendar(**{name: inputs[key] for key, name in fields.items() if key in inputs})


def place(height, now, inputs, made_at):
    names = {"due": "reject", "overflow": "overflow"}
    config = queue_config(inputs)
    tier, number = tiers.tier_of(height, now, height - made_at >= config.ring_size, config)
    return names.get(tier, f"{tier}[{number}]")


def ring(inputs):
    return {"bucket": tiers.tier_of(inputs["height"], inputs["height"] - 1, False, queue_config(inputs))[1]}


def ring_next(inputs):
    return [tiers.tier_of(now + 1, now, False, queue_config(inputs))[1] for now in inputs["blocks"]]


def tier(inputs):
    return [place(height, now, inputs, now) for now, height in inputs["queries"]]


def alias(inputs):
    found = [tiers.tier_of(height, height - 1, False, queue_config(inputs))[1] for height in inputs["heights"]]
    return {"buckets": found, "same": found[0] == found[1]}


def promotion(inputs):
    found = []
    for now in range(inputs["scheduled_at"], inputs["height"]):
        lies = place(inputs["height"], now, inputs, inputs["scheduled_at"])
        if not found or found[-1][1] != lies:
            found.append([now, lies])
    return found


def intro_pq(inputs):
    block, gas = inputs["block"], inputs["gas_each"]
    page = {"settlement": "intro", "tie_break": "append"}
    lane = {"max_cycles_per_fire_auction_phase": gas, "ring_size": inputs["ring"], **page}
    bench = Bench({"a": RICH}, lane=lane, timers={"lane_timer_cycles": inputs["budget"]})
    bench.jump(block)
    for name, tip in inputs["timers"]:
        bench.add(name, "a", block, gas_limit=gas, uses=gas, quote=Quote(10**6, tip, None))
    events = bench.run_block()
    return {
        "executed": reported(1, events),
        "rolled_over_to_1001": reported(2, events),
        "cycles": bench.result.counts["lane_cycles"],
        "bucket_1001": tiers.tier_of(block + 1, block, False, Calendar(ring_size=inputs["ring"]))[1],
    }


def rollover_pos(inputs):
    found = {}
    for reading, tie_break in (("recommended_front", "age"), ("page_append", "append")):
        bench = Bench({"a": RICH}, lane={"tie_break": tie_break})
        for due, names in ((2, inputs["next_bucket"]), (1, inputs["carried"])):
            for name in names:
                bench.add(name, "a", due)
        bench.jump(2)
        found[reading] = reported(1, bench.run_block())
    return found


def delays(inputs):
    config = PLAIN._replace(max_allowed_delays=inputs["max_allowed_delays"])
    return [[count, is_excessive(count, config)] for count in range(1, inputs["blocks_passed_over"] + 1)]


ALL = (
    *(basefee, slope, schedule_check, default_gba, tier_hint, fairness_w, window, rank, pack, settle, solvency),
    *(solvency_pair, ttl, gc_drain, gc_reclassify, activation, e2e, fifo, fifo_validate, fifo_cost, heartbeat),
    *(actor_cap, fee_payer, extend, handler, ring, ring_next, tier, alias, promotion, intro_pq, rollover_pos),
    delays,
)
ADAPTERS = {adapter.__name__: adapter for adapter in ALL}


RESTATED = [name for name, case in CASES.items() if case["kind"] not in NOT_RESTATED]


# The case of sixty thousand timers takes as long as all others together.
@pytest.mark.parametrize("name", rest_in_soak(RESTATED, [name for name in RESTATED if name != "A-GC-01"]))
def test_the_oracle_comes_to_the_published_value(name):
    """Case by case."""
    case, expected = CASES[name], CASES[name]["expected"]
    if isinstance(expected, dict):
        expected = {key: value for key, value in expected.items() if key not in OTHER_READINGS}
    if case["kind"] == "fee_payer":
        # The words after the colon explain; the error is the name.
        expected = expected.split(":")[0]

    assert ADAPTERS[case["kind"]](case["inputs"]) == expected


def test_every_kind_of_case_is_run_or_named():
    """Nothing of the three systems is left out silently."""
    kinds = {case["kind"] for case in CASES.values()}

    assert kinds == set(ADAPTERS) | set(NOT_RESTATED)
