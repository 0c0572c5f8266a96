"""The timers' phase of a case by the code that validators run: policies, ledger, timers, and the state below them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import msgspec

from cluster.differential.blocks import OpenBlock, open_block
from cluster.differential.cases import BlockCase
from cluster.differential.stages import StoredValues
from cluster.fixtures.scheduler_form import SchedulerAnswer, SchedulerInput
from cluster.outside.own.stated import StatedHandlers, stage
from cluster.outside.own.told import PhaseEnd, Row, answer_of
from scheduler import (
    POLICIES,
    AgentCall,
    Basefees,
    BlockContext,
    BlockPhase,
    CoveragePoint,
    Escrow,
    GbaFailure,
    PhaseResult,
    PolicyInBlock,
    RunOutcome,
    StateTable,
    Timer,
    TimerCancelledForDelay,
    TimerFired,
)
from scheduler.aptos_records import REMOVAL_SLOT
from scheduler.bias_records import BIAS_BOOKS
from scheduler.escrow import ESCROW_ADDRESS
from scheduler.gba_records import AUCTION_BOOKS, AUCTION_CURSOR, AUCTION_TALLY, AUCTION_WEIGHT
from scheduler.lane_state import GC_CURSOR, LANE_MARKET, RECENT_FIRES
from validators.execution.ledger import StateLedger
from validators.execution.schema import TIMER_CONFIG
from validators.execution.timers import PoolKeeper, StateTimers, TimerKeys
from validators.execution.view import View

TABLES: Final[Mapping[str, StateTable[Any]]] = {
    table.name: table
    for table in (
        *(LANE_MARKET, GC_CURSOR, RECENT_FIRES, AUCTION_BOOKS, AUCTION_CURSOR, AUCTION_TALLY, AUCTION_WEIGHT),
        *(BIAS_BOOKS, REMOVAL_SLOT),
    )
}
"""The tables of policies, by their names."""


class EngineRows:
    """The records of policies in the state."""

    def __init__(self, view: View) -> None:
        self._view = view

    def row(self, table: str, key: Any = None) -> Row | None:  # noqa: ANN401 - the key of whatever table
        """Return the fields of a record, None where there is none."""
        kind = TABLES[table]
        raw = key.to_bytes(8, "big") if isinstance(key, int) else key
        found = self._view.get(kind, kind.key() if raw is None else kind.key(raw))
        return None if found is None else msgspec.structs.astuple(found)


class NotedLedger(StateLedger):
    """A ledger that notes each charge; escrow is not charged for a fire."""

    __slots__ = ("charges",)

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self.charges: list[int] = []

    def charge(self, address: bytes, amount: int) -> None:
        """Take units from an address that has them."""
        super().charge(address, amount)
        if address != ESCROW_ADDRESS:
            self.charges.append(amount)


class PhaseOutcome(NamedTuple):
    """The engine's answer to a case, and the coverage points that it reached."""

    answer: SchedulerAnswer
    reached: tuple[CoveragePoint, ...]


def answer_by_engine(given: SchedulerInput) -> SchedulerAnswer:
    """Return the answer of the validators' code to a case."""
    return run_by_engine(given).answer


def answer_by_running_engine(given: SchedulerInput) -> SchedulerAnswer:
    """Return the same from a validator that executed the parent: what waited then is at hand, and not read again."""
    return run_by_engine(given, is_running=True).answer


def run_by_engine(given: SchedulerInput, *, is_running: bool = False) -> PhaseOutcome:
    """Return the answer of the validators' code to a case, with its coverage points."""
    case, contents = stage(given)
    block = open_block(case, StoredValues(contents.encode_all()))
    if is_running:
        block.timers.collect(case.parent_now)
        waiting = block.timers.waiting("", None)
        timers = StateTimers(block.view, block.tiers.heights, waiting, TimerKeys(), pools=PoolKeeper())
        block = block._replace(timers=timers)
    handlers, ledger = StatedHandlers(given.timers), NotedLedger(block.view)
    phase = _Phase(given, case, block, ledger=ledger, handlers=handlers)
    total = phase.run()
    live, dead = total.waiting_live, total.waiting_dead
    assert live is not None, "every policy counts the live timers that wait"
    assert dead is not None, "every policy counts the dead timers that wait"
    end = PhaseEnd(
        events=[msgspec.to_builtins(event, builtin_types=(bytes,)) for event in total.events],
        charged=_charged(given, total, ledger),
        burned=ledger.burned,
        fired=total.fired,
        cycles=total.lane_cycles,
        cells=total.lane_cells,
        price=phase.policy.price,
        removed=total.removed,
        live=live,
        dead=dead,
        balance=ledger.balance,
        is_there=lambda timer_id: block.timers.timer(timer_id) is not None,
        rows=EngineRows(block.view),
    )
    return PhaseOutcome(answer_of(given, end, handlers), (*phase.policy.reached, *total.reached))


