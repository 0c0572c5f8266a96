"""The waiting set of the lane: every timer that is due, findable by place, by payer, by expiry, and by what it offers.

A block looks at few of the timers that wait. What orders them moves in every block, because the basefee does, so they
are kept in orders that do not: `min(tip, max_fee - L)` is the tip where `max_fee - tip >= L`, and `max_fee - L`
elsewhere. A book holds the timers of one actor that are alike, in blocks along `max_fee - tip`; below the block that L
falls into all timers follow their greatest fee, above it all follow their tip. `scheduler.ranking` merges the books.

The content follows from the timers that were added and not discarded, whatever the order: a branch may be left by
undoing its changes. Rejected: sorting all that waits in every block; moving timers between two lists when L passes
them, which is all of them at once when many took the same default.
"""

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Final, Protocol, TypeVar

from scheduler.books import Book, FeeCounts, Tie
from scheduler.types import Timer

GAS_CLASS_BITS: Final = 3
"""Leading bits of the gas limits in which timers of one book agree: what does not fit is left out at once."""


@dataclass(frozen=True, slots=True)
class PoolRules:
    """The rules that the pool's orders depend on; another configuration needs another pool.

    Limits are in cycles; `legacy_max_fee`, in units per cycle, is what a timer without a quote offers.
    """

    gas_limit_cap: int
    default_gas_limit: int
    legacy_max_fee: int
    is_by_age: bool
    is_appended: bool = False
    """By age, but for timers of later heights, which stand before those that are carried (E-7)."""

    def open_pool(self) -> "WaitingPool":
        """Return an empty pool under these rules."""
        return WaitingPool(self)

    def gas_limit(self, timer: Timer) -> int:
        """Return a timer's gas limit as it is read now: a default follows its ceiling (K-5)."""
        return min(timer.gas_limit, self.default_gas_limit) if timer.gas_limit_is_default else timer.gas_limit

    def fees(self, timer: Timer) -> tuple[int | None, int | None]:
        """Return a timer's greatest fee and tip; None is what each block decides anew."""
        quote = timer.quote
        if quote is None:
            return self.legacy_max_fee, 0
        return quote.max_fee_per_cycle, quote.max_priority_fee_per_cycle

    def tie(self, timer: Timer) -> Tie:
        """Return what decides between a timer and another of the same priority."""
        if not self.is_by_age:
            return timer.timer_id
        return (-timer.due if self.is_appended else timer.due), timer.sequence


OPEN: Final = -1
"""Stands for an open fee where only numbers can stand."""


class Payer:
    """The live timers within the cap that one address pays for, with what decides their cost, and bounds of it.

    `gas_limits`, `fees` and `tips` hold one number for each of `timers`, side by side: code that looks at all of
    them reads three dense rows. As tuples of objects they took three times as long.
    """

    __slots__ = ("fees", "gas_limits", "gas_max", "gas_min", "max_fee", "places", "timers", "tips")

    def __init__(self) -> None:
        self.places: dict[bytes, int] = {}
        self.timers: list[Timer] = []
        self.gas_limits = array("q")
        self.fees = array("q")
        self.tips = array("q")
        self.gas_min = 1 << 63
        self.gas_max = 0
        self.max_fee = 0

    def add(self, timer: Timer, gas_limit: int, fee: int | None, tip: int | None) -> None:
        """Put a timer in with its gas limit as it is read."""
        self.places[timer.timer_id] = len(self.timers)
        self.timers.append(timer)
        self.gas_limits.append(gas_limit)
        self.fees.append(OPEN if fee is None else fee)
        self.tips.append(OPEN if tip is None else tip)
        self.gas_min, self.gas_max = min(self.gas_min, gas_limit), max(self.gas_max, gas_limit)
        self.max_fee = max(self.max_fee, fee or 0)

    def remove(self, timer: Timer) -> None:
        """Take a timer out; the last one gets its place."""
        # Swapped with the last one: order among a payer's timers decides nothing, and closing the gap would move all.
        place = self.places.pop(timer.timer_id)
        last = self.timers.pop()
        rows = self.gas_limits, self.fees, self.tips
        if last.timer_id != timer.timer_id:
            self.places[last.timer_id] = place
            self.timers[place] = last
            for row in rows:
                row[place] = row[-1]
        for row in rows:
            row.pop()


