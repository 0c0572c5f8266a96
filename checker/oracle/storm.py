"""The program `storm-maker` as docs/programs.md has it."""

import base64
import string

from checker.oracle.calls import MAX_PAYLOAD_BYTES, Call, RevertedError
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
from checker.oracle.records import MAX_INTEGER, be8

MAX_STORM_TIMERS = 10_000
MAX_HANDLER_LETTERS = 32
HANDLER_LETTERS = string.ascii_lowercase + "_"


class CrashedError(Exception):
    """A program failed with an error of its own."""


def _is_handler(field: object) -> bool:
    return (
        isinstance(field, str)
        and len(field) <= MAX_HANDLER_LETTERS
        and all(letter in HANDLER_LETTERS for letter in field)
    )


def _is_flag(field: object) -> bool:
    return isinstance(field, bool)


def _is_list_of_bytes(field: object) -> bool:
    return (
        isinstance(field, list)
        and len(field) <= MAX_STORM_TIMERS
        and all(isinstance(timer_id, bytes) for timer_id in field)
    )


STORM_ORDER = (
    *(within(1, MAX_STORM_TIMERS), within(1), within(0), within(1), within(0)),
    *(within(0), within(0, MAX_PAYLOAD_BYTES), _is_handler, _is_flag, is_terms, within(0)),
)
STORM_DEFAULTS: tuple[object, ...] = (0, 8, "", False, [], 0)
CANCEL_ORDER = (_is_list_of_bytes,)


def make(call: Call, payload: bytes) -> None:
    """Schedule the number of timers that the order names."""
    fields = read_order(payload, STORM_ORDER, STORM_DEFAULTS, "StormOrder")
    count, delay, not_before, spread, ttl, gas_limit, size, handler, sender_pays, terms, offset = fields
    base = max(call.now + delay, not_before)
    for index in range(count):
        due = base + (offset + index) % spread
        schedule(
            call,
            due,
            _payload_of(index, size, handler),
            fee_payer=call.sender if sender_pays else None,
            gas_limit=gas_limit or None,
            expires_at=due + ttl,
            **read_terms(terms),
        )


def cancel(call: Call, payload: bytes) -> None:
    """Cancel the timers of an order."""
    require_owner(call)
    (timer_ids,) = read_order(payload, CANCEL_ORDER, (), "CancelOrder")
    for timer_id in timer_ids:
        cancel_if_there(call, timer_id)


def withdraw(call: Call, payload: bytes) -> None:
    """Send everything to the owner."""
    require_owner(call)
    require_empty(payload)
    _send_all(call)


def fire(call: Call, payload: bytes) -> None:
    """Count a fire."""
    require_timer(call)
    put_number(call, b"fired", get_number(call, b"fired") + 1)
    call.put(b"last", payload[:8])


def fail(call: Call, payload: bytes) -> None:
    """Revert."""
    require_timer(call)
    call.put(b"failed", payload[:8])
    raise RevertedError("as ordered")


def spin(call: Call, payload: bytes) -> None:
    """Use more cycles than the limit."""
    require_timer(call)
    call.put(b"spun", payload[:8])
    call.compute(MAX_INTEGER)


def crash(call: Call, payload: bytes) -> None:
    """End as a fault."""
    require_timer(call)
    call.put(b"crashed", payload[:8])
    raise CrashedError


def spend(call: Call, payload: bytes) -> None:
    """Send everything to the owner, in a fire."""
    require_timer(call)
    call.emit("spend", payload[:8])
    _send_all(call)


def _payload_of(index: int, size: int, handler: str) -> bytes:
    body = be8(index).ljust(size, b"\0")[:size]
    if not handler:
        return body
    return b'{"_handler":"' + handler.encode() + b'","_payload":"' + base64.b64encode(body) + b'"}'


def _send_all(call: Call) -> None:
    amount = call.balance()
    call.transfer(call.owner, amount)
