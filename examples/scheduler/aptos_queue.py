#!/usr/bin/env python3
"""The queue and the payments of scheduled transactions, written from the text of AIP-125, with nothing but Python.

It answers the cases of `aptos` in fixtures/scheduler; `--check` tries the core alone. The AIP leaves these points open.
The core was written first, with an assumption for each. The cases decide those with a star otherwise.

 1. Order if more are due than fit: the map's key puts time first, the overview names price alone. The key's order.
 2. Expiry, "around 100 blocks (about 10 seconds)": get_ready_transactions takes a time alone, so 10,000 ms.
 3. The edge of that window: a transaction that is late by the whole window may still run.
 4. * How many expired transactions a block removes: all. The cases: a limit of its own.
 5. Deposit of an expired transaction: refunded in full, as at shutdown; the text names the removal alone.
 6. Fee of a failed transaction: gas used is charged as after success; the text speaks of success alone.
 7. Price charged: "any transaction in the block" (overview) or "other than this" (struct). The second: with the first
    the lesser price is always the own maximum.
 8. * Price charged without another transaction in the block: the own maximum. The cases: the least price allowed.
 9. Price at which another scheduled transaction counts in that comparison: its maximum, if it ran.
10. Who is paid the fee: nobody; it leaves the balances.
11. Refused: the same transaction twice (one key), amounts above u64, a deposit above the balance.
12. Cancelling after execution and before the removal in the next prologue: refused, the deposit is spent.
13. Order in a prologue: removal of the executed, then expiry, then selection.
14. Place among user transactions of the same price: before them; user transactions are not reordered.
15. * Place beside an earlier and cheaper scheduled transaction: ahead of it, by price. The cases: behind it.
16. * Equal times and prices: `txn_id: vector<u8>` goes by its bytes. The cases: as a little-endian integer. A key size
    of 48 bytes, without room for the length of a vector, speaks for that.
"""

import hashlib
import json
import sys
from typing import NamedTuple

U64_MAX = 2**64 - 1
READY_LIMIT = 100  # GET_READY_TRANSACTIONS_LIMIT
EXPIRY_MS = 10_000


class RefusedError(Exception):
    """A call of the module that aborts: nothing changes."""


class Key(NamedTuple):
    """ScheduleMapKey; tuples compare as the map sorts."""

    time: int
    gas_priority: int
    txn_id: int  # the little-endian integer of the hash


class Transaction(NamedTuple):
    sender: str
    time: int
    max_gas_amount: int
    max_gas_unit_price: int
    content: bytes  # its BCS bytes, of which the id is the hash


class Queue(NamedTuple):
    """The schedule, who owns which coins, and the keys executed in the last block."""

    schedule: dict[Key, Transaction]
    balances: dict[str, int]
    executed: tuple[Key, ...] = ()


def txn_id(content):
    return hashlib.sha3_256(content).digest()


def key_of(time, price, id):
    return Key(time, U64_MAX - price, int.from_bytes(id, "little"))


def text_of(key):
    return f"{key.time:016x}{key.gas_priority:016x}{key.txn_id.to_bytes(32, 'little').hex()}"


def price_of(key):
    return U64_MAX - key.gas_priority


def deposit_of(amount, price):
    """Return the full gas budget, which the sender pays up front."""
    if amount * price > U64_MAX:
        raise RefusedError("deposit above u64")
    return amount * price


def pay(balances, name, amount):
    return balances | {name: balances.get(name, 0) + amount}


def insert(queue, signer, txn, now):
    """Return the queue with a transaction and without its deposit in the sender's balance, and the key."""
    key = key_of(txn.time, txn.max_gas_unit_price, txn_id(txn.content))
    deposit = deposit_of(txn.max_gas_amount, txn.max_gas_unit_price)
    if signer != txn.sender:
        raise RefusedError("not the sender")
    if txn.time <= now:
        raise RefusedError("not a future time")
    if key in queue.schedule:
        raise RefusedError("already scheduled")
    if queue.balances.get(signer, 0) < deposit:
        raise RefusedError("balance below the deposit")
    balances = pay(queue.balances, signer, -deposit)
    return queue._replace(schedule=queue.schedule | {key: txn}, balances=balances), key


def remove_executed(queue):
    schedule = {key: txn for key, txn in queue.schedule.items() if key not in queue.executed}
    return queue._replace(schedule=schedule, executed=())


def refund_all(queue, keys):
    """Return the queue without transactions, whose senders have the full deposits again."""
    schedule, balances = queue.schedule.copy(), queue.balances
    for key in keys:
        txn = schedule.pop(key)
        balances = pay(balances, txn.sender, deposit_of(txn.max_gas_amount, price_of(key)))
    return queue._replace(schedule=schedule, balances=balances)


