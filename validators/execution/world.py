"""The chain as programs reach it, within one block: storage, transfers, timers, and calls with their savepoint."""

from collections.abc import Collection, Sequence
from typing import Any, assert_never

import msgspec

from scheduler import (
    ZERO_ORIGIN,
    Admission,
    AgentCall,
    CallRule,
    CoveragePoint,
    GbaFailure,
    Moment,
    PolicyInBlock,
    Reach,
    ReservedAddress,
    RunOutcome,
    ScheduleRequest,
    Timer,
    TimerCancelled,
    TimerConfig,
    TimerConfigUpdated,
    TimerExtended,
    TimerScheduled,
    TransactionCancelled,
    call_of,
    cell_of_update,
    decode_update,
    require_deployer,
    unheard,
)
from validators.actors import CallResult, Frame, MessageSent, Meter, Programs, SendRequest, Status, call_handler
from validators.actors.metering import GasMeter
from validators.execution.blocks import (
    CancelAll,
    SystemCancelTimer,
    SystemControlService,
    SystemExtendTimer,
    SystemInstruction,
    SystemUpdateTimerConfig,
)
from validators.execution.ledger import StateLedger
from validators.execution.mailbox import StateMailbox
from validators.execution.refusals import refusal_of
from validators.execution.rules import BlockRule
from validators.execution.schema import (
    ACTORS,
    LONG_STORAGE,
    SHORT_STORAGE_KEY_BYTES,
    STORAGE,
    LongStoredValue,
    StoredValue,
    Table,
    actor_key,
    long_storage_key,
    storage_key,
)
from validators.execution.view import View
from validators.execution.watchable import key_of


