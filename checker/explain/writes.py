"""Which transaction or timer of a block made a difference, as its receipts tell."""

from collections.abc import Sequence
from itertools import zip_longest

from checker.explain.formatting import (
    decode,
    differing_keys,
    event_of,
    events_of,
    receipt_at,
    record_of,
    show_call,
    show_receipt,
    timer_of,
    timer_of_key,
    timers_in,
)
from checker.explain.origins import Origin, origin_in_input, origin_in_log, origin_of_break, origin_of_refusal
from checker.explain.sides import Outcome, Parting
from checker.tables import ACCOUNT, BUCKET, BURNED_KEY, STORAGE, read_amount
from scheduler import (
    Timer,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerDeferred,
    TimerExpired,
    TimerFired,
    TimerScheduled,
)
from validators.execution.blocks import (
    ExecuteActor,
    Transaction,
    Transfer,
    address_of,
    decode_transaction,
)
from validators.execution.errors import InvalidEncodingError
from validators.execution.receipts import MessageDelivered, TransactionReceipt
from validators.execution.schema import LongStoredValue

_EXITS = TimerFired | TimerExpired | TimerCancelledInsufficientFunds | TimerCancelledForDelay
_MOVES = _EXITS | TimerScheduled | TimerCancelled | TimerCancelledByGovernance
_TIMER_COUNTS = 0x08
_LONG_STORAGE = 0x04


def origin_of(parting: Parting) -> Origin:
    """Return what made the first difference: the first receipt that differs, else the one that touches the key."""
    right, wrong = parting.right, parting.wrong
    if len(parting.sides) == 1:
        return origin_of_refusal(parting)
    if right.transactions != wrong.transactions:
        return origin_in_input(parting)
    pairs = enumerate(zip_longest(right.receipts, wrong.receipts))
    differing = next((index for index, pair in pairs if pair[0] != pair[1]), None)
    if differing is not None and not (wrong.broken and differing >= len(wrong.receipts)):
        return _origin_at(parting, differing)
    return origin_of_break(parting) if wrong.broken else _origin_of_keys(parting)


def _origin_of_keys(parting: Parting) -> Origin:
    """Return the receipt that touches the first key that differs, where all receipts are the same."""
    keys = differing_keys(parting.right, parting.wrong, parting.before)
    if not keys:
        return origin_in_log(parting)
    touching = _receipts_that_touch(parting, keys[0])
    if not touching:
        return Origin("the block's own bookkeeping: prices, totals, epochs")
    return _origin_at(parting, touching[0])._replace(others=len(touching) - 1)


def find_timer(parting: Parting, timer_id: bytes) -> Timer | None:
    """Return the record of a timer before the block, or as a side schedules it there."""
    for values in (parting.before, *(side.outcome.changes for side in parting.sides)):
        timer = timer_of(values, timer_id)
        if timer is not None:
            return timer
    return None


def _origin_at(parting: Parting, index: int) -> Origin:
    """Return what made a receipt."""
    pair = [receipt_at(side, index) for side in (parting.right, parting.wrong)]
    decoded = decode(pair[0]) or decode(pair[1])
    told = tuple(show_receipt(receipt_at(side.outcome, index)) for side in parting.sides)
    if isinstance(decoded, TransactionReceipt):
        transaction = next(iter(_transactions_of(parting)[index : index + 1]), None)
        call = None if transaction is None else transaction.call
        # A receipt that is the same on both sides is about what its call did, and not about the timers that it made.
        parted = _parted(events_of(pair[0]), events_of(pair[1]))
        timers = timers_in([*parted, *events_of(pair[0])]) if pair[0] != pair[1] else []
        return Origin(
            "a transaction" if transaction is None else show_call(transaction),
            told,
            index,
            transaction=decoded.transaction,
            timer=timers[0] if timers else b"",
            actor=call.actor if isinstance(call, ExecuteActor) else b"",
            handler=call.handler if isinstance(call, ExecuteActor) else "",
        )
    timer_id = _timer_of_phase(parting, index)
    exits = [_exit_of(side.outcome, timer_id) for side in parting.sides]
    if len(dict.fromkeys(exits)) > 1:
        told = tuple(
            "it does not leave in this block" if receipt is None else show_receipt(receipt) for receipt in exits
        )
    elif timer_id:
        told = tuple(show_receipt(_exit_from(side.outcome, index)) for side in parting.sides)
    timer = find_timer(parting, timer_id) if timer_id else None
    what = f"timer {timer_id.hex()}" if timer_id else "the timer phase or the mailbox"
    if timer is None:
        actors = [getattr(event_of(receipt), "actor", b"") for receipt in pair]
        return Origin(what, told, index, timer=timer_id, actor=actors[0] or actors[1])
    return Origin(what, told, index, timer=timer_id, actor=timer.actor, handler=timer.handler)


