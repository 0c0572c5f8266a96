"""The chain as a call sees it: the call's frame, the requests that it may make, and its events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from scheduler import (
    ZERO_ORIGIN,
    Admission,
    Moment,
    ScheduleRequest,
    TimerCancelled,
    TimerConfig,
    TimerExtended,
    TransactionCancelled,
)


class Emitted(msgspec.Struct, frozen=True, array_like=True, tag=32):
    """An event of a program; the program defines the meaning of `topic` and `data`."""

    actor: bytes
    topic: str
    data: bytes


class MessageSent(msgspec.Struct, frozen=True, array_like=True, tag=33):
    """A message entered the mailbox: `sender` runs `handler` of `actor` by it, with `cycles` that are paid for."""

    sequence: int
    sender: bytes
    actor: bytes
    handler: str
    cycles: int


@dataclass(frozen=True, slots=True)
class Frame:
    """One call: the running actor, its caller, and the origin of the call.

    `sender` is the transaction's sender, the actor that sent the message, or the actor itself when a timer calls; empty
    where a queue entry withholds it. `origin` is the digest of the transaction behind the call, or 32 zero bytes where
    a timer is behind it. `nonce` is the transaction's nonce, or zero. A call that `is_read_only` fails where the
    program tries to change anything.
    """

    actor: bytes
    sender: bytes
    origin: bytes
    nonce: int
    is_message: bool = False
    is_read_only: bool = False

    @property
    def is_fire(self) -> bool:
        """Whether a timer calls."""
        return self.origin == ZERO_ORIGIN and not self.is_message and not self.is_read_only


@dataclass(frozen=True, slots=True)
class SendRequest:
    """A program's request to the mailbox: a call of `handler(payload)` of an actor, within `cycles`.

    `sent` is the number of messages that the requesting call has sent before.
    """

    frame: Frame
    actor: bytes
    handler: str
    payload: bytes
    cycles: int
    sent: int = 0


class World(Protocol):
    """The chain as a running program reaches it, through its host."""

    moment: Moment
    config: TimerConfig

    def storage_get(self, actor: bytes, key: bytes) -> bytes | None:
        """Return a stored value."""

    def storage_put(self, actor: bytes, key: bytes, value: bytes) -> None:
        """Store a value."""

    def storage_delete(self, actor: bytes, key: bytes) -> None:
        """Delete a value; nothing happens when there is none."""

    def balance(self, address: bytes) -> int:
        """Return a balance in units."""

    def move(self, source: bytes, target: bytes, amount: int) -> None:
        """Move units, or raise ReservedAddress; `source` has at least `amount`."""

    def owner(self, actor: bytes) -> bytes:
        """Return the address that owns an actor."""

    @property
    def default_agent(self) -> bytes | None:
        """The agent to name for a timer without its own agent; None where a timer needs none."""

    def admit_timer(self, request: ScheduleRequest) -> Admission:
        """Check a timer before it is scheduled, or raise the named error."""

    def cycles_to_admit(self, request: ScheduleRequest) -> int:
        """Return the cycles that a call is charged besides its price, before its timer is admitted."""

    def watched_keys(self, actor: bytes, watched: Sequence[tuple[bytes, bytes | None]]) -> tuple[bytes, ...]:
        """Return the keys of the state that a new timer of an actor is to watch, or raise the named error."""

    def enter_timer(self, admission: Admission) -> None:
        """Write an admitted timer."""

    def extend_timer(self, caller: bytes, timer_id: bytes, new_expires_at: int) -> TimerExtended:
        """Move a timer's expiry, or raise the named error."""

    def cancel_timer(self, caller: bytes, timer_id: bytes) -> TimerCancelled | TransactionCancelled:
        """Cancel a timer, or raise the named error."""

    def check_message(self, request: SendRequest) -> None:
        """Raise the named error of a message that may not be sent."""

    def send(self, request: SendRequest) -> MessageSent:
        """Append a checked message to the mailbox."""

    def refused(self, what: str, error: Exception) -> None:
        """Note a refusal and its reason; nothing else changes."""
