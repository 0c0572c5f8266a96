"""Inclusion: an honest leader takes each transaction that is valid and in its own mempool.

A leader tries all that its mempool has in turn. So a transaction that it had when it entered its view, that could have
stood at the end of its block and is not in it, was left out by a mistake. It could have: it is its sender's next by the
state before and what the sender has in the block; its charge and fees are covered by both the state before, less the
most that the sender's others there may have cost, and the state after; and cycles, cells and bytes were left at the
end of the transactions. Room and funds only shrink while a block is made, so they were there in its turn.

A leader tries its senders' next transactions by priority fee, highest first, and those of one fee by hash. So a
transaction that stands behind a later one in that order, by another sender, has an earlier one of its own sender in the
chain that comes later in it still.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.oracle.records import MalformedError, Transaction, address_of, read_transaction, sha256
from checker.results import CheckResult, ExitClass
from checker.tables import ACCOUNT, FEE_MARKET_KEY, read_fields
from faults.events import TransactionSubmitted
from network.events import Event, Handlers, WorkFinished
from validators.events import Entered
from validators.execution.blocks import Header

POOLED_MAX: Final = 1_000
"""Transactions of a leader that are followed: those that came first."""

ROOM_BYTES: Final = 16 * 1024 * 1024 - 64 * 1024
"""A block that is longer may have had no room for another transaction's bytes."""

TRANSACTION_CYCLES: Final = 1_000

_KEEPING_ORDER: Final = ("fifo", "fifo-free", "eip1559", "gba-auction")
"""Policies whose blocks have transactions in the order in which their leader tries them."""

_Rank = tuple[int, bytes]
"""The place of a transaction in the order in which a leader tries those of several senders."""

_FIRST: Final[_Rank] = (-(1 << 64), b"")
"""The rank before that of any transaction."""


class _Waiting(NamedTuple):
    """A transaction in a mempool."""

    transaction: Transaction
    sender: bytes
    length_bytes: int


class _Included(NamedTuple):
    """The last nonce of a sender in a block, and the most units that it may have paid there."""

    nonce: int
    paid: int


_Offered = dict[bytes, _Waiting]


class Inclusion(Check):
    """A transaction that is valid and in the mempool of an honest leader is in the leader's block."""

    name = "inclusion"
    exit_class: ClassVar[ExitClass] = "liveness"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._honest = dict.fromkeys(run.honest)
        self._offered: dict[tuple[int, int], _Offered] = {}
        self._read: _Offered = {}
        self._last_rank: dict[bytes, _Rank] = {}
        self._last: dict[int, tuple[int, int]] = {}
        """By leader the last view of its own, and when it entered that."""
        self._handed_in: dict[int, tuple[int, list[bytes]]] = {}
        """By validator the last instant in which clients handed transactions to it, and these."""

    @property
    def handlers(self) -> Handlers:
        """Events of leaders that enter views, and of work and transactions of the same instant."""
        return {Entered: self.entered, WorkFinished: self.worked, TransactionSubmitted: self.handed_in}

    def not_asked(self) -> str:
        """Return a reason where no leader of a final block had a transaction in its mempool."""
        return "" if self.tally.compared else "no transaction was in the mempool of a leader whose block became final"

    def entered(self, event: Event, entered: Entered) -> None:
        """Look into the mempool of a leader that enters its view.

        A second life may enter it too: either of them may propose, so that only what both had counts.
        """
        # Transactions that are verified in no time may come in the same turn, when the block is made already.
        if entered.leader == event.node and self.run.plan.costs.verify_signature_us > 0:
            sample = self.run.sample_pools()
            pool = dict(zip(sample.nodes, sample.pools, strict=True)).get(event.node, {})
            # Read once: most stay in the mempools for the next leader.
            self._read = {
                digest: waiting
                for digest, pooled in islice(pool.items(), POOLED_MAX)
                if (waiting := self._read.get(digest) or _read_waiting(pooled.encoded)) is not None
            }
            earlier = self._offered.get((event.node, entered.view), self._read)
            self._offered[event.node, entered.view] = {
                digest: waiting for digest, waiting in earlier.items() if digest in self._read
            }
            self._last[event.node] = event.at_us, entered.view
            self._leave_out_late_ones(event.node)

    def worked(self, event: Event, work: WorkFinished) -> None:
        """Judge no block in whose first instant a verification ended: what it brought may be here after the block."""
        at_us, view = self._last.get(event.node, (-1, 0))
        if at_us == event.at_us and work.base_us >= self.run.plan.costs.verify_signature_us:
            self._offered.pop((event.node, view), None)

    def handed_in(self, event: Event, handed: TransactionSubmitted) -> None:
        """Ask for no transaction that a client hands in as its leader enters the view."""
        at_us, digests = self._handed_in.get(handed.validator, (-1, []))
        self._handed_in[handed.validator] = event.at_us, [*(digests if at_us == event.at_us else ()), handed.digest]
        self._leave_out_late_ones(handed.validator)

    def _leave_out_late_ones(self, leader: int) -> None:
        at_us, view = self._last.get(leader, (-1, 0))
        handed_us, digests = self._handed_in.get(leader, (-2, []))
        if at_us == handed_us and (leader, view) in self._offered:
            offered = self._offered[leader, view]
            self._offered[leader, view] = {digest: each for digest, each in offered.items() if digest not in digests}

    def settle(self, block: SettledBlock) -> None:
        """Check a final block when the first validator applies it."""
        leader, view = block.header.proposer, block.header.view
        offered = self._offered.get((leader, view), {})
        self._offered = {key: each for key, each in self._offered.items() if key[1] > view}
        if offered:
            digests = {sha256(encoded): None for encoded in block.transactions}
            self.tally.compared += sum(digest in digests for digest in offered)
            senders = _included(block.transactions)
            for digest, waiting in offered.items():
                if digest not in digests and self._fits(waiting, block, senders.get(waiting.sender)):
                    self._fail(digest, waiting, block.header)
        self._judge_order(block, is_honest=leader in self._honest)

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(f"{self.tally.compared:,} transactions that leaders had are in their blocks")

    def _judge_order(self, block: SettledBlock, *, is_honest: bool) -> None:
        """Require that no transaction stands behind a later one, unless an earlier one of its sender is later still."""
        ranks, last = self._last_rank, _FIRST
        # A policy that merges transactions into an order of its own is not followed.
        is_honest = is_honest and self.run.rules.policy(block.height) in _KEEPING_ORDER
        for encoded in block.transactions:
            try:
                transaction = read_transaction(encoded)
            except MalformedError:
                return
            sender, rank = transaction.public_key, (-transaction.priority_fee_per_cycle, sha256(encoded))
            before = ranks.get(sender, _FIRST)
            if is_honest and before <= rank < last:
                self.tally.fail(
                    f"height {block.height}: transaction {_describe(rank)} stands behind {_describe(last)}, and "
                    "nothing of its sender held it up",
                    height=block.height,
                    validator=block.header.proposer,
                )
                is_honest = False
            ranks[sender] = max(before, rank)
            last = max(last, rank)

    def _fail(self, digest: bytes, waiting: _Waiting, header: Header) -> None:
        self.tally.compared += 1
        self.tally.fail(
            f"height {header.height}: transaction {digest[:6].hex()} of {waiting.sender.hex()} was valid and in the "
            f"mempool of leader {header.proposer} as it entered view {header.view}, and its block had room and left it "
            "out",
            transaction=digest.hex(),
            sender=waiting.sender.hex(),
            height=header.height,
            validator=header.proposer,
        )

    def _fits(self, waiting: _Waiting, block: SettledBlock, included: _Included | None) -> bool:
        """Return whether a transaction could have stood at the end of a block."""
        transaction, rules, summary = waiting.transaction, self.run.rules, block.summary
        # Fires that share the block's limits may have had their turn before the transaction's.
        shared = (summary.lane_cycles, summary.lane_cells) if block.guarantees.shares_block else (0, 0)
        if included is not None and self.run.rules.policy(block.height) not in _KEEPING_ORDER:
            return False
        nonce, balance = _account(block.before.get(_account_key(waiting.sender)))
        if included is not None:
            nonce, balance = included.nonce + 1, balance - included.paid
        if transaction.nonce != nonce:
            return False
        key = _account_key(waiting.sender)
        _, after = _account(block.changes.get(key, block.before.get(key)))
        cycle_basefee, cell_basefee = _basefees(block.before)
        return (
            _charge(transaction) <= min(balance, after)
            and cycle_basefee <= transaction.max_fee_per_cycle
            and cell_basefee <= transaction.max_fee_per_cell
            and transaction.priority_fee_per_cycle <= transaction.max_fee_per_cycle
            and TRANSACTION_CYCLES <= transaction.cycles_limit <= rules.block_cycles - summary.cycles_used - shared[0]
            and waiting.length_bytes <= transaction.cells_limit <= rules.block_cells - summary.cells_used - shared[1]
            and block.length_bytes + waiting.length_bytes <= ROOM_BYTES
        )