def _timer_of_phase(parting: Parting, index: int) -> bytes:
    """Return the first timer whose exit is not the same on both sides, else the one that a receipt belongs to."""
    right, wrong = (_exits(side.receipts) for side in (parting.right, parting.wrong))
    # What a side that broke off has not come to tells nothing.
    for exits, others in ((wrong, right), *([] if parting.wrong.broken else [(right, wrong)])):
        for timer_id, receipt in exits.items():
            if others.get(timer_id) != receipt:
                return timer_id
    for side in (parting.right, parting.wrong):
        for receipt in side.receipts[index:]:
            event = event_of(receipt)
            # What a handler did stands before the fire or the delivery in which it ran.
            if isinstance(event, _EXITS | TimerDeferred):
                return event.timer_id
            if isinstance(event, MessageDelivered):
                break
    return b""


def _exits(receipts: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the receipt of each timer's exit in the timer phase."""
    found = ((event_of(receipt), receipt) for receipt in receipts)
    return {event.timer_id: receipt for event, receipt in found if isinstance(event, _EXITS)}


def _exit_from(outcome: Outcome, index: int) -> bytes | None:
    """Return the receipt of the exit or deferral that a receipt of the timer phase belongs to.

    What a handler did stands before the fire in which it ran.
    """
    rest = outcome.receipts[index:]
    exits = (receipt for receipt in rest if isinstance(event_of(receipt), _EXITS | TimerDeferred))
    return next(exits, receipt_at(outcome, index))


def _exit_of(outcome: Outcome, timer_id: bytes) -> bytes | None:
    return _exits(outcome.receipts).get(timer_id) if timer_id else None


def _receipts_that_touch(parting: Parting, key: bytes) -> list[int]:
    """Return the indexes of the receipts whose transaction or timer touches a key, as far as receipts tell."""
    right, wrong = parting.right, parting.wrong
    values = (parting.before.get(key), right.changes.get(key), wrong.changes.get(key))
    timer_id, owner = timer_of_key(key, values), _owner_of(key, values)
    transactions = _transactions_of(parting)
    due = int.from_bytes(key[1:9], "big") if key[0] == BUCKET else -1

    def touches(index: int, receipt: bytes) -> bool:
        events = events_of(receipt)
        if timer_id:
            return timer_id in timers_in(events)
        if due >= 0:
            moved = timers_in(event for event in events if isinstance(event, _MOVES))
            return any((timer := find_timer(parting, each)) is not None and timer.due == due for each in moved)
        return bool(owner) and owner in _addresses(parting, receipt, transactions[index : index + 1])

    touching = [index for index, receipt in enumerate(right.receipts) if touches(index, receipt)]
    if key == BURNED_KEY:
        return _receipts_that_come_to(right.receipts, "burned", _units_between(parting, key))
    if not touching and key[0] == ACCOUNT:
        # The proposer: it stands in no receipt, and all tips go to it.
        return _receipts_that_come_to(right.receipts, "tip", _units_between(parting, key))
    return touching[-1:] if timer_id else touching


def _receipts_that_come_to(receipts: Sequence[bytes], name: str, units: int) -> list[int]:
    """Return the receipts that explain a difference of burned units or tips.

    It is one of them, all fires, all transactions, or whatever has any.
    """
    amounts = {index: _sum_of(receipt, name) for index, receipt in enumerate(receipts)}
    having = [index for index, amount in amounts.items() if amount]
    fires = [index for index in having if event_of(receipts[index]) is not None]
    exact = [index for index in having if amounts[index] == units]
    for some in (exact[:1], fires, [index for index in having if index not in fires]):
        if some and sum(amounts[index] for index in some) == units:
            return some
    return having


def _units_between(parting: Parting, key: bytes) -> int:
    right, wrong = (
        read_amount(side.changes.get(key, parting.before.get(key))) or 0 for side in (parting.right, parting.wrong)
    )
    return abs(right - wrong)


def _sum_of(receipt: bytes, name: str) -> int:
    return sum(getattr(told, name, 0) for told in (decode(receipt), *events_of(receipt)))


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
