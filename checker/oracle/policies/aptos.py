"""The twin of `aptos`: scheduled transactions after AIP-125 (docs/scheduled-transactions.md)."""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from checker.oracle.calls import Call, Present, RevertedError
from checker.oracle.contents import Contents, Quote, Table, Timer
from checker.oracle.phases import PHASES
from checker.oracle.policies.policy import BlockStart, PolicyInBlock, PolicyOracle
from checker.oracle.queue import Queue
from checker.oracle.queue_phase import QueuePhase
from checker.oracle.queue_records import (
    ACTIVE,
    CONFIG,
    DEPOSITS,
    ENTRIES,
    NUMBERS,
    SLOTS,
    QueueConfig,
    QueueEntry,
    Token,
    bcs_of,
    deposit_of,
    price_of,
    queue_config_of,
    queue_key_of,
    txn_id_of,
)
from checker.oracle.queue_service import serve
from checker.oracle.quotes import Terms
from checker.oracle.records import MAX_INTEGER, MalformedError, TimerConfig, read
from checker.oracle.timers import TimerPhase

TXN_SCHEDULED, TXN_CANCELLED = 64, 65
"""Tags of the events of calls."""

PROLOGUE_FIRST = (PHASES[0], "prologue", *PHASES[1:])


class Asked(NamedTuple):
    """A requested entry: its timer without identifier, its own expiry or None, and its token.

    Attributes:
        pass_signer: Whether its handler is to see a sender.
        number: The required number of the token.
        is_first: Whether the insertion gives the actor its first number.
    """

    timer: Timer
    delta_ms: int | None
    token: Token | None
    number: int
    is_first: bool
    pass_signer: bool = True


class AptosInBlock(PolicyInBlock):
    """One block of the policy."""

    can_extend: ClassVar[bool] = False

    def __init__(self, start: BlockStart) -> None:
        super().__init__(start)
        self.config: QueueConfig = start.contents.own(CONFIG).rows[None]
        times = {"slot_ms": start.slot_ms, "block_ms": start.timestamp_ms, "height": start.height}
        self.queue = Queue(start.contents, self.config, **times)

    def phases(self) -> Sequence[str]:
        """Return the phases, with a prologue before the transactions."""
        return PROLOGUE_FIRST

    def ceiling(self, config: TimerConfig) -> int:
        """Return the greatest gas amount."""
        return config.max_cycles_per_fire

    def timer_phase(self, present: Present, parent_now: int, proposer: bytes) -> TimerPhase:
        """Return the queue's part in the block."""
        start = self.start
        return QueuePhase(
            start.contents, present, parent_now, start.basefees, proposer, queue=self.queue, room=start.room
        )

    def insert(self, call: Call, asked: Timer, terms: Terms) -> bytes:
        """Insert a scheduled transaction and return its key; raises RevertedError."""
        fee = terms.fees.max_fee_per_cycle
        timer = asked._replace(quote=Quote(self.config.min_price if fee is None else fee, 0, None))
        self._require_fit_for_service(timer)
        own = self._with_token(timer, self._delta_of(timer, terms.expires_at))
        if own.delta_ms is None:
            own = own._replace(pass_signer=terms.pass_signer)
        self._require_authorized(own)
        if self.queue.time_of(timer.due) > MAX_INTEGER or not _is_expiry(own.delta_ms):
            raise RevertedError("InvalidInput")
        return self._enter(call, own)

    def _require_fit_for_service(self, timer: Timer) -> None:
        config = self.config
        errors = (
            ("EUNAVAILABLE", self.queue.status != ACTIVE),
            ("EINVALID_SIGNER", timer.fee_payer != timer.actor),
            ("EINVALID_TIME", self.queue.time_of(timer.due) <= self.queue.block_ms),
            ("ELOW_GAS_UNIT_PRICE", price_of(timer) < config.min_price),
            ("ETOO_LOW_GAS_AMOUNT", timer.gas_limit < config.min_gas),
        )
        _raise_first(errors)

    def _delta_of(self, timer: Timer, expires_at: int | None) -> int | None:
        """Return the entry's own expiry, None if entries have no expiry; a too low stated expiry is negative."""
        if self.config.expiry != "at_run":
            return None
        if expires_at is None:
            return self.config.expiry_ms
        return (expires_at + 1 - timer.due) * self.queue.slot_ms - 1

    def _with_token(self, timer: Timer, delta_ms: int | None) -> Asked:
        """Return a requested entry with the token that its caller gives it."""
        number = self.queue.number_of(timer.actor)
        if self.config.authorization != "token":
            return Asked(timer, delta_ms, None, number, is_first=False)
        if self.queue.runs:
            (token,) = self.queue.runs
            if token is not None and not token.allow_rescheduling:
                token = token._replace(authorization_num=0)
            return Asked(timer, delta_ms, token, number, is_first=False)
        lifetime = self.config.token_lifetime_ms
        expiration = min(self.queue.block_ms + lifetime, MAX_INTEGER) if lifetime else MAX_INTEGER
        token = Token(self.config.token_reschedules, expiration, number or 1)
        return Asked(timer, delta_ms, token, number or 1, is_first=number == 0)

    def _require_authorized(self, own: Asked) -> None:
        token = own.token
        if token is None:
            return
        errors = (
            ("EAUTH_TOKEN_EXPIRED", token.expiration_ms < self.queue.block_ms),
            ("EAUTH_TOKEN_INSUFFICIENT_DURATION", token.expiration_ms < self.queue.time_of(own.timer.due)),
            ("EAUTH_NUM_MISMATCH", token.authorization_num != own.number),
        )
        _raise_first(errors)

    def _enter(self, call: Call, own: Asked) -> bytes:
        """Do the checks that need the entry's bytes, write it and take the deposit."""
        timer, queue, present = own.timer, self.queue, call.present
        time_ms = queue.time_of(timer.due)
        counter = call.counts.scheduled if self.config.counts_ids else 0
        bcs = bcs_of(
            timer,
            time_ms,
            expiry_delta_ms=own.delta_ms,
            token=own.token,
            counter=counter,
            pass_signer=own.pass_signer,
        )
        timer = timer._replace(timer_id=txn_id_of(bcs), expires_at=self._last_slot(time_ms, own.delta_ms))
        errors = (
            ("ETXN_TOO_LARGE", len(bcs) >= self.config.max_size_bytes),
            ("GasLimitTooHigh", timer.gas_limit > present.gas_limit_ceiling),
            ("TooManyTimers", call.counts.live >= present.config.max_timers_per_actor),
            ("DuplicateTimer", call.contents.timers.get(timer.timer_id) is not None),
            ("InvalidInput", deposit_of(timer) > MAX_INTEGER),
            ("InsufficientBalance", call.contents.balance(timer.actor) < deposit_of(timer)),
        )
        _raise_first(errors)
        call.insert(timer)
        if own.is_first:
            call.contents.own(NUMBERS).put(timer.actor, own.number)
        call.contents.own(ENTRIES).put(queue.key_of(timer), QueueEntry(own.delta_ms or 0, own.token, own.pass_signer))
        call.contents.credit(timer.actor, -deposit_of(timer))
        call.contents.credit(DEPOSITS, deposit_of(timer))
        about = (queue.block_ms, timer.timer_id, timer.actor, time_ms, timer.gas_limit, price_of(timer))
        call.events.append([TXN_SCHEDULED, *about, own.token is not None])
        return queue.key_of(timer)

    def id_of(self, call: Call, name: bytes) -> bytes:
        """Return the identifier in a key that matches the entry in every byte; raises RevertedError."""
        timer = call.contents.timers.get(name[-32:])
        if timer is None or name != self.queue.key_of(timer):
            raise RevertedError("UnknownTimer")
        return timer.timer_id

    def _last_slot(self, time_ms: int, delta_ms: int | None) -> int:
        return (time_ms + delta_ms) // self.queue.slot_ms if delta_ms else MAX_INTEGER

    def cancel(self, call: Call, timer_id: bytes) -> list[object]:
        """Take an entry out with its whole deposit, and return the event; raises RevertedError."""
        queue, lead = self.queue, self.config.cancel_lead_ms
        timer = call.contents.timers.rows[timer_id]
        errors = (
            ("EUNAVAILABLE", queue.status != ACTIVE),
            ("ECANCEL_TOO_LATE", lead > 0 and queue.time_of(timer.due) - queue.block_ms <= lead),
            ("EINVALID_SIGNER", timer.actor != call.actor),
            ("AlreadyCollected", queue.is_collected and timer.due <= call.now),
        )
        _raise_first(errors)
        queue.take_out(timer)
        return [TXN_CANCELLED, timer_id, queue.key_of(timer), timer.actor]

    def release(self, timer: Timer) -> None:
        """Remove the key of an entry that governance removes, and return its deposit."""
        self.start.contents.own(ENTRIES).put(self.queue.key_of(timer), None)
        self.queue.pay_out(timer)

    def serve(self, call: list[Any]) -> list[list[object]] | str:
        """Carry out a call on the service, or raise an authorization number; return the events, or the error."""
        return serve(self.queue, call)


