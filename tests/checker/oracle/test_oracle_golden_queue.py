"""The published golden cases of scheduled transactions through the oracle's restatement."""

import json
import re

import pytest

from checker.oracle.calls import RevertedError
from checker.oracle.contents import Quote
from checker.oracle.queue_phase import Run
from checker.oracle.queue_records import (
    ACTIVE,
    DEPOSITS,
    ENTRIES,
    STATUS,
    QueueEntry,
    gas_priority,
    number_of_id,
    slot_of,
    txn_id_of,
)
from checker.oracle.queue_service import SERVICE, serve
from checker.record.root import PROJECT_ROOT
from tests.support.oracle_bench import RICH, Bench

CASES = {
    case["id"]: case
    for case in json.loads((PROJECT_ROOT / "tests" / "vectors" / "scheduler.json").read_text())["cases"]
    if case["system"] == "F"
}
QUEUE_PAGE = PROJECT_ROOT / "docs" / "scheduled-transactions.md"
CODES = dict(re.findall(r"`(E[A-Z_]+)`\s(?:\| |\()?(\d+)", QUEUE_PAGE.read_text(encoding="utf-8")))
"""The codes of errors, as the document has them."""
STATUSES = ("Active", "Paused", "ShutdownInProgress", "ShutdownComplete")
GAS, PRICE = 1_000, 200


def bench_at(now_ms, **queue):
    """Return a chain whose slots last a millisecond, with a rich actor, before the block at a time."""
    bench = Bench({"a": RICH}, queue=queue, slot_ms=1)
    bench.at_ms(now_ms)
    return bench


def put(bench, number, time_ms, *, price=PRICE, gas_limit=GAS, delta_ms=0):
    """Put an entry into the queue whose identifier stands for a number; its deposit comes out of nowhere."""
    timer = bench.add("", "a", time_ms, gas_limit=gas_limit, quote=Quote(price, 0, None))
    contents, txn_id = bench.contents, number.to_bytes(32, "little")
    contents.timers.put(b"", None)
    timer = timer._replace(timer_id=txn_id)
    contents.timers.put(txn_id, timer)
    contents.bucket_entries.put((timer.due, timer.sequence), txn_id)
    contents.credit(DEPOSITS, gas_limit * price)
    contents.own(ENTRIES).put(queue_of(bench).key_of(timer), QueueEntry(delta_ms, None, True))
    return timer


def queue_of(bench):
    """Return the queue in the next block."""
    return bench.next_block().rules.queue


def numbers_of(keys):
    return [int.from_bytes(key[-32:], "little") for key in keys]


def aptos_order(inputs):
    bench = bench_at(1_000)
    for each in inputs["txns"]:
        put(bench, each["id"], each["time"], price=each["price"])
    queue = queue_of(bench)
    prices = sorted({each["price"] for each in inputs["txns"]})
    return {
        "order": numbers_of(timer.timer_id for timer in queue.in_order(queue.dues())),
        "gas_priority": {str(price): str(gas_priority(price)) for price in prices},
    }


def aptos_ready(inputs):
    bench = bench_at(inputs["block_ms"], ready_limit=inputs["limit"])
    for number, time_ms in enumerate(inputs["times_ms"]):
        put(bench, number, time_ms)
    phase = bench.next_block().phase
    phase.prologue()
    return numbers_of(timer.timer_id for timer in phase.ready)


def aptos_insert(inputs):
    assert inputs["signer"] == inputs["sender"]
    bench = bench_at(inputs["now_ms"])
    bench.contents.own(STATUS).put(None, STATUSES.index(inputs["status"]))
    fields = {"gas_limit": inputs["max_gas"], "max_fee_per_cycle": inputs["price"]}
    found = bench.schedule("a", inputs["time_ms"], bytes(inputs["size"]), **fields)
    return [found, int(CODES[found])] if isinstance(found, str) else ["ok", bench.contents.balance(DEPOSITS)]


def aptos_cancel(inputs):
    bench = bench_at(inputs["now_ms"], cancel_lead_ms=inputs["delta_ms"])
    return [cancel(bench, put(bench, number, time_ms)) for number, time_ms in enumerate(inputs["times_ms"])]


def cancel(bench, timer):
    try:
        bench.call("a").cancel(queue_of(bench).key_of(timer))
    except RevertedError as error:
        return f"{error} {CODES[str(error)]}"
    return "ok"


def aptos_expiry(inputs):
    found = []
    for delta_ms, block_ms in zip(inputs["delta_ms"], inputs["block_ms"], strict=True):
        bench = bench_at(block_ms, expiry="at_run")
        timer = put(bench, 1, inputs["time_ms"], delta_ms=delta_ms)
        found.append(bench.next_block().phase._reason_to_drop(timer) == "Expired")
    return found