class ChainWorld:
    """Implements validators.actors.World over a block's view; `collected` is true while the timer phase runs."""

    def __init__(
        self,
        *,
        view: View,
        ledger: StateLedger,
        moment: Moment,
        config: TimerConfig,
        mailbox: StateMailbox,
        programs: Programs,
        system_deployers: Collection[bytes],
        config_tables: Sequence[Table[Any]],
        reserved: Collection[bytes] = (),
    ) -> None:
        self.reach: Reach = unheard
        self.moment = moment
        self.config = config
        self.reserved = reserved
        self.policy: PolicyInBlock
        self._view = view
        self._ledger = ledger
        self._mailbox = mailbox
        self._programs = programs
        self._system_deployers = system_deployers
        self._config_tables = config_tables
        self._freed = b""
        """The actor that cancelled a timer in this call when it was at its timer cap."""

    def call(self, frame: Frame, meter: Meter, *, handler: str, payload: bytes) -> CallResult:
        """Call a handler of the frame's actor; its writes remain only if the result is OK."""
        savepoint, reached = self._view.savepoint(), self.policy.reached
        if not frame.is_read_only:
            self._freed = b""
        before = len(reached)
        record = self._view.get(ACTORS, actor_key(frame.actor))
        program = None if record is None else self._programs.get(record.program)
        result = call_handler(program, self, frame, meter, handler=handler, payload=payload)
        if result.status is not Status.OK:
            self._view.rollback(savepoint)
            del reached[before:]
            if result.status is Status.FAULT:
                reached.append(BlockRule.PROGRAM_FAULTED)
        return result

    def run_timer(self, timer: Timer, *, has_sender: bool = True) -> RunOutcome:
        """Run a timer's handler within its own limits: the scheduler's Runner (C-8)."""
        handler, payload = call_of(timer)
        frame = Frame(timer.actor, timer.actor if has_sender else b"", ZERO_ORIGIN, 0)
        cells_max, rate = self.config.max_cells_per_fire, self.policy.cell_rate
        meter = Meter(timer.gas_limit, cells_max) if rate is None else GasMeter(timer.gas_limit, cells_max, rate)
        result = self.call(frame, meter, handler=handler, payload=payload)
        self._note_schedules(result, BlockRule.SCHEDULED_BY_FIRE)
        if result.status is Status.OK and handler != timer.handler:
            self.policy.reached.append(BlockRule.HANDLER_IN_PAYLOAD)
        return RunOutcome(result.status is Status.OK, result.cycles, result.cells, result.events)

    def deliver(self, frame: Frame, meter: Meter, handler: str, payload: bytes) -> CallResult:
        """Run a message's handler, for the mailbox."""
        result = self.call(frame, meter, handler=handler, payload=payload)
        self._note_schedules(result, BlockRule.SCHEDULED_BY_MESSAGE)
        return result

    def ask(self, call: AgentCall) -> bytes | GbaFailure:
        """Ask an agent, read-only and without a charge; return its answer, or the kind of failure."""
        frame = Frame(call.agent, call.actor, ZERO_ORIGIN, 0, is_read_only=True)
        # As many cells as cycles: cells pay for reads of other actors, and an agent can write nothing (K-40).
        meter = Meter(call.cycles, call.cycles)
        result = self.call(frame, meter, handler=call.handler, payload=call.payload)
        if result.status is not Status.OK:
            return GbaFailure.OVERRUN if result.status is Status.OUT_OF_GAS else GbaFailure.FAILED
        return result.answer

    def storage_get(self, actor: bytes, key: bytes) -> bytes | None:
        """Return a value of an actor's storage."""
        if len(key) <= SHORT_STORAGE_KEY_BYTES:
            short = self._view.get(STORAGE, storage_key(actor, key))
            return None if short is None else short.value
        record = self._view.get(LONG_STORAGE, long_storage_key(actor, key))
        return None if record is None else record.value

    def storage_put(self, actor: bytes, key: bytes, value: bytes) -> None:
        """Store a value."""
        put_storage(self._view, actor, key, value)

    def storage_delete(self, actor: bytes, key: bytes) -> None:
        """Delete a value."""
        if len(key) <= SHORT_STORAGE_KEY_BYTES:
            self._view.set(storage_key(actor, key), None)
        else:
            self._view.set(long_storage_key(actor, key), None)

    def balance(self, address: bytes) -> int:
        """Return a balance in units."""
        return self._ledger.balance(address)

    def move(self, source: bytes, target: bytes, amount: int) -> None:
        """Move units, or raise ReservedAddress; `source` has them."""
        if target in self.reserved:
            raise ReservedAddress(target)
        self._ledger.charge(source, amount)
        self._ledger.credit(target, amount)

    def owner(self, actor: bytes) -> bytes:
        """Return the address that owns an actor."""
        record = self._view.get(ACTORS, actor_key(actor))
        assert record is not None, f"actor {actor.hex()} runs and has no record"
        return record.owner

    @property
    def default_agent(self) -> bytes | None:
        """The agent to name for a timer without its own agent, where the block's policy wants one."""
        return self.policy.default_agent

    def admit_timer(self, request: ScheduleRequest) -> Admission:
        """Check a timer before it is scheduled."""
        admission = self.policy.admit(request)
        # Any later failure fails the whole call, which rolls these back.
        self.policy.reached += admission.reached
        if request.actor == self._freed and CallRule.LAST_PLACE_TAKEN in admission.reached:
            self.policy.reached.append(CallRule.PLACE_FREED)
        return admission

    def cycles_to_admit(self, request: ScheduleRequest) -> int:
        """Return the cycles that a call is charged besides its price, before its timer is admitted."""
        return self.policy.cycles_to_admit(request)

    def watched_keys(self, actor: bytes, watched: Sequence[tuple[bytes, bytes | None]]) -> tuple[bytes, ...]:
        """Return the checked keys of the state that a new timer of an actor is to watch."""
        keys = tuple(map(key_of, watched))
        self.policy.check_watch(actor, keys)
        return keys

    def enter_timer(self, admission: Admission) -> None:
        """Write an admitted timer."""
        self.policy.enter(admission)

    def extend_timer(self, caller: bytes, timer_id: bytes, new_expires_at: int) -> TimerExtended:
        """Move a timer's expiry."""
        return self.policy.extend(caller, timer_id, new_expires_at)

    def cancel_timer(self, caller: bytes, timer_id: bytes) -> TimerCancelled | TransactionCancelled:
        """Cancel a timer."""
        live = self.policy.block.timers.live_timers(caller)
        cancelled = self.policy.cancel(caller, timer_id)
        if live >= self.config.max_timers_per_actor:
            self._freed = caller
        return cancelled

    def check_message(self, request: SendRequest) -> None:
        """Check a message before it is sent; the policy also limits the messages of a fire."""
        self._mailbox.check(request)
        if request.frame.is_fire:
            self.policy.check_call(request.sent, request.cycles)

    def send(self, request: SendRequest) -> MessageSent:
        """Put a message at the end of the mailbox."""
        return self._mailbox.send(request)

    def refused(self, what: str, error: Exception) -> None:
        """Note a refusal, even if its program caught it or its call failed."""
        point = refusal_of(what, error)
        if point is not None:
            self.reach(point)

    def obey(self, sender: bytes, instruction: SystemInstruction | CancelAll) -> Sequence[msgspec.Struct]:
        """Carry out a system instruction, or an owner's on its actor, and return the events.

        Raises:
            Rejected: The named error, with nothing written.
        """
        if isinstance(instruction, CancelAll):
            record = self._view.get(ACTORS, actor_key(instruction.actor))
            owner = None if record is None else record.owner
            return (self.policy.cancel_all(sender, instruction.actor, owner),)
        require_deployer(sender, self._system_deployers)
        match instruction:
            case SystemCancelTimer():
                return (self.policy.cancel_by_governance(instruction.timer_id),)
            case SystemUpdateTimerConfig():
                return (self._update_config(instruction.config),)
            case SystemExtendTimer():
                return (self.policy.extend_by_governance(instruction.timer_id, instruction.expires_at),)
            case SystemControlService():
                return self.policy.control(instruction.action, instruction.batch)
        assert_never(instruction)

    def _update_config(self, encoded: bytes) -> TimerConfigUpdated:
        """Write the configuration that the next block reads; this block keeps the configuration read at its start."""
        # Based on the present record, not on the one the block read: two updates in one block add up.
        current = [self._view.get(table, table.key()) for table in self._config_tables]
        changed = decode_update(encoded, [record for record in current if record is not None])
        for table, record in zip(self._config_tables, changed, strict=True):
            self._view.set(table.key(), record)
        self.policy.reached.append(cell_of_update(encoded))
        return TimerConfigUpdated(encoded)

    def _note_schedules(self, result: CallResult, point: CoveragePoint) -> None:
        if any(isinstance(event, TimerScheduled) for event in result.events):
            self.policy.reached.append(point)


def put_storage(view: View, actor: bytes, key: bytes, value: bytes) -> None:
    """Store a value of an actor's storage under its short or its hashed key."""
    if len(key) <= SHORT_STORAGE_KEY_BYTES:
        view.set(storage_key(actor, key), StoredValue(value))
    else:
        view.set(long_storage_key(actor, key), LongStoredValue(actor, key, value))
