"""Receipts: a block's outcome, to which its header commits, one record per transaction and per later event."""

from collections.abc import Iterable
from typing import Final, TypeAlias, cast

import msgspec

from scheduler import (
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerEvent,
    TransactionCancelled,
    TransactionFailed,
)
from scheduler.events import FailureCode
from validators.actors import Emitted, MessageSent
from validators.execution.errors import InvalidEncodingError


class MessageDelivered(msgspec.Struct, frozen=True, array_like=True, tag=34):
    """The mailbox called an actor: the message is gone, even if the call failed.

    Unless it is `ok`, the call's writes are discarded; `used_cycles` and `used_cells` were paid for when it was sent.
    """

    sequence: int
    actor: bytes
    ok: bool
    used_cycles: int
    used_cells: int


ChainEvent: TypeAlias = TimerEvent | Emitted | MessageSent | MessageDelivered
"""Every event that a block can hold."""


class TransactionReceipt(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=0):
    """The outcome of a transaction.

    `status` is a Status, `error` its reason; `cycles` and `cells` were paid for, `burned` and `tip` are in units.
    """

    transaction: bytes
    status: int
    error: str
    cycles: int
    cells: int
    burned: int
    tip: int
    events: tuple[ChainEvent, ...]


class TimerReceipt(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=1):
    """One event of the timer phase or of the mailbox."""

    event: ChainEvent


Receipt: TypeAlias = TransactionReceipt | TimerReceipt
"""Either kind of receipt."""


def as_chain_events(events: Iterable[msgspec.Struct]) -> tuple[ChainEvent, ...]:
    """Return events under their type here: the scheduler passes a program's events through without knowing them."""
    return cast("tuple[ChainEvent, ...]", tuple(events))


def encode_receipt(receipt: Receipt) -> bytes:
    """Return the one encoding of a receipt."""
    return msgspec.msgpack.encode(receipt)


def is_of_transaction(encoded: bytes) -> bool:
    """Return whether an encoded receipt is a transaction's, without decoding it: its tag is the second byte."""
    return encoded[1] == 0


def decode_receipt(encoded: bytes) -> Receipt:
    """Decode a receipt.

    Raises:
        InvalidEncodingError: The bytes are malformed.
    """
    try:
        return cast("Receipt", msgspec.msgpack.decode(encoded, type=Receipt))
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidEncodingError(f"receipt of {len(encoded)} bytes: {error}") from None


_CANCELLATIONS: Final = (TimerCancelled, TimerCancelledForDelay, TransactionCancelled)


def is_cancellation(event: msgspec.Struct) -> bool:
    """Return whether an event says that a live timer was cancelled."""
    is_governance = isinstance(event, TimerCancelledByGovernance) and event.was_live
    if isinstance(event, TransactionFailed):
        return event.code is FailureCode.SHUTDOWN
    return is_governance or isinstance(event, _CANCELLATIONS)
