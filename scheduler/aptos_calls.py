"""Calls about the queue of scheduled transactions: insertion, cancellation, tokens, governance of the service.

The base of the policy `aptos` in a block. Every function checks first and writes after. A call's changes are rolled
back with the call, so nothing here is kept outside the state, except `cancelled`, the entries that may have left.
"""

from collections.abc import Sequence
from typing import NoReturn

import msgspec

from scheduler.aptos_keys import (
    KEY_PARTS_BYTES,
    deposit_of,
    key_order,
    map_key,
    price_of,
    transaction_bytes,
    transaction_id,
)
from scheduler.aptos_records import (
    AUTHORIZATION,
    DEPOSITS,
    QUEUE_ENTRY,
    SERVICE_STATUS,
    AptosConfig,
    AuthorizationNumber,
    QueueEntry,
    ServiceState,
    ServiceStatus,
    Token,
)
from scheduler.aptos_rules import Insertion, check_insertion, check_lead, check_size, status_after
from scheduler.errors import (
    EAUTH_NUM_NOT_FOUND,
    EINVALID_SIGNER,
    EUNAVAILABLE,
    AlreadyCollected,
    DuplicateTimer,
    GasLimitTooHigh,
    InsufficientBalance,
    InvalidInput,
    TooManyTimers,
    Unauthorized,
    UnknownTimer,
)
from scheduler.events import (
    AuthorizationRaised,
    FailureCode,
    ServiceStatusChanged,
    ShutdownEvent,
    TimerScheduled,
    TransactionCancelled,
    TransactionFailed,
    TransactionScheduled,
)
from scheduler.lifecycle import Admission, ScheduleRequest, check_handler, index_cells
from scheduler.policies.policy import BlockContext, PolicyInBlock
from scheduler.rules import AptosRule, CallRule, CoveragePoint
from scheduler.types import MAX_U63, Exit, Quote, Ratio, RunOutcome, Timer


