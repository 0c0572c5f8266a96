"""Adapters for the lifecycle that all policies share: identifiers, admission, expiry, removal, solvency.

Cases of system C run under `fifo`, the same kinds of system A in the lane.
"""

import contextlib

import msgspec

from scheduler import (
    LaneConfig,
    Rejected,
    RunOutcome,
    ScheduleRequest,
    TimerCancelledInsufficientFunds,
    TimerConfig,
    TimerFired,
    call_of,
    keccak256,
    schedule,
    timer_id_of,
)
from scheduler.errors import InvalidInput
from tests.support.lane_doubles import LaneBench
from tests.support.scheduler_doubles import Bench
from validators.actors import Actor, Frame, Heartbeat, HeartbeatOrder, Host, Meter
from validators.actors.metering import CALL_CYCLES

ACTOR = b"\xaa" * 20

FREE_LANE = LaneConfig(min_lane_basefee=0, max_cycles_per_fire_auction_phase=10**7)


def bench_of(system, config, **prices):
    """Return a chain under the policy of a system; the lane's own price is 0 there, so that costs are the case's."""
    if system == "A":
        return LaneBench(config, FREE_LANE, basefee=0, **prices)
    return Bench(config, **prices)


def timer_id(inputs, system):
    actor, payload = bytes.fromhex(inputs["actor_address"]), bytes.fromhex(inputs["payload_hex"])
    found = timer_id_of(actor, inputs["height"], payload, inputs["nonce"])
    preimage = actor + inputs["height"].to_bytes(8, "big") + payload + inputs["nonce"].to_bytes(8, "big")
    return {
        "timer_id": found.hex(),
        "preimage_len": len(preimage),
        # The specification's keys of its timer store and its height index (C-2), which the state does without.
        "store_key": keccak256(found).hex(),
        "height_index_key": keccak256(inputs["height"].to_bytes(8, "big")).hex(),
    }


def timer_id_collision(inputs, system):
    found = [timer_id(inputs, system)["timer_id"] for _ in range(inputs["calls"])]
    return {"ids": found, "unique": len(set(found)) == len(found)}


def fifo(inputs, system):
    bench, names, fired = Bench(), {}, []

    def run(timer):
        fired.append([bench.moment.now, names[timer.timer_id]])
        return RunOutcome(True, 0, 0, ())

    for operation, *arguments in inputs["ops"]:
        if operation == "schedule":
            name, due = arguments
            names[bench.schedule(ACTOR, due)] = name
        elif operation == "cancel":
            known = [timer for timer, name in names.items() if name == arguments[0]]
            with contextlib.suppress(Rejected):
                bench.cancel_timer(ACTOR, known[0] if known else bytes(32))
        else:
            bench.run(arguments[0], run)
    return {"fired": fired, "left": [names[timer] for timer in bench.tables.timers]}


def fifo_validate(inputs, system):
    bench = Bench()
    bench.moment = bench.at(inputs["current_height"])
    try:
        bench.schedule(ACTOR, inputs["height"], bytes(inputs["payload_len"]), handler="h" * inputs["handler_len"])
    except Rejected as error:
        return error.name
    return "ok"


def fifo_cost(inputs, system):
    """Return the cost of the calls themselves; the storage layer charges the index on its own (K-36)."""
    prices = {"schedule_cycles": inputs["base_schedule"], "cancel_cycles": inputs["base_cancel"]}
    bench = Bench(TimerConfig(**prices, charges_index_cells=False))
    meter = Meter(10**9, 10**9)
    host = Host(bench, Frame(ACTOR, ACTOR, bytes(32), 0), meter)
    found = host.schedule_timer(10, bytes(inputs["payload_len"]))
    scheduled = {"cycles": meter.cycles, "cells": meter.cells}
    host.cancel_timer(found)
    cancelled = {"cycles": meter.cycles - scheduled["cycles"], "cells": meter.cells - scheduled["cells"]}
    return {"schedule": scheduled, "cancel": cancelled}


def heartbeat(inputs, system):
    """The heights of the fires, where a fire of a stated index, counted from 0, is deferred by a number of blocks."""
    bench, fired, height = Bench(), [], inputs["deploy_block"]
    bench.programs[ACTOR] = Heartbeat
    bench.moment = bench.at(height)
    assert bench.call(ACTOR, "start", msgspec.msgpack.encode(HeartbeatOrder(inputs["interval"]))).ok
    while len(fired) < inputs["fires"]:
        height += 1
        (due,) = [timer.due for timer in bench.tables.timers.values()]
        late = inputs["delays"].get(str(len(fired)), 0)
        bench.config = TimerConfig(execution_lane_paused=height < due + late)
        events = bench.run(height, bench.run_timer).events
        fired += [height for event in events if isinstance(event, TimerFired) and event.ok]
    return fired


def actor_cap(inputs, system):
    outcomes = []
    for live in inputs["live"]:
        bench = Bench(TimerConfig(max_timers_per_actor=inputs["cap"]))
        bench.tables.live_timers = lambda actor, live=live: live
        try:
            bench.schedule(ACTOR, 5)
            outcomes.append("ok")
        except Rejected as error:
            outcomes.append(error.name)
    return outcomes


