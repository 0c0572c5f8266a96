"""Which transaction or timer of a block made a difference, as its receipts tell."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from checker.explain.sides import Parting
from checker.explain.words import (
    decode,
    differing_keys,
    events_of,
    record_of,
    show_call,
    show_receipt,
    timer_of,
    timer_of_key,
    timers_in,
)
from checker.tables import ACCOUNT, STORAGE
from scheduler import Timer
from validators.execution.blocks import (
    ExecuteActor,
    Transaction,
    Transfer,
    address_of,
    decode_transaction,
)
from validators.execution.errors import InvalidEncodingError
from validators.execution.receipts import TransactionReceipt
from validators.execution.schema import LongStoredValue

END_OF_BLOCK = "the end of the block: basefees and burned total"
"""What writes the keys that belong to nobody."""

_TIMER_COUNTS = 0x08
_LONG_STORAGE = 0x04


class Origin(NamedTuple):
    """Where a difference was made.

    Attributes:
        what: The transaction, timer or phase, in words.
        receipt: Index of its receipt in the block, -1 where it has none.
        transaction: Digest of the transaction, or nothing.
        timer: Identifier of the timer, or nothing.
        actor: Address of the actor that ran, or nothing.
        handler: The handler that ran, or nothing.
        others: How many other receipts of the block might have made it as well.
    """

    what: str
    receipt: int = -1
    transaction: bytes = b""
    timer: bytes = b""
    actor: bytes = b""
    handler: str = ""
    others: int = 0


def origin_of(parting: Parting) -> Origin:
    """Return what made the first difference: the first receipt that differs, else the one that touches the key."""
    right, wrong = parting.right, parting.wrong
    for index, pair in enumerate(zip_longest(right.receipts, wrong.receipts)):
        if pair[0] != pair[1]:
            return _origin_at(parting, index, pair)
    keys = differing_keys(right, wrong)
    if not keys:
        return Origin("the state database: the block's writes are the same on all sides")
    key = keys[0]
    values = (parting.before.get(key), right.changes.get(key), wrong.changes.get(key))
    timer_id = timer_of_key(key, values)
    owner = _owner_of(key, values)
    if not timer_id and not owner:
        return Origin(END_OF_BLOCK)
    transactions = _transactions_of(parting)
    touching = [
        index
        for index, receipt in enumerate(right.receipts)
        if (timer_id and timer_id in timers_in(events_of(receipt)))
        or (owner and owner in _addresses(parting, receipt, transactions[index : index + 1]))
    ]
    if not touching:
        return Origin("no receipt of the block tells of it", timer=timer_id, actor=owner)
    index = touching[-1] if timer_id else touching[0]
    receipt = right.receipts[index]
    return _origin_at(parting, index, (receipt, receipt))._replace(others=len(touching) - 1)


def find_timer(parting: Parting, timer_id: bytes) -> Timer | None:
    """Return the record of a timer before the block, or as a side schedules it there."""
    for values in (parting.before, *(side.outcome.changes for side in parting.sides)):
        timer = timer_of(values, timer_id)
        if timer is not None:
            return timer
    return None


def _origin_at(parting: Parting, index: int, pair: tuple[bytes | None, bytes | None]) -> Origin:
    decoded = decode(pair[0]) or decode(pair[1])
    if isinstance(decoded, TransactionReceipt):
        transaction = next(iter(_transactions_of(parting)[index : index + 1]), None)
        call = None if transaction is None else transaction.call
        timers = timers_in([*_parted(events_of(pair[0]), events_of(pair[1])), *events_of(pair[0])])
        return Origin(
            "a transaction" if transaction is None else show_call(transaction),
            index,
            transaction=decoded.transaction,
            timer=timers[0] if timers else b"",
            actor=call.actor if isinstance(call, ExecuteActor) else b"",
            handler=call.handler if isinstance(call, ExecuteActor) else "",
        )
    timers = timers_in([*events_of(pair[0]), *events_of(pair[1])])
    timer = find_timer(parting, timers[0]) if timers else None
    return Origin(
        show_receipt(pair[0] if decode(pair[0]) is not None else pair[1]),
        index,
        timer=timers[0] if timers else b"",
        actor=timer.actor if timer is not None else b"",
        handler=timer.handler if timer is not None else "",
    )


def _parted(right: list[object], wrong: list[object]) -> list[object]:
    """Return the first two events that differ."""
    pairs = ([one, other] for one, other in zip_longest(right, wrong) if one != other)
    return next(pairs, [])


def _owner_of(key: bytes, values: tuple[bytes | None, ...]) -> bytes:
    if key[:1] in {bytes((table,)) for table in (ACCOUNT, STORAGE, _TIMER_COUNTS)}:
        return key[1:21]
    for record in (record_of(key, value) for value in values):
        if isinstance(record, LongStoredValue):
            return record.actor
    return b""


def _addresses(parting: Parting, receipt: bytes, transaction: Sequence[Transaction]) -> list[bytes]:
    """Return the addresses that a receipt's transaction or timer touches, as far as the receipt tells."""
    found = [getattr(event, name, b"") for event in events_of(receipt) for name in ("actor", "fee_payer")]
    for timer_id in timers_in(events_of(receipt)):
        timer = find_timer(parting, timer_id)
        if timer is not None:
            found += [timer.actor, timer.fee_payer]
    for sent in transaction:
        found.append(address_of(sent.public_key))
        if isinstance(sent.call, ExecuteActor):
            found.append(sent.call.actor)
        elif isinstance(sent.call, Transfer):
            found.append(sent.call.to)
    return found


def _transactions_of(parting: Parting) -> list[Transaction]:
    """Return the block's transactions, up to the first that is none."""
    found: list[Transaction] = []
    for encoded in parting.block.transactions:
        try:
            found.append(decode_transaction(encoded))
        except InvalidEncodingError:
            break
    return found
