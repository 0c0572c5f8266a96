"""Adapters for scheduled transactions: keys, checks, expiry, prices, shutdown, removal (part F)."""

import msgspec

from scheduler import Quote, Timer
from scheduler.aptos_keys import gas_priority, key_order, removal_slot, transaction_id
from scheduler.aptos_records import AptosConfig, ServiceState
from scheduler.aptos_rules import (
    Insertion,
    check_insertion,
    check_lead,
    check_size,
    highest_others,
    is_expired,
    price_charged,
    settle_deposit,
    status_after,
)
from scheduler.errors import Aborted
from scheduler.ready_queue import QueueRules
from tests.support.queue_bench import QueueBench, config_of, failed

ACTOR = b"\x12" * 20
RICH = 10**12

STATUSES = {
    "Active": ServiceState.ACTIVE,
    "Paused": ServiceState.PAUSED,
    "ShutdownInProgress": ServiceState.SHUTDOWN_IN_PROGRESS,
    "ShutdownComplete": ServiceState.SHUTDOWN_COMPLETE,
}
NAMES = {status: name for name, status in STATUSES.items()}


def timer_of(number, time, price):
    """Return an entry whose identifier is a number, as a little-endian integer."""
    return Timer(number.to_bytes(32, "little"), ACTOR, time, 0, b"", "", ACTOR, 100, False, 0, Quote(price, 0))


def aptos_order(inputs, system):
    queue = QueueRules().open_pool()
    for each in inputs["txns"]:
        queue.add(timer_of(each["id"], each["time"], each["price"]))
    order = [int.from_bytes(timer.timer_id, "little") for timer in queue.in_key_order()]
    prices = sorted({each["price"] for each in inputs["txns"]})
    return {"order": order, "gas_priority": {str(price): str(gas_priority(price)) for price in prices}}


def aptos_ready(inputs, system):
    """The entries that a block of this time runs, at slots of one millisecond."""
    bench = bench_of({"ready_limit": inputs["limit"]}, slot_ms=1)
    entries = [bench.insert(ACTOR, time) for time in inputs["times_ms"]]
    bench.run(inputs["block_ms"])
    return [place for place, entry in enumerate(entries) if bench.tables.timer(entry) is None]


def aptos_insert(inputs, system):
    config = config_of({"profile": "latest"})
    insertion = Insertion(
        STATUSES[inputs["status"]],
        inputs["signer"] == inputs["sender"],
        inputs["time_ms"],
        inputs["now_ms"],
        inputs["price"],
        inputs["max_gas"],
    )
    try:
        check_insertion(insertion, config)
        check_size(inputs["size"], config)
    except Aborted as error:
        return [error.name, error.code]
    return ["ok", inputs["max_gas"] * inputs["price"]]


def aptos_cancel(inputs, system):
    found = []
    for time in inputs["times_ms"]:
        try:
            check_lead(time, inputs["now_ms"], inputs["delta_ms"])
            found.append("ok")
        except Aborted as error:
            found.append(f"{error.name} {error.code}")
    return found


def aptos_expiry(inputs, system):
    pairs = zip(inputs["delta_ms"], inputs["block_ms"], strict=True)
    return [is_expired(inputs["time_ms"], delta, block) for delta, block in pairs]


def aptos_expiry_100ms(inputs, system):
    delta = inputs["delta_units"] * 100
    return [is_expired(inputs["time_ms"], delta, block, 100) for block in inputs["block_ms"]]


def aptos_epilogue(inputs, system):
    used = inputs["max_gas_units"] - inputs["gas_units_remaining"]
    paid = settle_deposit(inputs["deposit"], inputs["gas_price_charged"], used, inputs["storage_fee_refunded"])
    return {
        "gas_used": paid.gas_used,
        "fee": paid.fee,
        "burn": paid.burned,
        "from_deposit": paid.returned,
        "minted": paid.minted,
        "user_receives": paid.returned + paid.minted,
    }


def aptos_price(inputs, system):
    found = []
    for maximum, others in inputs["rows"]:
        (highest,) = highest_others([*others, maximum], [len(others)])
        found.append(price_charged(maximum, highest, AptosConfig().min_price))
    return found


def aptos_shutdown(inputs, system):
    bench = bench_of({"profile": "latest", "shutdown_batch": inputs["batch"]})
    for _ in range(inputs["queued"]):
        bench.insert(ACTOR, 5)
    bench.opened.control("start_shutdown", 0)
    found = []
    while not found or not found[-1][2]:
        events = bench.opened.control("continue_shutdown", inputs["batch"])
        is_complete = any(getattr(event, "complete", False) for event in events)
        found.append([len(failed(events)), len(bench.tables.timers), is_complete])
    return found


def aptos_state(inputs, system):
    return [outcome_of(status, action) for status, action in inputs["transitions"]]


def outcome_of(status, action):
    """Return the status that an action leads to, or the code by which it is refused."""
    try:
        return NAMES[status_after(STATUSES[status], action)]
    except Aborted as error:
        return error.code


def aptos_txn_id(inputs, system):
    txn_id = transaction_id(bytes.fromhex(inputs["bcs_bytes_hex"]))
    *_, number = key_order(msgspec.structs.replace(timer_of(0, 1, 1), timer_id=txn_id))
    return {
        "sha3_256": txn_id.hex(),
        "txn_id_u256": str(number),
        "slot": removal_slot(txn_id, inputs["parallelism"]),
    }


def aptos_removal(inputs, system):
    """The keys and marks around a block that runs the first entries of a queue."""
    count = len(inputs["executed_in_block_n"])
    bench = bench_of({"ready_limit": count})
    entries = [bench.insert(ACTOR, 2, price=900 - number) for number in inputs["queue"]]
    bench.run(2_000)
    after, marked = bench.key_ids(), bench.marked_ids()
    bench.own = AptosConfig(ready_limit=1)
    bench.opened.control("pause", 0)
    bench.run(3_000)
    number = dict(zip(entries, inputs["queue"], strict=True))
    return {
        "after_execution_block_n": sorted(number[each] for each in after),
        "marked": sorted(number[each] for each in marked),
        "after_prologue_n_plus_1": sorted(number[each] for each in bench.key_ids()),
    }


def bench_of(own, slot_ms=1_000):
    """Return a chain in which the actor is rich."""
    bench = QueueBench(own, slot_ms=slot_ms)
    bench.ledger.balances[ACTOR] = RICH
    return bench


ADAPTERS = {
    "aptos_order": aptos_order,
    "aptos_ready": aptos_ready,
    "aptos_insert": aptos_insert,
    "aptos_cancel": aptos_cancel,
    "aptos_expiry": aptos_expiry,
    "aptos_expiry_100ms": aptos_expiry_100ms,
    "aptos_epilogue": aptos_epilogue,
    "aptos_price": aptos_price,
    "aptos_shutdown": aptos_shutdown,
    "aptos_state": aptos_state,
    "aptos_txn_id": aptos_txn_id,
    "aptos_removal": aptos_removal,
}
