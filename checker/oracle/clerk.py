"""The program `script-actor` as docs/programs.md has it."""

from collections.abc import Callable
from typing import Any

import msgspec

from checker.oracle.agents import read_context
from checker.oracle.calls import Call, RevertedError
from checker.oracle.gas import OutOfGasError
from checker.oracle.orders import (
    FieldRule,
    is_terms,
    put_number,
    read_order,
    read_terms,
    require_timer,
    schedule,
    within,
)
from checker.oracle.storm import CrashedError

LONGEST_SCRIPT = 64


def run(call: Call, payload: bytes) -> None:
    """Run the script of a payload."""
    _run_script(call, *_read_script(payload))


def note(call: Call, payload: bytes) -> None:
    """Keep a payload."""
    call.put(b"noted", payload)


def fire(call: Call, payload: bytes) -> None:
    """Keep the payload of a timer, and run it if it is a script."""
    require_timer(call)
    call.put(b"fired", payload)
    try:
        steps, patience = _read_script(payload)
    except RevertedError:
        return
    _run_script(call, steps, patience)


def bid(call: Call, payload: bytes) -> bytes:
    """Run the stored script, and bid amounts derived from the numbers that it read and all fields of the context."""
    read = _run_script(call, *_read_script(call.get(b"script") or b""))
    context = read_context(payload)
    total = sum(context) + read
    return msgspec.msgpack.encode([2 * context[4] + total % 1_000, total % 97, context[3], 0])


def _is_number(field: object) -> bool:
    return type(field) is int


def _is_bytes(field: object) -> bool:
    return isinstance(field, bytes)


def _is_text(field: object) -> bool:
    return isinstance(field, str)


def _is_flag(field: object) -> bool:
    return isinstance(field, bool)


def _or_nothing(rule: FieldRule) -> FieldRule:
    return lambda field: field is None or rule(field)


def _put(call: Call, key: bytes, value: bytes) -> None:
    call.put(key, value)


def _copy(call: Call, source: bytes, target: bytes, skip: int) -> None:
    value = call.get(source)
    if value is not None:
        call.put(target, value[skip:])


def _weigh(call: Call, key: bytes, address: bytes | None) -> None:
    put_number(call, key, call.balance(address))


def _read(call: Call, key: bytes, address: bytes | None) -> int:
    return int.from_bytes((call.get(key, address) or b"")[:8], "big")


def _schedule(call: Call, name: bytes, delay: int, payload: bytes, *rest: Any) -> None:  # noqa: ANN401 - as they were read
    payer, gas_limit, ttl, terms, pass_signer = rest
    expires_at = None if ttl is None else call.now + ttl
    given = {"fee_payer": payer, "gas_limit": gas_limit, "expires_at": expires_at, **read_terms(terms)}
    call.put(name, schedule(call, call.now + delay, payload, **given, pass_signer=pass_signer))


def _watch(
    call: Call,
    name: bytes,
    watched: list[tuple[bytes, bytes | None]],
    payload: bytes,
    *rest: Any,  # noqa: ANN401 - as they were read
) -> None:
    payer, gas_limit, ttl, terms = rest
    expires_at = None if ttl is None else call.now + ttl
    given = {"fee_payer": payer, "gas_limit": gas_limit, "expires_at": expires_at, **read_terms(terms)}
    if given.get("gba") is None:
        given["gba"] = call.present.admission.default_agent
    call.put(name, call.watch(watched, payload, **given))


def _are_watched(field: object) -> bool:
    return isinstance(field, list) and all(
        isinstance(pair, list) and len(pair) == 2 and _is_bytes(pair[0]) and _or_nothing(_is_bytes)(pair[1])
        for pair in field
    )


def _extend(call: Call, name: bytes, delay: int) -> None:
    call.extend(call.get(name) or name, call.now + delay)


def _cancel(call: Call, name: bytes) -> None:
    call.cancel(call.get(name) or name)


def _hand(call: Call, name: bytes, to: bytes, cycles: int) -> None:
    call.send(to, "note", call.get(name) or b"", cycles)


def _fail(_call: Call, reason: str) -> None:
    raise RevertedError(reason)


_SCHEDULE_RULES = (
    *(_is_bytes, _is_number, _is_bytes, _or_nothing(_is_bytes)),
    *(_or_nothing(_is_number), _or_nothing(_is_number), is_terms),
)

STEPS: dict[str, tuple[Callable[..., Any], tuple[FieldRule, ...], tuple[object, ...]]] = {
    "put": (_put, (_is_bytes, _is_bytes), ()),
    "copy": (_copy, (_is_bytes, _is_bytes, within(0)), (0,)),
    "delete": (Call.delete, (_is_bytes,), ()),
    "weigh": (_weigh, (_is_bytes, _or_nothing(_is_bytes)), (None,)),
    "read": (_read, (_is_bytes, _or_nothing(_is_bytes)), (None,)),
    "pay": (Call.transfer, (_is_bytes, _is_number), ()),
    "tell": (Call.emit, (_is_text, _is_bytes), ()),
    "schedule": (_schedule, (*_SCHEDULE_RULES, _is_flag), (None, None, None, [], True)),
    "watch": (_watch, (_is_bytes, _are_watched, *_SCHEDULE_RULES[2:]), (None, None, None, [])),
    "extend": (_extend, (_is_bytes, _is_number), ()),
    "cancel": (_cancel, (_is_bytes,), ()),
    "send": (Call.send, (_is_bytes, _is_text, _is_bytes, _is_number), ()),
    "hand": (_hand, (_is_bytes, _is_bytes, _is_number), ()),
    "compute": (Call.compute, (_is_number,), ()),
    "fail": (_fail, (_is_text,), ()),
}
"""Steps by name: the function, the rules of its fields and the defaults of its last fields."""


def _run_script(call: Call, steps: list[tuple[str, list[Any]]], patience: int) -> int:
    """Run the steps; patience 1 reports refused steps and goes on, patience 2 goes on after any error.

    Return the sum of the numbers that were read.
    """
    total = 0
    for name, fields in steps:
        try:
            found = STEPS[name][0](call, *fields)
            total += found if name == "read" else 0
        except (RevertedError, OutOfGasError, CrashedError) as error:
            if patience == 0 or (patience == 1 and not isinstance(error, RevertedError)):
                raise
            if patience == 1:
                call.emit("refused", str(error).encode())
    return total


def _read_script(payload: bytes) -> tuple[list[tuple[str, list[Any]]], int]:
    """Return the steps of a script by name with all their fields, and its patience."""
    rules = (lambda field: isinstance(field, list), lambda field: type(field) is int and 0 <= field <= 2)
    script, patience = read_order(payload, rules, (0,), "Script")
    if len(script) > LONGEST_SCRIPT:
        raise RevertedError("not a Script")
    steps = []
    for step in script:
        if not isinstance(step, list) or not step or not isinstance(step[0], str) or step[0] not in STEPS:
            raise RevertedError("not a Script")
        _, field_rules, defaults = STEPS[step[0]]
        fields = read_order(msgspec.msgpack.encode(step[1:]), field_rules, defaults, "Script")
        steps.append((step[0], fields))
    return steps, patience