class AptosOracle(PolicyOracle):
    """Scheduled transactions."""

    name: ClassVar[str] = "aptos"
    reserved: ClassVar[tuple[bytes, ...]] = (DEPOSITS,)
    timebases: ClassVar[tuple[str, ...]] = ("slot",)

    def open(self, start: BlockStart) -> PolicyInBlock:
        """Return the policy in a block."""
        return AptosInBlock(start)

    def audit(self, contents: Contents) -> str:
        """Return the contradiction of deposits or keys with the entries, empty if they agree."""
        timers, keys = contents.timers.rows.values(), len(contents.own(ENTRIES).rows)
        held, owed = contents.balance(DEPOSITS), sum(map(deposit_of, timers))
        if held != owed:
            return f"{held} units are deposited, the queued entries have deposited {owed} units"
        marked = sum(map(len, contents.own(SLOTS).rows.values()))
        if keys != len(timers) + marked:
            return f"the queue has {keys} keys, {len(timers)} bodies and {marked} marks"
        return ""

    def read_config(self, encoded: bytes) -> QueueConfig:
        """Return the queue configuration; raises MalformedError."""
        config = queue_config_of(read(encoded, "the queue configuration"))
        if config is None:
            raise MalformedError("the queue configuration of genesis breaks a rule of its fields")
        return config

    def config_table(self, contents: Contents) -> Table[None, Any]:
        """Return the table of the queue configuration."""
        return contents.own(CONFIG)

    def config_of(self, fields: Sequence[Any]) -> QueueConfig | None:
        """Return the queue configuration of these fields, None if a field breaks its rule."""
        return queue_config_of(fields)

    def key_of(self, name: str) -> str:
        """Return the key by which governance knows a field."""
        return queue_key_of(name)


def _is_expiry(delta_ms: int | None) -> bool:
    return delta_ms is None or 0 <= delta_ms <= MAX_INTEGER


def _raise_first(errors: Sequence[tuple[str, bool]]) -> None:
    """Raise the first error whose condition holds."""
    error = next((error for error, is_so in errors if is_so), None)
    if error is not None:
        raise RevertedError(error)
