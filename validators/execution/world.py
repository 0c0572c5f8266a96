"""The chain as programs reach it, within one block: storage, transfers, timers, and calls with their savepoint."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final, assert_never, final

import msgspec

from scheduler import (
    MAX_U63,
    ZERO_ORIGIN,
    Admission,
    Desk,
    FeeParams,
    GbaContext,
    GbaFailure,
    Lane,
    RunOutcome,
    ScheduleRequest,
    Timer,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerConfigUpdated,
    TimerExtended,
    TimerExtendedByGovernance,
    admit,
    call_of,
    cancel,
    cancel_by_governance,
    decode_update,
    extend,
    extend_by_governance,
    require_deployer,
)
from validators.actors import CallResult, Frame, MessageSent, Meter, Programs, SendRequest, Status, call_handler
from validators.execution.blocks import (
    SystemCancelTimer,
    SystemExtendTimer,
    SystemInstruction,
    SystemUpdateTimerConfig,
)
from validators.execution.ledger import StateLedger
from validators.execution.mailbox import StateMailbox
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

AGENT_HANDLER: Final = "get_gas_bid"
"""The handler of a gas bidding agent: getGasBid of CIP-1, section 7."""


@final
class ChainWorld:
    """Implements validators.actors.World over a block's view; `collected` is true while the timer phase runs."""

    def __init__(
        self,
        *,
        view: View,
        ledger: StateLedger,
        desk: Desk,
        mailbox: StateMailbox,
        programs: Programs,
        system_deployers: Collection[bytes],
        config_tables: Sequence[Table[Any]],
    ) -> None:
        self.moment = desk.moment
        self.config = desk.config
        self._view = view
        self._ledger = ledger
        self._desk = desk
        self._mailbox = mailbox
        self._programs = programs
        self._system_deployers = system_deployers
        self._config_tables = config_tables

    def enter_lane(self, lane: Lane) -> None:
        """From now on timers are scheduled by the lane's rules."""
        self._desk = replace(self._desk, lane=lane)

    def begin_timer_phase(self) -> None:
        """From now to the block's end timers that are due are on the phase's list, and too late to change (Q-28)."""
        self._desk = replace(self._desk, collected=True)

    def call(self, frame: Frame, meter: Meter, *, handler: str, payload: bytes) -> CallResult:
        """Call a handler of the frame's actor; unless the result is OK, nothing that it wrote remains."""
        savepoint = self._view.savepoint()
        record = self._view.get(ACTORS, actor_key(frame.actor))
        program = None if record is None else self._programs.get(record.program)
        result = call_handler(program, self, frame, meter, handler=handler, payload=payload)
        if result.status is not Status.OK:
            self._view.rollback(savepoint)
        return result

    def run_timer(self, timer: Timer) -> RunOutcome:
        """Run a timer's handler within its own limits: the scheduler's Runner (C-8)."""
        handler, payload = call_of(timer)
        frame = Frame(timer.actor, timer.actor, ZERO_ORIGIN, 0)
        meter = Meter(timer.gas_limit, self.config.max_cells_per_fire)
        result = self.call(frame, meter, handler=handler, payload=payload)
        return RunOutcome(result.status is Status.OK, result.cycles, result.cells, result.events)

    def deliver(self, frame: Frame, meter: Meter, handler: str, payload: bytes) -> CallResult:
        """Run a message's handler: what the mailbox calls."""
        return self.call(frame, meter, handler=handler, payload=payload)

    def ask(self, timer: Timer, context: GbaContext) -> FeeParams | GbaFailure:
        """Ask the agent that a timer names what it bids, read-only, at nobody's cost: the scheduler's Bidder."""
        quote, lane = timer.quote, self._desk.lane
        assert quote is not None, "a timer without a quote names no agent"
        assert quote.gba is not None, "only agents are asked"
        assert lane is not None, "nobody is asked outside the lane"
        frame = Frame(quote.gba, timer.actor, ZERO_ORIGIN, 0, is_read_only=True)
        meter = Meter(lane.config.gba_call_cycles, 0)
        told = [min(value, MAX_U63) for value in msgspec.structs.astuple(context)]
        result = self.call(frame, meter, handler=AGENT_HANDLER, payload=msgspec.msgpack.encode(told))
        if result.status is not Status.OK:
            return GbaFailure.OVERRUN if result.status is Status.OUT_OF_GAS else GbaFailure.FAILED
        try:
            return msgspec.msgpack.decode(result.answer, type=FeeParams)
        except (msgspec.MsgspecError, UnicodeError):
            return GbaFailure.ABSURD

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
        """Move units; `source` has them."""
        self._ledger.charge(source, amount)
        self._ledger.credit(target, amount)

    def owner(self, actor: bytes) -> bytes:
        """Return the address that owns an actor."""
        record = self._view.get(ACTORS, actor_key(actor))
        assert record is not None, f"actor {actor.hex()} runs and has no record"
        return record.owner

    def admit_timer(self, request: ScheduleRequest) -> Admission:
        """Check a timer that is to be scheduled."""
        return admit(self._desk, request)

    def insert_timer(self, timer: Timer) -> None:
        """Write a timer that was admitted."""
        self._desk.tables.insert(timer)

    def extend_timer(self, caller: bytes, timer_id: bytes, new_expires_at: int) -> TimerExtended:
        """Move a timer's expiry."""
        return extend(self._desk, caller, timer_id, new_expires_at)

    def cancel_timer(self, caller: bytes, timer_id: bytes) -> TimerCancelled:
        """Cancel a timer."""
        return cancel(self._desk, caller, timer_id)

    def check_message(self, request: SendRequest) -> None:
        """Check a message that is to be sent."""
        self._mailbox.check(request)

    def send(self, request: SendRequest) -> MessageSent:
        """Put a message at the end of the mailbox."""
        return self._mailbox.send(request)

    def obey(
        self, sender: bytes, instruction: SystemInstruction
    ) -> TimerCancelledByGovernance | TimerConfigUpdated | TimerExtendedByGovernance:
        """Carry out a system instruction, or raise the named error with nothing written."""
        require_deployer(sender, self._system_deployers)
        match instruction:
            case SystemCancelTimer():
                return cancel_by_governance(self._desk, instruction.timer_id)
            case SystemUpdateTimerConfig():
                return self._update_config(instruction.config)
            case SystemExtendTimer():
                return extend_by_governance(self._desk, instruction.timer_id, instruction.expires_at)
        assert_never(instruction)

    def _update_config(self, encoded: bytes) -> TimerConfigUpdated:
        """Write what the next block reads; this one goes on with what it read at its start."""
        current = [self._view.get(table, table.key()) for table in self._config_tables]
        changed = decode_update(encoded, [record for record in current if record is not None])
        for table, record in zip(self._config_tables, changed, strict=True):
            self._view.set(table.key(), record)
        return TimerConfigUpdated(encoded)


def put_storage(view: View, actor: bytes, key: bytes, value: bytes) -> None:
    """Store a value of an actor's storage under its short or its hashed key."""
    if len(key) <= SHORT_STORAGE_KEY_BYTES:
        view.set(storage_key(actor, key), StoredValue(value))
    else:
        view.set(long_storage_key(actor, key), LongStoredValue(actor, key, value))