class DueBucket:
    """The waiting timers of one due height by sequence; `sequences` may name some that are gone."""

    __slots__ = ("sequences", "timers")

    def __init__(self) -> None:
        self.timers: dict[int, Timer] = {}
        self.sequences: list[int] = []

    def add(self, timer: Timer) -> None:
        """Put a timer at its place, free until now."""
        assert timer.sequence not in self.timers, f"two timers at {timer.due}, {timer.sequence}"
        index = bisect_left(self.sequences, timer.sequence)
        if self.sequences[index : index + 1] != [timer.sequence]:
            self.sequences.insert(index, timer.sequence)
        self.timers[timer.sequence] = timer

    def remove(self, sequence: int) -> Timer:
        """Take the timer of a place out and return it."""
        timer = self.timers.pop(sequence)
        if len(self.sequences) > 2 * len(self.timers) + 16:
            self.sequences = sorted(self.timers)
        return timer

    def after(self, sequence: int) -> Iterator[Timer]:
        """Yield the timers behind a sequence in order."""
        timers = self.timers
        for index in range(bisect_right(self.sequences, sequence), len(self.sequences)):
            timer = timers.get(self.sequences[index])
            if timer is not None:
                yield timer


class DuePool:
    """All timers due, live and dead, by place and by expiry; what a policy orders beside that is its own pool's."""

    rules: Any
    """The rules that the pool's orders depend on."""

    def __init__(self, now: int = -1) -> None:
        self.expired: dict[bytes, Timer] = {}
        self._now = now
        self._dues: list[int] = []
        self._buckets: dict[int, DueBucket] = {}
        self._expiries: list[tuple[int, int, int]] = []
        self._count = 0

    @property
    def has_split_books(self) -> bool:
        """Whether some book has more timers than one block of it holds."""
        return False

    @property
    def first_due(self) -> int | None:
        """The lowest due height of what waits; None where nothing does."""
        return self._dues[0] if self._dues else None

    def __len__(self) -> int:
        """The number of timers that wait, dead ones included."""
        return self._count

    def add(self, timer: Timer) -> None:
        """Put a timer in that has become due, or that a branch being left had taken out."""
        bucket = self._buckets.get(timer.due)
        if bucket is None:
            bucket = self._buckets[timer.due] = DueBucket()
            insort(self._dues, timer.due)
        bucket.add(timer)
        self._count += 1
        self._enlist(timer)

    def discard(self, timer: Timer) -> None:
        """Take a timer out that left or changed; only its place is looked at."""
        bucket = self._buckets[timer.due]
        known = bucket.remove(timer.sequence)
        if not bucket.timers:
            del self._buckets[timer.due], self._dues[bisect_left(self._dues, timer.due)]
        self._count -= 1
        # An expired one was taken out of the orders when it expired.
        if self.expired.pop(known.timer_id, None) is None:
            self._take(known)

    def advance(self, now: int) -> None:
        """Move the present: what has expired by then takes no more part in the auction."""
        if now < self._now:
            # The present can go back where a branch is left for a sibling with an earlier slot.
            revived = [timer for timer in self.expired.values() if timer.expires_at >= now]
            self._now = now
            for timer in revived:
                del self.expired[timer.timer_id]
                self._enlist(timer)
        self._now = now
        expiries = self._expiries
        while expiries and expiries[0][0] < now:
            expires_at, due, sequence = heappop(expiries)
            found = self.at(due, sequence)
            # An entry outlives its timer: what counts is what stands at the place now.
            if found is not None and found.expires_at == expires_at and found.timer_id not in self.expired:
                self._take(found)
                self.expired[found.timer_id] = found

    def at(self, due: int, sequence: int) -> Timer | None:
        """Return the waiting timer of a place."""
        bucket = self._buckets.get(due)
        return None if bucket is None else bucket.timers.get(sequence)

    def walk(self, after: tuple[int, int] = (-1, -1)) -> Iterator[Timer]:
        """Yield what waits behind a place, in the order (due, sequence). Not to be changed meanwhile."""
        due, sequence = after
        for index in range(bisect_left(self._dues, due), len(self._dues)):
            found = self._dues[index]
            yield from self._buckets[found].after(sequence if found == due else -1)

    def _enlist(self, timer: Timer) -> None:
        """Put a timer into every order that its class belongs to."""
        if timer.expires_at < self._now:
            self.expired[timer.timer_id] = timer
            return
        heappush(self._expiries, (timer.expires_at, timer.due, timer.sequence))
        self._put(timer)

    def _put(self, timer: Timer) -> None:
        """Put a live timer into the policy's orders."""
        raise NotImplementedError

    def _take(self, timer: Timer) -> None:
        """Take a timer that was live out of the policy's orders."""
        raise NotImplementedError


