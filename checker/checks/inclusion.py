"""Inclusion: the next honest leaders take a transaction that is valid and in every mempool.

The conditions are chosen so that an honest leader without a mistake never fails them. A transaction counts while every
honest validator that serves has it in its mempool. A block of an honest leader counts against it where the leader
entered the view after that, without having lost its memory since, and where the transaction could have stood at the
end of the block: its sender's next one by the state before, charge and fees covered by that state, none of the
sender's in the block, and room left in cycles, cells and bytes. A leader tries everything in its mempool in turn, and
a sender without another transaction in the block still has those funds: so the leader would have taken it.

A leader tries its senders' next transactions by priority fee, highest first. So a transaction that stands behind one of
a lower fee, by another sender, has an earlier one of its own sender in the chain whose fee was lower still.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext, Sample
from checker.checks.mirror import SettledBlock
from checker.oracle.records import MalformedError, Transaction, address_of, read_transaction, sha256
from checker.results import CheckResult, ExitClass
from checker.tables import ACCOUNT, FEE_MARKET_KEY, read_fields
from network.events import Event, Handlers
from validators.events import Booted, Entered
from validators.execution.blocks import Header

BLOCKS_MAX: Final = 3
"""Blocks of honest leaders that leave a transaction out before it fails; one would be a mistake already."""

POOLED_MAX: Final = 1_000
"""Transactions that are followed at a time: of one validator's those that came first."""

ROOM_BYTES: Final = 16 * 1024 * 1024 - 64 * 1024
"""A block that is longer may have had no room for another transaction's bytes."""

TRANSACTION_CYCLES: Final = 1_000

_KEEPING_ORDER: Final = ("fifo", "fifo-free", "eip1559", "gba-auction")
"""Policies whose blocks have transactions in the order in which their leader tries them."""

_NO_TIP: Final = 1 << 64
"""More than any priority fee."""


@dataclass(slots=True)
class _Waiting:
    """A transaction that is pooled everywhere: since when, and how many blocks left it out."""

    transaction: Transaction
    sender: bytes
    length_bytes: int
    since_us: int
    left_out: int = 0


