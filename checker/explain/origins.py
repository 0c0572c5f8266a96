"""Origins of a divergence, and the functions for those that no receipt shows.

These are a refused block, one executed with other transactions, an execution that broke off, a log with other
operations, a summary with other counts.
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
"""The end of an origin that the oracle refuses."""


class Origin(NamedTuple):
    """The place where a difference was made.

    Attributes:
        what: The transaction, timer or phase, in words.
        reported: The receipts of each group about it, in words, in the order of the groups.
        receipt: Index of the receipt in the block, -1 without one.
        transaction: Digest of the transaction, or nothing.
        timer: Identifier of the timer, or nothing.
        actor: Address of the actor that ran, or nothing.
        account: Address of the account concerned where no actor ran, or nothing.
        handler: The handler that ran, or nothing.
        others: The number of other receipts of the block that might have made it as well.
    """

    what: str
    reported: tuple[str, ...] = ()
    receipt: int = -1
    transaction: bytes = b""
    timer: bytes = b""
    actor: bytes = b""
    account: bytes = b""
    handler: str = ""
    others: int = 0


def origin_of_refusal(divergence: Divergence) -> Origin:
    """Return the header or the transaction that the oracle refuses and every validator executed."""
    what = f"{divergence.refusal}{EXECUTED_ALL_THE_SAME}"
    index = re.match(r"transaction (\d+):", divergence.refusal)
    if index is None:
        return Origin(what)
    place = int(index[1])
    reported = divergence.in_each(lambda outcome: show_receipt(receipt_at(outcome, place)))
    return Origin(what, reported, place, transaction=hashlib.sha256(divergence.block.transactions[place]).digest())


def origin_in_log(divergence: Divergence) -> Origin:
    """Return the first operation that differs where all values are the same."""
    found = first_difference(divergence.in_each(lambda outcome: outcome.operations))
    if found is not None:
        return Origin(f"operation {found[0]} of the block in the log", tuple(map(show_operation, found[1])))
    counts = divergence.in_each(lambda outcome: outcome.counts)
    others = [name for name in counts[0] if len({each.get(name) for each in counts}) > 1]
    if divergence.right.root == divergence.wrong.root and others:
        reported = tuple(", ".join(f"{name} {each.get(name, 0):,}" for name in others) for each in counts)
        return Origin("what the block says of itself", reported, timer=_first_dead(divergence))
    ledgers = compare_phases(divergence.right.phases, divergence.wrong.phases)
    if ledgers is not None:
        return Origin(_name_phases(divergence), ledgers)
    return Origin("the state database: values and operations are the same on all sides")


def _name_phases(divergence: Divergence) -> str:
    """Return the phase that the wrong executions leave out, if they do, in words."""
    gone_through = [name for name, _ in divergence.wrong.phases]
    missing = [name for name, _ in divergence.right.phases if name not in gone_through]
    return f"the phase {missing[0]} was left out" if missing else "the ledger of the block's phases"


def _first_dead(divergence: Divergence) -> bytes:
    """Return the first timer that still waits in the state after the block although it is dead."""
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
    """Return the first transaction in which the groups' lists differ."""
    found = first_difference(divergence.in_each(lambda outcome: outcome.transactions))
    assert found is not None, "the groups were given other transactions"
    index, given = found
    reported = tuple("no transaction" if one is None else _show_transaction(one) for one in given)
    digest = hashlib.sha256(next(one for one in given if one is not None)).digest()
    return Origin(f"transaction {index} of the block", reported, transaction=digest)


def _show_transaction(encoded: bytes) -> str:
    try:
        call = show_call(decode_transaction(encoded))
    except InvalidEncodingError:
        call = "no transaction"
    return f"{hashlib.sha256(encoded).hexdigest()} ({call})"


def origin_of_break(divergence: Divergence) -> Origin:
    """Return the transaction at which an execution broke off, or the receipt that it should have reached next."""
    right, wrong = divergence.right, divergence.wrong
    refused = re.match(r"transaction (\d+):", wrong.broken)
    if refused is None:
        place = len(wrong.receipts) if len(wrong.receipts) < len(right.receipts) else -1
        return Origin(
            "the execution comes to no end", _reported_of_break(divergence, place), place, timer=_missing(divergence)
        )
    encoded = divergence.block.transactions[int(refused[1])]
    digest = hashlib.sha256(encoded).digest()
    receipts = enumerate(map(decode, right.receipts))
    made = (at for at, each in receipts if isinstance(each, TransactionReceipt) and each.transaction == digest)
    place = next(made, -1)
    reported = _reported_of_break(divergence, place)
    transaction = decode_transaction(encoded)
    # The reason for the refusal is in the sender's account: nonce and funds.
    account = address_of(transaction.public_key)
    return Origin(show_call(transaction), reported, place, transaction=digest, account=account)


def _reported_of_break(divergence: Divergence, place: int) -> tuple[str, ...]:
    def told_by(outcome: Outcome) -> str:
        if outcome.broken:
            return f"breaks off: {outcome.broken}"
        receipt = receipt_at(outcome, place) if place >= 0 else None
        return "comes to its end" if receipt is None else show_receipt(receipt)

    return divergence.in_each(told_by)


def _missing(divergence: Divergence) -> bytes:
    """Return the timer that an execution looked for and did not find, by its place in the waiting order."""
    place = re.search(r"no timer lies at (\d+), (\d+)", divergence.wrong.broken)
    if place is None:
        return b""
    due, sequence = map(int, place.groups())
    events = (event for past in reversed(divergence.past) for receipt in past.receipts for event in events_of(receipt))
    scheduled = (event for event in events if isinstance(event, TimerScheduled))
    return next((event.timer_id for event in scheduled if (event.due, event.sequence) == (due, sequence)), b"")
