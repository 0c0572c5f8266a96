"""Orders, the payloads of the built-in programs, and who may give one (docs/programs.md, conventions)."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from checker.oracle.calls import ADDRESS_BYTES, Call, RevertedError
from checker.oracle.records import MAX_INTEGER, be8

LONGEST_INTERVAL = 1_000_000_000
"""The longest interval of a feed and of a bot."""

LONGEST_HINT = 16
"""The longest name of a tier in an order, in characters."""

FieldRule = Callable[[object], bool]
"""Says whether a field may have a value."""


def within(least: int, greatest: int = MAX_INTEGER) -> FieldRule:
    """Return the rule of a field that is an integer within bounds."""
    return lambda field: type(field) is int and least <= field <= greatest


def read_order(payload: bytes, rules: Sequence[FieldRule], defaults: Sequence[object], name: str) -> list[Any]:
    """Return an order's fields; the last ones may be left out and have defaults."""
    try:
        fields = msgspec.msgpack.decode(payload)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError):
        fields = None
    if not isinstance(fields, list) or not len(rules) - len(defaults) <= len(fields) <= len(rules):
        raise RevertedError(f"not a {name}")
    missing = len(rules) - len(fields)
    filled = fields + list(defaults[len(defaults) - missing :])
    if not all(rule(field) for rule, field in zip(rules, filled, strict=True)):
        raise RevertedError(f"not a {name}")
    return filled


def require_owner(call: Call) -> None:
    """Owner only."""
    if call.sender != call.owner:
        raise RevertedError("not the owner")


def require_timer(call: Call) -> None:
    """Timer only: the sender is the actor itself."""
    if call.sender != call.actor:
        raise RevertedError("not a timer of this actor")


def require_empty(payload: bytes) -> None:
    """Empty: a handler that takes no payload gets none."""
    if payload:
        raise RevertedError("payload where none belongs")


def get_number(call: Call, key: bytes) -> int:
    """Get a number of the actor's storage; none is 0."""
    return int.from_bytes(call.get(key) or b"", "big")


def put_number(call: Call, key: bytes, number: int) -> None:
    """Put a number into the actor's storage."""
    call.put(key, be8(number))


def cancel_if_there(call: Call, timer_id: bytes) -> None:
    """Cancel a timer; one that is gone, or on its way, is passed over."""
    try:
        call.cancel(timer_id)
    except RevertedError as error:
        if str(error) not in ("UnknownTimer", "AlreadyCollected"):
            raise


TERMS: tuple[tuple[str, FieldRule], ...] = (
    ("max_fee_per_cycle", within(0)),
    ("max_priority_fee_per_cycle", within(0)),
    ("priority_tier_hint", lambda field: isinstance(field, str) and len(field) <= LONGEST_HINT),
    ("gba", lambda field: isinstance(field, bytes) and len(field) == ADDRESS_BYTES),
    ("bid", within(0)),
)
"""What an order may say of a timer's fees: each may be nil, and the last ones may be left out."""


def is_terms(field: object) -> bool:
    """Say whether a field holds terms."""
    if not isinstance(field, list) or len(field) > len(TERMS):
        return False
    return all(term is None or rule(term) for term, (_, rule) in zip(field, TERMS, strict=False))


def read_terms(terms: list[Any]) -> dict[str, Any]:
    """Return terms under the names that a call has for them."""
    return {name: term for term, (name, _) in zip(terms, TERMS, strict=False)}
