"""Orders: the payload of a call to a built-in program, and its decoding.

Payloads from transactions are hostile: an order is decoded strictly, and anything else reverts.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Final, TypedDict, TypeVar

import msgspec

from scheduler import MAX_U63
from validators.actors.calls import Actor
from validators.actors.host import ADDRESS_BYTES, Revert

INTERVAL_MAX: Final = 1_000_000_000
"""The longest interval that a service may be told, in the chain's timebase."""

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_U63)]
"""A whole number of 63 bits."""

Positive = Annotated[int, msgspec.Meta(ge=1, le=MAX_U63)]
"""A whole number of 63 bits above zero."""

Interval = Annotated[int, msgspec.Meta(ge=1, le=INTERVAL_MAX)]
"""The time between two calls of a service."""

Address = Annotated[bytes, msgspec.Meta(min_length=ADDRESS_BYTES, max_length=ADDRESS_BYTES)]
"""The address of an account or an actor."""


class FeeTerms(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A timer's bid for the timer lane, in units per cycle, as `Host.schedule_timer` takes it."""

    max_fee_per_cycle: Count | None = None
    max_priority_fee_per_cycle: Count | None = None
    priority_tier_hint: Annotated[str, msgspec.Meta(max_length=16)] | None = None
    gba: Address | None = None
    bid: Count | None = None


NO_TERMS: Final = FeeTerms()
"""Leaves all terms to the protocol."""


class Order(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The payload of a call, as an array of its fields."""

    traced_name: ClassVar[str]
    """The order's name in receipts, which renaming the class leaves alone."""


SomeOrder = TypeVar("SomeOrder", bound=Order)


def decode_order(payload: bytes, kind: type[SomeOrder]) -> SomeOrder:
    """Decode the order of a call: a msgpack array in the order of the fields.

    Raises:
        Revert: The payload is anything else.
    """
    try:
        return msgspec.msgpack.decode(payload, type=kind)
    except (msgspec.MsgspecError, UnicodeError):
        raise Revert(f"not a {kind.traced_name}") from None


def require_owner(program: Actor) -> None:
    """Check that the owner of an actor calls.

    Raises:
        Revert: Another account calls.
    """
    if program.host.sender != program.host.owner:
        raise Revert("not the owner")


def require_empty(payload: bytes) -> None:
    """Check that a handler that takes no payload gets none.

    Raises:
        Revert: There is a payload.
    """
    if payload:
        raise Revert("payload where none belongs")


def require_own_timer(program: Actor) -> None:
    """Check that a timer of the actor calls, and no transaction.

    Raises:
        Revert: A transaction calls.
    """
    if program.host.sender != program.host.actor:
        raise Revert("not a timer of this actor")


def get_count(program: Actor, key: bytes) -> int:
    """Return a number of the actor's storage; 0 where there is none."""
    return int.from_bytes(program.host.get(key) or b"", "big")


def put_count(program: Actor, key: bytes, count: int) -> None:
    """Store a number in eight bytes."""
    program.host.put(key, count.to_bytes(8, "big"))


def schedule_on_terms(
    program: Actor,
    due: int,
    payload: bytes,
    terms: FeeTerms = NO_TERMS,
    *,
    fee_payer: bytes | None = None,
    gas_limit: int | None = None,
    expires_at: int | None = None,
    pass_signer: bool = True,
) -> bytes:
    """Schedule a call of the program's actor on the terms of an order; return what the host returns.

    Where timers have to name an agent and the terms name none, the chain's own agent bids.
    """
    fees = terms.max_fee_per_cycle, terms.max_priority_fee_per_cycle
    about = due, payload, fee_payer, gas_limit, expires_at
    return program.host.schedule_timer(*about, *fees, **_others(program, terms), pass_signer=pass_signer)


def watch_on_terms(
    program: Actor,
    watched: Sequence[tuple[bytes, bytes | None]],
    payload: bytes,
    terms: FeeTerms = NO_TERMS,
    *,
    fee_payer: bytes | None = None,
    gas_limit: int | None = None,
    expires_at: int | None = None,
) -> bytes:
    """Schedule a call of the program's actor for a change of its watched values, on the terms of an order."""
    return program.host.watch_timer(
        watched,
        payload,
        fee_payer=fee_payer,
        gas_limit=gas_limit,
        expires_at=expires_at,
        max_fee_per_cycle=terms.max_fee_per_cycle,
        max_priority_fee_per_cycle=terms.max_priority_fee_per_cycle,
        **_others(program, terms),
    )


def _others(program: Actor, terms: FeeTerms) -> "_Others":
    agent = program.host.default_agent if terms.gba is None else terms.gba
    return {"priority_tier_hint": terms.priority_tier_hint, "gba": agent, "bid": terms.bid}


class _Others(TypedDict):
    priority_tier_hint: str | None
    gba: bytes | None
    bid: int | None