def aptos_expiry_100ms(inputs):
    early = {"time_unit_ms": 100, "expiry_ms": 100 * inputs["delta_units"]}
    queues = [queue_of(bench_at(block_ms, **early)) for block_ms in inputs["block_ms"]]
    return [queue.is_expired(inputs["time_ms"]) for queue in queues]


def ran(timer, gas):
    return Run(timer, is_ok=True, cycles=gas, cells=0)


def aptos_epilogue(inputs):
    """Refunds of storage are 0 on a chain (Q-53), so what they decide is not restated."""
    bench = bench_at(1_000)
    units, gas = inputs["max_gas_units"], inputs["max_gas_units"] - inputs["gas_units_remaining"]
    timer = put(bench, 1, 500, price=inputs["deposit"] // units, gas_limit=units)
    phase = bench.next_block().phase
    phase._charge(ran(timer, gas), inputs["gas_price_charged"])
    returned = bench.units("a") - RICH
    return {"gas_used": phase.events[0][5], "fee": inputs["deposit"] - returned}


def aptos_price(inputs):
    found = []
    for own, others in inputs["rows"]:
        bench = bench_at(1_000)
        phase = bench.next_block().phase
        phase.runs, phase.user_prices = [ran(put(bench, 1, 500, price=own), 1)], others
        phase._charge_by_others()
        found.append(phase.burned)
    return found


def aptos_shutdown(inputs):
    bench = bench_at(1_000, shutdown_batch=inputs["batch"])
    for number in range(inputs["queued"]):
        put(bench, number, 2_000 + number)
    queue, found = queue_of(bench), []
    serve(queue, [SERVICE, "start_shutdown", 0])
    while not found or not found[-1][2]:
        failed = [event for event in serve(queue, [SERVICE, "continue_shutdown", 0]) if event[-1] == "Shutdown"]
        found.append([len(failed), len(bench.contents.timers.rows), STATUSES[queue.status] == "ShutdownComplete"])
    assert bench.contents.balance(DEPOSITS) == 0
    return found


def aptos_state(inputs):
    queue, found = queue_of(bench_at(1_000)), []
    for status, action in inputs["transitions"]:
        queue.contents.own(STATUS).put(None, STATUSES.index(status))
        served = serve(queue, [SERVICE, action, 0])
        found.append(int(CODES[served]) if isinstance(served, str) else STATUSES[queue.status])
    return found


def aptos_txn_id(inputs):
    txn_id = txn_id_of(bytes.fromhex(inputs["bcs_bytes_hex"]))
    slot = slot_of(txn_id, inputs["parallelism"])
    return {"sha3_256": txn_id.hex(), "txn_id_u256": str(number_of_id(txn_id)), "slot": slot}


def aptos_removal(inputs):
    bench = bench_at(1_000)
    runs = {number: number in inputs["executed_in_block_n"] for number in inputs["queue"]}
    for number, is_due in runs.items():
        put(bench, number, 900 if is_due else 5_000)
    phase, entries = bench.next_block().phase, bench.contents.own(ENTRIES).rows
    phase.prologue()
    phase.after_transactions()
    after_execution = sorted(numbers_of(entries))
    marked = [number for number in runs if number.to_bytes(32, "little") not in bench.contents.timers.rows]
    bench.next_block().phase.prologue()
    return {
        "after_execution_block_n": after_execution,
        "marked": marked,
        "after_prologue_n_plus_1": numbers_of(entries),
    }


ALL = (
    *(aptos_order, aptos_ready, aptos_insert, aptos_cancel, aptos_expiry, aptos_expiry_100ms, aptos_epilogue),
    *(aptos_price, aptos_shutdown, aptos_state, aptos_txn_id, aptos_removal),
)
ADAPTERS = {adapter.__name__: adapter for adapter in ALL}


@pytest.mark.parametrize("name", CASES)
def test_the_oracle_comes_to_the_published_value(name):
    case = CASES[name]
    expected = case["expected"]
    if case["kind"] == "aptos_epilogue":
        expected = {key: expected[key] for key in ("gas_used", "fee")}

    assert ADAPTERS[case["kind"]](case["inputs"]) == expected


def test_an_active_service_has_no_record():
    bench = bench_at(1_000)
    serve(queue_of(bench), [SERVICE, "pause", 0])
    paused = bench.contents.own(STATUS).entry(None)[1]
    serve(queue_of(bench), [SERVICE, "unpause", 0])

    assert (paused, bench.contents.own(STATUS).get(None)) == (b"\x91\x01", ACTIVE)
    assert bench.contents.own(STATUS).entry(None)[1] is None
