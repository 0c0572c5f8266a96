"""A differential block: on a state that no chain reaches, executed by the validators' code and by the oracle.

On a chain timers come in by transactions, and meet the cases that clients thought of. Here the state is written before
the block: timers overdue by any number of blocks, and payers with exactly the cost of a fire or 1 unit less. Agents,
weights, prices and the queue of `aptos` are written likewise. The oracle's tables are filled, the validators' state is
their encoding, and both run the block.
"""

from collections.abc import Mapping
from typing import NamedTuple, cast

import msgspec

from checker.oracle import NAME
from checker.oracle.blocks import OracleChain, Result
from checker.oracle.compare import compare_changes, compare_counts, compare_receipts
from checker.oracle.headers import InvalidBlockError as OracleRefusal
from checker.results import CheckTally
from cluster.differential.cases import BlockCase
from cluster.differential.stages import StoredValues, chain_of
from scheduler import Moment
from validators.actors import PROGRAMS
from validators.execution import Genesis
from validators.execution.blocks import encode_transaction
from validators.execution.errors import InvalidBlockError
from validators.execution.heights import BranchHeights, scan_buckets
from validators.execution.run import BlockRun, Rules
from validators.execution.schema import CALENDAR
from validators.execution.tiers import Tiers
from validators.execution.timers import NOTHING_READ, PoolKeeper, StateTimers, TimerKeys
from validators.execution.view import StateCodec, View
from validators.identity import TransactionVerifier
from validators.state import Batch


class CaseComparison(NamedTuple):
    """The difference between validators' code and oracle, empty if there is none, and the number of comparisons."""

    difference: str
    compared: int


class _Executed(NamedTuple):
    """A block that the validators' code has executed: receipts, counts, and the values after it."""

    receipts: list[bytes]
    counts: Mapping[str, int]
    after: Mapping[bytes, bytes]


def judge_block(case: BlockCase, at_genesis: OracleChain | None = None) -> CaseComparison:
    """Return how a case's block differs; `at_genesis` saves making the oracle's chain (see `chain_of`)."""
    chain, header = chain_of(case, at_genesis)
    before = chain.contents.encode_all()
    transactions = [encode_transaction(transaction) for transaction in case.transactions]
    said = ("", "")
    result: Result | None = None
    executed: _Executed | None = None
    try:
        result = chain.execute(header, transactions)
    except OracleRefusal as error:
        said = str(error), said[1]
    try:
        executed = _execute(case, before, transactions)
    except InvalidBlockError as error:
        said = said[0], str(error)
    if result is None or executed is None:
        words = [f"refuses the block ({text})" if text else "executes the block" for text in said]
        return CaseComparison("" if all(said) else f"the oracle {words[0]}, the run {words[1]}", 1)
    return _compare(result, executed, before)


def _compare(result: Result, executed: _Executed, before: Mapping[bytes, bytes]) -> CaseComparison:
    tally, after = CheckTally(NAME, "safety"), executed.after
    changes = {key: after.get(key) for key in (*before, *after) if before.get(key) != after.get(key)}
    found = (
        compare_receipts(result, executed.receipts, tally)
        or compare_changes(result, changes, tally)
        or compare_counts(result, executed.counts, tally)
    )
    return CaseComparison("" if found is None else found.line, tally.compared)


class OpenBlock(NamedTuple):
    """A block's view of its state, and the timers in it."""

    moment: Moment
    view: View
    tiers: Tiers
    timers: StateTimers

    def run_of(self, genesis: Genesis, proposer: int) -> BlockRun:
        """Return the run of the block by the validators' code, for a proposer."""
        rules, address = Rules(genesis, PROGRAMS, TransactionVerifier()), genesis.validators[proposer]
        return BlockRun(
            rules, view=self.view, tiers=self.tiers, timers=self.timers, moment=self.moment, proposer=address
        )


def open_block(case: BlockCase, stored: StoredValues) -> OpenBlock:
    """Return the validators' view of a case's block on these values, which its writes change."""
    genesis, timestamp_ms = case.genesis, case.slot * case.genesis.slot_ms
    moment = Moment(case.height, case.slot, case.parent_slot, genesis.timebase, timestamp_ms, genesis.slot_ms)
    return open_moment(moment, stored)


def open_moment(moment: Moment, stored: StoredValues) -> OpenBlock:
    """Return the same for the moment of any block."""
    view = View(cast("Batch", stored), StateCodec())
    profile = view.get(CALENDAR, CALENDAR.key())
    assert profile is not None, "genesis writes the calendar profile"
    parent_now = moment.parent_slot if moment.timebase == "slot" else moment.height - 1
    heights = BranchHeights(profile, parent_now, scan_buckets(stored.items()).items())
    tiers = Tiers(view, heights, moment)
    timers = StateTimers(view, tiers.heights, NOTHING_READ, TimerKeys(), pools=PoolKeeper())
    return OpenBlock(moment, view, tiers, timers)


def _execute(case: BlockCase, values: Mapping[bytes, bytes], transactions: list[bytes]) -> _Executed:
    """Run the block by the validators' code on these values."""
    stored = StoredValues(values)
    run = open_block(case, stored).run_of(case.genesis, case.proposer)
    summary = run.run(lambda block: block.take_all(transactions))
    return _Executed(run.receipts, msgspec.structs.asdict(summary), stored)
