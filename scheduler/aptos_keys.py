"""The bytes of scheduled transactions: BCS, hashes, keys and their order (F-1, F-2, Q-41; docs/state.md)."""

import hashlib
from typing import Final

from scheduler.aptos_records import Token
from scheduler.types import Timer

MAX_U64: Final = 2**64 - 1
"""The greatest integer of a Move u64."""

KEY_BYTES: Final = 48
"""Length of a ScheduleMapKey: two u64 and the hash."""

KEY_PARTS_BYTES: Final = 16
"""Length of the two u64, which the hash follows."""

_ADDRESS_PADDING: Final = bytes(12)
"""An address of this chain has 20 bytes, one of Move 32."""


def transaction_bytes(
    timer: Timer,
    *,
    slot_ms: int,
    counter: int,
    expiry_delta_ms: int | None,
    token: Token | None,
    pass_signer: bool = True,
) -> bytes:
    """Return a ScheduledTransaction in BCS; the timer's identifier is not looked at.

    Args:
        timer: The entry's body.
        slot_ms: Length of a slot.
        counter: The captured value that makes equal calls different.
        expiry_delta_ms: The entry's own expiry; None in the layout without one, which has `pass_signer`.
        token: The authorization; None for a function of variant V1.
        pass_signer: Whether the function sees its sender; no part of the layout with an expiry of its own.
    """
    sender = _ADDRESS_PADDING + timer.actor
    last = bytes((pass_signer,)) if expiry_delta_ms is None else _u64(expiry_delta_ms)
    function = sender + _string(timer.handler.encode()) + _string(timer.payload) + _u64(counter)
    authorization = b"" if token is None else token_bytes(token)
    amounts = _u64(timer.due * slot_ms) + _u64(timer.gas_limit) + _u64(price_of(timer))
    return sender + amounts + last + bytes((token is not None,)) + function + authorization


def token_bytes(token: Token) -> bytes:
    """Return a ScheduledTxnAuthToken in BCS."""
    return bytes((token.allow_rescheduling,)) + _u64(token.expiration_ms) + _u64(token.authorization_num)


def transaction_id(encoded: bytes) -> bytes:
    """Return the hash of a transaction in BCS: SHA3-256, not Keccak."""
    return hashlib.sha3_256(encoded).digest()


def price_of(timer: Timer) -> int:
    """Return the greatest gas unit price of an entry, in units per cycle."""
    assert timer.quote is not None, "an entry of the queue has a price"
    price = timer.quote.max_fee_per_cycle
    assert price is not None, "an entry of the queue has a price"
    return price


def deposit_of(timer: Timer) -> int:
    """Return the units that are held for an entry."""
    return timer.gas_limit * price_of(timer)


def gas_priority(price: int) -> int:
    """Return the part of a key that puts a higher price first."""
    return MAX_U64 - price


def map_key(scheduled_time_ms: int, price: int, txn_id: bytes) -> bytes:
    """Return a ScheduleMapKey: what inserting returns, what cancelling takes, and the name of the entry (K-37)."""
    return scheduled_time_ms.to_bytes(8, "big") + gas_priority(price).to_bytes(8, "big") + txn_id


def key_order(timer: Timer) -> tuple[int, int, int]:
    """Return what orders entries as their keys do; slots order as their times (Q-41)."""
    # The identifier as an integer, lowest byte first: comparing the bytes would give another order.
    return timer.due, gas_priority(price_of(timer)), int.from_bytes(timer.timer_id, "little")


def removal_slot(txn_id: bytes, slots: int) -> int:
    """Return the slot in which an entry's key is marked: the low 64 bits of its identifier, modulo the slots."""
    return int.from_bytes(txn_id[:8], "little") % slots


def _u64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def _string(content: bytes) -> bytes:
    """Return bytes behind their length in ULEB128."""
    length, head = len(content), bytearray()
    while length >= 0x80:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head) + content
