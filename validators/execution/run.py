"""A block in execution: the policy's phases, on a view of the parent's state.

The same code runs for a leader that builds a block and for validators that check it. The two differ only in the source
of transactions and in the handling of an invalid transaction.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass, field
from functools import cached_property, partial
from typing import Any, assert_never

import msgspec

from scheduler import (
    MAX_U63,
    POLICIES,
    Basefees,
    BlockContext,
    BlockPhase,
    CoveragePoint,
    Escrow,
    Moment,
    PhaseResult,
    Policy,
    PolicyInBlock,
    Reach,
    TimerScheduled,
    Watches,
    next_basefee,
)
from scheduler.watch_records import TRIGGER_CONFIG, WATCH
from validators.actors import MessageSent, Programs
from validators.execution import phases
from validators.execution.blocks import BLOCK_BYTES_MAX, Transaction, encode_transaction
from validators.execution.errors import InvalidBlockError, InvalidTransactionError
from validators.execution.genesis import Genesis, Policies, own_parameters, reserved_addresses
from validators.execution.ledger import StateLedger
from validators.execution.mailbox import MailboxResult, StateMailbox
from validators.execution.phases import PhaseEntry
from validators.execution.receipts import (
    TimerReceipt,
    TransactionReceipt,
    as_chain_events,
    encode_receipt,
    is_cancellation,
)
from validators.execution.schema import BURNED, CALENDAR, FEE_MARKET, TIMER_CONFIG, Burned, FeeMarket, Table
from validators.execution.summary import BlockSummary
from validators.execution.tiers import Tiers
from validators.execution.timers import StateTimers, Waiting
from validators.execution.transactions import Candidate, Room, admit, decoded, run_transaction
from validators.execution.view import View
from validators.execution.watchable import changed_keys
from validators.execution.world import ChainWorld

BLOCK_ENVELOPE_BYTES = 1_024
"""More than a header and the framing of a block's list take; the framing of each transaction takes five bytes more."""


@dataclass(frozen=True)
class Rules:
    """The rules shared by all blocks of a chain; values that depend on genesis alone are computed once."""

    genesis: Genesis
    programs: Programs
    verify_transaction: Callable[[Transaction], bool]
    policies: Policies = field(default_factory=lambda: POLICIES)

    def policy_at(self, height: int) -> Policy:
        """Return the policy of a block."""
        return self.policies[self.genesis.entry_at(height).policy]()

    @cached_property
    def has_watches(self) -> bool:
        """Whether a policy of this chain has state triggers: then leaving timers must be removed from their keys."""
        has_own = any(WATCH in self.policies[entry.policy]().tables for entry in self.genesis.policies)
        return has_own or TRIGGER_CONFIG in self.config_tables

    @cached_property
    def config_tables(self) -> tuple[Table[Any], ...]:
        """The tables in which the state holds the parameters of this chain."""
        own = (own_parameters(entry, self.policies) for entry in self.genesis.policies)
        return (TIMER_CONFIG, CALENDAR, *(table for each in own for table, _ in each))


