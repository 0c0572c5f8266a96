"""The programs that every chain has, restated as plain functions, and how a call of one ends."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from checker.oracle.calls import CALL_CYCLES, Call, OutOfGasError, RevertedError
from checker.oracle.records import MAX_INTEGER, be8

OK, REVERTED, OUT_OF_GAS = 0, 1, 2
"""Statuses. No program here fails with an error of its own, so there is no fourth."""

MAX_ERROR_CHARS = 128
MAX_STORM_TIMERS = 10_000
MAX_STORM_PAYLOAD_BYTES = 4_096

Handler = Callable[[Call, bytes], None]
Program = dict[str, Handler]
Bounds = Sequence[tuple[int, int]]
"""Least and greatest value of each field of an order."""

_HEARTBEAT_ORDER: Bounds = [(1, MAX_INTEGER), (0, MAX_INTEGER)]
_STORM_ORDER: Bounds = [
    (1, MAX_STORM_TIMERS),
    (1, MAX_INTEGER),
    (0, MAX_INTEGER),
    (1, MAX_INTEGER),
    (0, MAX_INTEGER),
    (0, MAX_INTEGER),
    (0, MAX_STORM_PAYLOAD_BYTES),
]


class Ending(NamedTuple):
    """How a call ended: what its receipt says, apart from money."""

    status: int
    error: str
    cycles: int
    cells: int
    events: list[list[object]]


def run_call(call: Call, handler: str, payload: bytes, cells_if_failed: int = 0) -> Ending:
    """Run a handler to its end; unless that is well, everything that the call wrote is taken back."""
    mark = call.contents.mark()
    try:
        call.gas.use(CALL_CYCLES)
        _find_handler(call, handler)(call, payload)
        # A program that caught the exception and went on has passed the limit all the same.
        call.gas.use(0)
    except OutOfGasError:
        call.contents.take_back(mark)
        return Ending(OUT_OF_GAS, "OutOfGas", call.gas.cycles_limit, cells_if_failed, [])
    except RevertedError as error:
        call.contents.take_back(mark)
        return Ending(REVERTED, str(error)[:MAX_ERROR_CHARS], call.gas.cycles, cells_if_failed, [])
    return Ending(OK, "", call.gas.cycles, call.gas.cells, call.events)


def _find_handler(call: Call, handler: str) -> Handler:
    actor = call.contents.actors.get(call.actor)
    if actor is None:
        raise RevertedError("UnknownActor")
    program = PROGRAMS[actor.program]
    if handler not in program:
        raise RevertedError("UnknownHandler")
    return program[handler]


def _start_heartbeat(call: Call, payload: bytes) -> None:
    _read_order(payload, _HEARTBEAT_ORDER, [0], "HeartbeatOrder")
    pending = call.get(b"next")
    if pending is not None:
        try:
            call.cancel(pending)
        except RevertedError as error:
            # A beat that is gone by itself does not stand in the way of the next one.
            if str(error) != "UnknownTimer":
                raise
    call.put(b"order", payload)
    _schedule_beat(call)


def _stop_heartbeat(call: Call, payload: bytes) -> None:
    _require_owner(call, payload)
    pending = call.get(b"next")
    if pending is None:
        raise RevertedError("does not beat")
    call.cancel(pending)
    call.delete(b"next")


def _beat(call: Call, payload: bytes) -> None:
    if payload or call.sender != call.actor:
        raise RevertedError("not a beat of this heart")
    _count_up(call, b"beats")
    _schedule_beat(call)


def _schedule_beat(call: Call) -> None:
    interval, gas_limit = _read_order(call.get(b"order") or b"", _HEARTBEAT_ORDER, [0], "HeartbeatOrder")
    call.put(b"next", call.schedule(call.now + interval, b"", gas_limit=gas_limit or None))


def _make_storm(call: Call, payload: bytes) -> None:
    count, delay, not_before, spread, ttl, gas_limit, size = _read_order(payload, _STORM_ORDER, [0, 8], "StormOrder")
    first = max(call.now + delay, not_before)
    for index in range(count):
        due = first + index % spread
        body = be8(index).ljust(size, b"\0")[:size]
        call.schedule(due, body, gas_limit=gas_limit or None, expires_at=due + ttl)


def _withdraw(call: Call, payload: bytes) -> None:
    _require_owner(call, payload)
    call.transfer(call.owner, call.balance())


def _storm_fire(call: Call, payload: bytes) -> None:
    if call.sender != call.actor:
        raise RevertedError("not a timer of this actor")
    _count_up(call, b"fired")
    call.put(b"last", payload[:8])


PROGRAMS: dict[str, Program] = {
    "heartbeat": {"start": _start_heartbeat, "stop": _stop_heartbeat, "handle_timer": _beat},
    "storm-maker": {"make": _make_storm, "withdraw": _withdraw, "handle_timer": _storm_fire},
}
"""Handlers by the names of program and handler."""


def _count_up(call: Call, key: bytes) -> None:
    call.put(key, be8(int.from_bytes(call.get(key) or b"", "big") + 1))


def _require_owner(call: Call, payload: bytes) -> None:
    if call.sender != call.owner or payload:
        raise RevertedError("only the owner, with an empty payload")


def _read_order(payload: bytes, bounds: Bounds, defaults: list[int], name: str) -> list[int]:
    """Return an order's fields; the last ones may be left out and have defaults."""
    try:
        fields = msgspec.msgpack.decode(payload)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):
        fields = None
    if not isinstance(fields, list) or not len(bounds) - len(defaults) <= len(fields) <= len(bounds):
        raise RevertedError(f"not a {name}")
    missing = len(bounds) - len(fields)
    filled = fields + defaults[len(defaults) - missing :]
    for number, (least, greatest) in zip(filled, bounds, strict=True):
        if type(number) is not int or not least <= number <= greatest:
            raise RevertedError(f"not a {name}")
    return filled
