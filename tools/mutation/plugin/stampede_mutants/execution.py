"""Mutants of the execution of blocks: reverts, fees, limits, and what is derived from the state."""

import dataclasses
from functools import partial
from typing import Any, Final

import msgspec

from checker.mutants.mutant import OtherLedger, mutant
from scheduler import Bucket, buckets
from scheduler.types import Moment
from validators.actors import Host, metering
from validators.execution import run as block_run
from validators.execution.heights import BranchHeights
from validators.execution.schema import TimerCounts, timer_counts_key
from validators.execution.timers import StateTimers
from validators.execution.view import DecodedCache, View
from validators.execution.world import ChainWorld

_mutant = partial(mutant, area="execution")
_timer_mutant = partial(_mutant, is_of_timer=True)


@_mutant(
    (View, "rollback"),
    kills=("oracle",),
    cause="execution",
    on_all=True,
    shows="transaction|TimerFired|MessageDelivered",
)
def reverted_writes_stay(_original: Any) -> Any:
    """The writes of a call stay although the call reverted."""
    return lambda _self, _savepoint: None


@_mutant((DecodedCache, "decode"), kills=("equal-roots", "agreement"), cause="clean-up")
def record_of_another_fork(decode: Any) -> Any:
    """A decoded record is used although the state of this branch holds another one."""

    def decode_or_recall(self: Any, table: Any, key: bytes, stored: bytes) -> Any:
        known = self._records.get(key)
        return decode(self, table, key, stored) if known is None else known[1]

    return decode_or_recall


@_mutant((DecodedCache, "remember"), kills=("equal-roots", "live-values"), cause="execution")
def record_before_the_write(_original: Any) -> Any:
    """Memory keeps the record that was there before the last write."""

    def remember_the_record_before(self: Any, key: bytes, stored: bytes, record: Any) -> None:
        known = self._records.get(key)
        self._records[key] = (stored, record if known is None else known[1])

    return remember_the_record_before


@_mutant((block_run, "run_transaction"), kills=("supply",), cause="execution", on_all=True, shows="account")
def refund_forgotten(run_transaction: Any) -> Any:
    """The units that a transaction did not use do not come back."""

    def run_without_refund(admitted: Any, *, ledger: Any, **rest: Any) -> Any:
        def credit(address: bytes, amount: int) -> None:
            if address != admitted.sender:
                ledger.credit(address, amount)

        return run_transaction(admitted, ledger=OtherLedger(ledger, credit=credit), **rest)

    return run_without_refund


@_mutant((block_run, "run_transaction"), kills=("agreement", "equal-roots"), cause="execution", shows="nonce|account")
def nonce_of_a_failure(run_transaction: Any) -> Any:
    """A transaction that fails does not count for its sender's nonce."""

    def run_and_count_successes(admitted: Any, *, ledger: Any, **rest: Any) -> Any:
        receipt = run_transaction(admitted, ledger=ledger, **rest)
        if receipt.status:
            account = ledger.account(admitted.sender)
            ledger._put(admitted.sender, account.balance, account.nonce - 1)  # noqa: SLF001 - it is bad on purpose
        return receipt

    return run_and_count_successes


@_timer_mutant(
    (BranchHeights, "due_heights"), kills=("timer-delivery",), cause="execution", on_all=True, shows="TimerFired"
)
def height_index_off_by_one(due_heights: Any) -> Any:
    """The height that becomes due is read a block late, when it counts as read."""
    return lambda self, upto, after=-1: due_heights(self, upto - 1, after)


@_timer_mutant(
    (StateTimers, "waiting"), kills=("equal-roots", "agreement"), cause="clean-up", shows="no timer lies at|Timer"
)
def removed_timers_wait_on(waiting: Any) -> Any:
    """The waiting set that the next block starts from still has what this one removed."""
    return lambda self, *rest: dataclasses.replace(waiting(self, *rest), timers=self._collected)


@_timer_mutant((buckets, "take"), kills=("equal-roots",), cause="clean-up", shows="bucket due")
def bucket_head_on_a_gap(take: Any) -> Any:
    """The head of a bucket moves one place on and not to the next live timer."""

    def take_and_step(table: Any, due: int, sequence: int) -> None:
        before = table.bucket(due)
        take(table, due, sequence)
        after = table.bucket(due)
        if after is not None and sequence == before.head:
            table.set_bucket(due, msgspec.structs.replace(after, head=before.head + 1))

    return take_and_step


@_timer_mutant((buckets, "take"), kills=("oracle",), cause="clean-up", on_all=True, shows="bucket due")
def empty_bucket_stays(take: Any) -> Any:
    """A height's bucket is not deleted with its last timer."""

    def take_and_keep(table: Any, due: int, sequence: int) -> None:
        take(table, due, sequence)
        if table.bucket(due) is None:
            table.set_bucket(due, Bucket(0, 0, 0, queued=False))

    return take_and_keep


@_timer_mutant((StateTimers, "remove"), kills=("equal-roots",), cause="clean-up", shows="timer counts")
def cap_never_freed(remove: Any) -> Any:
    """A timer that leaves still counts against its actor's cap."""

    def remove_and_count(self: Any, timer: Any) -> None:
        remove(self, timer)
        counts = self._counts(timer.actor)
        self._view.set(timer_counts_key(timer.actor), TimerCounts(counts.live + 1, counts.scheduled))

    return remove_and_count


@_timer_mutant((Moment, "now"), kills=("equal-roots",), cause="execution", shows="Timer")
def slots_counted_in_blocks(_original: Any) -> Any:
    """Timers are compared with the block's height in a chain that counts slots."""
    return property(lambda moment: moment.height)


@_mutant((ChainWorld, "storage_delete"), kills=("oracle",), cause="execution", on_all=True, shows="storage")
def deleted_values_stay(_original: Any) -> Any:
    """A program's deletes are not carried out."""
    return lambda _self, _actor, _key: None


_ASKING: Final = ('chain.policy="eip1559"', "chain.activation.height=1", "chain.lane={}")
"""A chain that asks agents from its first block on, each within the default limits."""


@_mutant(
    (Host, "get"),
    kills=("oracle",),
    cause="execution",
    on_all=True,
    needs=(
        *_ASKING,
        "chain.timers={lane_timer_cycles=9_000}",
        'workload.prices={kind="oracle-feeds", feeds=1, values=9, gas_limit=3_000, may_be_idle=true}',
        'workload.watchful={kind="heartbeats", actors=3, gas_limit=2_000, feed="prices", may_be_idle=true}',
    ),
    shows="TimerFired|account|lane market",
)
def agents_read_their_own_storage(get: Any) -> Any:
    """An agent that asks for another actor's value is given its own under that key."""
    return lambda self, key, _actor=None: get(self, key)


@_mutant(
    (metering, "FOREIGN_BYTE_CELLS"),
    kills=("oracle",),
    cause="execution",
    on_all=True,
    needs=(*_ASKING, 'workload.reads={kind="boundary-cases", about="reads", every_ms=20, may_be_idle=true}'),
    shows="GbaFailed|TimerFired|account|lane market",
)
def foreign_reads_are_free(_cells: int) -> int:
    """An agent pays no cells for what it reads of another actor's storage."""
    return 0
