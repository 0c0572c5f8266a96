"""Inclusion: an honest leader takes each transaction that is valid and waits in its own mempool.

A leader tries the transactions of its mempool in turn. The check fails if a transaction waited there as the leader
entered its view, could have stood at the end of the leader's block, and is not in the block. It could have stood there
if its nonce is its sender's next, and if cycles, cells and bytes were left at the end of the transactions. Its charge
and fees have to be covered by the state after, and by the state before less the greatest cost of the sender's other
transactions in the block. Room and funds only shrink while a block is made, so they sufficed in its turn.
"""

from collections.abc import Sequence
from itertools import islice
from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.mirror import SettledBlock
from checker.checks.service.transactions import account_key, account_of, basefees_of, charge_of
from checker.oracle.records import MalformedError, Transaction, address_of, read_transaction, sha256
from checker.results import CheckResult, ExitClass
from network.events import Event, Handlers, WorkFinished
from network.types import Micros, NodeId
from validators.events import Entered
from validators.execution.blocks import Header

POOLED_MAX: Final = 1_000
"""The number of transactions of a mempool that are followed, the earliest first."""

ROOM_BYTES: Final = 16 * 1024 * 1024 - 64 * 1024
"""A block that is longer may have had no room for another transaction's bytes."""

TRANSACTION_CYCLES: Final = 1_000

PROCESSOR: Final = "cpu"
"""The resource that verifies signatures: a transaction comes into a mempool as its work ends."""

_KEEPING_ORDER: Final = ("fifo", "fifo-free", "eip1559", "gba-auction")
"""Policies whose blocks have transactions in the order in which their leader tries them."""


class _Waiting(NamedTuple):
    """A transaction in a mempool."""

    transaction: Transaction
    sender: bytes
    length_bytes: int


class _Included(NamedTuple):
    """The last nonce of a sender in a block, and the most units that it may have paid there."""

    nonce: int
    paid: int


class Inclusion(Check):
    """A transaction that is valid and waits in an honest leader's mempool is in the leader's block.

    The check follows the transactions that waited as the leader entered its view, if the block had room for them.
    """

    name = "inclusion"
    needs = "tables"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._offered: dict[tuple[NodeId, int], dict[bytes, _Waiting]] = {}
        """By leader and view the transactions that waited as the leader entered it."""
        self._entered: dict[NodeId, tuple[Micros, int]] = {}
        """By leader the last view of its own, and when it entered that."""
        self._read: dict[bytes, _Waiting] = {}

    @property
    def handlers(self) -> Handlers:
        """Views that are entered, and work that ends."""
        return {Entered: self.entered, WorkFinished: self.worked}

    def not_asked(self) -> str:
        """Return a reason where no leader of a final block had a transaction in its mempool."""
        return "" if self.tally.compared else "no transaction was in the mempool of a leader whose block became final"

    def entered(self, event: Event, entered: Entered) -> None:
        """Look into the mempool of a leader that enters its view.

        A second life may enter it too, and either life may propose: only transactions that both had count.
        """
        node, view = event.node, entered.view
        if entered.leader != node:
            return
        sample = self.run.sample_pools()
        pool = dict(zip(sample.nodes, sample.pools, strict=True)).get(node, {})
        # Read once: most stay in the mempools for the next leader.
        self._read = {
            digest: waiting
            for digest, pooled in islice(pool.items(), POOLED_MAX)
            if (waiting := self._read.get(digest) or _read_waiting(pooled.encoded)) is not None
        }
        earlier = self._offered.get((node, view), self._read)
        self._offered[node, view] = {digest: read for digest, read in earlier.items() if digest in self._read}
        self._entered[node] = event.at_us, view

    def worked(self, event: Event, work: WorkFinished) -> None:
        """Leave a view out if work ends in its leader's first instant: a transaction may come behind the block."""
        at_us, view = self._entered.get(event.node, (-1, 0))
        if at_us == event.at_us and work.lane == PROCESSOR:
            self._offered[event.node, view] = {}

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

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(f"{self.tally.compared:,} transactions that leaders had are in their blocks")

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
        # Fires that share the block's limits may run before the transaction.
        shared = (summary.lane_cycles, summary.lane_cells) if block.guarantees.shares_block else (0, 0)
        if included is not None and rules.policy(block.height) not in _KEEPING_ORDER:
            return False
        nonce, balance = account_of(block.before, waiting.sender)
        if included is not None:
            nonce, balance = included.nonce + 1, balance - included.paid
        if transaction.nonce != nonce:
            return False
        is_changed = account_key(waiting.sender) in block.changes
        after = account_of(block.changes if is_changed else block.before, waiting.sender).balance
        basefees = basefees_of(block.before)
        return (
            charge_of(transaction) <= min(balance, after)
            and basefees.cycle <= transaction.max_fee_per_cycle
            and basefees.cell <= transaction.max_fee_per_cell
            and transaction.priority_fee_per_cycle <= transaction.max_fee_per_cycle
            and TRANSACTION_CYCLES <= transaction.cycles_limit <= rules.block_cycles - summary.cycles_used - shared[0]
            and waiting.length_bytes <= transaction.cells_limit <= rules.block_cells - summary.cells_used - shared[1]
            and block.length_bytes + waiting.length_bytes <= ROOM_BYTES
        )


def _read_waiting(encoded: bytes) -> _Waiting | None:
    """Return a transaction, None if it is malformed."""
    try:
        transaction = read_transaction(encoded)
    except MalformedError:
        return None
    return _Waiting(transaction, address_of(transaction.public_key), len(encoded))


def _included(transactions: Sequence[bytes]) -> dict[bytes, _Included]:
    """Return each sender's transactions in a block, without malformed transactions, which the oracle refuses."""
    included: dict[bytes, _Included] = {}
    for encoded in transactions:
        waiting = _read_waiting(encoded)
        if waiting is not None:
            transaction, sender = waiting.transaction, waiting.sender
            # A transfer's amount is one of the numbers of its call.
            amounts = sum(value for value in transaction.call[1:] if isinstance(value, int))
            paid = charge_of(transaction) + amounts + included.get(sender, _Included(0, 0)).paid
            included[sender] = _Included(transaction.nonce, paid)
    return included
