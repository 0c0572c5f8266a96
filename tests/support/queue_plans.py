"""Plans of random chains of scheduled transactions: clerks insert, cancel and extend, deployers govern the service."""

import msgspec
from hypothesis import strategies as st

from checker.oracle.queue_records import DEPOSITS
from scheduler import CalendarProfile, TimerConfig
from tests.support.chain_harness import ALICE, BALANCE, BOB, make_genesis, pay, transaction
from tests.support.lane_plans import OWNERS, govern, often, on_known, run_races
from tests.support.queue_bench import config_of
from validators.execution import ExecuteActor, GenesisActor, PolicyEntry, SystemCancelTimer, SystemExtendTimer
from validators.execution.blocks import CancelAll, SystemControlService

CLERKS = tuple(bytes([0xC0 + index]) * 20 for index in range(4))
FUNDS = (BALANCE, BALANCE, 40_000_000, 900_000)
"""Two that are rich, two whose deposits run out."""
NAMES = (b"a", b"b", b"c")
NARROW = {"max_cells_per_fire": 600, "max_cycles_per_fire": 60_000, "max_timers_per_actor": 6}

GREAT = 2**63 - 1
QUEUE_VALUES = {
    "position": st.sampled_from(["price", "before"]),
    "charge": st.sampled_from(["second_price", "maximum"]),
    "expiry": st.sampled_from(["own_limit", "counted", "at_run"]),
    "time_unit_ms": st.sampled_from([1, 100, 700]),
    "ready_limit": st.sampled_from([1, 2, 5, 100]),
    "expiry_ms": st.sampled_from([0, 1, 2_000, 4_000, 10_000]),
    "expire_limit": st.sampled_from([1, 2, 200]),
    "cancel_lead_ms": st.sampled_from([0, 1_000, 2_000]),
    "authorization": st.sampled_from(["none", "token", "token"]),
    "token_reschedules": st.booleans(),
    "token_lifetime_ms": st.sampled_from([0, 2_500, 9_000]),
    "min_gas": st.sampled_from([100, 500, 2_000]),
    "min_price": st.sampled_from([1, 100, 300]),
    "base_gas": st.sampled_from([0, 100, 700]),
    "max_size_bytes": st.sampled_from([400, 10_240, GREAT]),
    "shutdown_batch": st.sampled_from([1, 3, 200]),
    "removal_slots": st.sampled_from([1, 3, 1_024]),
    "counts_ids": st.booleans(),
    "ready_order": st.sampled_from(["key", "price"]),
    "expiry_by": st.sampled_from(["time", "blocks"]),
    "expiry_blocks": st.sampled_from([0, 1, 2, 5]),
}
TIMER_VALUES = {
    "execution_lane_paused": st.booleans(),
    "max_cells_per_fire": st.sampled_from([0, 300, 2_000]),
    "max_cycles_per_fire": st.sampled_from([20_000, 60_000]),
    "max_timers_per_actor": st.sampled_from([2, 6, 1_024]),
    "charges_index_cells": st.booleans(),
}


def script(steps, patience=1):
    """Return the payload of a clerk's script."""
    return msgspec.msgpack.encode([steps, patience])