def _describe(rank: _Rank) -> str:
    return f"{rank[1][:6].hex()} with a priority fee of {-rank[0]:,}"


def _read_waiting(encoded: bytes) -> _Waiting | None:
    """Return a transaction, None if it is malformed."""
    try:
        transaction = read_transaction(encoded)
    except MalformedError:
        return None
    return _Waiting(transaction, address_of(transaction.public_key), len(encoded))


def _included(transactions: Sequence[bytes]) -> dict[bytes, _Included]:
    """Return what each sender has in a block; malformed ones are left out, and refused by the oracle."""
    included: dict[bytes, _Included] = {}
    for encoded in transactions:
        waiting = _read_waiting(encoded)
        if waiting is not None:
            transaction, sender = waiting.transaction, waiting.sender
            # A transfer's amount is one of the numbers of its call.
            amounts = sum(value for value in transaction.call[1:] if isinstance(value, int))
            paid = _charge(transaction) + amounts + included.get(sender, _Included(0, 0)).paid
            included[sender] = _Included(transaction.nonce, paid)
    return included


def _charge(transaction: Transaction) -> int:
    """Return what a transaction is charged before it runs."""
    cycles = transaction.cycles_limit * transaction.max_fee_per_cycle
    return cycles + transaction.cells_limit * transaction.max_fee_per_cell


def next_nonce(state: Mapping[bytes, bytes], public_key: bytes) -> int:
    """Return the next nonce of a sender."""
    return _account(state.get(_account_key(address_of(public_key))))[0]


def _account(value: bytes | None) -> tuple[int, int]:
    """Return the nonce and the units of an account's record."""
    balance, nonce = _numbers(value) or (0, 0)
    return nonce, balance


def _account_key(address: bytes) -> bytes:
    return (bytes((ACCOUNT,)) + address).ljust(32, b"\0")


def _basefees(state: Mapping[bytes, bytes]) -> tuple[int, int]:
    cycle, cell = _numbers(state.get(FEE_MARKET_KEY)) or (0, 0)
    return cycle, cell


def _numbers(value: bytes | None) -> tuple[int, int] | None:
    """Return the two numbers of a record, or None where it is absent or holds anything else."""
    fields = None if value is None else read_fields(value)
    if fields is None or len(fields) != 2:
        return None
    one, other = fields
    return (one, other) if isinstance(one, int) and isinstance(other, int) else None