Pool = TypeVar("Pool", bound=DuePool)
Pool_co = TypeVar("Pool_co", bound=DuePool, covariant=True)


class OpensPool(Protocol[Pool_co]):
    """The rules of a pool; equal rules keep it, others need another one."""

    def open_pool(self) -> Pool_co:
        """Return an empty pool under these rules."""


class WaitingPool(DuePool):
    """All timers due, live and dead, in every order that the lane asks for."""

    def __init__(self, rules: PoolRules, now: int = -1) -> None:
        super().__init__(now)
        self.rules: PoolRules = rules
        self.books: dict[tuple[bytes, bytes, int, bool, bool], Book] = {}
        self.payers: dict[bytes, Payer] = {}
        self.over_cap: dict[bytes, Timer] = {}
        self.fixed_fees: Final = FeeCounts()
        self._agents: list[tuple[int, int, Timer]] = []

    @property
    def has_split_books(self) -> bool:
        """Whether some book has more timers than one block of it holds."""
        return any(len(book.blocks) > 1 for book in self.books.values())

    def agents(self) -> Iterator[Timer]:
        """Yield the live timers within the cap that name an agent, in the order (due, sequence)."""
        for _, _, timer in self._agents:
            yield timer

    def agent_count(self) -> int:
        """Return how many timers `agents` yields."""
        return len(self._agents)

    def _put(self, timer: Timer) -> None:
        gas_limit = self.rules.gas_limit(timer)
        if gas_limit > self.rules.gas_limit_cap:
            self.over_cap[timer.timer_id] = timer
            return
        fee, tip = self.rules.fees(timer)
        self._book_of(timer, gas_limit, fee, tip).add(fee or 0, tip or 0, self.rules.tie(timer), timer)
        payer = self.payers.get(timer.fee_payer)
        if payer is None:
            payer = self.payers[timer.fee_payer] = Payer()
        payer.add(timer, gas_limit, fee, tip)
        if fee is not None:
            self.fixed_fees.add(fee)
        if timer.quote is not None and timer.quote.gba is not None:
            insort(self._agents, (timer.due, timer.sequence, timer))

    def _take(self, timer: Timer) -> None:
        if self.over_cap.pop(timer.timer_id, None) is not None:
            return
        gas_limit = self.rules.gas_limit(timer)
        fee, tip = self.rules.fees(timer)
        book = self._book_of(timer, gas_limit, fee, tip)
        book.remove(fee or 0, tip or 0, self.rules.tie(timer))
        if not book.blocks[0].by_tip and len(book.blocks) == 1:
            del self.books[self._book_key(timer, gas_limit, fee, tip)]
        payer = self.payers[timer.fee_payer]
        payer.remove(timer)
        if not payer.timers:
            del self.payers[timer.fee_payer]
        if fee is not None:
            self.fixed_fees.remove(fee)
        if timer.quote is not None and timer.quote.gba is not None:
            # Found by place: the pair sorts before the triple with the timer, which is never compared.
            del self._agents[bisect_left(self._agents, (timer.due, timer.sequence))]

    def _book_of(self, timer: Timer, gas_limit: int, fee: int | None, tip: int | None) -> Book:
        key = self._book_key(timer, gas_limit, fee, tip)
        book = self.books.get(key)
        if book is None:
            book = self.books[key] = Book(
                timer.actor, timer.fee_payer, is_fee_open=fee is None, is_tip_open=tip is None
            )
        # A bound that never rises when a timer leaves: too low costs a look, too high would hide a timer that fits.
        book.gas_min = min(book.gas_min, gas_limit)
        return book

    @staticmethod
    def _book_key(
        timer: Timer, gas_limit: int, fee: int | None, tip: int | None
    ) -> tuple[bytes, bytes, int, bool, bool]:
        # By leading bits: limits that are nearly the same share a book, however many different ones there are.
        shift = max(0, gas_limit.bit_length() - GAS_CLASS_BITS)
        return timer.actor, timer.fee_payer, gas_limit >> shift << shift, fee is None, tip is None