def cancel(queue, signer, key):
    if key not in queue.schedule or key in queue.executed:
        raise RefusedError("not scheduled")
    if queue.schedule[key].sender != signer:
        raise RefusedError("not the sender")
    return refund_all(queue, [key])


def due(keys, now):
    return sorted(key for key in keys if key.time <= now)


def expired(key, now, window=EXPIRY_MS):
    return now - key.time > window


def begin_block(queue, now, limit=READY_LIMIT):
    """Return the queue after the prologue, the keys to run, and the events of expiry."""
    queue = remove_executed(queue)
    dead = [key for key in due(queue.schedule, now) if expired(key, now)]
    events = [("TransactionFailedEvent", key, queue.schedule[key].sender, "Expired") for key in dead]
    return (queue := refund_all(queue, dead)), due(queue.schedule, now)[:limit], events


def place(prices, turns):
    """Return a block's order, ("user", index) and ("scheduled", key): no turn is behind a user who pays no more."""
    order, waiting = [], list(turns)
    for index, price in enumerate(prices):
        while waiting and price_of(waiting[0]) >= price:
            order.append(("scheduled", waiting.pop(0)))
        order.append(("user", index))
    return order + [("scheduled", key) for key in waiting]


def price_charged(own, others, least=0):
    """Return the lesser of the own maximum and the highest price of the other transactions in the block."""
    return min(own, max(others, default=least))


def settle(amount, price, gas_used, charged):
    """Return the fee and the refund, which share the deposit."""
    if gas_used > amount or charged > price:
        raise ValueError("a fee above the deposit")
    return gas_used * charged, deposit_of(amount, price) - gas_used * charged


def finish(queue, key, gas_used, others, *, succeeded=True):
    """Return the queue after the epilogue of an executed transaction, its fee, and its events. It stays, marked."""
    txn = queue.schedule[key]
    charged = price_charged(txn.max_gas_unit_price, others)
    fee, refund = settle(txn.max_gas_amount, txn.max_gas_unit_price, gas_used, charged)
    events = [] if succeeded else [("TransactionFailedEvent", key, txn.sender, "Failed")]
    queue = queue._replace(balances=pay(queue.balances, txn.sender, refund), executed=(*queue.executed, key))
    return queue, fee, events


def shutdown(queue):
    """Return the empty queue, all deposits refunded, and the events."""
    queue = remove_executed(queue)
    keys = sorted(queue.schedule)
    events = [("TransactionFailedEvent", key, queue.schedule[key].sender, "Shutdown") for key in keys]
    return refund_all(queue, keys), [*events, ("ShutdownEvent", True)]


def refuses(call, *arguments):
    try:
        return not call(*arguments)
    except RefusedError:
        return True


def self_check():
    """Try what the AIP says in so many words; it gives no worked example."""
    order = [(1, 0, b"\2"), (2, 9, b"\0"), (2, 9, b"\1"), (2, 8, b"\0")]
    first, _, dear, cheap = keys = [key_of(time, price, byte * 32) for time, price, byte in order]
    assert sorted([cheap, *keys[:3]]) == keys
    assert len(bytes.fromhex(text_of(dear))) == 48  # key_size
    assert txn_id(b"").hex().startswith("a7ffc6f8bf1ed766")  # SHA3-256, as FIPS 202 has it
    assert [price_charged(10, [3, 7]), price_charged(10, [30])] == [7, 10]
    parts = [("user", 0), ("scheduled", cheap), ("user", 1), ("user", 2), ("scheduled", first)]
    assert place([9, 5, 7], [cheap, first]) == parts
    queue, txn = Queue({}, {"a": 1000}), Transaction("a", 50, 10, 20, b"once")
    assert refuses(insert, queue, "b", txn, 49)
    assert refuses(insert, queue, "a", txn, 50)
    assert refuses(insert, Queue({}, {"a": 199}), "a", txn, 49)
    queue, key = insert(queue, "a", txn, 49)
    assert queue.balances == {"a": 800}
    assert refuses(cancel, queue, "b", key)
    assert cancel(queue, "a", key) == Queue({}, {"a": 1000})
    assert begin_block(queue, 49)[1] == []
    begun, run, _ = begin_block(queue, 50)
    ended, fee, events = finish(begun, key, 4, [15])
    assert (run, fee, ended.balances, events) == ([key], 60, {"a": 940}, [])
    assert key in ended.schedule  # until the next prologue
    assert refuses(cancel, ended, "a", key)
    assert begin_block(ended, 51) == (Queue({}, {"a": 940}), [], [])
    said = [("TransactionFailedEvent", key, "a", why) for why in ("Failed", "Expired", "Shutdown")]
    assert finish(begun, key, 4, [15], succeeded=False)[2] == said[:1]
    assert begin_block(queue, 50 + EXPIRY_MS + 1) == (Queue({}, {"a": 1000}), [], said[1:2])
    assert shutdown(queue) == (Queue({}, {"a": 1000}), [said[2], ("ShutdownEvent", True)])
    for price in range(102):
        queue, _ = insert(queue, "a", Transaction("a", 5, 1, price % 2, b"%d" % price), 4)
    assert begin_block(queue, 5)[1] == sorted(queue.schedule)[:100]  # GET_READY_TRANSACTIONS_LIMIT


