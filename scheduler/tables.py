"""The chain as the rules need it: tables of timers, a ledger, a way to run a handler.

The execution side implements these over its state; tests implement them over dicts. The rules never see a key, an
encoding or a batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from scheduler.identifiers import keccak256
from scheduler.pool import OpensPool, Pool, PoolRules, WaitingPool
from scheduler.types import LaneMarket, RunOutcome, Timer

KEY_BYTES: Final = 32
"""Length of every key of the state."""

Record = TypeVar("Record")
"""The decoded form of an entry, which nothing can change: a record, or a tuple of tuples."""


@dataclass(frozen=True, slots=True, eq=False)
class StateTable(Generic[Record]):
    """One kind of entry of the state: the byte its keys begin with, its name in reports, its record."""

    code: int
    name: str
    record: type[Record]

    def key(self, raw: bytes = b"") -> bytes:
        """Return the key of a raw key of at most 31 bytes."""
        return (bytes((self.code,)) + raw).ljust(KEY_BYTES, b"\0")

    def hashed_key(self, raw: bytes) -> bytes:
        """Return the key of a raw key of more than 31 bytes."""
        return bytes((self.code,)) + keccak256(raw)[: KEY_BYTES - 1]


class StateTables(Protocol):
    """Tables in state that forks and reverts with the block."""

    def get(self, table: StateTable[Record], key: bytes) -> Record | None:
        """Return the record under a key of a table, or None."""

    def set(self, key: bytes, record: object) -> None:
        """Put a record under a key; None deletes."""


class TimerTables(Protocol):
    """Live timers, in state that forks and reverts with the block."""

    def timer(self, timer_id: bytes) -> Timer | None:
        """Return the live timer of this identifier."""

    def next_sequence(self, due: int) -> int:
        """Return the sequence that the next timer inserted at `due` must have."""

    def insert(self, timer: Timer) -> None:
        """Add a timer at the tail of its height; counts as live from now on."""

    def replace(self, timer: Timer) -> None:
        """Put a changed record in the place of the one with the same identifier, due height and sequence."""

    def remove(self, timer: Timer) -> None:
        """Take a live timer out of every table and free its place under the actor's cap."""

    def live_timers(self, actor: bytes) -> int:
        """Return how many timers of the actor are live."""

    def scheduled_timers(self, actor: bytes) -> int:
        """Return how many timers the actor has ever scheduled, those inserted so far included."""

    def collect(self, upto: int) -> Sequence[Timer]:
        """Return every live timer due at or before `upto`, ordered by (due, sequence). Not to be changed."""

    def collect_pool(self, upto: int, rules: OpensPool[Pool]) -> Pool:
        """Return what `collect` returns, as a pool; the policy takes out of it what leaves in this phase."""

    def bring_forward(self, timers: Sequence[Timer], due: int) -> list[Timer]:
        """Give timers that are not due a place at the end of `due`, which was collected; return them as they are now.

        The timer phase is over, and they are in its pool from now on.
        """

    def by_due(self) -> Iterator[Sequence[Timer]]:
        """Yield all live timers, due or not: those of each due height, ascending, by sequence. Reads no more."""


class LaneTables(Protocol):
    """The tables that the lane keeps from block to block, in the same state (docs/state.md, the timer lane)."""

    def pool(self, upto: int, rules: PoolRules) -> WaitingPool:
        """Return every live timer due at or before `upto`; the policy takes out what it removes in this phase."""

    def market(self) -> LaneMarket | None:
        """Return what the last block in the lane left; None before there was one."""

    def set_market(self, market: LaneMarket) -> None:
        """Leave this to the next block."""

    def fires(self, height: int) -> Sequence[tuple[bytes, int]]:
        """Return how many timers of each subject fired in a block of the window, ascending by subject."""

    def set_fires(self, height: int, fires: Sequence[tuple[bytes, int]]) -> None:
        """Put a block's fires; none removes the record."""

    def recent_fires(self, subject: bytes) -> int:
        """Return how often a subject fired within the window."""

    def set_recent_fires(self, subject: bytes, count: int) -> None:
        """Put how often a subject fired within the window; 0 removes the record."""

    def fire_counts(self) -> Mapping[int, int]:
        """Return how many subjects fired how often within the window: count to number of subjects, zeros left out."""

    def gc_cursor(self) -> tuple[int, int] | None:
        """Return the place (due, sequence) of the last timer that the GC lane's walk looked at."""

    def set_gc_cursor(self, place: tuple[int, int]) -> None:
        """Remember a place."""


class Ledger(Protocol):
    """Balances in whole units."""

    def balance(self, address: bytes) -> int:
        """Return the balance of an address; zero when nothing is known of it."""

    def charge(self, address: bytes, amount: int) -> None:
        """Take `amount` from an address that has at least as much."""

    def credit(self, address: bytes, amount: int) -> None:
        """Give `amount` to an address."""

    def burn(self, amount: int) -> None:
        """Take `amount`, charged before, out of circulation."""


class Runner(Protocol):
    """Runs a timer's handler within its gas limit; its writes are kept if and only if the outcome is ok. Never raises.

    Without `has_sender` the handler sees no sender.
    """

    def __call__(self, timer: Timer, *, has_sender: bool = True) -> RunOutcome:
        """Run it."""


class AgentCall(NamedTuple):
    """A read-only call of an agent on behalf of an actor, within some cycles; no account is charged."""

    agent: bytes
    actor: bytes
    handler: str
    payload: bytes
    cycles: int
