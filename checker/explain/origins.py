"""Where a difference was made, and what is said of one that no receipt tells of.

Such are a block that is refused, one that was given to execute otherwise, an execution that broke off, a log with other
operations, a summary with other counts.
"""

import hashlib
import re
from itertools import zip_longest
from typing import NamedTuple

from checker.explain.formatting import (
    decode,
    events_of,
    is_dead_timer,
    receipt_at,
    record_of,
    show_call,
    show_operation,
    show_receipt,
)
from checker.explain.sides import Outcome, Parting
from checker.tables import TIMER
from scheduler import Timer, TimerScheduled
from validators.execution.blocks import address_of, decode_transaction
from validators.execution.errors import InvalidEncodingError
from validators.execution.receipts import TransactionReceipt


class Origin(NamedTuple):
    """Where a difference was made.

    Attributes:
        what: The transaction, timer or phase, in words.
        told: What each side's receipts tell of it, in the order of the sides.
        receipt: Index of the receipt in the block, -1 where there is none.
        transaction: Digest of the transaction, or nothing.
        timer: Identifier of the timer, or nothing.
        actor: Address of the actor that ran, or nothing.
        account: Address of the account that it is about, where no actor ran, or nothing.
        handler: The handler that ran, or nothing.
        others: How many other receipts of the block might have made it as well.
    """

    what: str
    told: tuple[str, ...] = ()
    receipt: int = -1
    transaction: bytes = b""
    timer: bytes = b""
    actor: bytes = b""
    account: bytes = b""
    handler: str = ""
    others: int = 0


def origin_of_refusal(parting: Parting) -> Origin:
    """Return the header or the transaction that the oracle refuses and everybody executed."""
    what = f"{parting.refusal}, and it was executed"
    index = re.match(r"transaction (\d+):", parting.refusal)
    if index is None:
        return Origin(what)
    place = int(index[1])
    told = tuple(show_receipt(receipt_at(side.outcome, place)) for side in parting.sides)
    return Origin(what, told, place, transaction=hashlib.sha256(parting.block.transactions[place]).digest())


def origin_in_log(parting: Parting) -> Origin:
    """Return the first operation that differs where all values are the same."""
    logs = [side.outcome.operations for side in parting.sides]
    for index, operations in enumerate(zip_longest(*logs)):
        if len(dict.fromkeys(operations)) > 1:
            return Origin(f"operation {index} of the block in the log", tuple(map(show_operation, operations)))
    counts = [side.outcome.counts for side in parting.sides]
    others = [name for name in counts[0] if len({each.get(name) for each in counts}) > 1]
    if parting.right.root == parting.wrong.root and others:
        told = tuple(", ".join(f"{name} {each.get(name, 0):,}" for name in others) for each in counts)
        return Origin("what the block says of itself", told, timer=_first_dead(parting))
    return Origin("the state database: values and operations are the same on all sides")


def _first_dead(parting: Parting) -> bytes:
    """Return the first timer that waits in the state after the block although it is dead."""
    waiting = dict(parting.before)
    for key, value in parting.right.changes.items():
        waiting[key] = value or b""
    timers = [record_of(key, value) for key, value in waiting.items() if key[0] == TIMER and value]
    dead = [timer for timer in timers if isinstance(timer, Timer) and is_dead_timer(timer, parting.before, parting.now)]
    return min(dead, key=lambda timer: (timer.due, timer.sequence)).timer_id if dead else b""


def origin_in_input(parting: Parting) -> Origin:
    """Return the first transaction that is not the same in what the sides were given to execute."""
    lists = [side.outcome.transactions for side in parting.sides]
    index, given = next(
        (index, given) for index, given in enumerate(zip_longest(*lists)) if len(dict.fromkeys(given)) > 1
    )
    told = tuple("no transaction" if one is None else _show_transaction(one) for one in given)
    digest = hashlib.sha256(next(one for one in given if one is not None)).digest()
    return Origin(f"transaction {index} of the block", told, transaction=digest)


def _show_transaction(encoded: bytes) -> str:
    try:
        call = show_call(decode_transaction(encoded))
    except InvalidEncodingError:
        call = "no transaction"
    return f"{hashlib.sha256(encoded).hexdigest()} ({call})"


def origin_of_break(parting: Parting) -> Origin:
    """Return the transaction at which an execution broke off, or what it should have come to next."""
    right, wrong = parting.right, parting.wrong
    refused = re.match(r"transaction (\d+):", wrong.broken)
    if refused is None:
        place = len(wrong.receipts) if len(wrong.receipts) < len(right.receipts) else -1
        return Origin("the execution comes to no end", _told_of_break(parting, place), place, timer=_missing(parting))
    encoded = parting.block.transactions[int(refused[1])]
    digest = hashlib.sha256(encoded).digest()
    receipts = map(decode, right.receipts)
    made = [
        index
        for index, each in enumerate(receipts)
        if isinstance(each, TransactionReceipt) and each.transaction == digest
    ]
    place = made[0] if made else -1
    told = _told_of_break(parting, place)
    transaction = decode_transaction(encoded)
    # What it is refused for stands in the sender's account: nonce and funds.
    account = address_of(transaction.public_key)
    return Origin(show_call(transaction), told, place, transaction=digest, account=account)


def _told_of_break(parting: Parting, place: int) -> tuple[str, ...]:
    def told_by(outcome: Outcome) -> str:
        if outcome.broken:
            return f"breaks off: {outcome.broken}"
        receipt = receipt_at(outcome, place) if place >= 0 else None
        return "comes to its end" if receipt is None else show_receipt(receipt)

    return tuple(told_by(side.outcome) for side in parting.sides)


def _missing(parting: Parting) -> bytes:
    """Return the timer that an execution looked for where none lies, by its place in the waiting line."""
    place = re.search(r"no timer lies at (\d+), (\d+)", parting.wrong.broken)
    events = (event for past in reversed(parting.past) for receipt in past.receipts for event in events_of(receipt))
    for event in events if place else ():
        if (
            isinstance(event, TimerScheduled)
            and place
            and (event.due, event.sequence) == (int(place[1]), int(place[2]))
        ):
            return event.timer_id
    return b""
