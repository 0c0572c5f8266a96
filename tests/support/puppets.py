"""The oracle, told of the puppet that tests play with."""

import msgspec
import pytest

from checker.checks.oracle import consult_oracle
from checker.oracle import blocks as oracle_blocks
from checker.oracle import programs as oracle_programs
from checker.oracle.calls import RevertedError
from checker.oracle.gas import OutOfGasError
from checker.oracle.storm import CrashedError


def play(call, payload):
    """Do what a payload says: the oracle's puppet."""
    for verb, *arguments in msgspec.msgpack.decode(payload)[0]:
        VERBS[verb](call, *arguments)


def swallow(call, cycles):
    try:
        call.gas.use(cycles)
    except OutOfGasError:
        call.events.clear()


def revert(call, reason):
    raise RevertedError(reason)


def crash(_call):
    raise CrashedError


def schedule(call, delay, steps, gas_limit=None, ttl=None, payer=None):
    expires_at = None if ttl is None else call.now + delay + ttl
    payload = msgspec.msgpack.encode([steps])
    timer_id = call.schedule(call.now + delay, payload, gas_limit=gas_limit, expires_at=expires_at, fee_payer=payer)
    call.put(b"last", timer_id)


def cancel_last(call):
    try:
        call.cancel(call.get(b"last") or bytes(32))
    except RevertedError as error:
        call.emit(str(error), b"")


VERBS = {
    "put": lambda call, key, value: call.put(key, value),
    "delete": lambda call, key: call.delete(key),
    "pay": lambda call, to, amount: call.transfer(to, amount),
    "emit": lambda call, topic: call.emit(topic, b"data"),
    "compute": lambda call, cycles: call.compute(cycles),
    "revert": revert,
    "crash": crash,
    "swallow": swallow,
    "timer": schedule,
    "send": lambda call, actor, steps, cycles, handler: call.send(
        actor, handler, msgspec.msgpack.encode([steps]), cycles
    ),
    "cancel_last": cancel_last,
    "extend_last": lambda call, expires_at: call.extend(call.get(b"last") or bytes(32), expires_at),
}


def consult(genesis, chain):
    """Ask an oracle that knows the puppet and takes every signature for valid, as the harness's engine does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(oracle_programs.PROGRAMS, "puppet", {"do": play, "handle_timer": play})
        patch.setattr(oracle_blocks, "is_signed", lambda _transaction: True)
        return consult_oracle(genesis, chain)
