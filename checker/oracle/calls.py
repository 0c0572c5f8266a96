"""One call of a handler: what it costs, what it may do, and how it ends.

The rules are those of docs/chain.md, "What it costs" and "Timers". A call gives up by an exception; whoever made it
takes its writes back.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from checker.oracle.contents import Bucket, Contents, Timer, TimerCounts
from checker.oracle.records import MAX_INTEGER, TimerConfig, be8, keccak256

CALL_CYCLES = 200
GET_CYCLES = 50
PUT_CYCLES = 100
DELETE_CYCLES = 50
BALANCE_CYCLES = 50
TRANSFER_CYCLES = 100
EMIT_CYCLES = 50

MAX_PAYLOAD_BYTES = 1_048_576
MAX_HANDLER_BYTES = 256
DEFAULT_HANDLER = "handle_timer"
RESERVED_ADDRESSES = [number.to_bytes(20, "big") for number in range(16)]
"""Zero and 0x01 to 0x0F: they pay for nothing."""

SCHEDULED, EXTENDED, CANCELLED, EMITTED = 0, 7, 5, 32
"""Tags of the events that a call makes."""


class OutOfGasError(Exception):
    """A limit was reached."""


class RevertedError(Exception):
    """The call gave up; the message is the error of its receipt."""


@dataclass
class Gas:
    """Cycles and cells: limits, and what is used so far."""

    cycles_limit: int
    cells_limit: int
    cycles: int = 0
    cells: int = 0

    def use(self, cycles: int, cells: int = 0) -> None:
        """Charge; raises OutOfGasError past a limit."""
        self.cycles += cycles
        self.cells += cells
        if self.cycles > self.cycles_limit or self.cells > self.cells_limit:
            raise OutOfGasError


class Present(NamedTuple):
    """What a call knows of its block: the present, the configuration, and whether the due timers are collected."""

    height: int
    now: int
    config: TimerConfig
    is_collected: bool


@dataclass
class Call:
    """A running call: who runs, who called, with which nonce; and all that its program may do."""

    contents: Contents
    present: Present
    gas: Gas
    actor: bytes
    sender: bytes
    nonce: int
    events: list[list[object]] = field(default_factory=list)

    @property
    def now(self) -> int:
        """The present: a height or a slot."""
        return self.present.now

    @property
    def owner(self) -> bytes:
        """Whose actor it is."""
        actor = self.contents.actors.rows[self.actor]
        return actor.owner

    def get(self, key: bytes) -> bytes | None:
        """Return a stored value."""
        self.gas.use(GET_CYCLES)
        return self.contents.storage.get((self.actor, key))

    def put(self, key: bytes, value: bytes) -> None:
        """Store a value."""
        self.gas.use(PUT_CYCLES, len(key) + len(value))
        self.contents.storage.put((self.actor, key), value)

    def delete(self, key: bytes) -> None:
        """Remove a value."""
        self.gas.use(DELETE_CYCLES)
        self.contents.storage.put((self.actor, key), None)

    def balance(self) -> int:
        """Return the actor's units."""
        self.gas.use(BALANCE_CYCLES)
        return self.contents.balance(self.actor)

    def transfer(self, to: bytes, amount: int) -> None:
        """Move units from the actor to an address."""
        self.gas.use(TRANSFER_CYCLES)
        available = self.contents.balance(self.actor)
        if available < amount:
            raise RevertedError(f"transfer of {amount} exceeds balance {available}")
        self.contents.credit(self.actor, -amount)
        self.contents.credit(to, amount)

    def emit(self, topic: str, data: bytes) -> None:
        """Make an event of the program's own."""
        self.gas.use(EMIT_CYCLES, len(topic.encode()) + len(data))
        self.events.append([EMITTED, self.actor, topic, data])

    def schedule(
        self,
        due: int,
        payload: bytes,
        *,
        fee_payer: bytes | None = None,
        gas_limit: int | None = None,
        expires_at: int | None = None,
    ) -> bytes:
        """Schedule a call of this actor's default handler; None is the default. Return the timer's identifier."""
        config = self.present.config
        self.gas.use(config.schedule_cycles, len(payload))
        if max(due, gas_limit or 0, expires_at or 0) > MAX_INTEGER:
            raise RevertedError("InvalidInput")
        ceiling = min(config.max_cycles_per_fire, config.lane_timer_cycles)
        latest = self.now + config.max_ttl_blocks
        asked = Timer(
            timer_id=b"",
            actor=self.actor,
            due=due,
            sequence=0,
            payload=payload,
            handler=DEFAULT_HANDLER,
            fee_payer=self.actor if fee_payer is None else fee_payer,
            gas_limit=ceiling if gas_limit is None else gas_limit,
            gas_limit_is_default=gas_limit is None,
            expires_at=latest if expires_at is None else expires_at,
        )
        error = self._refusal(asked, ceiling, latest)
        counts = self.contents.counts.get(self.actor) or TimerCounts(0, 0)
        if not error and counts.live >= config.max_timers_per_actor:
            error = "TooManyTimers"
        timer_id = keccak256(self.actor + be8(due) + payload + be8(self.nonce) + be8(counts.scheduled))
        if not error and self.contents.timers.get(timer_id):
            error = "DuplicateTimer"
        if error:
            raise RevertedError(error)
        bucket = self.contents.buckets.get(due) or Bucket(0, 0)
        timer = asked._replace(timer_id=timer_id, sequence=bucket.tail)
        self.contents.timers.put(timer_id, timer)
        self.contents.bucket_entries.put((due, timer.sequence), timer_id)
        self.contents.buckets.put(due, Bucket(bucket.tail + 1, bucket.live + 1))
        self.contents.counts.put(self.actor, TimerCounts(counts.live + 1, counts.scheduled + 1))
        self.events.append(
            [SCHEDULED, timer_id, self.actor, due, timer.sequence, timer.fee_payer, timer.gas_limit, timer.expires_at]
        )
        return timer_id

    def extend(self, timer_id: bytes, expires_at: int) -> int:
        """Move the expiry of one of the actor's timers; return the new one."""
        self.gas.use(self.present.config.extend_cycles)
        timer = self._own_timer(timer_id)
        if expires_at <= self.now or self.now > timer.expires_at or expires_at > MAX_INTEGER:
            raise RevertedError("InvalidInput")
        clamped = min(expires_at, self.now + self.present.config.max_ttl_blocks)
        self.contents.timers.put(timer_id, timer._replace(expires_at=clamped))
        self.events.append([EXTENDED, timer_id, clamped])
        return clamped

    def cancel(self, timer_id: bytes) -> None:
        """Remove one of the actor's timers."""
        self.gas.use(self.present.config.cancel_cycles)
        remove_timer(self.contents, self._own_timer(timer_id))
        self.events.append([CANCELLED, timer_id, self.actor])

    def _refusal(self, asked: Timer, ceiling: int, latest: int) -> str:
        """Return the first error of a timer that is asked for, or nothing."""
        payer = asked.fee_payer
        errors = (
            ("HeightNotInFuture", asked.due <= self.now),
            ("PayloadTooLarge", len(asked.payload) > MAX_PAYLOAD_BYTES),
            ("HandlerTooLong", len(asked.handler.encode()) > MAX_HANDLER_BYTES),
            ("InvalidInput", payer in RESERVED_ADDRESSES or payer not in (self.actor, self.sender)),
            ("GasLimitTooHigh", asked.gas_limit > ceiling),
            ("TtlTooLong", asked.expires_at > latest),
        )
        return next((error for error, is_so in errors if is_so), "")

    def _own_timer(self, timer_id: bytes) -> Timer:
        timer = self.contents.timers.get(timer_id)
        if timer is None:
            raise RevertedError("UnknownTimer")
        if timer.actor != self.actor:
            raise RevertedError("Unauthorized")
        if self.present.is_collected and timer.due <= self.now:
            raise RevertedError("AlreadyCollected")
        return timer


def remove_timer(contents: Contents, timer: Timer) -> None:
    """Take a timer out of all its tables; the last one of a height takes the bucket with it."""
    contents.timers.put(timer.timer_id, None)
    contents.bucket_entries.put((timer.due, timer.sequence), None)
    bucket = contents.buckets.rows[timer.due]
    contents.buckets.put(timer.due, Bucket(bucket.tail, bucket.live - 1) if bucket.live > 1 else None)
    counts = contents.counts.rows[timer.actor]
    contents.counts.put(timer.actor, TimerCounts(counts.live - 1, counts.scheduled))
