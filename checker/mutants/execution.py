"""Variants of the execution of blocks: reverts, fees, limits, and what is derived from the state."""

import dataclasses
import time
from typing import Any, Final

import msgspec

from checker.mutants.mutant import OtherLedger, Swap, Variant, swap
from scheduler import Bucket, buckets
from scheduler.types import Moment
from validators import application
from validators.execution import run as block_run
from validators.execution import transactions
from validators.execution.heights import BranchHeights
from validators.execution.schema import TimerCounts, timer_counts_key
from validators.execution.timers import StateTimers
from validators.execution.view import DecodedCache, View
from validators.execution.world import ChainWorld


def _keep_reverted() -> list[Swap]:
    return [(View, "rollback", lambda _self, _savepoint: None)]


def _decode_once() -> list[Swap]:
    def make(decode: Any) -> Any:
        def decode_or_recall(self: Any, table: Any, key: bytes, stored: bytes) -> Any:
            known = self._records.get(key)
            return decode(self, table, key, stored) if known is None else known[1]

        return decode_or_recall

    return [swap(DecodedCache, "decode", make)]


def _remember_the_old() -> list[Swap]:
    def remember_the_record_before(self: Any, key: bytes, stored: bytes, record: Any) -> None:
        known = self._records.get(key)
        self._records[key] = (stored, record if known is None else known[1])

    return [(DecodedCache, "remember", remember_the_record_before)]


# -- transactions ------------------------------------------------------------------------------


def _run_with_ledger(change: Any) -> list[Swap]:
    """Give `run_transaction` a ledger in which `change(ledger, admitted, proposer)` has other ways."""

    def make(run_transaction: Any) -> Any:
        def run_in_another_way(admitted: Any, *, ledger: Any, proposer: bytes, **rest: Any) -> Any:
            changed = OtherLedger(ledger, **change(ledger, admitted, proposer))
            return run_transaction(admitted, ledger=changed, proposer=proposer, **rest)

        return run_in_another_way

    return [swap(block_run, "run_transaction", make)]


def _keep_refunds() -> list[Swap]:
    def change(ledger: Any, admitted: Any, _proposer: bytes) -> dict[str, Any]:
        def credit(address: bytes, amount: int) -> None:
            if address != admitted.sender:
                ledger.credit(address, amount)

        return {"credit": credit}

    return _run_with_ledger(change)


def _burn_tips() -> list[Swap]:
    def change(ledger: Any, _admitted: Any, proposer: bytes) -> dict[str, Any]:
        def credit(address: bytes, amount: int) -> None:
            if address == proposer:
                ledger.burn(amount)
            else:
                ledger.credit(address, amount)

        return {"credit": credit}

    return _run_with_ledger(change)


def _uncounted_failures() -> list[Swap]:
    def make(run_transaction: Any) -> Any:
        def run_and_count_successes(admitted: Any, *, ledger: Any, **rest: Any) -> Any:
            receipt = run_transaction(admitted, ledger=ledger, **rest)
            if receipt.status:
                account = ledger.account(admitted.sender)
                ledger._put(admitted.sender, account.balance, account.nonce - 1)  # noqa: SLF001 - it is bad on purpose
            return receipt

        return run_and_count_successes

    return [swap(block_run, "run_transaction", make)]


def _endless_room() -> list[Swap]:
    return [(transactions, "_check_limits", lambda _transaction, _size, _room: None)]


# -- timers in the state -----------------------------------------------------------------------


def _miss_a_height() -> list[Swap]:
    def make(due_heights: Any) -> Any:
        return lambda self, upto, after=-1: due_heights(self, upto - 1, after)

    return [swap(BranchHeights, "due_heights", make)]


def _keep_waiting() -> list[Swap]:
    def make(waiting: Any) -> Any:
        return lambda self: dataclasses.replace(waiting(self), timers=self._collected)

    return [swap(StateTimers, "waiting", make)]


def _next_in_line() -> list[Swap]:
    def make(take: Any) -> Any:
        def take_and_step(table: Any, due: int, sequence: int) -> None:
            before = table.bucket(due)
            take(table, due, sequence)
            after = table.bucket(due)
            if after is not None and sequence == before.head:
                table.set_bucket(due, msgspec.structs.replace(after, head=before.head + 1))

        return take_and_step

    return [swap(buckets, "take", make)]


def _keep_empty_buckets() -> list[Swap]:
    def make(take: Any) -> Any:
        def take_and_keep(table: Any, due: int, sequence: int) -> None:
            take(table, due, sequence)
            if table.bucket(due) is None:
                table.set_bucket(due, Bucket(0, 0, 0, queued=False))

        return take_and_keep

    return [swap(buckets, "take", make)]


def _keep_counting() -> list[Swap]:
    def make(remove: Any) -> Any:
        def remove_and_count(self: Any, timer: Any) -> None:
            remove(self, timer)
            counts = self._counts(timer.actor)
            self._view.set(timer_counts_key(timer.actor), TimerCounts(counts.live + 1, counts.scheduled))

        return remove_and_count

    return [swap(StateTimers, "remove", make)]