def _charged(given: SchedulerInput, total: PhaseResult, ledger: NotedLedger) -> dict[bytes, int]:
    """Return the units that were taken ahead for each fire: charges are in the order of fires, behind penalties."""
    fires = [event.timer_id for event in total.events if isinstance(event, TimerFired)]
    if given.policy == "aptos":
        # Its deposits were taken by earlier blocks.
        held = {bytes.fromhex(it.id): it.gas_limit * it.entry.price for it in given.timers if it.entry is not None}
        return {timer_id: held[timer_id] for timer_id in fires}
    penalties = sum(isinstance(event, TimerCancelledForDelay) for event in total.events)
    return dict(zip(fires, ledger.charges[penalties:], strict=True))


class _Phase:
    """A policy in a block that has transactions only beside a queue."""

    def __init__(
        self,
        given: SchedulerInput,
        case: BlockCase,
        block: OpenBlock,
        *,
        ledger: NotedLedger,
        handlers: StatedHandlers,
    ) -> None:
        self._given = given
        self._handlers = handlers
        self._limits = case.genesis.block_cycles, case.genesis.block_cells
        self._used = [0, 0]
        self._total = PhaseResult()
        policy = POLICIES[given.policy]()
        own = None if policy.config_table is None else block.view.get(policy.config_table, policy.config_table.key())
        config = block.view.get(TIMER_CONFIG, TIMER_CONFIG.key())
        assert config is not None, "the state has a timer configuration"
        owners = {} if given.lane is None else given.lane.owners
        self._phases = policy.phases(own)
        self.policy: PolicyInBlock = policy.open(
            BlockContext(
                moment=replace(block.moment, timestamp_ms=given.moment.time_ms),
                config=config,
                basefees=Basefees(given.basefees.cycle, given.basefees.cell),
                timers=block.timers,
                ledger=ledger,
                run=self._run_handler,
                proposer=bytes.fromhex(given.proposer),
                own=own,
                activated_at=given.moment.activated_at,
                epoch_length=block.tiers.epoch_length,
                state=block.view,
                carried=policy.derive(block.view, given.moment.height),
                ask=self._ask,
                owner_of=lambda actor: bytes.fromhex(owners[actor.hex()]),
                escrow=Escrow(block.view, ledger),
                room=self._room,
            )
        )

    def run(self) -> PhaseResult:
        """Run the parts of the policy in its order, and return their sums with all events."""
        for phase in self._phases:
            if phase is BlockPhase.TRANSACTIONS:
                self._run_transactions()
            elif phase is BlockPhase.END_OF_BLOCK:
                self._add(self.policy.trigger())
                self._add(self.policy.close(self._total.lane_cycles) or PhaseResult())
            else:
                if phase is BlockPhase.TIMERS:
                    self.policy.begin()
                self._add(self.policy.run(phase))
        return self._total

    def _run_transactions(self) -> None:
        for offer in () if self._given.queue is None else self._given.queue.transactions:
            for result in self.policy.before_transaction(offer):
                self._add(result)
            self._used[0] += offer.cycles
            self._used[1] += offer.cells
        for result in self.policy.after_transactions():
            self._add(result)

    def _add(self, result: PhaseResult) -> None:
        self._total = self._total.then(result)

    def _room(self) -> tuple[int, int]:
        cycles, cells = self._limits
        return cycles - self._used[0] - self._total.lane_cycles, cells - self._used[1] - self._total.lane_cells

    def _run_handler(self, timer: Timer, *, has_sender: bool = True) -> RunOutcome:
        del has_sender
        does = self._handlers.timer(timer.timer_id).handler
        assert does.cycles <= timer.gas_limit, "a case's handler keeps to its gas limit"
        return RunOutcome(does.ok, does.cycles, does.cells, ())

    def _ask(self, call: AgentCall) -> bytes | GbaFailure:
        said = self._handlers.answer(call.agent, call.actor, call.payload)
        return said if isinstance(said, bytes) else GbaFailure(said)