class CallsInBlock(PolicyInBlock):
    """One block of the policy, as calls see it."""

    def __init__(self, block: BlockContext) -> None:
        super().__init__(block)
        assert isinstance(block.own, AptosConfig), "genesis writes the queue configuration"
        assert block.state is not None, "a chain hands its tables in"
        self.own = block.own
        self.state = block.state
        self.now_ms = block.moment.timestamp_ms
        self.slot_ms = block.moment.slot_ms
        self.cancelled: dict[bytes, Timer] = {}
        """Due entries that calls removed; a call that was taken back has removed none."""
        self._terms: dict[bytes, QueueEntry] = {}
        self._running: QueueEntry | None = None

    @property
    def cell_rate(self) -> Ratio | None:
        """The gas of a cell: the ratio of the basefees (Q-53)."""
        return self.block.basefees.cell, self.block.basefees.cycle

    @property
    def status(self) -> ServiceState:
        """The status of the service now."""
        record = self.state.get(SERVICE_STATUS, SERVICE_STATUS.key())
        return ServiceState.ACTIVE if record is None else record.status

    def number_of(self, actor: bytes) -> int:
        """Return an actor's current authorization number; 0 before its first."""
        record = self.state.get(AUTHORIZATION, AUTHORIZATION.key(actor))
        return 0 if record is None else record.number

    def key_of(self, timer: Timer) -> bytes:
        """Return the key of a body."""
        return map_key(timer.due * self.slot_ms, price_of(timer), timer.timer_id)

    def entry_of(self, timer: Timer) -> QueueEntry:
        """Return the entry of a body."""
        entry = self.state.get(QUEUE_ENTRY, QUEUE_ENTRY.hashed_key(self.key_of(timer)))
        assert entry is not None, f"the body of {timer.timer_id.hex()} has no key in the queue"
        return entry

    def admit(self, request: ScheduleRequest) -> Admission:
        """Check an entry that is to come in; nothing is written (docs/scheduled-transactions.md, calls of the queue).

        Raises:
            Rejected: The first check that fails.
        """
        own, config, now = self.own, self.block.config, self.block.moment.now
        fee = request.fees.max_fee_per_cycle
        price = own.min_price if fee is None else fee
        gas = config.max_cycles_per_fire if request.gas_limit is None else request.gas_limit
        token = self._token_of(request.actor)
        is_signer = request.fee_payer in (None, request.actor)
        number = self.number_of(request.actor)
        if token is not None and self._running is None:
            number = number or 1
        insertion = Insertion(
            self.status, is_signer, request.due * self.slot_ms, self.now_ms, price, gas, token, number
        )
        check_insertion(insertion, own)
        expiry_delta_ms = self._expiry_of(request)
        check_handler(request)
        timer = self._body(request, price, gas, expiry_delta_ms)
        has_expiry = own.expiry == "at_run"
        # The layout with an expiry of its own has no such field.
        pass_signer = request.pass_signer or has_expiry
        counter = self.block.timers.scheduled_timers(request.actor) if own.counts_ids else 0
        encoded = transaction_bytes(
            timer,
            slot_ms=self.slot_ms,
            counter=counter,
            expiry_delta_ms=expiry_delta_ms if has_expiry else None,
            token=token,
            pass_signer=pass_signer,
        )
        check_size(len(encoded), own)
        timer = msgspec.structs.replace(timer, timer_id=transaction_id(encoded))
        self._check_place(timer)
        key = self.key_of(timer)
        # Beside the admission: whoever inserts it hands back no more than that.
        self._terms[timer.timer_id] = QueueEntry(key, expiry_delta_ms, token, pass_signer)
        scheduled = TimerScheduled(
            timer.timer_id, timer.actor, timer.due, timer.sequence, timer.fee_payer, gas, timer.expires_at
        )
        queued = TransactionScheduled(
            self.now_ms, timer.timer_id, timer.actor, insertion.scheduled_ms, gas, price, token is not None
        )
        cells = index_cells(timer) if config.charges_index_cells else 0
        reached = self._cells_of(request, timer, is_next=timer.due == now + 1)
        return Admission(timer, cells, (scheduled, queued), reached, key=key)

    def enter(self, admission: Admission) -> None:
        """Write an entry that was admitted, and take its deposit (F-4)."""
        timer = admission.timer
        entry = self._terms[timer.timer_id]
        self.block.timers.insert(timer)
        self.state.set(QUEUE_ENTRY.hashed_key(entry.key), entry)
        if entry.token is not None and not self.number_of(timer.actor):
            self.state.set(AUTHORIZATION.key(timer.actor), AuthorizationNumber(1))
        self.block.ledger.charge(timer.actor, deposit_of(timer))
        self.block.ledger.credit(DEPOSITS, deposit_of(timer))

    def extend(self, caller: bytes, timer_id: bytes, new_expires_at: int) -> NoReturn:
        """Refuse: an entry's expiry is part of what its sender signed; `timer_id` is its key. Raises Rejected."""
        del caller
        self.move_expiry(self._timer_of(timer_id), new_expires_at)

    def move_expiry(self, timer: Timer, new_expires_at: int) -> NoReturn:
        """Refuse, also to governance; raises InvalidInput."""
        del timer, new_expires_at
        raise InvalidInput("expires_at", "fixed when it is inserted")

    def cancel(self, caller: bytes, timer_id: bytes) -> TransactionCancelled:
        """Remove an entry at its sender's wish, and return its deposit; `timer_id` is its key. Raises Rejected."""
        moment, timer = self.block.moment, self._timer_of(timer_id)
        timer_id = timer.timer_id
        self._require_active()
        # Before the question of whose it is, as the latest branch has it.
        check_lead(timer.due * self.slot_ms, self.now_ms, self.own.cancel_lead_ms)
        if timer.actor != caller:
            raise EINVALID_SIGNER(f"{caller.hex()} did not insert {timer_id.hex()}")
        is_due = timer.due <= moment.now
        if self.context.collected and is_due:
            raise AlreadyCollected(timer_id)
        self.reached.append(AptosRule.CANCELLED_READY if is_due else AptosRule.CANCELLED_EARLY)
        return TransactionCancelled(timer_id, self._take_out(timer), caller)

    def control(self, action: str, batch: int) -> Sequence[msgspec.Struct]:
        """Carry out an instruction on the service, and return its events; raises Rejected."""
        status = self.status
        after = status_after(status, action)
        if action == "continue_shutdown":
            return self._continue_shutdown(batch)
        self.reached.append(_ACTIONS[action])
        events: list[msgspec.Struct] = [self._set_status(after)]
        if action == "start_shutdown":
            events.append(ShutdownEvent(complete=False))
        return events

    def cancel_all(self, caller: bytes, actor: bytes, owner: bytes | None) -> AuthorizationRaised:
        """Raise an actor's authorization number, which drops its entries when their turn comes; raises Rejected."""
        if caller != owner:
            raise Unauthorized(caller, f"does not own actor {actor.hex()}")
        if self.own.authorization == "none":
            raise InvalidInput("call", "there are no authorization numbers")
        number = self.number_of(actor)
        if not number:
            raise EAUTH_NUM_NOT_FOUND(f"actor {actor.hex()} has none")
        self.state.set(AUTHORIZATION.key(actor), AuthorizationNumber(number + 1))
        self.reached.append(AptosRule.NUMBER_RAISED)
        return AuthorizationRaised(actor, number + 1)

    def return_entry(self, timer: Timer) -> bytes:
        """Remove body and key of an entry, return its deposit to its sender, and return the key."""
        key = self.entry_of(timer).key
        self.block.timers.remove(timer)
        self.remove_key(key)
        self.return_deposit(timer, deposit_of(timer))
        return key

    def remove_key(self, key: bytes) -> None:
        """Take a key out of the queue."""
        self.state.set(QUEUE_ENTRY.hashed_key(key), None)

    def return_deposit(self, timer: Timer, units: int) -> None:
        """Pay units out of the deposits to an entry's sender."""
        self.reached.append(AptosRule.DEPOSIT_RETURNED)
        self.block.ledger.charge(DEPOSITS, units)
        self.block.ledger.credit(timer.actor, units)

    def run_within(self, timer: Timer, entry: QueueEntry) -> RunOutcome:
        """Run an entry's function, with its token for what that inserts."""
        self._running = entry
        within = msgspec.structs.replace(timer, gas_limit=timer.gas_limit - self.own.base_gas)
        if not entry.pass_signer:
            self.reached.append(AptosRule.SENDER_WITHHELD)
        outcome = self.block.run(within, has_sender=entry.pass_signer)
        self._running = None
        return outcome

    def _remove(self, timer: Timer, exit_: Exit) -> None:
        del exit_
        self._take_out(timer)

    def _take_out(self, timer: Timer) -> bytes:
        """Release an entry in a call, which may still be taken back."""
        if timer.due <= self.block.moment.now:
            self.cancelled[timer.timer_id] = timer
        return self.return_entry(timer)

    def _timer_of(self, key: bytes) -> Timer:
        """Return the body of a key, all of whose parts hold (K-37); raises UnknownTimer."""
        timer = self.block.timers.timer(key[KEY_PARTS_BYTES:])
        if timer is None or self.key_of(timer) != key:
            raise UnknownTimer(key)
        return timer

    def _require_active(self) -> None:
        status = self.status
        if status is not ServiceState.ACTIVE:
            raise EUNAVAILABLE(f"the service is {status.name}")

    def _token_of(self, actor: bytes) -> Token | None:
        """Return the token of what an actor inserts now; None without authorization."""
        # Asked first: governance may have taken tokens away since the running entry got its own.
        if self.own.authorization == "none":
            return None
        running = self._running
        if running is not None:
            token = running.token
            # Zeroed and not taken away: the check of the number is what refuses it.
            if token is not None and not token.allow_rescheduling:
                return msgspec.structs.replace(token, authorization_num=0)
            return token
        lifetime = self.own.token_lifetime_ms
        expiration = min(self.now_ms + lifetime, MAX_U63) if lifetime else MAX_U63
        return Token(self.own.token_reschedules, expiration, self.number_of(actor) or 1)

    def _expiry_of(self, request: ScheduleRequest) -> int:
        """Return an entry's own expiry in milliseconds after its time; 0 where it has none.

        Raises:
            InvalidInput: A time is before the scheduled one, or no number of the state.
        """
        if request.due * self.slot_ms > MAX_U63:
            raise InvalidInput("height", f"{request.due} slots exceed {MAX_U63} ms")
        if self.own.expiry != "at_run":
            return 0
        if request.expires_at is None:
            return self.own.expiry_ms
        if request.expires_at < request.due:
            raise InvalidInput("expires_at", f"{request.expires_at} is before the time {request.due}")
        delta = (request.expires_at + 1 - request.due) * self.slot_ms - 1
        if delta > MAX_U63:
            raise InvalidInput("expires_at", f"{request.expires_at} slots exceed {MAX_U63} ms")
        return delta

    def _body(self, request: ScheduleRequest, price: int, gas: int, expiry_delta_ms: int) -> Timer:
        """Return an entry's body but for its identifier."""
        expires_at = MAX_U63
        if expiry_delta_ms:
            expires_at = (request.due * self.slot_ms + expiry_delta_ms) // self.slot_ms
        return Timer(
            timer_id=b"",
            actor=request.actor,
            due=request.due,
            sequence=self.block.timers.next_sequence(request.due),
            payload=request.payload,
            handler=request.handler,
            fee_payer=request.actor,
            gas_limit=gas,
            gas_limit_is_default=request.gas_limit is None,
            expires_at=expires_at,
            quote=Quote(price, 0),
        )

    def _check_place(self, timer: Timer) -> None:
        """Make the checks of the chain and of the deposit, the last ones; raises Rejected."""
        config, tables = self.block.config, self.block.timers
        if timer.gas_limit > config.max_cycles_per_fire:
            raise GasLimitTooHigh(timer.gas_limit, config.max_cycles_per_fire)
        live = tables.live_timers(timer.actor)
        if live >= config.max_timers_per_actor:
            raise TooManyTimers(live, config.max_timers_per_actor)
        if tables.timer(timer.timer_id) is not None:
            raise DuplicateTimer(timer.timer_id)
        deposit = deposit_of(timer)
        if deposit > MAX_U63:
            raise InvalidInput("deposit", f"{deposit} exceeds {MAX_U63}")
        balance = self.block.ledger.balance(timer.actor)
        if balance < deposit:
            raise InsufficientBalance(balance, deposit)

    def _continue_shutdown(self, batch: int) -> list[msgspec.Struct]:
        """Remove the first entries of the whole queue, and complete the shutdown with the last one (F-8)."""
        most = min(batch or self.own.shutdown_batch, self.own.shutdown_batch)
        events: list[msgspec.Struct] = []
        for timer in self._first(most):
            key = self._take_out(timer)
            events.append(TransactionFailed(timer.timer_id, key, timer.actor, FailureCode.SHUTDOWN))
        self.reached.append(AptosRule.SHUTDOWN_BATCH)
        if next(self.block.timers.by_due(), None) is None:
            self.reached.append(AptosRule.SHUTDOWN_COMPLETE)
            events += self._set_status(ServiceState.SHUTDOWN_COMPLETE), ShutdownEvent(complete=True)
        return events

    def _first(self, most: int) -> list[Timer]:
        """Return the first entries of the whole queue in key order, due or not."""
        found: list[Timer] = []
        for timers in self.block.timers.by_due():
            found += sorted(timers, key=key_order)
            if len(found) >= most:
                break
        return found[:most]

    def _set_status(self, status: ServiceState) -> ServiceStatusChanged:
        record = None if status is ServiceState.ACTIVE else ServiceStatus(status)
        self.state.set(SERVICE_STATUS.key(), record)
        return ServiceStatusChanged(int(status))

    def _cells_of(self, request: ScheduleRequest, timer: Timer, *, is_next: bool) -> tuple[CoveragePoint, ...]:
        cells: list[CoveragePoint] = []
        if timer.gas_limit_is_default:
            cells.append(CallRule.GAS_LIMIT_DEFAULT)
        if is_next:
            cells.append(CallRule.DUE_NEXT)
        if timer.sequence:
            cells.append(CallRule.HEIGHT_SHARED)
        if self._running is not None:
            cells.append(AptosRule.RESCHEDULED)
        if self.own.expiry == "at_run" and request.expires_at is not None:
            cells.append(AptosRule.EXPIRY_STATED)
        return tuple(cells)


_ACTIONS = {
    "pause": AptosRule.PAUSED,
    "unpause": AptosRule.RELEASED,
    "start_shutdown": AptosRule.SHUTDOWN_STARTED,
    "re_initialize": AptosRule.REINITIALIZED,
}
"""The coverage point of each action on the service but the batches of a shutdown."""
