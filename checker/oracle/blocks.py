"""The oracle's chain: it executes blocks in order and returns each block's result."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import NamedTuple

from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey

from checker.oracle import watches
from checker.oracle.calls import TRANSFER_CYCLES, Call, Present
from checker.oracle.contents import Basefees, contents_at_genesis
from checker.oracle.gas import Gas, OutOfGasError
from checker.oracle.headers import InvalidBlockError, check_header, present_of
from checker.oracle.mailbox import MailboxPhase
from checker.oracle.merkle import list_root
from checker.oracle.phases import Ledger
from checker.oracle.policies import POLICY_ORACLES, BlockStart, configurations, reserved_addresses
from checker.oracle.programs import OK, OUT_OF_GAS, REVERTED, Ending, run_call
from checker.oracle.records import (
    Genesis,
    Header,
    MalformedError,
    Transaction,
    address_of,
    read_transaction,
    sha256,
    signing_bytes,
    write,
)
from checker.oracle.system import run_instruction
from checker.oracle.tiers import heights_promoted, write_tiers

TRANSACTION_CYCLES = 1_000
EPOCH_PROMOTED = 13
"""Tag of the event of a new epoch."""

MAX_BASEFEE = 2**62
BASEFEE_CHANGE = 8
"""The divisor of a change of a basefee: a full block raises it by an eighth."""


class Result(NamedTuple):
    """The result of a block: receipts, changed entries and roots.

    `counts` are the amounts used of each budget and the numbers of waiting timers. `phases` is the ledger of the
    block's phases.
    """

    receipts: list[list[object]]
    changes: dict[bytes, bytes | None]
    tx_root: bytes
    receipts_root: bytes
    state_root: bytes
    counts: dict[str, int]
    phases: Ledger


class OracleChain:
    """A chain from genesis on; raises MalformedError for an invalid configuration of a policy."""

    def __init__(self, genesis: Genesis, encoded_genesis: bytes) -> None:
        self.genesis = genesis
        self.reserved = reserved_addresses(genesis)
        taken = [*genesis.validators, *(each[0] for each in (*genesis.accounts, *genesis.actors))]
        if any(address in self.reserved for address in taken):
            raise MalformedError("genesis has units, an actor or a validator at a reserved address")
        self.contents = contents_at_genesis(genesis)
        for table_of, config in configurations(genesis):
            table = table_of(self.contents)
            assert table is not None, "what has a configuration has a table of it"
            table.put(None, config)
        self.contents.settle()
        self.units = self.contents.units()
        empty = list_root([])
        self.header = Header(
            version=1,
            height=0,
            consensus_epoch=0,
            view=0,
            parent=sha256(encoded_genesis),
            proposer=0,
            slot=genesis.timestamp_ms // genesis.slot_ms,
            timestamp_ms=genesis.timestamp_ms,
            state_root=self.contents.log.canonical_root(),
            tx_root=empty,
            receipts_root=empty,
        )

    def fork(self) -> "OracleChain":
        """Return an independent copy of the chain; dropping the copy undoes the blocks executed on it."""
        other = copy(self)
        other.contents = self.contents.fork()
        return other

    @property
    def digest(self) -> bytes:
        """The digest of the last block."""
        return sha256(write(self.header))

    def execute(self, header: Header, transactions: list[bytes]) -> Result:
        """Execute the next block; its roots are left for the caller to compare. Raises InvalidBlockError."""
        check_header(header, self.header, self.genesis)
        block = _Block(self, header, transactions)
        block.run()
        phase, mailbox = block.phase, block.mailbox
        # After the whole block and once: a key that ends as it began is no change.
        changes = self.contents.settle()
        self.header = header
        return Result(
            receipts=block.receipts,
            changes=changes,
            tx_root=list_root(transactions),
            receipts_root=list_root([write(receipt) for receipt in block.receipts]),
            state_root=self.contents.log.canonical_root(),
            counts={
                "cycles_used": block.room.cycles,
                "cells_used": block.room.cells,
                "lane_cycles": phase.lane_cycles,
                "lane_cells": phase.lane_cells,
                "gc_cycles": phase.gc_cycles,
                "fired": phase.fired,
                "expired": phase.expired,
                "insolvent": phase.insolvent,
                "waiting_live": phase.waiting_live,
                "waiting_dead": phase.waiting_dead,
                "messages_delivered": mailbox.delivered,
                "messages_reverted": mailbox.reverted,
                "messages_waiting": len(self.contents.messages.rows),
                "mailbox_cycles": mailbox.cycles,
                "burned": block.burned + phase.burned,
                "tips": block.tips + phase.tips,
                "lane_burned": phase.lane_burned,
                "lane_price": phase.price,
            },
            phases=block.ledger,
        )

    def audit(self) -> str:
        """Recompute tables, root and units; return the first part that does not match, or an empty string."""
        if self.contents.encode_all() != self.contents.log.values:
            return "the tables encoded anew are not the values of the operation log"
        if self.contents.log.canonical_root_from_scratch() != self.contents.log.canonical_root():
            return "the canonical root from scratch is not the one kept up to date"
        if self.contents.units() != self.units:
            return f"balances and burned units add up to {self.contents.units()}, genesis had {self.units}"
        live: dict[bytes, int] = {}
        for timer in self.contents.timers.rows.values():
            live[timer.actor] = live.get(timer.actor, 0) + 1
        for actor, counts in self.contents.counts.rows.items():
            if counts.live != live.get(actor, 0):
                return f"actor {actor.hex()} has {live.get(actor, 0)} timers and counts {counts.live}"
        own = (POLICY_ORACLES[entry.policy].audit(self.contents) for entry in self.genesis.policies)
        return next(filter(None, (watches.audit(self.contents), *own)), "")


class _Block:
    """A block in execution. Configuration and basefees are the values at its start.

    `phase` is the policy's part in the block, also outside the timer phase.
    """

    def __init__(self, chain: OracleChain, header: Header, transactions: Sequence[bytes] = ()) -> None:
        self.genesis = chain.genesis
        self.contents = chain.contents
        self.transactions = transactions
        self.proposer = chain.genesis.validators[header.proposer]
        self.parent_now = present_of(chain.genesis, chain.header)
        self.basefees = chain.contents.basefees.rows[None]
        self.room = Gas(chain.genesis.block_cycles, chain.genesis.block_cells)
        entry = self.genesis.policy_at(header.height)
        start = BlockStart(
            self.contents,
            header.height,
            entry.height,
            self.basefees,
            self.room,
            is_in_slots=self.genesis.timebase == "slot",
            slot_ms=self.genesis.slot_ms,
            timestamp_ms=header.timestamp_ms,
        )
        self.rules = POLICY_ORACLES[entry.policy].open(start)
        self.calendar = chain.contents.calendar.rows[None]
        self.present = Present(
            height=header.height,
            now=present_of(chain.genesis, header),
            config=chain.contents.config.rows[None],
            collected={},
            mailbox_cycles=chain.genesis.mailbox_cycles,
            admission=self.rules,
            ring_size=self.calendar.ring_size,
            reserved=chain.reserved,
        )
        self.phase = self.rules.timer_phase(self.present, self.parent_now, self.proposer)
        self.mailbox = MailboxPhase(self.contents, self.present)
        self.receipts: list[list[object]] = []
        self.ledger: list[tuple[str, dict[str, int]]] = []
        self.burned = 0
        self.tips = 0
        self._events_taken = 0

    def run(self) -> None:
        """Run the phases in the policy's order; each phase's receipts stand in its place."""
        phases: dict[str, Callable[[], dict[str, int] | None]] = {
            "promotion": self._maintain_epochs,
            "prologue": self.phase.prologue,
            "transactions": self._run_transactions,
            "timers": self._run_timers,
            "mailbox": self._serve_mailbox,
            "prices": self._set_prices,
            "burns": self._add_burned,
            "tiers": self._write_tiers,
        }
        for name in self.rules.phases():
            counts = phases[name]()
            self._take_events()
            self.ledger.append((name, counts or {}))

    def _take_events(self) -> None:
        """Make receipts of the events that the policy has left since the last time."""
        events = self.phase.events
        self.receipts += [[1, event] for event in events[self._events_taken :]]
        self._events_taken = len(events)

    def _maintain_epochs(self) -> None:
        """Report an epoch that begins; the moves of timers are computed when the block ends."""
        now, config = self.present.now, self.calendar
        epoch = now // config.epoch_length
        if epoch > self.parent_now // config.epoch_length:
            heights = heights_promoted(self.contents, self.parent_now, now, config)
            self.receipts.append([1, [EPOCH_PROMOTED, epoch, heights]])

    def _run_transactions(self) -> dict[str, int]:
        """Check and run the transactions in the policy's order. Raises InvalidBlockError."""
        transactions = [_read_transaction(index, encoded) for index, encoded in enumerate(self.transactions)]
        for index in self.phase.merge(transactions):
            transaction = transactions[index]
            sender = address_of(transaction.public_key)
            refusal = self._refusal(transaction, sender, len(self.transactions[index]))
            if refusal:
                raise InvalidBlockError(f"transaction {index}", refusal)
            self.phase.before_transaction(transaction)
            self._take_events()
            self.receipts.append(self._run_transaction(index, transaction, sender))
        self.phase.after_transactions()
        return {"included": len(transactions)}

    def _run_timers(self) -> dict[str, int]:
        """Run the timer phase; if transactions come later, its list is empty for them."""
        phase, names = self.phase, self.rules.phases()
        phase.run()
        if names.index("timers") < names.index("transactions"):
            self.present.collected.clear()
        left = phase.waiting_live + phase.waiting_dead
        return {"due": phase.due, "fired": phase.fired, "removed": phase.removed, "left": left}

    def _serve_mailbox(self) -> dict[str, int]:
        """Deliver messages, and end the policy's part."""
        self.mailbox.run()
        self.receipts += [[1, event] for event in self.mailbox.events]
        self.phase.end_block()
        return {"found": self.mailbox.found, "delivered": self.mailbox.delivered}

    def _set_prices(self) -> dict[str, int]:
        """Set the basefees of the next block, and let the policy write values that depend on the totals."""
        genesis, phase = self.genesis, self.phase
        used_cycles, used_cells = self.room.cycles + phase.lane_cycles, self.room.cells + phase.lane_cells
        cycle = next_basefee(self.basefees.cycle, used_cycles, genesis.block_cycles, genesis.min_basefee)
        cell = next_basefee(self.basefees.cell, used_cells, genesis.block_cells, genesis.min_basefee)
        self.contents.basefees.put(None, Basefees(cycle, cell))
        phase.close(used_cycles)
        return {"cycles": used_cycles, "cells": used_cells}

    def _add_burned(self) -> dict[str, int]:
        burned = self.burned + self.phase.burned
        self.contents.burned.put(None, self.contents.burned.rows[None] + burned)
        return {"burned": burned}

    def _write_tiers(self) -> None:
        write_tiers(self.contents, self.present.now, self.contents.calendar.rows[None])

    def _run_transaction(self, index: int, transaction: Transaction, sender: bytes) -> list[object]:
        """Charge, run and settle a valid transaction; return its receipt."""
        encoded = self.transactions[index]
        charge = _charge(transaction)
        self.contents.credit(sender, -charge)
        account = self.contents.account(sender)
        self.contents.accounts.put(sender, account._replace(nonce=account.nonce + 1))
        ending = self._run(transaction, sender, encoded)
        burned = ending.cycles * self.basefees.cycle + ending.cells * self.basefees.cell
        tip_per_cycle = min(transaction.priority_fee_per_cycle, transaction.max_fee_per_cycle - self.basefees.cycle)
        tip = ending.cycles * tip_per_cycle
        self.contents.credit(self.proposer, tip)
        self.contents.credit(sender, charge - burned - tip)
        self.room.cycles += ending.cycles
        self.room.cells += ending.cells
        self.burned += burned
        self.tips += tip
        return [0, sha256(encoded), *ending[:4], burned, tip, ending.events]

    def _refusal(self, transaction: Transaction, sender: bytes, size: int) -> str:
        """Return the reason why a transaction is invalid here, or an empty string."""
        account, basefees = self.contents.account(sender), self.basefees
        cycles_left, cells_left = self.room.cycles_limit - self.room.cycles, self.room.cells_limit - self.room.cells
        reasons = (
            (f"its cycles_limit is below {TRANSACTION_CYCLES}", transaction.cycles_limit < TRANSACTION_CYCLES),
            (f"its cells_limit is below its {size} bytes", transaction.cells_limit < size),
            (f"its cycles_limit is above the {cycles_left} that are left", transaction.cycles_limit > cycles_left),
            (f"its cells_limit is above the {cells_left} that are left", transaction.cells_limit > cells_left),
            (f"its max_fee_per_cycle is below {basefees.cycle}", transaction.max_fee_per_cycle < basefees.cycle),
            (f"its max_fee_per_cell is below {basefees.cell}", transaction.max_fee_per_cell < basefees.cell),
            (
                "its priority fee is above its max_fee_per_cycle",
                transaction.priority_fee_per_cycle > transaction.max_fee_per_cycle,
            ),
            (f"its nonce {transaction.nonce} is not {account.nonce}", transaction.nonce != account.nonce),
            (f"its charge is above the sender's {account.balance}", account.balance < _charge(transaction)),
            ("its signature is not valid", not is_signed(transaction)),
        )
        return next((reason for reason, is_so in reasons if is_so), "")

    def _run(self, transaction: Transaction, sender: bytes, encoded: bytes) -> Ending:
        size = len(encoded)
        gas = Gas(transaction.cycles_limit, transaction.cells_limit)
        gas.use(TRANSACTION_CYCLES, size)
        kind, target = transaction.call[:2]
        if kind == 1:
            call = Call(
                contents=self.contents,
                present=self.present,
                gas=gas,
                actor=target,
                sender=sender,
                nonce=transaction.nonce,
                origin=sha256(encoded),
            )
            return run_call(call, transaction.call[2], transaction.call[3], cells_if_failed=size)
        if kind == 0:
            return self._transfer(sender, target, transaction.call[2], gas)
        is_deployer = sender in self.genesis.system_deployers
        return run_instruction(
            self.contents, self.present, gas, transaction.call, sender=sender, is_deployer=is_deployer
        )

    def _transfer(self, sender: bytes, to: bytes, amount: int, gas: Gas) -> Ending:
        size = gas.cells
        try:
            gas.use(TRANSFER_CYCLES)
        except OutOfGasError:
            return Ending(OUT_OF_GAS, "OutOfGas", gas.cycles_limit, size, [])
        if self.contents.balance(sender) < amount:
            return Ending(REVERTED, "InsufficientBalance", gas.cycles, size, [])
        if to in self.present.reserved:
            return Ending(REVERTED, "ReservedAddress", gas.cycles, size, [])
        self.contents.credit(sender, -amount)
        self.contents.credit(to, amount)
        return Ending(OK, "", gas.cycles, size, [])


