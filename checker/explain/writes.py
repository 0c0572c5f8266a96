"""The transaction or timer that caused a difference, found by the block's receipts."""

from collections.abc import Sequence

from checker.explain.divergence import Divergence, first_difference
from checker.explain.executions import Outcome
from checker.explain.formatting import show_call, show_receipt
from checker.explain.origins import Origin, origin_in_input, origin_in_log, origin_of_break, origin_of_refusal
from checker.explain.reading import decode, event_of, events_of, receipt_at, record_of, timers_in
from checker.tables import ACCOUNT, BUCKET, BURNED_KEY, STORAGE, TABLE_NAMES, TIMER_COUNTS, read_amount
from scheduler import (
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerDeferred,
    TimerExpired,
    TimerFired,
    TimerScheduled,
    TransactionCancelled,
    TransactionFailed,
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

_EXITS = TimerFired | TimerExpired | TimerCancelledInsufficientFunds | TimerCancelledForDelay | TransactionFailed
_LEFT = _EXITS | TimerCancelled | TimerCancelledByGovernance | TransactionCancelled
_MOVES = _LEFT | TimerScheduled


def origin_of(divergence: Divergence) -> Origin:
    """Return the origin of the divergence: the first differing receipt, else the receipt that touches the key."""
    right, wrong = divergence.right, divergence.wrong
    if len(divergence.groups) == 1:
        return origin_of_refusal(divergence)
    if right.transactions != wrong.transactions:
        return origin_in_input(divergence)
    differing = first_difference((right.receipts, wrong.receipts))
    if differing is not None and not (wrong.broken and differing[0] >= len(wrong.receipts)):
        return _origin_at(divergence, differing[0])
    return origin_of_break(divergence) if wrong.broken else _origin_of_keys(divergence)


def _origin_of_keys(divergence: Divergence) -> Origin:
    """Return the origin by the first differing key, for groups with equal receipts."""
    if not divergence.keys:
        return origin_in_log(divergence)
    key = divergence.keys[0]
    touching = _receipts_that_touch(divergence, key)
    if not touching:
        return Origin(f"no receipt: the block's own bookkeeping, {TABLE_NAMES.get(key[0], 'an unknown table')}")
    origin = _origin_at(divergence, touching[0])._replace(more=len(touching) - 1)
    if origin.timer or key[0] not in (BUCKET, TIMER_COUNTS):
        return origin
    # Timer bookkeeping belongs to the timer whose exit the receipt reports.
    timers = timers_in(events_of(receipt_at(divergence.right, touching[0])))
    return origin._replace(timer=next(iter(timers), b""))


def _origin_at(divergence: Divergence, index: int) -> Origin:
    """Return the origin of a receipt: its transaction, or the timer whose exit produced it."""
    pair = [receipt_at(outcome, index) for outcome in (divergence.right, divergence.wrong)]
    decoded = decode(pair[0]) or decode(pair[1])
    if isinstance(decoded, TransactionReceipt):
        return _origin_in_transaction(divergence, index, decoded.transaction)
    return _origin_in_timers(divergence, index)


def _origin_in_transaction(divergence: Divergence, index: int, digest: bytes) -> Origin:
    right, wrong = (receipt_at(outcome, index) for outcome in (divergence.right, divergence.wrong))
    transaction = next(iter(_transactions_of(divergence)[index : index + 1]), None)
    call = None if transaction is None else transaction.call
    # Equal receipts point at the effects of the call, and not at the timers that it scheduled.
    diverged = first_difference((events_of(right), events_of(wrong)))
    timers = timers_in([*(diverged[1] if diverged else ()), *events_of(right)]) if right != wrong else []
    return Origin(
        "a transaction" if transaction is None else show_call(transaction),
        divergence.in_each(lambda outcome: show_receipt(receipt_at(outcome, index))),
        index,
        transaction=digest,
        timer=timers[0] if timers else b"",
        actor=call.actor if isinstance(call, ExecuteActor) else b"",
        handler=call.handler if isinstance(call, ExecuteActor) else "",
    )


def _origin_in_timers(divergence: Divergence, index: int) -> Origin:
    timer_id = _timer_of_phase(divergence, index)
    exits = divergence.in_each(lambda outcome: _exit_of(outcome, timer_id))
    if len(dict.fromkeys(exits)) > 1:
        reported = tuple("no exit in this block" if each is None else show_receipt(each) for each in exits)
    else:
        reported = divergence.in_each(lambda outcome: show_receipt(_exit_from(outcome, index)))
        pair = [receipt_at(outcome, index) for outcome in (divergence.right, divergence.wrong)]
        if len(dict.fromkeys(reported)) == 1 and pair[0] != pair[1]:
            # The exits are equal: an effect of the handler differs, or a receipt without an exit.
            reported = divergence.in_each(lambda outcome: show_receipt(receipt_at(outcome, index)))
            timer_id = next(iter(timers_in(events_of(pair[0]) + events_of(pair[1]))), timer_id)
    index = _index_of_told(divergence, reported, index)
    timer = divergence.timer(timer_id) if timer_id else None
    what = f"timer {timer_id.hex()}" if timer_id else "the timer phase or the mailbox"
    if timer is not None:
        return Origin(what, reported, index, timer=timer_id, actor=timer.actor, handler=timer.handler)
    events = [event_of(receipt_at(outcome, index)) for outcome in (divergence.right, divergence.wrong)]
    actors = [getattr(event, "actor", b"") for event in events]
    return Origin(what, reported, index, timer=timer_id, actor=actors[0] or actors[1])


def _index_of_told(divergence: Divergence, reported: Sequence[str], index: int) -> int:
    """Return the index of the receipt that the sides tell of, at or behind an index."""
    receipts = divergence.right.receipts
    told = (place for place in range(index, len(receipts)) if show_receipt(receipts[place]) == reported[0])
    return next(told, index)


def _timer_of_phase(divergence: Divergence, index: int) -> bytes:
    """Return the first timer whose exit differs between the groups, else the timer that a receipt belongs to."""
    right, wrong = (_exits(outcome.receipts) for outcome in (divergence.right, divergence.wrong))
    # An aborted execution lacks later exits: their absence proves nothing.
    for exits, others in ((wrong, right), *([] if divergence.wrong.broken else [(right, wrong)])):
        for timer_id, receipt in exits.items():
            if others.get(timer_id) != receipt:
                return timer_id
    for outcome in (divergence.right, divergence.wrong):
        for receipt in outcome.receipts[index:]:
            event = event_of(receipt)
            # A handler's effects have their receipts before the receipt of the fire or the delivery.
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
    """Return the exit, deferral or delivery that a receipt of the timer phase belongs to.

    A handler's effects have their receipts before the receipt of the fire or the delivery.
    """
    rest = outcome.receipts[index:]
    exits = (receipt for receipt in rest if isinstance(event_of(receipt), _EXITS | TimerDeferred | MessageDelivered))
    return next(exits, receipt_at(outcome, index))


def _exit_of(outcome: Outcome, timer_id: bytes) -> bytes | None:
    return _exits(outcome.receipts).get(timer_id) if timer_id else None


def _receipts_that_touch(divergence: Divergence, key: bytes) -> list[int]:
    """Return the indexes of receipts whose transaction or timer touches a key, as far as receipts name it."""
    receipts = divergence.right.receipts
    timer_id, owner = divergence.timer_of_key(key), _owner_of(key, divergence.values(key))
    transactions = _transactions_of(divergence)
    due = int.from_bytes(key[1:9], "big") if key[0] == BUCKET else -1
    dues = _dues_in(divergence, receipts) if due >= 0 else {}

    def touches(index: int, receipt: bytes) -> bool:
        events = events_of(receipt)
        if timer_id:
            return timer_id in timers_in(events)
        if due >= 0:
            moved = timers_in(event for event in events if isinstance(event, _MOVES))
            return any(dues.get(each) == due for each in moved)
        return bool(owner) and owner in _addresses(divergence, receipt, transactions[index : index + 1])

    touching = [index for index, receipt in enumerate(receipts) if touches(index, receipt)]
    if due >= 0 or key[0] == TIMER_COUNTS:
        # A timer may come and leave within the block: then its exit caused the difference.
        exits = [index for index in touching if any(isinstance(event, _LEFT) for event in events_of(receipts[index]))]
        touching = exits or touching
    if key[0] == ACCOUNT:
        touching = _paid_by(divergence, touching, _units_between(divergence, key)) or touching
    if key == BURNED_KEY:
        return _receipts_that_come_to(receipts, "burned", _units_between(divergence, key))
    if not touching and key[0] == ACCOUNT:
        # The account may be the proposer's: it gets all tips, and no receipt names it.
        return _receipts_that_come_to(receipts, "tip", _units_between(divergence, key))
    return touching[-1:] if timer_id else touching


def _paid_by(divergence: Divergence, touching: Sequence[int], units: int) -> list[int]:
    """Return receipts with this total fee: one receipt, or all fires of one actor and payer.

    Without a match, return the fires of an actor and another payer whose balances both differ.
    """
    receipts = divergence.right.receipts
    fees = {index: _sum_of(receipts[index], "burned") + _sum_of(receipts[index], "tip") for index in touching}
    fires: dict[tuple[bytes, bytes], list[int]] = {}
    for index in touching:
        event = event_of(receipts[index])
        timer = divergence.timer(event.timer_id) if isinstance(event, TimerFired) else None
        if timer is not None:
            fires.setdefault((timer.actor, timer.fee_payer), []).append(index)
    single = ([index] for index in touching)
    paid = next((group for group in (*single, *fires.values()) if sum(fees[index] for index in group) == units), None)
    owners = [key[1:21] for key in divergence.keys if key[0] == ACCOUNT]
    shared = (group for pair, group in fires.items() if pair[0] != pair[1] and all(each in owners for each in pair))
    return paid or next(shared, [])


def _dues_in(divergence: Divergence, receipts: Sequence[bytes]) -> dict[bytes, int]:
    """Return the due of each timer in a block's events, with the timers that the block schedules."""
    events = [event for receipt in receipts for event in events_of(receipt)]
    found = ((timer_id, divergence.timer(timer_id)) for timer_id in timers_in(events))
    dues = {timer_id: timer.due for timer_id, timer in found if timer is not None}
    return {event.timer_id: event.due for event in events if isinstance(event, TimerScheduled)} | dues


def _receipts_that_come_to(receipts: Sequence[bytes], name: str, units: int) -> list[int]:
    """Return the receipts that explain a difference of burned units or tips.

    Candidates are a single receipt, all fires, and all transactions. Without a match, return every receipt with a fee.
    """
    amounts = {index: _sum_of(receipt, name) for index, receipt in enumerate(receipts)}
    having = [index for index, amount in amounts.items() if amount]
    fires = [index for index in having if event_of(receipts[index]) is not None]
    exact = [index for index in having if amounts[index] == units]
    for group in (exact[:1], fires, [index for index in having if index not in fires]):
        if group and sum(amounts[index] for index in group) == units:
            return group
    return having


def _units_between(divergence: Divergence, key: bytes) -> int:
    right, wrong = (
        read_amount(divergence.after(outcome, key)) or 0 for outcome in (divergence.right, divergence.wrong)
    )
    return abs(right - wrong)


def _sum_of(receipt: bytes, name: str) -> int:
    return sum(getattr(reported, name, 0) for reported in (decode(receipt), *events_of(receipt)))


def _owner_of(key: bytes, values: tuple[bytes | None, ...]) -> bytes:
    if key[:1] in {bytes((table,)) for table in (ACCOUNT, STORAGE, TIMER_COUNTS)}:
        return key[1:21]
    for record in (record_of(key, value) for value in values):
        if isinstance(record, LongStoredValue):
            return record.actor
    return b""


def _addresses(divergence: Divergence, receipt: bytes, transaction: Sequence[Transaction]) -> list[bytes]:
    """Return the addresses that a receipt's transaction or timer touches, as far as the receipt names them."""
    found = [getattr(event, name, b"") for event in events_of(receipt) for name in ("actor", "fee_payer")]
    for timer_id in timers_in(events_of(receipt)):
        timer = divergence.timer(timer_id)
        if timer is not None:
            found += [timer.actor, timer.fee_payer]
    for sent in transaction:
        found.append(address_of(sent.public_key))
        if isinstance(sent.call, ExecuteActor):
            found.append(sent.call.actor)
        elif isinstance(sent.call, Transfer):
            found.append(sent.call.to)
    return found


def _transactions_of(divergence: Divergence) -> list[Transaction]:
    """Return the block's transactions before the first malformed transaction."""
    found: list[Transaction] = []
    for encoded in divergence.block.transactions:
        try:
            found.append(decode_transaction(encoded))
        except InvalidEncodingError:
            break
    return found
