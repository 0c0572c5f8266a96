"""Origins of a divergence, and the functions for origins without a receipt.

Examples are a refused block, other transactions, an aborted execution, other operations in the log, and other counts in
the summary.
"""

import hashlib
import re
from typing import Final, NamedTuple

from checker.explain.divergence import Divergence, first_difference
from checker.explain.executions import Outcome
from checker.explain.formatting import show_call, show_operation, show_receipt
from checker.explain.reading import decode, events_of, is_dead_timer, receipt_at, record_of
from checker.oracle.phases import compare_phases
from checker.tables import TIMER
from scheduler import Timer, TimerScheduled
from validators.execution.blocks import address_of, decode_transaction
from validators.execution.errors import InvalidEncodingError
from validators.execution.receipts import TransactionReceipt

EXECUTED_ALL_THE_SAME: Final = ", and it was executed"
"""The end of an origin text about a block that the oracle refuses."""


class Origin(NamedTuple):
    """The transaction, timer or phase that caused a difference; a field without a value is empty.

    Attributes:
        what: The transaction, timer or phase, in words.
        reported: Each group's receipt or operation, in words, in the order of the groups.
        receipt: Index of the receipt in the block; -1 without a receipt.
        transaction: Digest of the transaction.
        timer: Identifier of the timer.
        actor: Address of the actor that ran.
        account: Address of the sender of a refused transaction.
        handler: The handler that ran.
        more: The number of further receipts of the block that may have caused the difference.
    """

    what: str
    reported: tuple[str, ...] = ()
    receipt: int = -1
    transaction: bytes = b""
    timer: bytes = b""
    actor: bytes = b""
    account: bytes = b""
    handler: str = ""
    more: int = 0


def origin_of_refusal(divergence: Divergence) -> Origin:
    """Return the header or the transaction that every validator executed and the oracle refuses."""
    what = f"{divergence.refusal}{EXECUTED_ALL_THE_SAME}"
    index = re.match(r"transaction (\d+):", divergence.refusal)
    if index is None:
        return Origin(what)
    place = int(index[1])
    reported = divergence.in_each(lambda outcome: show_receipt(receipt_at(outcome, place)))
    return Origin(what, reported, place, transaction=hashlib.sha256(divergence.block.transactions[place]).digest())


def origin_in_log(divergence: Divergence) -> Origin:
    """Return the first differing operation, count or phase, for equal values."""
    found = first_difference(divergence.in_each(lambda outcome: outcome.operations))
    if found is not None:
        return Origin(f"operation {found[0]} of the block in the log", tuple(map(show_operation, found[1])))
    counts = divergence.in_each(lambda outcome: outcome.counts)
    differing = [name for name in counts[0] if len({each.get(name) for each in counts}) > 1]
    if divergence.right.root == divergence.wrong.root and differing:
        reported = tuple(", ".join(f"{name} {each.get(name, 0):,}" for name in differing) for each in counts)
        return Origin("the counts in the block's summary", reported, timer=_first_dead(divergence))
    ledgers = compare_phases(divergence.right.phases, divergence.wrong.phases)
    if ledgers is not None:
        return Origin(_name_phases(divergence), ledgers)
    return Origin("the state database: values and operations are equal on all sides")


def _name_phases(divergence: Divergence) -> str:
    """Return the phase that the wrong execution left out, else the phases' ledger, in words."""
    gone_through = [name for name, _ in divergence.wrong.phases]
    missing = [name for name, _ in divergence.right.phases if name not in gone_through]
    return f"the phase {missing[0]} was left out" if missing else "the ledger of the block's phases"


def _first_dead(divergence: Divergence) -> bytes:
    """Return the first dead timer that still waits after the block; empty without a dead timer."""
    waiting = dict(divergence.before)
    for key, value in divergence.right.changes.items():
        waiting[key] = value or b""
    timers = [record_of(key, value) for key, value in waiting.items() if key[0] == TIMER and value]
    dead = [
        timer
        for timer in timers
        if isinstance(timer, Timer) and is_dead_timer(timer, divergence.before, divergence.now)
    ]
    return min(dead, key=lambda timer: (timer.due, timer.sequence)).timer_id if dead else b""


def origin_in_input(divergence: Divergence) -> Origin:
    """Return the first transaction that differs between the groups."""
    found = first_difference(divergence.in_each(lambda outcome: outcome.transactions))
    assert found is not None, "the groups executed the same transactions"
    index, given = found
    reported = tuple("no transaction" if encoded is None else _show_transaction(encoded) for encoded in given)
    digest = hashlib.sha256(next(encoded for encoded in given if encoded is not None)).digest()
    return Origin(f"transaction {index} of the block", reported, transaction=digest)


def _show_transaction(encoded: bytes) -> str:
    try:
        call = show_call(decode_transaction(encoded))
    except InvalidEncodingError:
        call = "no transaction"
    return f"{hashlib.sha256(encoded).hexdigest()} ({call})"


def origin_of_break(divergence: Divergence) -> Origin:
    """Return the transaction at which an execution aborted, or the first receipt that the execution lacks."""
    right, wrong = divergence.right, divergence.wrong
    refused = re.match(r"transaction (\d+):", wrong.broken)
    if refused is None:
        place = len(wrong.receipts) if len(wrong.receipts) < len(right.receipts) else -1
        return Origin("the execution aborts", _reported_of_break(divergence, place), place, timer=_missing(divergence))
    encoded = divergence.block.transactions[int(refused[1])]
    digest = hashlib.sha256(encoded).digest()
    receipts = enumerate(map(decode, right.receipts))
    made = (at for at, each in receipts if isinstance(each, TransactionReceipt) and each.transaction == digest)
    place = next(made, -1)
    reported = _reported_of_break(divergence, place)
    transaction = decode_transaction(encoded)
    # A transaction is refused for its sender's nonce or funds.
    account = address_of(transaction.public_key)
    return Origin(show_call(transaction), reported, place, transaction=digest, account=account)


def _reported_of_break(divergence: Divergence, place: int) -> tuple[str, ...]:
    def told_by(outcome: Outcome) -> str:
        if outcome.broken:
            return f"aborts: {outcome.broken}"
        receipt = receipt_at(outcome, place) if place >= 0 else None
        return "completes" if receipt is None else show_receipt(receipt)

    return divergence.in_each(told_by)


def _missing(divergence: Divergence) -> bytes:
    """Return the timer that an aborted execution did not find at its due and sequence; empty if unknown."""
    place = re.search(r"no timer lies at (\d+), (\d+)", divergence.wrong.broken)
    if place is None:
        return b""
    due, sequence = map(int, place.groups())
    events = (event for past in reversed(divergence.past) for receipt in past.receipts for event in events_of(receipt))
    scheduled = (event for event in events if isinstance(event, TimerScheduled))
    return next((event.timer_id for event in scheduled if (event.due, event.sequence) == (due, sequence)), b"")
