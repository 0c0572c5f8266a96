"""Mutants of the execution of blocks: transactions, messages, headers, records in memory, and the cost of work."""

import dataclasses
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from checker.mutants.mutant import OtherLedger, mutant
from scheduler import Bucket, buckets
from stampede_mutants.consensus import beside
from validators.application import Application
from validators.execution import engine
from validators.execution import run as block_run
from validators.execution.errors import InvalidBlockError
from validators.execution.heights import BranchHeights
from validators.execution.mailbox import StateMailbox
from validators.execution.schema import BURNED
from validators.execution.timers import StateTimers
from validators.execution.view import StateCodec, View
from validators.sync.follower import Follower

_mutant = partial(mutant, area="execution")
_timer_mutant = partial(_mutant, is_of_timer=True)

CROWDED_MAILBOX: Final = (
    "chain.mailbox_cycles=8_000",
    'workload.games={kind="games", games=3, players=4, gas_limit=30_000, may_be_idle=true}',
)
"""Three games send messages to twelve players in each block, and a block has cycles for two of them."""


@_mutant((StateCodec, "decode"), (View, "flush"), kills=("equal-roots", "agreement"), cause="clean-up")
def record_of_another_fork(decode: Any, flush: Any) -> Any:
    """A decoded record is used although the state of this branch holds another one."""
    kept: dict[bytes, Any] = {}

    def decode_or_recall(self: Any, table: Any, key: bytes, stored: bytes) -> Any:
        return kept[key] if key in kept else decode(self, table, key, stored)

    def flush_and_keep(self: Any) -> None:
        flush(self)
        for key in self.written_keys():
            kept[key] = self._written[key]

    return decode_or_recall, flush_and_keep


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
    (StateTimers, "waiting"), kills=("equal-roots", "agreement"), cause="clean-up", shows="no timer lies at|Timer"
)
def removed_timers_wait_on(waiting: Any) -> Any:
    """The waiting set that the next block starts from still has what this one removed."""
    return lambda self, *rest: dataclasses.replace(waiting(self, *rest), timers=self._collected)


@_timer_mutant((buckets, "take"), kills=("oracle",), cause="clean-up", on_all=True, shows="bucket due")
def empty_bucket_stays(take: Any) -> Any:
    """A height's bucket is not deleted with its last timer."""

    def take_and_keep(table: Any, due: int, sequence: int) -> None:
        take(table, due, sequence)
        if table.bucket(due) is None:
            table.set_bucket(due, Bucket(0, 0, 0, queued=False))

    return take_and_keep


@_mutant(
    (StateMailbox, "__init__"),
    kills=("message-delivery", "oracle"),
    cause="execution",
    on_all=True,
    needs=CROWDED_MAILBOX,
    shows="MessageDelivered",
)
def mailbox_budget_doubled(init: Any) -> Any:
    """A block delivers twice as many messages as its mailbox may."""
    return lambda self, view, cycles_budget: init(self, view, 2 * cycles_budget)


@_mutant(
    (block_run.BlockRun, "_take_transactions"),
    kills=("phases", "timer-delivery", "oracle"),
    cause="execution",
    on_all=True,
)
def transactions_skipped(take: Any) -> Any:
    """Every third block takes no transactions."""

    def take_in_others(self: Any, *arguments: Any) -> None:
        if self._moment.height % 3:
            take(self, *arguments)

    return take_in_others


@_mutant((engine, "check_header"), kills=("block-times",), on_all=True, needs=beside("forge-header", "time"))
def times_of_headers_unread(check_header: Any) -> Any:
    """A block may have its parent's time."""

    def check_all_but_the_time(header: Any, parent: Any, genesis: Any) -> None:
        try:
            check_header(header, parent, genesis)
        except InvalidBlockError as error:
            if not error.reason.startswith("timestamp"):
                raise

    return check_all_but_the_time


@_mutant((engine, "Executed"), kills=("write-sets",))
def writes_told_without_burns(executed: Any) -> Any:
    """The writes that a validator reports of a block leave the burned total out."""

    def executed_without_burns(*, changes: Mapping[bytes, bytes | None], **rest: Any) -> Any:
        reported = {key: value for key, value in changes.items() if key != BURNED.key()}
        return executed(changes=reported, **rest)

    return executed_without_burns


@_mutant((BranchHeights, "settle"), kills=("indexes",))
def heights_without_timers_stay(settle: Any) -> Any:
    """A height that has lost its last timer stays in the index of heights."""

    def settle_and_keep(self: Any, profile: Any, record_of: Any) -> None:
        before = self._overdue
        settle(self, profile, record_of)
        self._overdue = sorted(dict.fromkeys((*before, *self._overdue)))

    return settle_and_keep


@_mutant((Application, "_execution_cost"), kills=("work",))
def signatures_of_the_pool_charged_again(cost_of: Any) -> Any:
    """A validator is charged at its next execution for signatures that its mempool has verified and paid for."""
    charged = 0

    def cost_with_the_pools(self: Any, outcome: Any) -> Any:
        nonlocal charged
        again, charged = self._verifier.verified - charged, self._verifier.verified
        return cost_of(self, outcome) + again * self._settings.costs.verify_signature_us

    return cost_with_the_pools


@_mutant((Follower, "is_ready"), kills=("work",), on_all=True)
def blocks_are_ready_before_their_time(_original: Any) -> Any:
    """A block counts as executed while its execution still takes its time."""

    def is_ready(self: Any, digest: bytes) -> bool:
        return digest == self.layer.finalized_digest or self.layer.executed(digest) is not None

    return is_ready
