"""The oracle, told of the racers that tests bid with."""

import msgspec
import pytest

from checker.checks.oracle import consult_oracle
from checker.oracle import blocks as oracle_blocks
from checker.oracle import programs as oracle_programs
from checker.oracle.calls import RevertedError
from checker.oracle.storm import CrashedError
from tests.support.chain_harness import ALICE
from tests.support.lane_plans import in_eight


def race(call, payload):
    for order in msgspec.msgpack.decode(payload):
        schedule(call, *order)


def schedule(call, delay, payload, stated, fees):
    ttl, watched = stated.pop("ttl", None), stated.pop("watched", None)
    if ttl is not None:
        stated["expires_at"] = call.now + delay + ttl
    if stated.get("fee_payer") == "sender":
        stated["fee_payer"] = call.sender
    try:
        if watched is None:
            call.schedule(call.now + delay, payload, **stated, **fees)
        else:
            call.watch(watched, payload, **stated, **fees)
    except RevertedError as error:
        call.emit(str(error), b"")


def fire(call, payload):
    uses, ending, again = msgspec.msgpack.decode(payload)
    call.compute(uses)
    for order in again:
        schedule(call, *order)
    if ending == "revert":
        raise RevertedError("as ordered")
    if ending == "crash":
        raise CrashedError


def answer(call, payload):
    due, now, cycle, cell, lane, usage, p50, balance = in_eight(msgspec.msgpack.decode(payload))
    mode = call.get(b"mode") or b""
    if mode == b"revert":
        raise RevertedError("no bid")
    if mode == b"overrun":
        call.compute(10**6)
    if mode == b"write":
        try:
            call.put(b"k", b"v")
        except RevertedError:
            return mode
    if mode == b"late":
        return msgspec.msgpack.encode([2 * lane + (now - due), p50 + now - due, cell, 0])
    if mode == b"all":
        return msgspec.msgpack.encode([lane * 3, (cycle + usage + balance) % (lane + 7), cell, 0])
    return mode


RACER = {
    "race": race,
    "relay": lambda call, payload: call.send(call.actor, "race", payload, 9_000),
    "tell": lambda call, payload: call.put(b"mode", payload),
    "drain": lambda call, payload: call.transfer(ALICE, max(call.balance() - int.from_bytes(payload, "big"), 0)),
    "handle_timer": fire,
    "get_gas_bid": answer,
}


def consult(genesis, chain):
    """Ask an oracle that knows racers and takes every signature for valid, as the harness's engine does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(oracle_programs.PROGRAMS, "racer", RACER)
        patch.setitem(oracle_programs.PROGRAMS, "puppet", {})
        patch.setattr(oracle_blocks, "is_signed", lambda _transaction: True)
        return consult_oracle(genesis, chain)
