"""What the rules need of the chain: tables of timers, a ledger, a way to run a handler.

The execution side implements these over its state; tests implement them over dicts. The rules never see a key, an
encoding or a batch.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from scheduler.pool import PoolRules, WaitingPool
from scheduler.types import LaneMarket, RunOutcome, Timer


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


class LaneTables(Protocol):
    """What the lane keeps from block to block, in the same state (docs/state.md, the timer lane)."""

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


Runner = Callable[[Timer], RunOutcome]
"""Runs a timer's handler within its gas limit; its writes are kept if and only if the outcome is ok. Never raises."""