def budget_split(inputs, system):
    """Return a handler's part of a fire's gas, beside the deferred calls and the margin of the older text."""
    bench, left = Bench(), []

    class Splitting(Actor):
        handlers = ("handle_timer",)

        def handle_timer(self, payload):
            for _ in range(inputs["deferred"]):
                self.host.compute(inputs["per_deferred"])
            self.host.compute(inputs["margin"])
            left.append(self.host._meter.cycles_limit - self.host._meter.cycles + CALL_CYCLES)

    bench.programs[ACTOR] = Splitting
    timer = bench.tables.timers[bench.schedule(ACTOR, 5)]
    assert timer.gas_limit == inputs["budget"]
    bench.run(5, bench.run_timer)
    return {"handler": left[0]}


def fee_payer(inputs, system):
    actor, sender, payer = (bytes.fromhex(inputs[name]) for name in ("actor", "tx_sender", "fee_payer"))
    try:
        schedule(Bench().context, ScheduleRequest(actor, sender, 0, 5, b"", fee_payer=payer))
    except InvalidInput as error:
        return f"{error.name}: {error.reason}"
    return "ok"


def extension(inputs, system):
    found = []
    for new_expires_at in inputs["new_expires_at"]:
        bench = Bench(TimerConfig(max_ttl_blocks=inputs["max_ttl"]))
        bench.moment = bench.at(inputs["current"])
        timer = bench.schedule(ACTOR, inputs["current"] + 1)
        try:
            found.append(bench.policy.extend(ACTOR, timer, new_expires_at).expires_at)
        except Rejected as error:
            found.append(error.name)
    return found


def handler(inputs, system):
    bench = Bench()
    timer = bench.tables.timers[bench.schedule(ACTOR, 5, inputs["payload"].encode())]
    name, payload = call_of(timer)
    return [name, payload.decode()]


def ttl(inputs, system):
    states = {}
    for height in inputs["heights"]:
        bench = bench_of(system, None)
        bench.schedule(ACTOR, 1, expires_at=inputs["expires_at"])
        result = bench.run(height)
        states[str(height)] = "expired" if result.expired else "live"
    return states


def gc_drain(inputs, system):
    budget = {name: inputs[name] for name in ("gc_cycles_per_block", "gc_cost_per_timer")}
    bench = bench_of(system, TimerConfig(max_timers_per_actor=10**6, **budget))
    bench.tables.live_timers = lambda actor: 0
    for _ in range(inputs["expired_timers"]):
        bench.schedule(ACTOR, 1, expires_at=1)
    removed, height = [], 2
    while bench.tables.timers:
        removed.append(bench.run(height).expired)
        assert removed[-1], "no budget reaches a timer"
        height += 1
    return {"removed_per_block": removed, "blocks": len(removed)}


def gc_reclassify(inputs, system):
    outcomes = []
    bench = bench_of(system, TimerConfig(gc_lane_paused=True, max_cells_per_fire=0), cycle=1)
    bench.schedule(ACTOR, 1, gas_limit=inputs["max_cost"])
    for height, balance in inputs["block_balance"]:
        bench.ledger.balances[ACTOR] = balance
        bench.config = msgspec.structs.replace(
            bench.config, gc_lane_paused=height not in inputs["gc_reaches_it_in_blocks"]
        )
        result = bench.run(height)
        outcomes.append([height, "fires" if result.fired else "waiting for GC" if result.waiting_dead else "gone"])
    return outcomes


WIDE = TimerConfig(max_cells_per_fire=0, max_cycles_per_fire=10**7, lane_timer_cycles=10**7)


def solvency(inputs, system):
    bench = bench_of(system, WIDE, cycle=1)
    bench.ledger.balances[ACTOR] = inputs["balance"]
    bench.schedule(ACTOR, 1, gas_limit=inputs["max_cost"])
    result = bench.run(1)
    stated = [
        {"name": type(event).__name__, "required": event.required, "available": event.available}
        for event in result.events
        if isinstance(event, TimerCancelledInsufficientFunds)
    ]
    return {"fires": bool(result.fired), "event": stated[0] if stated else None}


def solvency_pair(inputs, system):
    bench = bench_of(system, WIDE, cycle=1)
    bench.ledger.balances[ACTOR] = inputs["balance"]
    after = []
    credit = bench.ledger.credit

    def refund(address, amount):
        credit(address, amount)
        after.append(bench.ledger.balance(ACTOR))

    bench.ledger.credit = refund
    for _ in range(2):
        bench.schedule(ACTOR, 1, gas_limit=inputs["max_cost"])
    result = bench.run(1, lambda timer: RunOutcome(True, inputs["actual_cost"], 0, ()))
    found = []
    for number, event in enumerate(result.events, 1):
        if isinstance(event, TimerFired):
            found.append({"timer": number, "fires": True, "balance_after": after.pop(0)})
        else:
            assert isinstance(event, TimerCancelledInsufficientFunds)
            found.append({"timer": number, "fires": False, "available": event.available})
    return found


ADAPTERS = {
    "timer_id": timer_id,
    "timer_id_collision": timer_id_collision,
    "fifo": fifo,
    "fifo_validate": fifo_validate,
    "fifo_cost": fifo_cost,
    "fifo_budget_split": budget_split,
    "heartbeat": heartbeat,
    "actor_cap": actor_cap,
    "fee_payer": fee_payer,
    "extend": extension,
    "handler": handler,
    "ttl": ttl,
    "gc_drain": gc_drain,
    "gc_reclassify": gc_reclassify,
    "solvency": solvency,
    "solvency_pair": solvency_pair,
}
