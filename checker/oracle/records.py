"""Bytes and records as docs/chain.md and docs/state.md lay them out: the oracle's own reader and writer.

A record is a msgpack array, kept here as a plain list and written by a plain encoder. The reader encodes each record
again and compares the bytes, because each content has a single valid encoding.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

import msgspec
from Crypto.Hash import keccak

from checker.oracle.lane_config import Calendar, calendar_of

MAX_INTEGER: Final = 2**63 - 1
"""The greatest integer of a header, a transaction and a genesis."""

MAX_BLOCK_BYTES: Final = 16 * 1024 * 1024
MAX_TRANSACTION_BYTES: Final = 2 * 1024 * 1024
MAX_HANDLER_CHARS: Final = 256
MAX_ACTION_CHARS: Final = 32
SERVICE_CALL: Final = 67

CACHED_BYTES: Final = 1_024
"""The longest data whose hash is cached: a payload may have a mebibyte."""

SIGNING_PREFIX: Final = b"stampede/transaction/1"


class MalformedError(Exception):
    """The bytes are not a valid record; the message has the reason."""


class Header(NamedTuple):
    """A block's header, field by field."""

    version: int
    height: int
    consensus_epoch: int
    view: int
    parent: bytes
    proposer: int
    slot: int
    timestamp_ms: int
    state_root: bytes
    tx_root: bytes
    receipts_root: bytes


class Transaction(NamedTuple):
    """A transaction, field by field; `call` is a plain list that begins with its kind."""

    public_key: bytes
    nonce: int
    cycles_limit: int
    cells_limit: int
    max_fee_per_cycle: int
    max_fee_per_cell: int
    priority_fee_per_cycle: int
    call: list[Any]
    signature: bytes


class TimerConfig(NamedTuple):
    """The timer configuration, field by field."""

    max_ttl_blocks: int
    max_cycles_per_fire: int
    max_cells_per_fire: int
    max_timers_per_actor: int
    gc_cycles_per_block: int
    gc_cost_per_timer: int
    lane_timer_cycles: int
    schedule_cycles: int
    extend_cycles: int
    cancel_cycles: int
    execution_lane_paused: bool
    gc_lane_paused: bool
    charges_index_cells: bool


class PolicyEntry(NamedTuple):
    """A policy, and the height from which it holds; `config` is its encoded configuration, or empty."""

    height: int
    policy: str
    config: bytes = b""


class Genesis(NamedTuple):
    """A genesis, field by field."""

    chain_id: str
    validators: list[bytes]
    timebase: str
    slot_ms: int
    timestamp_ms: int
    block_cycles: int
    block_cells: int
    mailbox_cycles: int
    timer_config: TimerConfig
    calendar: Calendar
    policies: list[PolicyEntry]
    min_basefee: int
    cycle_basefee: int
    cell_basefee: int
    accounts: list[list[Any]]
    actors: list[list[Any]]
    system_deployers: list[bytes]

    def policy_at(self, height: int) -> PolicyEntry:
        """Return the policy of a block, with the height from which it holds."""
        return [entry for entry in self.policies if entry.height <= height][-1]


_HEADER: Final = ("int", "int", "int", "int", "bin32", "int", "int", "int", "bin32", "bin32", "bin32")
_TRANSACTION: Final = ("bin32", "int", "int", "int", "int", "int", "int", "array", "bin64")
_CALLS: Final = {
    0: ("int", "bin20", "int"),
    1: ("int", "bin20", "str", "bin"),
    48: ("int", "bin32"),
    49: ("int", "bin"),
    50: ("int", "bin32", "int"),
    SERVICE_CALL: ("int", "str", "int"),
    68: ("int", "bin20"),
}
_CONFIG: Final = ("int",) * 10 + ("bool",) * 3
_GENESIS: Final = (
    *("str", "array", "str", "int", "int", "int", "int", "int", "array", "array", "array", "int", "int", "int"),
    *("array", "array", "array"),
)
_POLICY_ENTRY: Final = ("int", "str", "bin")
_GENESIS_ACCOUNT: Final = ("bin20", "int")
_GENESIS_ACTOR: Final = ("bin20", "str", "bin20", "int", "array")
_STORAGE_ITEM: Final = ("bin", "bin")


def be8(number: int) -> bytes:
    """Return eight bytes, big-endian."""
    return number.to_bytes(8, "big")


def varint(number: int) -> bytes:
    """Return a number as LEB128: seven bits a byte, the lowest first, the top bit where more follow."""
    encoded = b""
    while number > 127:
        encoded += bytes([number % 128 + 128])
        number //= 128
    return encoded + bytes([number])


def sha256(data: bytes) -> bytes:
    """Return the SHA-256 of the data."""
    return hashlib.sha256(data).digest()


def _hash(data: bytes) -> bytes:
    return keccak.new(digest_bits=256, data=data).digest()


_cached: Final = lru_cache(maxsize=1 << 14)(_hash)


def keccak256(data: bytes) -> bytes:
    """Return the Keccak-256 of the data, which is not SHA3-256; short data is cached, because keys recur."""
    return _cached(data) if len(data) <= CACHED_BYTES else _hash(data)


def address_of(public_key: bytes) -> bytes:
    """Return the address of a key: the last 20 bytes of its Keccak-256."""
    return keccak256(public_key)[-20:]


