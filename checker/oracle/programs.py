"""The programs that every chain has, restated as plain functions, and the outcome of a call."""

from collections.abc import Callable
from typing import NamedTuple

from checker.oracle import agents, clerk, messages, services, storm
from checker.oracle.calls import CALL_CYCLES, Call, RevertedError
from checker.oracle.gas import OutOfGasError
from checker.oracle.orders import (
    cancel_if_there,
    get_number,
    is_terms,
    put_number,
    read_order,
    read_terms,
    require_empty,
    require_owner,
    require_timer,
    schedule,
    within,
)

OK, REVERTED, OUT_OF_GAS, FAULT = 0, 1, 2, 3
"""Statuses."""

MAX_ERROR_CHARS = 128
HEARTBEAT_ORDER = (within(1), within(0), is_terms)
HEARTBEAT_DEFAULTS: tuple[object, ...] = (0, [])

Handler = Callable[[Call, bytes], bytes | None]
"""A handler; only the answer of an agent that is asked for a bid is used."""
Program = dict[str, Handler]


class Ending(NamedTuple):
    """The outcome of a call: status and error of its receipt, and its handler's answer."""

    status: int
    error: str
    cycles: int
    cells: int
    events: list[list[object]]
    answer: bytes | None = None


RunHandler = Callable[[Call, str, bytes], Ending]
"""Runs a handler of a call with a payload to its end."""


def run_call(call: Call, handler: str, payload: bytes, cells_if_failed: int = 0) -> Ending:
    """Run a handler to its end; after a failure all writes of the call are undone."""
    mark = call.contents.mark()
    status, error, answer = _run_handler(call, handler, payload)
    # A program that caught the exception and went on has passed the limit all the same.
    if call.gas.is_exceeded:
        status, error = OUT_OF_GAS, "OutOfGas"
    elif call.has_overstepped:
        status, error = REVERTED, "read-only"
    if status == OK:
        return Ending(OK, "", call.gas.cycles, call.gas.cells, call.events, answer)
    call.contents.take_back(mark)
    cycles = call.gas.cycles_limit if status == OUT_OF_GAS else call.gas.cycles
    return Ending(status, error, cycles, cells_if_failed, [])


def _run_handler(call: Call, handler: str, payload: bytes) -> tuple[int, str, bytes | None]:
    try:
        call.gas.use(CALL_CYCLES)
        return OK, "", _find_handler(call, handler)(call, payload)
    except OutOfGasError:
        return OUT_OF_GAS, "OutOfGas", None
    except RevertedError as error:
        return REVERTED, str(error)[:MAX_ERROR_CHARS], None
    except storm.CrashedError:
        return FAULT, "", None


def _find_handler(call: Call, handler: str) -> Handler:
    actor = call.contents.actors.get(call.actor)
    if actor is None:
        raise RevertedError("UnknownActor")
    program = PROGRAMS[actor.program]
    if handler not in program:
        raise RevertedError("UnknownHandler")
    return program[handler]


def _start_heartbeat(call: Call, payload: bytes) -> None:
    read_order(payload, HEARTBEAT_ORDER, HEARTBEAT_DEFAULTS, "HeartbeatOrder")
    pending = call.get(b"next")
    if pending is not None:
        cancel_if_there(call, pending)
    call.put(b"order", payload)
    _schedule_beat(call)


def _stop_heartbeat(call: Call, payload: bytes) -> None:
    require_owner(call)
    require_empty(payload)
    pending = call.get(b"next")
    if pending is None:
        raise RevertedError("does not beat")
    call.cancel(pending)
    call.delete(b"next")


def _beat(call: Call, payload: bytes) -> None:
    require_timer(call)
    require_empty(payload)
    put_number(call, b"beats", get_number(call, b"beats") + 1)
    _schedule_beat(call)


def _schedule_beat(call: Call) -> None:
    order = read_order(call.get(b"order") or b"", HEARTBEAT_ORDER, HEARTBEAT_DEFAULTS, "HeartbeatOrder")
    interval, gas_limit, terms = order
    call.put(b"next", schedule(call, call.now + interval, b"", gas_limit=gas_limit or None, **read_terms(terms)))


PROGRAMS: dict[str, Program] = {
    "heartbeat": {"start": _start_heartbeat, "stop": _stop_heartbeat, "handle_timer": _beat},
    "storm-maker": {
        "make": storm.make,
        "cancel": storm.cancel,
        "withdraw": storm.withdraw,
        "handle_timer": storm.fire,
        "fail": storm.fail,
        "spin": storm.spin,
        "crash": storm.crash,
        "spend": storm.spend,
    },
    "oracle-feed": {"start": services.start_feed, "submit": services.submit, "handle_timer": services.update},
    "liquidation-bot": {
        "open": services.open_position,
        "price": services.set_price,
        "handle_timer": services.check_positions,
    },
    "game-loop": {"start": messages.start_game, "move": messages.move, "handle_timer": messages.tick},
    "game-player": {"on_tick": messages.answer_tick},
    "subscription": {
        "subscribe": messages.subscribe,
        "cancel": messages.unsubscribe,
        "handle_timer": messages.renew,
    },
    "merchant": {"paid": messages.keep_payment},
    "default-agent": {"get_gas_bid": agents.bid_by_default},
    "risk-agent": {"assess": agents.assess, "get_gas_bid": agents.bid_by_risk},
    "liquidation-agent": {"assess": agents.follow, "get_gas_bid": agents.bid_by_feed},
    "chaos-agent": {"get_gas_bid": agents.bid_badly},
    "script-actor": {"run": clerk.run, "note": clerk.note, "handle_timer": clerk.fire, "get_gas_bid": clerk.bid},
}
"""Handlers by the names of program and handler."""
