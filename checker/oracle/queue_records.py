"""Configuration, tables, keys and hashes of the policy `aptos` (docs/state.md, "Scheduled transactions")."""

from collections.abc import Sequence
from hashlib import sha3_256
from typing import Any, Final, NamedTuple

from checker.oracle.contents import OwnTable, Timer, hashed_key, plain_key
from checker.oracle.parameters import FieldRule, hold, one_of, whole
from checker.oracle.records import be8, varint

DEPOSITS: Final = bytes(19) + b"\x0b"
"""The account that holds the deposits of queued entries."""

ACTIVE, PAUSED, SHUTTING_DOWN, SHUT_DOWN = 0, 1, 2, 3
"""Statuses of the service."""

HIGHEST_U64: Final = 2**64 - 1


class QueueConfig(NamedTuple):
    """The queue configuration, field by field."""

    profile: str = "aip"
    position: str = "price"
    charge: str = "second_price"
    expiry: str = "own_limit"
    time_unit_ms: int = 1
    ready_limit: int = 100
    expiry_ms: int = 10_000
    expire_limit: int = 200
    cancel_lead_ms: int = 0
    authorization: str = "none"
    token_reschedules: bool = True
    token_lifetime_ms: int = 0
    min_gas: int = 100
    min_price: int = 100
    base_gas: int = 0
    max_size_bytes: int = 1_048_576
    shutdown_batch: int = 200
    removal_slots: int = 100
    counts_ids: bool = True
    ready_order: str = "key"
    expiry_by: str = "time"
    expiry_blocks: int = 100


class Token(NamedTuple):
    """The authorization that an entry carries, field by field."""

    allow_rescheduling: bool
    expiration_ms: int
    authorization_num: int


class QueueEntry(NamedTuple):
    """An entry of the queue, besides the timer's record."""

    expiry_delta_ms: int
    token: Token | None
    pass_signer: bool


def _is_bool(field: object) -> bool:
    return isinstance(field, bool)


_RULES: Final[Sequence[FieldRule]] = (
    *(one_of("aip", "early", "latest"), one_of("price", "before"), one_of("second_price", "maximum")),
    *(one_of("own_limit", "counted", "at_run"), whole(1), whole(1), whole(), whole(1), whole()),
    *(one_of("none", "token"), _is_bool, whole(), whole(), whole(1), whole(), whole(1), whole(1)),
    *(whole(1, 1_024), _is_bool, one_of("key", "price"), one_of("time", "blocks"), whole()),
)


def queue_config_of(fields: Sequence[Any]) -> QueueConfig | None:
    """Return the configuration of these fields, or None if a field breaks its rule."""
    if not hold(_RULES, fields):
        return None
    config = QueueConfig(*fields)
    is_possible = config.expiry != "at_run" or config.expiry_by == "time"
    return config if is_possible and config.min_gas >= config.base_gas else None


def queue_key_of(name: str) -> str:
    """Return the key by which governance knows a field."""
    return f"system:aptos:{name}"


CONFIG: Final = OwnTable(lambda _: plain_key(0x2C, b""), lambda _, row: list(row))
ENTRIES: Final = OwnTable(lambda key: hashed_key(0x2D, key), lambda key, row: [key, *row])
SLOTS: Final = OwnTable(lambda slot: plain_key(0x2E, be8(slot)), lambda _, keys: [list(keys)])
STATUS: Final = OwnTable(lambda _: plain_key(0x2F, b""), lambda _, status: [status] if status else None)
NUMBERS: Final = OwnTable(lambda actor: plain_key(0x30, actor), lambda _, number: [number])


def le8(number: int) -> bytes:
    """Return eight bytes, little-endian, as BCS has a u64."""
    return number.to_bytes(8, "little")


def _string(data: bytes) -> bytes:
    return varint(len(data)) + data


def _address(actor: bytes) -> bytes:
    return actor.rjust(32, b"\0")


def price_of(timer: Timer) -> int:
    """Return the greatest gas unit price of an entry."""
    assert timer.quote is not None, "every entry of the queue states its price"
    assert timer.quote.max_fee_per_cycle is not None, "every entry of the queue states its price"
    return timer.quote.max_fee_per_cycle


def deposit_of(timer: Timer) -> int:
    """Return the deposit of an entry."""
    return timer.gas_limit * price_of(timer)


def gas_priority(price: int) -> int:
    """Return the part of a key that is lower for a higher price."""
    return HIGHEST_U64 - price


def number_of_id(txn_id: bytes) -> int:
    """Return the identifier as the number that decides between equal keys."""
    return int.from_bytes(txn_id, "little")


def key_of(time_ms: int, price: int, txn_id: bytes) -> bytes:
    """Return the 48 bytes of a key."""
    return be8(time_ms) + be8(gas_priority(price)) + txn_id


def slot_of(txn_id: bytes, removal_slots: int) -> int:
    """Return the removal slot of an entry."""
    return number_of_id(txn_id[:8]) % removal_slots


def bcs_of(
    timer: Timer,
    time_ms: int,
    *,
    expiry_delta_ms: int | None,
    token: Token | None,
    counter: int,
    pass_signer: bool = True,
) -> bytes:
    """Return the BCS bytes of a scheduled transaction; without its own expiry it has `pass_signer` there."""
    head = _address(timer.actor) + le8(time_ms) + le8(timer.gas_limit) + le8(price_of(timer))
    expiry = (b"\1" if pass_signer else b"\0") if expiry_delta_ms is None else le8(expiry_delta_ms)
    function = _address(timer.actor) + _string(timer.handler.encode()) + _string(timer.payload) + le8(counter)
    if token is None:
        return head + expiry + b"\0" + function
    allows = b"\1" if token.allow_rescheduling else b"\0"
    return head + expiry + b"\1" + function + allows + le8(token.expiration_ms) + le8(token.authorization_num)


def txn_id_of(bcs: bytes) -> bytes:
    """Return the identifier of a scheduled transaction: SHA3-256, which is not Keccak."""
    return sha3_256(bcs).digest()