names = st.sampled_from(NAMES)
terms = st.one_of(
    often([[], [500], [850], [1_000], [3_000], [100]], [[99], [0], [10**9], [GREAT]]),
    st.just([1_000, 3, "fast", CLERKS[0], 7]),
)
gas = often([2_000, 5_000, 20_000, None], [99, 100, 400, 60_001, GREAT])
delays = often([1, 1, 2, 3, 5], [0, 13, 40, GREAT // 1_000, GREAT - 100])


def mostly(strategy, others, times=4):
    """Return a strategy that draws from the first one so many times in one more; `one_of` ignores repetitions."""
    return st.integers(0, times).flatmap(lambda number: strategy if number else others)


def schedules(payloads):
    """Return a strategy of steps that insert an entry with such a payload."""
    ttls = often([None, None, 3, 6], [0, 1, 60, GREAT - 100])
    payers = often([None], [CLERKS[0], ALICE])
    signers = mostly(st.just(True), st.just(False))
    return st.tuples(st.just("schedule"), names, delays, payloads, payers, gas, ttls, terms, signers).map(list)


short = st.one_of(
    st.builds(lambda cycles: ["compute", cycles], st.sampled_from([0, 900, 4_000, 70_000])),
    st.builds(lambda name, size: ["put", name + b"kept", bytes(size)], names, st.sampled_from([0, 40, 250, 700])),
    st.just(["tell", "done", b"so"]),
    st.just(["fail", "as ordered"]),
    st.builds(lambda name: ["cancel", name], names),
    st.builds(lambda name: ["weigh", name + b"units"], names),
)
leaves = st.lists(short, max_size=2).map(script)
plain = mostly(leaves, st.sampled_from([b"", b"{" + bytes(400)]))
nested = st.one_of(plain, st.lists(st.one_of(short, schedules(plain)), min_size=1, max_size=2).map(script))
handling = st.one_of(
    st.builds(lambda name: ["cancel", name], st.sampled_from([*NAMES, *NAMES, b"noted", bytes(32)])),
    st.builds(lambda name, delay: ["extend", name, delay], names, st.sampled_from([0, 3, 50])),
    st.builds(lambda name, skip: ["copy", name, name, skip], names, st.sampled_from([1, 16])),
    st.builds(lambda name, to: ["hand", name, to, 9_000], names, st.sampled_from(CLERKS)),
    st.builds(
        lambda wanted, to: ["send", to, "run", script(wanted), 20_000],
        st.lists(mostly(schedules(plain), st.builds(lambda name: ["cancel", name], names), 1), min_size=1, max_size=2),
        st.sampled_from(CLERKS),
    ),
    st.just(["pay", DEPOSITS, 5]),
    st.builds(lambda to, amount: ["pay", to, amount], st.sampled_from(CLERKS), st.sampled_from([0, 50_000_000])),
)
steps = mostly(schedules(nested), handling, 3)
limits = st.fixed_dictionaries(
    {},
    optional={
        "cycles_limit": st.sampled_from([60_000, 200_000]),
        "cells_limit": st.sampled_from([9_000, 200_000]),
        "max_fee_per_cycle": st.sampled_from([1_000, 5_000]),
        "priority_fee_per_cycle": st.sampled_from([0, 40, 900]),
    },
)


def run(actor, wanted, fields):
    """Return a call of a clerk."""
    return lambda sender, nonce, _known: transaction(
        sender, nonce, ExecuteActor(actor, "run", script(wanted)), **fields
    )


def sending(call):
    """Return a transaction with a call."""
    return lambda sender, nonce, _known: transaction(sender, nonce, call)


calls = st.builds(run, st.sampled_from(CLERKS), st.lists(steps, min_size=1, max_size=5), limits)
services = st.builds(
    lambda action, batch: sending(SystemControlService(action, batch)),
    often(["pause", "unpause", "unpause", "start_shutdown", "continue_shutdown", "re_initialize"], ["stop"]),
    st.sampled_from([0, 1, 2, 500]),
)
changes = st.one_of(
    *(
        values.map(lambda value, key=key: {key: value})
        for key, values in [
            *((f"system:aptos:{name}", values) for name, values in QUEUE_VALUES.items()),
            *((f"timer_config.{name}", values) for name, values in TIMER_VALUES.items()),
        ]
    )
)
others = st.one_of(
    services,
    services,
    st.builds(lambda actor: sending(CancelAll(actor)), st.sampled_from([*CLERKS, CLERKS[0], b"\x77" * 20])),
    st.integers(0, 40).map(lambda choice: on_known(SystemCancelTimer, choice)),
    st.integers(0, 40).map(lambda choice: on_known(lambda timer_id: SystemExtendTimer(timer_id, 60), choice)),
    st.builds(govern, changes),
    st.builds(govern, changes),
    st.just(lambda sender, nonce, _known: pay(sender, nonce, DEPOSITS, 5)),
)
blocks = st.tuples(
    st.lists(st.tuples(st.sampled_from([0, 0, 1, 2]), mostly(calls, others)), min_size=1, max_size=4),
    often([1_000, 1_000, 1_300, 400], [2_700, 5_000, 15_000]),
)
plans = st.lists(blocks, min_size=4, max_size=12)


def possible(stated):
    """Return parameters without a count of blocks where each entry has an expiry of its own."""
    own = config_of({**stated, "expiry_by": "time"})
    return {**stated, "expiry_by": "time"} if own.expiry == "at_run" else stated


OPTIONAL = {name: values for name, values in QUEUE_VALUES.items() if name != "cancel_lead_ms"}
owns = st.builds(
    lambda profile, stated: {"profile": profile} | stated,
    st.sampled_from(["aip", "early", "latest"]),
    # What the transactions of one small chain can fill or outlive.
    st.fixed_dictionaries({"cancel_lead_ms": st.sampled_from([0, 2_000])}, optional=OPTIONAL),
).map(lambda stated: possible(stated | {"min_gas": max(stated.get("min_gas", 100), stated.get("base_gas", 0))}))
chains = st.fixed_dictionaries(
    {
        "own": owns,
        "slot_ms": st.sampled_from([1_000, 1_000, 400, 1]),
        "block_cycles": st.sampled_from([900_000, 420_000]),
        "timers": st.fixed_dictionaries({}, optional=TIMER_VALUES),
    }
)


def queue_genesis(own, *, slot_ms=1_000, timers=None, **changes):
    """Return a genesis under the queue with clerks; the first two senders are system deployers."""
    return make_genesis(
        timebase="slot",
        slot_ms=slot_ms,
        policies=(PolicyEntry(1, "aptos", msgspec.msgpack.encode(config_of(own))),),
        timer_config=TimerConfig(**(NARROW | (timers or {}))),
        calendar=CalendarProfile(epoch_length=4),
        system_deployers=(ALICE, BOB),
        actors=tuple(
            GenesisActor(clerk, "script-actor", owner, units)
            for clerk, owner, units in zip(CLERKS, OWNERS, FUNDS, strict=True)
        ),
        **changes,
    )


def run_queue(plan, own, **changes):
    """Run a plan and return genesis and the finalized blocks."""
    return run_races(queue_genesis(own, **changes), plan)
