"""The order of a block's steps on both sides of a divergence, side by side."""

from itertools import zip_longest
from typing import Final

from checker.explain.divergence import Divergence, first_difference
from checker.explain.executions import Outcome
from checker.explain.explanation import OrderRow
from checker.explain.formatting import show_operation
from checker.explain.reading import decode, event_of
from validators.execution.receipts import TransactionReceipt

BEFORE: Final = 1
AFTER: Final = 7
"""Steps shown before the first differing step, and steps shown from it on."""

_NOTHING: Final = "nothing more"
_VERBS: Final = {
    "TimerFired": "fire",
    "TimerExpired": "expiry",
    "TimerDeferred": "deferral",
    "TimerCancelledInsufficientFunds": "insolvency",
    "TimerCancelledForDelay": "cancellation",
}


def orders_of(divergence: Divergence) -> list[OrderRow]:
    """Return the steps of the right and the wrong outcome around the first differing step.

    The steps are the receipts, or, for equal receipts, the operations of the log.
    """
    outcomes = divergence.right, divergence.wrong
    is_of_receipts = divergence.right.receipts != divergence.wrong.receipts
    sides = [_receipts_in(each) if is_of_receipts else list(map(show_operation, each.operations)) for each in outcomes]
    found = first_difference(sides)
    if found is None:
        return []
    first = max(found[0] - BEFORE, 0)
    rows = list(enumerate(zip_longest(*sides, fillvalue=_NOTHING)))[first : found[0] + AFTER]
    return [OrderRow(place=place, values=list(values)) for place, values in rows]


def _receipts_in(outcome: Outcome) -> list[str]:
    return [_name_receipt(receipt) for receipt in outcome.receipts]


def _name_receipt(receipt: bytes) -> str:
    decoded = decode(receipt)
    if isinstance(decoded, TransactionReceipt):
        return f"transaction {decoded.transaction.hex()}"
    event = event_of(receipt)
    if event is None:
        return "a malformed receipt"
    name = type(event).__name__
    timer_id = getattr(event, "timer_id", None)
    if timer_id is not None:
        return f"{_VERBS.get(name, name)} of timer {timer_id.hex()}"
    return name
