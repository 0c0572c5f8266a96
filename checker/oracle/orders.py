"""Orders, the payloads of the built-in programs, and the checks of their senders (docs/programs.md, conventions)."""

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
"""Returns whether a field may have a value."""


def within(least: int, greatest: int = MAX_INTEGER) -> FieldRule:
    """Return the rule of a field that is an integer within bounds."""
    return lambda field: type(field) is int and least <= field <= greatest


def read_order(payload: bytes, rules: Sequence[FieldRule], defaults: Sequence[object], name: str) -> list[Any]:
    """Return an order's fields; the last fields may be left out and have defaults."""
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
    """Require that the sender is the actor's owner."""
    if call.sender != call.owner:
        raise RevertedError("not the owner")


def require_timer(call: Call) -> None:
    """Require that the sender is the actor itself, as in a fire of a timer."""
    if call.sender != call.actor:
        raise RevertedError("not a timer of this actor")


def require_empty(payload: bytes) -> None:
    """Require an empty payload, for a handler that takes none."""
    if payload:
        raise RevertedError("payload where none belongs")


def get_number(call: Call, key: bytes) -> int:
    """Return a number from the actor's storage, 0 without an entry."""
    return int.from_bytes(call.get(key) or b"", "big")


def put_number(call: Call, key: bytes, number: int) -> None:
    """Put a number into the actor's storage."""
    call.put(key, be8(number))


def schedule(call: Call, due: int, payload: bytes, **stated: Any) -> bytes:  # noqa: ANN401 - the call's own arguments
    """Schedule as the built-in programs do: with the policy's default agent if no agent is named."""
    if stated.get("gba") is None:
        stated["gba"] = call.present.admission.default_agent
    return call.schedule(due, payload, **stated)


def cancel_if_there(call: Call, timer_id: bytes) -> None:
    """Cancel a timer; a timer that has left, or is firing now, is skipped."""
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
"""Fields of an order about its timer's fees: each may be nil, and the last fields may be left out."""


def is_terms(field: object) -> bool:
    """Return whether a field holds valid terms."""
    if not isinstance(field, list) or len(field) > len(TERMS):
        return False
    return all(term is None or rule(term) for term, (_, rule) in zip(field, TERMS, strict=False))


def read_terms(terms: list[Any]) -> dict[str, Any]:
    """Return terms under the names of the call's parameters."""
    return {name: term for term, (name, _) in zip(terms, TERMS, strict=False)}