class BlockRun:
    """A block while it runs. Used once: `run` with a source of transactions, then the results are read."""

    def __init__(
        self, rules: Rules, *, view: View, tiers: Tiers, timers: StateTimers, moment: Moment, proposer: bytes
    ) -> None:
        self._rules = rules
        self._view = view
        self._tiers = tiers
        self._timers = timers
        self._moment = moment
        self._proposer = proposer
        config, market = view.get(TIMER_CONFIG, TIMER_CONFIG.key()), view.get(FEE_MARKET, FEE_MARKET.key())
        assert config is not None, "genesis writes the timer configuration"
        assert market is not None, "genesis writes the fee market"
        self._config = config
        self._basefees = Basefees(market.cycle_basefee, market.cell_basefee)
        self._ledger = StateLedger(view)
        self._mailbox = StateMailbox(view, rules.genesis.mailbox_cycles)
        self._world = ChainWorld(
            view=view,
            ledger=self._ledger,
            moment=moment,
            config=config,
            mailbox=self._mailbox,
            programs=rules.programs,
            system_deployers=rules.genesis.system_deployers,
            config_tables=rules.config_tables,
            reserved=reserved_addresses(rules.genesis, rules.policies),
        )
        self._cycles = self._cells = 0
        self._room_bytes = BLOCK_BYTES_MAX - BLOCK_ENVELOPE_BYTES
        self._reverted = 0
        self._tips = 0
        self.result = PhaseResult()
        self._phases: tuple[BlockPhase, ...] = ()
        self._policy = self._world.policy = self._open_policy()
        self._mailbox_result = MailboxResult()
        self.transactions: list[bytes] = []
        self.receipts: list[bytes] = []
        self.events: list[msgspec.Struct] = []
        self.phases: list[PhaseEntry] = []

    def watch(self, reach: Reach) -> None:
        """Note refusals as coverage points."""
        self._world.reach = reach

    def run(self, take_transactions: Callable[["BlockRun"], None]) -> BlockSummary:
        """Run the policy's phases in order and return the block in numbers."""
        try:
            self._run_phases(take_transactions)
            self._carried = self._policy.carried()
            return self._summarize()
        finally:
            self._reached = tuple(dict.fromkeys(self._policy.reached))
            # The policy leads back to both: a cycle would keep the block and all its reads until garbage collection.
            del self._policy, self._world.policy

    def _run_phases(self, take_transactions: Callable[["BlockRun"], None]) -> None:
        self._promote()
        for phase in self._phases:
            if phase is BlockPhase.TRANSACTIONS:
                self._take_transactions(take_transactions)
            elif phase is BlockPhase.TIMERS:
                self._run_timers()
            elif phase is BlockPhase.PROLOGUE:
                self._run_prologue()
            elif phase is BlockPhase.END_OF_BLOCK:
                self._end_block()
            else:
                assert_never(phase)

    def _note(self, phase: str, **counts: int) -> None:
        self.phases.append(PhaseEntry(phase, counts))

    def _take_transactions(self, take: Callable[["BlockRun"], None]) -> None:
        take(self)
        for result in self._policy.after_transactions():
            self._book(result)
        self._note(phases.TRANSACTIONS, included=len(self.transactions), reverted=self._reverted)

    def _promote(self) -> None:
        """Begin an epoch, if it is due, and record the number of heights that left the overflow tree."""
        promoted = self._tiers.promote()
        self._record_events(() if promoted is None else (promoted,))
        self._note(phases.PROMOTION, promoted=self._tiers.promoted, left_overflow=self._tiers.count_left_overflow())

    def take_valid(self, candidates: Iterable[Transaction]) -> None:
        """Include each candidate that is valid here and skip the rest; used by a leader."""
        for candidate in self._merge(Candidate(each, encode_transaction(each)) for each in candidates):
            try:
                if len(candidate.encoded) + 5 <= self._room_bytes:
                    self._include(candidate)
            except InvalidTransactionError as error:
                self._world.refused("include", error)

    def take_all(self, transactions: Iterable[bytes]) -> None:
        """Include every transaction; used by validators that check a block.

        Raises:
            InvalidBlockError: A transaction is not valid here.
        """
        for candidate in self._merge(decoded(transactions)):
            try:
                self._include(candidate)
            except InvalidTransactionError as error:
                raise InvalidBlockError(f"transaction {candidate.place}: {error}") from None

    def _merge(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """Yield the candidates in the policy's order, and book the policy's own results between them."""
        for item in self._policy.merge(candidates):
            if isinstance(item, PhaseResult):
                self._book(item)
            else:
                yield item

    def _include(self, candidate: Candidate) -> None:
        transaction, encoded = candidate.transaction, candidate.encoded
        # Writes nothing, because a leader also tries candidates that turn out to be invalid, on the same state.
        admitted = admit(transaction, encoded, ledger=self._ledger, basefees=self._basefees, room=self._room())
        # The signature is checked last, because it costs more than all other checks together.
        if not self._rules.verify_transaction(transaction):
            raise InvalidTransactionError("signature is not the sender's")
        # Only ahead of included transactions: skipped candidates of a leader must change nothing.
        for result in self._policy.before_transaction(candidate):
            self._book(result)
        receipt = run_transaction(
            admitted, world=self._world, ledger=self._ledger, basefees=self._basefees, proposer=self._proposer
        )
        self._cycles += receipt.cycles
        self._cells += receipt.cells
        self._room_bytes -= len(encoded) + 5
        self._reverted += receipt.status != 0
        self._tips += receipt.tip
        self.transactions.append(encoded)
        self._record(receipt)

    def _run_timers(self) -> None:
        before = self._count_done()
        self._policy.begin()
        self._book(self._policy.run(BlockPhase.TIMERS))
        fired, removed = self._count_done()
        # The list of this phase does not contain the timers of a prologue or of the merge.
        due = self._timers.due + sum(before)
        self._note(phases.TIMERS, due=due, fired=fired, removed=removed, left=self._timers.count_waiting())

    def _run_prologue(self) -> None:
        before = self._count_done()
        self._book(self._policy.run(BlockPhase.PROLOGUE))
        fired, removed = self._count_done()
        counts = self._policy.counts()
        self._note(phases.PROLOGUE, fired=fired - before[0], removed=removed - before[1], **counts)

    def _count_done(self) -> tuple[int, int]:
        """Return the number of timers that the block fired and removed so far."""
        return self.result.fired, self.result.removed

    def _book(self, result: PhaseResult) -> None:
        """Add the result of a phase to the block's, and record its events."""
        self.result = total = self.result.then(result)
        assert total.lane_cycles <= self._lane_cycles_max, "the execution lane's budget is hard"
        assert total.gc_cycles <= self._config.gc_cycles_per_block, "the GC lane's budget is hard"
        self._record_events(result.events)
        self._policy.reached += result.reached

    def _end_block(self) -> None:
        """Serve the mailbox, trigger timers, set the basefees, add up the burns, and write it all into the batch."""
        self._serve_mailbox()
        # After every change of a storage or a balance: fires, payments and messages wake watchers too.
        self._book(self._policy.trigger())
        self._move_prices()
        self._book_burns()
        # After everything that can schedule or cancel a timer, and before the flush that writes the tables.
        self._close_tiers()
        # Last: nothing may read or write the view once its records are in the batch.
        self._view.flush()

    def _serve_mailbox(self) -> None:
        # Read before serving, because messages sent by deliveries wait for the next block.
        found, sent = self._mailbox.waiting, self._mailbox.sent
        self._mailbox_result = self._mailbox.serve(self._world.deliver)
        self._record_events(self._mailbox_result.events)
        sent_meanwhile = self._mailbox.sent - sent
        left = self._mailbox.waiting - sent_meanwhile
        delivered = self._mailbox_result.delivered
        self._note(phases.MAILBOX, found=found, delivered=delivered, left=left, sent_meanwhile=sent_meanwhile)

    def _move_prices(self) -> None:
        """Set the basefees of the next block."""
        cycles, cells = self._used()
        lane_cycles, lane_cells = self._lane_used()
        genesis, minimum = self._rules.genesis, self._rules.genesis.min_basefee
        market = FeeMarket(
            next_basefee(self._basefees.cycle, cycles + lane_cycles, genesis.block_cycles, minimum),
            next_basefee(self._basefees.cell, cells + lane_cells, genesis.block_cells, minimum),
        )
        self._view.set(FEE_MARKET.key(), market)
        self._book(self._policy.close(cycles + lane_cycles) or PhaseResult())
        self._note(phases.PRICES, cycles=cycles + lane_cycles, cells=cells + lane_cells)

    def _book_burns(self) -> None:
        """Add the block's burned units to the total."""
        burned = self._view.get(BURNED, BURNED.key())
        assert burned is not None, "genesis writes the burned total"
        self._view.set(BURNED.key(), Burned(burned.total + self._ledger.burned))
        self._note(phases.BURNS, burned=self._ledger.burned)

    def _close_tiers(self) -> None:
        """Apply the block's changes to the heights with timers, and write the tables of the tiers."""
        self._tiers.close()
        self._note(phases.TIERS)

    def _open_policy(self) -> PolicyInBlock:
        """Return the policy in this block, as the parent left it."""
        entry = self._rules.genesis.entry_at(self._moment.height)
        policy = self._rules.policies[entry.policy]()
        carried = self._timers.carried_for(entry.policy)
        table = policy.config_table
        own = None if table is None else self._view.get(table, table.key())
        self._phases = policy.phases(own)
        # A single fire is within the lane; together the fires exceed the lane by at most one fire.
        lanes = 2 if policy.guarantees(own).overshoots else 1
        self._lane_cycles_max = lanes * self._config.lane_timer_cycles if policy.has_budget else MAX_U63
        escrow = Escrow(self._view, self._ledger) if self._world.reserved else None
        changed = partial(changed_keys, self._view)
        block = BlockContext(
            moment=self._moment,
            config=self._config,
            basefees=self._basefees,
            timers=self._timers,
            ledger=self._ledger,
            run=self._world.run_timer,
            proposer=self._proposer,
            own=own,
            activated_at=entry.height,
            epoch_length=self._tiers.epoch_length,
            state=self._view,
            carried=policy.derive(self._view, self._moment.height) if carried is None else carried,
            ask=self._world.ask,
            owner_of=self._world.owner,
            escrow=escrow,
            watches=Watches(self._view, self._timers, changed, policy.watch_limits(own, self._view), escrow)
            if self._rules.has_watches
            else None,
            room=lambda: astuple(self._room()),
        )
        return policy.open(block)

    def reached(self) -> tuple[CoveragePoint, ...]:
        """Return the coverage points that the block reached, each once."""
        return self._reached

    def waiting(self) -> Waiting:
        """Return the data outside the state from which this block's children start."""
        return self._timers.waiting(self._rules.genesis.entry_at(self._moment.height).policy, self._carried)

    def _record(self, receipt: TransactionReceipt) -> None:
        self.events.extend(receipt.events)
        self.receipts.append(encode_receipt(receipt))

    def _record_events(self, events: Iterable[msgspec.Struct]) -> None:
        """Record events in receipts of their own."""
        for event in as_chain_events(events):
            self.events.append(event)
            self.receipts.append(encode_receipt(TimerReceipt(event)))

    def _used(self) -> tuple[int, int]:
        return self._cycles, self._cells

    def _room(self) -> Room:
        """Return the rest of the block's limits, for transactions and for fires that share them."""
        genesis = self._rules.genesis
        fires = self._lane_used() if self._policy.shares_block else (0, 0)
        return Room(genesis.block_cycles - self._cycles - fires[0], genesis.block_cells - self._cells - fires[1])

    def _lane_used(self) -> tuple[int, int]:
        return self.result.lane_cycles, self.result.lane_cells

    def _summarize(self) -> BlockSummary:
        result = self.result
        live, dead = result.waiting_live, result.waiting_dead
        assert live is not None, "the timer phase of every policy counts the live timers that wait"
        assert dead is not None, "the timer phase of every policy counts the dead timers that wait"
        cycles, cells = self._used()
        mail = self._mailbox_result
        return BlockSummary(
            transactions=len(self.transactions),
            transactions_reverted=self._reverted,
            cycles_used=cycles,
            cells_used=cells,
            lane_cycles=result.lane_cycles,
            lane_cells=result.lane_cells,
            gc_cycles=result.gc_cycles,
            scheduled=sum(isinstance(event, TimerScheduled) for event in self.events),
            cancelled=sum(map(is_cancellation, self.events)),
            fired=result.fired,
            reverted=result.reverted,
            expired=result.expired,
            insolvent=result.insolvent,
            deferred=live,
            waiting_live=live,
            waiting_dead=dead,
            messages_sent=sum(isinstance(event, MessageSent) for event in self.events),
            messages_delivered=mail.delivered,
            messages_reverted=mail.reverted,
            messages_waiting=self._mailbox.waiting,
            mailbox_cycles=mail.cycles,
            burned=self._ledger.burned,
            tips=self._tips + result.tips,
            lane_burned=result.lane_burned,
            lane_price=self._policy.price,
            cycle_basefee=self._basefees.cycle,
            cell_basefee=self._basefees.cell,
        )
