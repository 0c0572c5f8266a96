"""A call of a handler: its costs, its permissions and its outcome.

The rules are in docs/chain.md, "What it costs" and "Timers". A call ends early by an exception; the code that started
it undoes its writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from checker.oracle import escrow, watches
from checker.oracle.admission import Admission
from checker.oracle.contents import Bucket, Contents, Message, Timer, TimerCounts
from checker.oracle.gas import Gas
from checker.oracle.lane_config import Calendar
from checker.oracle.quotes import Fees, Quoted, Terms
from checker.oracle.records import MAX_INTEGER, TimerConfig, be8, keccak256
from checker.oracle.timer_tables import index_cells, remove_timer

CALL_CYCLES = 200
GET_CYCLES = 50
PUT_CYCLES = 100
DELETE_CYCLES = 50
BALANCE_CYCLES = 50
TRANSFER_CYCLES = 100
EMIT_CYCLES = 50
SEND_CYCLES = 200

MAX_PAYLOAD_BYTES = 1_048_576
MAX_HANDLER_BYTES = 256
DEFAULT_HANDLER = "handle_timer"
ADDRESS_BYTES = 20
RESERVED_ADDRESSES = [number.to_bytes(20, "big") for number in range(16)]
"""The addresses 0 to 0x0F, which pay for nothing."""

SCHEDULED, EXTENDED, CANCELLED, CLAMPED, BID_LOCKED, EMITTED, SENT = 0, 7, 5, 11, 15, 32, 33
"""Tags of the events that a call makes."""


class RevertedError(Exception):
    """The call gave up; the message is the error of its receipt."""


class Present(NamedTuple):
    """The block as a call sees it: the current height or slot, the configuration, and the timers that are collected.

    `admission` has the policy's rules for new timers. A message may use at most `mailbox_cycles`. `collected` is the
    list of the timer phase, by identifier: a timer on it can no longer change. No actor transfers to a `reserved`
    address.
    """

    height: int
    now: int
    config: TimerConfig
    collected: dict[bytes, Timer]
    mailbox_cycles: int
    admission: Admission
    ring_size: int = Calendar().ring_size
    reserved: tuple[bytes, ...] = ()

    @property
    def gas_limit_ceiling(self) -> int:
        """The greatest gas limit that a timer can be given now, and the default."""
        return self.admission.ceiling(self.config)

    @property
    def latest_expiry(self) -> int:
        """The latest expiry that a timer can be given now."""
        return self.now + self.config.max_ttl_blocks if self.admission.has_ttl else MAX_INTEGER


@dataclass
class Call:
    """A running call: its actor, sender and nonce, and every operation open to its program.

    `origin` is the hash of the transaction that the call goes back to, or zeros.
    """

    contents: Contents
    present: Present
    gas: Gas
    actor: bytes
    sender: bytes
    nonce: int
    origin: bytes = bytes(32)
    is_message: bool = False
    is_read_only: bool = False
    is_fire: bool = False
    has_overstepped: bool = False
    events: list[list[object]] = field(default_factory=list)

    @property
    def now(self) -> int:
        """The current height or slot."""
        return self.present.now

    @property
    def owner(self) -> bytes:
        """The owner of the running actor."""
        actor = self.contents.actors.rows[self.actor]
        return actor.owner

    def get(self, key: bytes, actor: bytes | None = None) -> bytes | None:
        """Return a stored value; another actor's value only in a read-only call, for a cell per byte."""
        self.gas.use(GET_CYCLES)
        _require_address(actor)
        if actor in (None, self.actor):
            return self.contents.storage.get((self.actor, key))
        if not self.is_read_only:
            raise RevertedError("own storage only")
        found = self.contents.storage.get((actor, key))
        if found is not None:
            self.gas.use(0, len(found))
        return found

    def put(self, key: bytes, value: bytes) -> None:
        """Store a value."""
        self._require_right_to_write()
        self.gas.use(PUT_CYCLES, len(key) + len(value))
        self.contents.storage.put((self.actor, key), value)

    def delete(self, key: bytes) -> None:
        """Remove a value."""
        self._require_right_to_write()
        self.gas.use(DELETE_CYCLES)
        self.contents.storage.put((self.actor, key), None)

    def balance(self, address: bytes | None = None) -> int:
        """Return the units of an address, the actor's own by default."""
        self.gas.use(BALANCE_CYCLES)
        _require_address(address)
        return self.contents.balance(self.actor if address is None else address)

    def transfer(self, to: bytes, amount: int) -> None:
        """Move units from the actor to an address."""
        self._require_right_to_write()
        self.gas.use(TRANSFER_CYCLES)
        _require_number(amount)
        available = self.contents.balance(self.actor)
        if available < amount:
            raise RevertedError(f"transfer of {amount} exceeds balance {available}")
        _require_address(to)
        if to in self.present.reserved:
            raise RevertedError("ReservedAddress")
        self.contents.credit(self.actor, -amount)
        self.contents.credit(to, amount)

    def emit(self, topic: str, data: bytes) -> None:
        """Append an event of the program's own."""
        self._require_right_to_write()
        self.gas.use(EMIT_CYCLES, len(topic.encode()) + len(data))
        self.events.append([EMITTED, self.actor, topic, data])

    def compute(self, cycles: int) -> None:
        """Pay for work of the program's own."""
        _require_number(cycles)
        self.gas.use(cycles)

    def schedule(
        self,
        due: int,
        payload: bytes,
        *,
        fee_payer: bytes | None = None,
        gas_limit: int | None = None,
        expires_at: int | None = None,
        max_fee_per_cycle: int | None = None,
        max_priority_fee_per_cycle: int | None = None,
        priority_tier_hint: str | None = None,
        gba: bytes | None = None,
        bid: int | None = None,
        pass_signer: bool = True,
    ) -> bytes:
        """Schedule a call of this actor's default handler; None is the default. Return the timer's name."""
        fees = Fees(max_fee_per_cycle, max_priority_fee_per_cycle, priority_tier_hint, gba, bid)
        return self._schedule(due, payload, Terms(fee_payer, gas_limit, expires_at, fees, pass_signer))

    def watch(
        self,
        watched: Sequence[tuple[bytes, bytes | None]],
        payload: bytes,
        *,
        fee_payer: bytes | None = None,
        gas_limit: int | None = None,
        expires_at: int | None = None,
        **fees: Any,  # noqa: ANN401 - the fields of the fees
    ) -> bytes:
        """Schedule a call for a change of any of some values; without a change it expires."""
        latest = self.now + self.present.config.max_ttl_blocks if expires_at is None else expires_at
        stated = Fees(**{name: fees.get(name) for name in Fees._fields})
        return self._schedule(latest + 1, payload, Terms(fee_payer, gas_limit, expires_at, stated), watched)

    def _schedule(
        self,
        due: int,
        payload: bytes,
        terms: Terms,
        watched: Sequence[tuple[bytes, bytes | None]] | None = None,
    ) -> bytes:
        fee_payer, gas_limit, expires_at, fees, _ = terms
        self._require_right_to_write()
        config, admission = self.present.config, self.present.admission
        self.gas.use(config.schedule_cycles, len(payload))
        _require_number(due, gas_limit, expires_at, fees.max_fee_per_cycle, fees.max_priority_fee_per_cycle, fees.bid)
        _require_address(fee_payer, fees.gba)
        keys = None if watched is None else self._keys_to_watch(watched)
        if error := admission.early_error(fees, fee_payer, self.present.height):
            raise RevertedError(error)
        gas_limit, fees = admission.fill_in(self, due, gas_limit, fees)
        asked = Timer(
            timer_id=b"",
            actor=self.actor,
            due=due,
            sequence=0,
            payload=payload,
            handler=DEFAULT_HANDLER,
            fee_payer=self.actor if fee_payer is None else fee_payer,
            gas_limit=self.present.gas_limit_ceiling if gas_limit is None else gas_limit,
            gas_limit_is_default=gas_limit is None,
            expires_at=self.present.latest_expiry if expires_at is None or not admission.has_ttl else expires_at,
        )
        if (own_name := admission.insert(self, asked, terms)) is not None:
            return own_name
        counts = self.counts
        timer_id = keccak256(self.actor + be8(due) + payload + be8(self.nonce) + be8(counts.scheduled))
        locked = admission.locked(fees)
        named = asked._replace(timer_id=timer_id)
        quoted = self._admit(named, fees, counts, locked)
        self.insert(named if quoted.quote is None else named._replace(quote=quoted.quote), locked, keys or ())
        if quoted.quote is not None and quoted.stated is not None:
            self.events.append([CLAMPED, timer_id, quoted.stated, quoted.quote.max_priority_fee_per_cycle])
        self.events += [] if keys is None else [[watches.WATCHES, timer_id, keys]]
        return timer_id

    def _keys_to_watch(self, watched: Sequence[tuple[bytes, bytes | None]]) -> list[bytes]:
        """Return the state keys that a new timer is to watch."""
        _require_address(*(address for address, _ in watched))
        keys = [watches.key_of(address, key) for address, key in watched]
        if error := watches.refusal(self.contents, self.actor, keys, self.present.admission.watch_limits):
            raise RevertedError(error)
        return keys

    def _admit(self, asked: Timer, fees: Fees, counts: TimerCounts, locked: int) -> Quoted:
        """Return the quote of a requested timer; raises RevertedError with the first error in it."""
        error = self._refusal(asked)
        quoted = Quoted(None, error=error) if error else self.present.admission.quote(fees)
        errors = (
            (quoted.error, bool(quoted.error)),
            ("TooManyTimers", counts.live >= self.present.config.max_timers_per_actor),
            ("DuplicateTimer", self.contents.timers.get(asked.timer_id) is not None),
            ("BidNotCovered", self.contents.balance(asked.fee_payer) < locked),
        )
        for error, is_so in errors:
            if is_so:
                raise RevertedError(error)
        return quoted

    @property
    def counts(self) -> TimerCounts:
        """The actor's timers."""
        return self.contents.counts.get(self.actor) or TimerCounts(0, 0)

    def insert(self, timer: Timer, locked: int = 0, keys: Sequence[bytes] = ()) -> None:
        """Write an admitted timer at the tail of its bucket, lock its bid, and begin its watch."""
        due, timer_id, counts = timer.due, timer.timer_id, self.counts
        bucket = self.contents.buckets.get(due) or Bucket(0, 0, queued=due - self.now >= self.present.ring_size)
        timer = timer._replace(sequence=bucket.tail)
        if self.present.config.charges_index_cells:
            self.gas.use(0, index_cells(timer, bucket))
        self.gas.use(0, watches.CELLS_OF_KEY * len(keys))
        self.contents.timers.put(timer_id, timer)
        self.contents.bucket_entries.put((due, timer.sequence), timer_id)
        self.contents.buckets.put(due, bucket._replace(tail=bucket.tail + 1, live=bucket.live + 1))
        self.contents.counts.put(self.actor, TimerCounts(counts.live + 1, counts.scheduled + 1))
        self.events.append(
            [SCHEDULED, timer_id, self.actor, due, timer.sequence, timer.fee_payer, timer.gas_limit, timer.expires_at]
        )
        watches.begin(self.contents, timer, keys)
        if locked:
            escrow.lock(self.contents, timer, locked)
            self.events.append([BID_LOCKED, timer_id, timer.fee_payer, locked])

    def extend(self, name: bytes, expires_at: int) -> int:
        """Move the expiry of one of the actor's timers; return the new one."""
        self._require_right_to_write()
        self.gas.use(self.present.config.extend_cycles)
        _require_number(expires_at)
        require_extensible(self.contents, self.present, timer_id := self.present.admission.id_of(self, name))
        timer = self._own_timer(timer_id)
        moved = new_expiry(self.contents, timer, self.present, expires_at)
        self.contents.timers.put(timer_id, timer._replace(expires_at=moved))
        self.events.append([EXTENDED, timer_id, moved])
        return moved

    def cancel(self, name: bytes) -> None:
        """Remove one of the actor's timers."""
        self._require_right_to_write()
        self.gas.use(self.present.config.cancel_cycles)
        event = self.present.admission.cancel(self, timer_id := self.present.admission.id_of(self, name))
        if event is None:
            remove_timer(self.contents, self._own_timer(timer_id))
            event = [CANCELLED, timer_id, self.actor]
        self.events.append(event)

    def send(self, actor: bytes, handler: str, payload: bytes, cycles: int) -> None:
        """Have an actor called from the mailbox, with cycles and as many cells out of this call's gas."""
        self._require_right_to_write()
        self.gas.use(SEND_CYCLES, len(payload))
        _require_number(cycles)
        beyond = self.present.admission.call_error(self, cycles) if self.is_fire else ""
        errors = (
            ("InvalidInput", len(actor) != ADDRESS_BYTES),
            ("PayloadTooLarge", len(payload) > MAX_PAYLOAD_BYTES),
            ("HandlerTooLong", len(handler.encode()) > MAX_HANDLER_BYTES),
            ("InvalidInput", cycles < CALL_CYCLES),
            ("GasLimitTooHigh", cycles > self.present.mailbox_cycles),
            (beyond, bool(beyond)),
        )
        for error, is_so in errors:
            if is_so:
                raise RevertedError(error)
        self.gas.use(cycles, cycles)
        sequence = self.contents.messages_sent.get(None) or 0
        self.contents.messages_sent.put(None, sequence + 1)
        message = Message(self.actor, actor, handler, payload, cycles, self.origin)
        self.contents.messages.put(sequence, message)
        self.events.append([SENT, sequence, self.actor, actor, handler, cycles])

    def _require_right_to_write(self) -> None:
        """Revert if the call is read-only; a program that catches the exception has failed all the same."""
        if self.is_read_only:
            self.has_overstepped = True
            raise RevertedError("read-only")

    def _refusal(self, asked: Timer) -> str:
        """Return the first error in a requested timer, or an empty string."""
        payer = asked.fee_payer
        payers = (self.actor,) if self.is_message else (self.actor, self.sender)
        errors = (
            ("HeightNotInFuture", asked.due <= self.now),
            ("PayloadTooLarge", len(asked.payload) > MAX_PAYLOAD_BYTES),
            ("HandlerTooLong", len(asked.handler.encode()) > MAX_HANDLER_BYTES),
            ("InvalidInput", payer in RESERVED_ADDRESSES or payer not in payers),
            ("GasLimitTooHigh", asked.gas_limit > self.present.gas_limit_ceiling),
            ("TtlTooLong", asked.expires_at > self.present.latest_expiry),
        )
        return next((error for error, is_so in errors if is_so), "")

    def _own_timer(self, timer_id: bytes) -> Timer:
        timer = self.contents.timers.get(timer_id)
        if timer is None:
            raise RevertedError("UnknownTimer")
        if timer.actor != self.actor:
            raise RevertedError("Unauthorized")
        if timer_id in self.present.collected:
            raise RevertedError("AlreadyCollected")
        return timer


def require_extensible(contents: Contents, present: Present, timer_id: bytes) -> None:
    """Revert if the policy moves no expiry, or the timer does not exist."""
    if contents.timers.get(timer_id) is None:
        raise RevertedError("UnknownTimer")
    if not present.admission.can_extend:
        raise RevertedError("InvalidInput")


def new_expiry(contents: Contents, timer: Timer, present: Present, expires_at: int) -> int:
    """Return the expiry that an extension to `expires_at` gives to a timer; raises RevertedError."""
    is_gone = present.now > timer.expires_at
    if expires_at <= present.now or is_gone or watches.is_watching(contents, timer.timer_id):
        raise RevertedError("InvalidInput")
    # If timers do not expire, the requested expiry does not matter.
    return min(expires_at, present.latest_expiry) if present.admission.has_ttl else present.latest_expiry


def _require_address(*addresses: bytes | None) -> None:
    for address in addresses:
        if address is not None and len(address) != ADDRESS_BYTES:
            raise RevertedError("InvalidInput")


def _require_number(*numbers: int | None) -> None:
    for number in numbers:
        if number is not None and not 0 <= number <= MAX_INTEGER:
            raise RevertedError("InvalidInput")