def write(fields: Iterable[object]) -> bytes:
    """Return the encoding of a record."""
    return msgspec.msgpack.encode(list(fields))


def read(encoded: bytes, what: str) -> list[Any]:
    """Return the fields of a record; raises MalformedError for bytes that are not its canonical encoding."""
    try:
        fields = msgspec.msgpack.decode(encoded)
        is_canonical = isinstance(fields, list) and write(fields) == encoded
    except (msgspec.MsgspecError, UnicodeError, RecursionError, TypeError) as error:
        raise MalformedError(f"{what} is not a record: {error}") from None
    if not is_canonical:
        raise MalformedError(f"{what} is not the canonical encoding of a record")
    return list(fields)


def read_block(encoded: bytes) -> tuple[Header, list[bytes]]:
    """Return a block's header and its encoded transactions; raises MalformedError."""
    if len(encoded) > MAX_BLOCK_BYTES:
        raise MalformedError(f"the block has {len(encoded)} bytes, at most {MAX_BLOCK_BYTES} are allowed")
    header, transactions = _checked(read(encoded, "the block"), ("array", "array"), "the block")
    for index, transaction in enumerate(transactions):
        _checked([transaction], ("bin",), f"transaction {index}")
    return Header(*_checked(header, _HEADER, "the header")), transactions


def read_transaction(encoded: bytes) -> Transaction:
    """Return a transaction; raises MalformedError."""
    if len(encoded) > MAX_TRANSACTION_BYTES:
        raise MalformedError(f"it has {len(encoded)} bytes, at most {MAX_TRANSACTION_BYTES} are allowed")
    transaction = Transaction(*_checked(read(encoded, "it"), _TRANSACTION, "it"))
    call = transaction.call
    kind = call[0] if call else None
    if type(kind) is not int or kind not in _CALLS:
        raise MalformedError(f"its call {kind!r} is none of {sorted(_CALLS)}")
    _checked(call, _CALLS[kind], "its call")
    if kind == SERVICE_CALL and len(call[1]) > MAX_ACTION_CHARS:
        raise MalformedError(f"its action has {len(call[1])} characters, at most {MAX_ACTION_CHARS} are allowed")
    if kind == 1 and len(call[2]) > MAX_HANDLER_CHARS:
        raise MalformedError(f"its handler has {len(call[2])} characters, at most {MAX_HANDLER_CHARS} are allowed")
    return transaction


def read_genesis(encoded: bytes) -> Genesis:
    """Return a genesis; raises MalformedError."""
    fields = _checked(read(encoded, "genesis"), _GENESIS, "genesis")
    genesis = Genesis(*fields)
    for account in genesis.accounts:
        _checked(account, _GENESIS_ACCOUNT, "an account of genesis")
    for actor in genesis.actors:
        _checked(actor, _GENESIS_ACTOR, "an actor of genesis")
        for item in actor[4]:
            _checked(item, _STORAGE_ITEM, "a storage item of genesis")
    for deployer in genesis.system_deployers:
        _checked([deployer], ("bin20",), "a system deployer of genesis")
    config = _checked(genesis.timer_config, _CONFIG, "the timer configuration")
    calendar = calendar_of(genesis.calendar)
    if calendar is None:
        raise MalformedError(f"no chain can run on the calendar profile {genesis.calendar!r:.80}")
    policies = _read_policies(genesis.policies)
    return genesis._replace(timer_config=TimerConfig(*config), calendar=calendar, policies=policies)


def _read_policies(fields: Sequence[object]) -> list[PolicyEntry]:
    """Return the policies of a genesis; raises MalformedError."""
    entries = [PolicyEntry(*_checked(entry, _POLICY_ENTRY, "a policy of genesis")) for entry in fields]
    heights = [entry.height for entry in entries]
    if not heights or heights[0] != 1 or any(one >= other for one, other in pairwise(heights)):
        raise MalformedError(
            f"the policies of genesis hold from heights {heights}, which neither begin at 1 nor ascend"
        )
    return entries


def read_timer_config(encoded: bytes) -> TimerConfig:
    """Return a timer configuration; raises MalformedError."""
    what = "the timer configuration"
    return TimerConfig(*_checked(read(encoded, what), _CONFIG, what))


def signing_bytes(transaction: Transaction) -> bytes:
    """Return the bytes that the sender of a transaction signs."""
    return SIGNING_PREFIX + write(transaction[:8])


def _checked(fields: object, shape: Sequence[str], what: str) -> list[Any]:
    if not isinstance(fields, list) or len(fields) != len(shape):
        raise MalformedError(f"{what} is not a record of {len(shape)} fields")
    for index, (field, kind) in enumerate(zip(fields, shape, strict=True)):
        if not _is_kind(field, kind):
            raise MalformedError(f"field {index} of {what} is {field!r:.80}, not of kind {kind}")
    return fields


def _is_kind(field: object, kind: str) -> bool:
    if kind == "int":
        return type(field) is int and 0 <= field <= MAX_INTEGER
    if kind == "bool":
        return isinstance(field, bool)
    if kind == "str":
        return isinstance(field, str)
    if kind == "array":
        return isinstance(field, list)
    # "bin" has any length, "bin32" has 32 bytes.
    return isinstance(field, bytes) and kind in ("bin", f"bin{len(field)}")