# -- clocks, storage ---------------------------------------------------------------------------


def _wall_clock() -> list[Swap]:
    def make(context: Any) -> Any:
        def context_of_now(*, timestamp_ms: int, **rest: Any) -> Any:
            return context(timestamp_ms=timestamp_ms + time.time_ns() // 1_000 % 3, **rest)

        return context_of_now

    return [swap(application, "ProposalContext", make)]


def _count_blocks() -> list[Swap]:
    return [(Moment, "now", property(lambda moment: moment.height))]


def _keep_deleted() -> list[Swap]:
    return [(ChainWorld, "storage_delete", lambda _self, _actor, _key: None)]


EXECUTION: Final = (
    Variant(
        name="reverted-writes-stay",
        what="what a call wrote stays although the call reverted",
        area="execution",
        caught_by=("oracle",),
        swaps=_keep_reverted,
        cause="execution",
        on_all=True,
        shows="transaction|TimerFired|MessageDelivered",
    ),
    Variant(
        name="record-of-another-fork",
        what="a decoded record is used although the state of this branch holds another one",
        area="execution",
        caught_by=("equal-roots", "agreement"),
        swaps=_decode_once,
        cause="clean-up",
    ),
    Variant(
        name="record-before-the-write",
        what="memory keeps the record that was there before the last write",
        area="execution",
        caught_by=("equal-roots", "live-values"),
        swaps=_remember_the_old,
        cause="execution",
    ),
    Variant(
        name="refund-forgotten",
        what="what a transaction did not use does not come back",
        area="execution",
        caught_by=("supply",),
        swaps=_keep_refunds,
        cause="execution",
        on_all=True,
        shows="account",
    ),
    Variant(
        name="tip-burned",
        what="the proposer's tip is burned",
        area="execution",
        caught_by=("oracle",),
        swaps=_burn_tips,
        cause="execution",
        on_all=True,
        shows="account",
    ),
    Variant(
        name="nonce-of-a-failure",
        what="a transaction that fails does not count for its sender's nonce",
        area="execution",
        caught_by=("agreement", "equal-roots"),
        swaps=_uncounted_failures,
        cause="execution",
        shows="nonce|account",
    ),
    Variant(
        name="block-limits-unchecked",
        what="transactions are taken beyond the block's cycles and cells",
        area="execution",
        caught_by=("budgets", "oracle"),
        swaps=_endless_room,
        cause="input",
        on_all=True,
        shows="is above the",
    ),
    Variant(
        name="height-index-off-by-one",
        what="the height that becomes due is read a block late, when it counts as read",
        area="execution",
        caught_by=("timer-delivery",),
        swaps=_miss_a_height,
        cause="execution",
        on_all=True,
        shows="TimerFired",
        is_of_timer=True,
    ),
    Variant(
        name="removed-timers-wait-on",
        what="the waiting set that the next block starts from still has what this one removed",
        area="execution",
        caught_by=("equal-roots", "agreement"),
        swaps=_keep_waiting,
        cause="clean-up",
        shows="no timer lies at|Timer",
        is_of_timer=True,
    ),
    Variant(
        name="bucket-head-on-a-gap",
        what="the head of a bucket moves one place on and not to the next live timer",
        area="execution",
        caught_by=("equal-roots",),
        swaps=_next_in_line,
        cause="clean-up",
        shows="bucket due",
        is_of_timer=True,
    ),
    Variant(
        name="empty-bucket-stays",
        what="a height's bucket is not deleted with its last timer",
        area="execution",
        caught_by=("oracle",),
        swaps=_keep_empty_buckets,
        cause="clean-up",
        on_all=True,
        shows="bucket due",
        is_of_timer=True,
    ),
    Variant(
        name="cap-never-freed",
        what="a timer that leaves still counts against its actor's cap",
        area="execution",
        caught_by=("equal-roots",),
        swaps=_keep_counting,
        cause="clean-up",
        shows="timer counts",
        is_of_timer=True,
    ),
    Variant(
        name="wall-clock-in-a-block",
        what="a leader adds what it reads from the wall clock to its block's timestamp",
        area="execution",
        caught_by=("determinism",),
        swaps=_wall_clock,
        cause="input",
        shows="header",
    ),
    Variant(
        name="slots-counted-in-blocks",
        what="timers are compared with the block's height in a chain that counts slots",
        area="execution",
        caught_by=("equal-roots",),
        swaps=_count_blocks,
        cause="execution",
        shows="Timer",
        is_of_timer=True,
    ),
    Variant(
        name="deleted-values-stay",
        what="a program's deletes are not carried out",
        area="execution",
        caught_by=("oracle",),
        swaps=_keep_deleted,
        cause="execution",
        on_all=True,
        shows="storage",
    ),
)
"""Variants of the execution of blocks."""
