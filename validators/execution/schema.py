"""The state's schema: every table, its keys and its records. docs/state.md is its normative text.

A key is 32 bytes: the table's byte, the raw key, zeros. A raw key of more than 31 bytes is replaced by the first 31
bytes of its Keccak-256, and its record then carries the identifying fields. So every entry can be decoded by itself. A
table's raw keys have one length, or contain their own length, so that padding never makes two keys equal.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from scheduler import POLICIES, Bucket, CalendarProfile, Timer, TimerConfig, tables_of
from scheduler.aptos_records import AUTHORIZATION, REMOVAL_SLOT
from scheduler.lane_state import FIRES, RECENT_FIRES
from scheduler.tables import KEY_BYTES, StateTable
from validators.execution.errors import CorruptStateError

SHORT_STORAGE_KEY_BYTES: Final = KEY_BYTES - 22
"""An actor's storage key of at most this length stands in the state's key as it is."""


class Account(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Balance and number of sent transactions of an address. An account of zeros has no entry."""

    balance: int
    nonce: int


class ActorRecord(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The program that an actor runs, by name, and the address that owns it."""

    program: str
    owner: bytes


class StoredValue(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A value of an actor's storage under a short key."""

    value: bytes


class LongStoredValue(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A value of an actor's storage under a key that does not fit, with actor and key."""

    actor: bytes
    key: bytes
    value: bytes


class BucketEntry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The timer at one place of a bucket."""

    timer_id: bytes


class TimerCounts(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The number of an actor's live timers, and the number of timers it ever scheduled."""

    live: int
    scheduled: int


class FeeMarket(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The basefees of the next block, in units per cycle and per cell."""

    cycle_basefee: int
    cell_basefee: int


class Burned(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """Units burned since genesis."""

    total: int


class Mailbox(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The waiting messages: `head` is the sequence of the oldest, `tail` that of the next message to be sent."""

    head: int
    tail: int


class Message(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A call that was sent and paid for: run `handler(payload)` of `actor` within `cycles` cycles and as many cells.

    `sender` is the actor that sent it, `origin` the origin of the sending Frame.
    """

    sender: bytes
    actor: bytes
    handler: str
    payload: bytes
    cycles: int
    origin: bytes


class Epoch(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The number of due heights in an epoch of the epoch queue."""

    heights: int


class Overflow(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """The number of due heights beyond the epoch queue, and the root of the tree over them."""

    heights: int
    root: bytes


Table = StateTable

ACCOUNTS: Final = Table(0x01, "account", Account)
ACTORS: Final = Table(0x02, "actor", ActorRecord)
STORAGE: Final = Table(0x03, "storage", StoredValue)
LONG_STORAGE: Final = Table(0x04, "long storage", LongStoredValue)
TIMERS: Final = Table(0x05, "timer", Timer)
BUCKETS: Final = Table(0x06, "bucket", Bucket)
BUCKET_ENTRIES: Final = Table(0x07, "bucket entry", BucketEntry)
TIMER_COUNTS: Final = Table(0x08, "timer counts", TimerCounts)
FEE_MARKET: Final = Table(0x09, "fee market", FeeMarket)
BURNED: Final = Table(0x0A, "burned", Burned)
TIMER_CONFIG: Final = Table(0x0B, "timer configuration", TimerConfig)

MAILBOX: Final = Table(0x0C, "mailbox", Mailbox)
MESSAGES: Final = Table(0x0D, "message", Message)
EPOCHS: Final = Table(0x12, "epoch", Epoch)
OVERFLOW: Final = Table(0x13, "overflow", Overflow)
CALENDAR: Final = Table(0x15, "calendar profile", CalendarProfile)

_OWN_TABLES: Final[tuple[Table[Any], ...]] = (
    *(ACCOUNTS, ACTORS, STORAGE, LONG_STORAGE, TIMERS, BUCKETS, BUCKET_ENTRIES, TIMER_COUNTS, FEE_MARKET, BURNED),
    *(TIMER_CONFIG, MAILBOX, MESSAGES, EPOCHS, OVERFLOW, CALENDAR),
)


def all_tables() -> dict[int, Table[Any]]:
    """Return every table by the byte that its keys begin with, ascending: the chain's own, and the policies'."""
    own = (*_OWN_TABLES, *(table for policy in POLICIES.values() for table in tables_of(policy)))
    return {table.code: table for table in sorted(own, key=lambda table: table.code)}


@dataclass(frozen=True, slots=True)
class Entry:
    """A decoded entry: its table's name, the parts of its raw key where the key shows them, its record."""

    table: str
    identity: tuple[bytes | int, ...]
    record: object


def account_key(address: bytes) -> bytes:
    """Return the key of an address' account."""
    return b"\x01" + address + _PADDING_11


def actor_key(address: bytes) -> bytes:
    """Return the key of an actor's record."""
    return b"\x02" + address + _PADDING_11


def timer_key(timer_id: bytes) -> bytes:
    """Return the key of a timer: always hashed, an identifier has 32 bytes."""
    return TIMERS.hashed_key(timer_id)


def bucket_key(due: int) -> bytes:
    """Return the key of a height's bucket."""
    return b"\x06" + due.to_bytes(8, "big") + _PADDING_23


def bucket_entry_key(due: int, sequence: int) -> bytes:
    """Return the key of a place in a bucket."""
    return b"\x07" + due.to_bytes(8, "big") + sequence.to_bytes(8, "big") + _PADDING_15


def timer_counts_key(actor: bytes) -> bytes:
    """Return the key of an actor's timer counts."""
    return b"\x08" + actor + _PADDING_11


def message_key(sequence: int) -> bytes:
    """Return the key of a waiting message."""
    return b"\x0d" + sequence.to_bytes(8, "big") + _PADDING_23


def epoch_key(epoch: int) -> bytes:
    """Return the key of an epoch of the epoch queue."""
    return EPOCHS.key(epoch.to_bytes(8, "big"))


def storage_key(actor: bytes, key: bytes) -> bytes:
    """Return the key of a short key in an actor's storage: actor, length, key."""
    return STORAGE.key(actor + bytes((len(key),)) + key)


def long_storage_key(actor: bytes, key: bytes) -> bytes:
    """Return the key of a long key in an actor's storage."""
    return LONG_STORAGE.hashed_key(actor + key)


def decode_entry(key: bytes, value: bytes) -> Entry:
    """Decode an entry of the state for a reader.

    Raises:
        CorruptStateError: No table has such a key, or the value is not its record.
    """
    table = all_tables().get(key[0]) if len(key) == KEY_BYTES else None
    if table is None:
        raise CorruptStateError(f"no table has the key {key.hex()}")
    try:
        record = msgspec.msgpack.decode(value, type=table.record)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise CorruptStateError(f"{table.name} {key.hex()}: {error}") from None
    read_identity = _IDENTITIES.get(table.code)
    return Entry(table.name, read_identity(key) if read_identity else (), record)


def _address_identity(key: bytes) -> tuple[bytes | int, ...]:
    return (key[1:21],)


def _storage_identity(key: bytes) -> tuple[bytes | int, ...]:
    return (key[1:21], key[22 : 22 + key[21]])


def _number_identity(key: bytes) -> tuple[bytes | int, ...]:
    return (int.from_bytes(key[1:9], "big"),)


def _bucket_entry_identity(key: bytes) -> tuple[bytes | int, ...]:
    return (int.from_bytes(key[1:9], "big"), int.from_bytes(key[9:17], "big"))


# The keys of hot tables are put together by hand: Table.key takes three times as long.
_PADDING_11: Final = bytes(11)
_PADDING_15: Final = bytes(15)
_PADDING_23: Final = bytes(23)

_IDENTITIES: Final[dict[int, Callable[[bytes], tuple[bytes | int, ...]]]] = {
    ACCOUNTS.code: _address_identity,
    ACTORS.code: _address_identity,
    STORAGE.code: _storage_identity,
    BUCKETS.code: _number_identity,
    MESSAGES.code: _number_identity,
    FIRES.code: _number_identity,
    EPOCHS.code: _number_identity,
    RECENT_FIRES.code: _address_identity,
    AUTHORIZATION.code: _address_identity,
    REMOVAL_SLOT.code: _number_identity,
    BUCKET_ENTRIES.code: _bucket_entry_identity,
    TIMER_COUNTS.code: _address_identity,
}