def next_basefee(basefee: int, used: int, limit: int, least: int) -> int:
    """Return the basefee of the next block from the use of this block."""
    # Twice the use: the target is half of the limit. Capped, so that one block moves the price by an eighth at most.
    excess = min(2 * used - limit, limit)
    # Of the absolute value: floor division of a negative number would round away from 0.
    step = basefee * abs(excess) // (BASEFEE_CHANGE * limit)
    if excess > 0:
        # At least 1 upwards: from a low price a rounded step of 0 would never leave it.
        return min(max(basefee + max(step, 1), least), MAX_BASEFEE)
    return max(basefee - step, least)


def _read_transaction(index: int, encoded: bytes) -> Transaction:
    """Return a transaction of a block; raises InvalidBlockError."""
    try:
        return read_transaction(encoded)
    except MalformedError as error:
        raise InvalidBlockError(f"transaction {index}", str(error)) from None


def is_signed(transaction: Transaction) -> bool:
    """Return whether a transaction's signature is its sender's."""
    try:
        VerifyKey(transaction.public_key).verify(signing_bytes(transaction), transaction.signature)
    except (BadSignatureError, ValueError):
        return False
    return True


def _charge(transaction: Transaction) -> int:
    cycles = transaction.cycles_limit * transaction.max_fee_per_cycle
    return cycles + transaction.cells_limit * transaction.max_fee_per_cell