class Inclusion(Check):
    """A transaction that is valid and pooled everywhere is in one of the next `BLOCKS_MAX` blocks of honest leaders."""

    name = "inclusion"
    exit_class: ClassVar[ExitClass] = "liveness"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._honest = dict.fromkeys(run.honest)
        self._waiting: dict[bytes, _Waiting] = {}
        self._entered_us: dict[tuple[int, int], int] = {}
        self._booted_us: dict[int, int] = {}
        self._most = 0
        self._least_tip: dict[bytes, int] = {}

    @property
    def handlers(self) -> Handlers:
        """Events of leaders that enter views, and of validators that lose their memory."""
        return {Booted: self.boot, Entered: self.entered}

    @property
    def is_asked(self) -> bool:
        """Return whether any transaction was seen in every mempool, and then in a block or left out."""
        return self.tally.compared > 0

    def boot(self, event: Event, _boot: Booted) -> None:
        """A validator that starts has an empty mempool."""
        self._booted_us[event.node] = event.at_us

    def entered(self, event: Event, entered: Entered) -> None:
        """Remember when a leader entered its view."""
        if entered.leader == event.node:
            self._entered_us.setdefault((event.node, entered.view), event.at_us)

    def settle(self, block: SettledBlock) -> None:
        """Check a final block when the first validator applies it."""
        # Only a transaction that is followed could have been left out, so only those count as compared.
        self.tally.compared += sum(sha256(encoded) in self._waiting for encoded in block.transactions)
        leader = block.header.proposer
        entered_us = self._entered_us.pop((leader, block.header.view), -1)
        # A leader that booted since may have lost its mempool.
        booted_us = self._booted_us.get(leader, 0)
        senders = dict.fromkeys(map(_sender_of, block.transactions)) if self._waiting else {}
        for digest, waiting in self._waiting.items() if leader in self._honest else ():
            is_there = booted_us <= waiting.since_us < entered_us
            if is_there and waiting.sender not in senders and self._fits(waiting, block):
                self._leave_out(digest, waiting, block.header)
        self._judge_order(block, is_honest=leader in self._honest)
        self._follow(self.run.sample_pools())

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{self.tally.compared:,} times one was in every mempool; at most {self._most} blocks left it out",
            left_out_most=self._most,
        )

    def _judge_order(self, block: SettledBlock, *, is_honest: bool) -> None:
        """Require that no transaction stands behind one that pays less, unless an earlier one of its sender did too."""
        least, lowest = self._least_tip, _NO_TIP
        # A policy that merges transactions into an order of its own is not followed.
        is_honest = is_honest and self.run.rules.policy(block.height) in _KEEPING_ORDER
        for encoded in block.transactions:
            try:
                transaction = read_transaction(encoded)
            except MalformedError:
                return
            sender, tip = transaction.public_key, transaction.priority_fee_per_cycle
            before = least.get(sender, _NO_TIP)
            if is_honest and lowest < tip <= before:
                self.tally.fail(
                    f"height {block.height}: a transaction with a priority fee of {tip:,} stands behind one of "
                    f"{lowest:,}, and nothing of its sender held it up",
                    height=block.height,
                    validator=block.header.proposer,
                )
                is_honest = False
            least[sender] = min(before, tip)
            lowest = min(lowest, tip)

    def _leave_out(self, digest: bytes, waiting: _Waiting, header: Header) -> None:
        waiting.left_out += 1
        self.tally.compared += 1
        self._most = max(self._most, waiting.left_out)
        if waiting.left_out == BLOCKS_MAX:
            self.tally.fail(
                f"transaction {digest[:6].hex()} of {waiting.sender.hex()} was valid and in every mempool from "
                f"{waiting.since_us / 1_000_000:.3f} s on, and {BLOCKS_MAX} blocks of honest leaders that had room "
                f"left it out, the last one at height {header.height}",
                transaction=digest.hex(),
                sender=waiting.sender.hex(),
                height=header.height,
                validator=header.proposer,
            )

    def _fits(self, waiting: _Waiting, block: SettledBlock) -> bool:
        """Return whether a transaction could have stood at the end of a block that has none of its sender's."""
        transaction, rules, summary = waiting.transaction, self.run.rules, block.summary
        nonce, balance = _account(block.before, waiting.sender)
        cycle_basefee, cell_basefee = _basefees(block.before)
        charge = transaction.cycles_limit * transaction.max_fee_per_cycle
        charge += transaction.cells_limit * transaction.max_fee_per_cell
        return (
            transaction.nonce == nonce
            and charge <= balance
            and cycle_basefee <= transaction.max_fee_per_cycle
            and cell_basefee <= transaction.max_fee_per_cell
            and transaction.priority_fee_per_cycle <= transaction.max_fee_per_cycle
            and TRANSACTION_CYCLES <= transaction.cycles_limit <= rules.block_cycles - summary.cycles_used
            and waiting.length_bytes <= transaction.cells_limit <= rules.block_cells - summary.cells_used
            and block.length_bytes + waiting.length_bytes <= ROOM_BYTES
        )

    def _follow(self, sample: Sample) -> None:
        """Follow the transactions in every mempool; one that leaves a mempool is not followed any more."""
        first, others = (sample.pools[0], sample.pools[1:]) if sample.pools else ({}, ())
        everywhere = {
            digest: pooled.encoded
            for digest, pooled in islice(first.items(), POOLED_MAX)
            if all(digest in other for other in others)
        }
        self._waiting = {
            digest: waiting
            for digest, encoded in everywhere.items()
            if (waiting := self._waiting.get(digest) or _waiting_since(encoded, sample.at_us)) is not None
        }


def _waiting_since(encoded: bytes, at_us: int) -> _Waiting | None:
    """Return a transaction as it begins to wait, None if it is malformed."""
    try:
        transaction = read_transaction(encoded)
    except MalformedError:
        return None
    return _Waiting(transaction, address_of(transaction.public_key), len(encoded), at_us)


def _sender_of(encoded: bytes) -> bytes:
    """Return the sender of an included transaction; empty if it is malformed, which the oracle refuses."""
    try:
        return address_of(read_transaction(encoded).public_key)
    except MalformedError:
        return b""


def _account(state: Mapping[bytes, bytes], address: bytes) -> tuple[int, int]:
    """Return the nonce and the units of an address."""
    value = state.get((bytes((ACCOUNT,)) + address).ljust(32, b"\0"))
    balance, nonce = _numbers(value) or (0, 0)
    return nonce, balance


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