def plain(value):
    """Return a value in the form of cases: whole numbers above 2^53 - 1 as text."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return list(map(plain, value))
    return str(value) if type(value) is int and value >= 2**53 else value


def number(value):
    """Return a value of a case with its decimal text as numbers; text of 40 or 96 digits is a name."""
    if isinstance(value, dict):
        return {name: number(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return list(map(number, value))
    return int(value) if isinstance(value, str) and value.isdigit() and len(value) < 40 else value


class Case:
    """The timers' phase of one block: entries by key, and what became of them."""

    def __init__(self, case):
        self.own, self.moment, self.limits, self.queue = case["own"], case["moment"], case["limits"], case["queue"]
        self.basefees, self.balances, self.now = case["basefees"], case["balances"], case["moment"]["time_ms"]
        self.entries = {self.key(timer): timer for timer in case["timers"]}
        self.events, self.ran, self.removed, self.marked = [], [], [], []
        self.room = self.queue["block_cycles"], self.queue["block_cells"]
        self.prices = [
            min(each["max_fee_per_cycle"], self.basefees["cycle"] + each["priority_fee_per_cycle"])
            for each in self.queue["transactions"]
        ]
        for name in [case["proposer"], *(timer[role] for timer in case["timers"] for role in ("actor", "payer"))]:
            self.balances = pay(self.balances, name, 0)

    def key(self, timer):
        return key_of(timer["due"] * self.moment["slot_ms"], timer["entry"]["price"], bytes.fromhex(timer["id"]))

    def deposit(self, key):
        return deposit_of(self.entries[key]["gas_limit"], price_of(key))

    def is_expired(self, key):
        """Tell whether an entry is too late for every block; by `at_run` each has an age of its own."""
        if self.own["expiry"] == "at_run":
            return False
        if self.own["expiry_by"] == "blocks":
            present = self.moment["height"]
            begun = [height for slot, height in self.queue["slots"] if slot >= self.entries[key]["due"]]
            return 0 < self.own["expiry_blocks"] < present - min(begun, default=present)
        now, time, window = (each // self.own["time_unit_ms"] for each in (self.now, key.time, self.own["expiry_ms"]))
        return self.own["expiry_ms"] > 0 and expired(Key(time, 0, 0), now, window)

    def leave(self, key, code):
        """Refund the deposit of an entry that never runs."""
        self.balances = pay(self.balances, self.entries[key]["actor"], self.deposit(key))
        self.events.append({"event": "failed", "timer": self.entries[key]["id"], "code": code})

    def choose(self):
        """Remove expired entries, and return the ready ones in the order of their turns."""
        turns, limit = due(self.entries, self.now), self.own["ready_limit"]
        if self.own["ready_order"] == "price":
            turns.sort(key=lambda key: (key.gas_priority, key))
        if self.own["expiry"] == "counted":
            turns = turns[:limit]
            self.removed = [key for key in turns if self.is_expired(key)]
        else:
            self.removed = [key for key in sorted(turns) if self.is_expired(key)][: self.own["expire_limit"]]
        ready = [key for key in turns if not self.is_expired(key)][:limit]
        for key in self.removed:
            self.leave(key, "Expired")
        return [] if self.limits["execution_lane_paused"] else ready

    def fits(self, key, reserved):
        gas = self.entries[key]["gas_limit"]
        cells = min(self.limits["max_cells_per_fire"], gas * self.basefees["cycle"] // self.basefees["cell"])
        return gas <= self.room[0] - reserved[0] and cells <= self.room[1] - reserved[1]

    def turn(self, key, reserved):
        """Run an entry, drop it, or leave it; a key is marked in the first two cases."""
        timer, late = self.entries[key], self.now - key.time > self.entries[key]["entry"]["expiry_delta_ms"] > 0
        number, token = self.queue["numbers"].get(timer["actor"], 0), timer["entry"]["token"]
        if self.own["expiry"] == "at_run" and late:
            self.leave(key, "Expired")
        elif token and (token["expiration_ms"] <= self.now or token["authorization_number"] != number):
            self.leave(key, "AuthExpired")
        elif self.fits(key, reserved):
            self.ran.append(key)
            self.room = self.room[0] - self.cycles(key), self.room[1] - timer["handler"]["cells"]
            if self.own["charge"] == "maximum":
                self.charge(key, price_of(key))
        else:
            return
        self.marked.append(key)

    def cycles(self, key):
        timer = self.entries[key]
        return min(timer["handler"]["cycles"] + self.own["base_gas"], timer["gas_limit"])

    def charge(self, key, price):
        timer, cells = self.entries[key], self.entries[key]["handler"]["cells"]
        gas = self.cycles(key) - (-cells * self.basefees["cell"] // self.basefees["cycle"])
        fee, refund = settle(timer["gas_limit"], price_of(key), gas, price)
        self.balances = pay(self.balances, timer["actor"], refund)
        said = {"event": "fired", "timer": timer["id"], "ok": timer["handler"]["ok"], "cycles": self.cycles(key)}
        self.events.append(said | {"cells": cells, "charged": fee + refund, "burned": fee, "tip": 0, "refund": refund})
        if not timer["handler"]["ok"]:
            self.events.append({"event": "failed", "timer": timer["id"], "code": "Failed"})

    def run(self):
        """Give each ready entry its turn, charge an entry that ran, and return the reason why an entry waits."""
        ready = self.choose() if (active := self.queue["status"] == "active") else []
        order, users = place(self.prices, ready), list(self.queue["transactions"])
        if self.own["position"] == "before":
            order, users = [("scheduled", key) for key in ready], []
        for kind, key in order:
            if kind == "user":
                user = users.pop(0)
                self.room = self.room[0] - user["cycles"], self.room[1] - user["cells"]
            else:  # the limits of the next user's transaction are kept free
                self.turn(key, (users[0]["cycles_limit"], users[0]["cells_limit"]) if users else (0, 0))
        if self.own["charge"] == "second_price":
            for key in self.ran:
                others = [*self.prices, *(price_of(other) for other in self.ran if other != key)]
                self.charge(key, price_charged(price_of(key), others, self.own["min_price"]))
        left = "unavailable" if not active else "lane_full" if self.limits["execution_lane_paused"] else "ready_limit"
        waiting = [key for key in due(self.entries, self.now) if key not in self.marked and not self.is_expired(key)]
        return {key: "lane_full" if key in ready else left for key in waiting}

    def answer(self):
        waits = self.run()
        for key, reason in waits.items():
            if self.entries[key]["due"] > self.moment["parent_slot"]:
                self.events.append({"event": "deferred", "timer": self.entries[key]["id"], "reason": reason})
        if waits:
            counts = [[why, [*waits.values()].count(why)] for why in ("lane_full", "ready_limit", "unavailable")]
            self.events.append({"event": "summary", "counts": [pair for pair in counts if pair[1]]})
        left, slots = [key for key in self.entries if key not in self.marked + self.removed], {}
        for key in self.marked:
            slot = key.txn_id % 2**64 % self.own["removal_slots"]
            slots.setdefault(slot, []).append(text_of(key))
        fired = [event for event in self.events if event["event"] == "fired"]
        use = {name: sum(event[name] for event in fired) for name in ("cycles", "cells")}
        return {
            "events": self.events,
            "balances": self.balances,
            "burned": sum(event["burned"] for event in fired),
            "lane_use": {"fired": len(fired), "price": 0} | use,
            "clean_up": {"removed": 0, "cycles": 0},
            "waiting": {"live": len(waits), "dead": len(due(left, self.now)) - len(waits)},
            "left": [self.entries[key]["id"] for key in left],
            "queue": {"deposits": sum(map(self.deposit, left)), "marked": sorted(slots.items())},
        }


def answer(ask):
    if ask["call"] == "hello":
        return {"name": "aptos-queue", "version": "1", "features": []}
    if ask["call"] == "scheduler" and ask["case"]["policy"] == "aptos":
        return {"answer": plain(Case(number(ask["case"])).answer())}
    return {} if ask["call"] == "bye" else {"error": "only cases of level scheduler and policy aptos are answered"}


def main():
    for line in sys.stdin:
        ask = json.loads(line)
        print(json.dumps({"n": ask["n"]} | answer(ask)), flush=True)
        if ask["call"] == "bye":
            break


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        self_check()
    else:
        main()
