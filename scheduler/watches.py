"""State-triggered timers: watches of keys, the hits that changes make, the timers that hits trigger (D-11, Q-52).

A timer that watches is an ordinary one that becomes due when it has expired. A hit moves it to the end of the present's
bucket; from the next block on it competes like any other. A block compares once, at its end, with its start (K-41).
docs/bias-auction.md has the rules, docs/state.md the tables.

Invariants: a timer has a watch and a place under each of its keys, or neither. A key has at most one hit in the queue,
so that the queue is never longer than the number of watched keys. A block looks at no more places than its limit,
whatever was hit.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from scheduler.errors import InvalidInput, TooManyWatches
from scheduler.escrow import Escrow
from scheduler.events import TimerTriggered
from scheduler.rules import CoveragePoint, WatchRule
from scheduler.tables import StateTables, TimerTables
from scheduler.types import Exit, PhaseResult, Timer
from scheduler.watch_records import (
    HIT,
    WATCH,
    WATCH_BOOKS,
    WATCH_COUNT,
    WATCHED_KEY,
    WATCHER,
    Hit,
    TimerWatch,
    WatchBooks,
    WatchCount,
    WatchedKey,
    Watcher,
    WatchLimits,
    hit_key,
    watch_count_key,
    watch_key,
    watched_key_key,
    watcher_key,
)

_NO_BOOKS: Final = WatchBooks(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Watches:
    """The watches of one block.

    Attributes:
        changed: Returns the keys that can be watched and whose value differs from that at the block's start, ascending.
        limits: The limits of the block's policy; None where it triggers nothing and lets nobody watch.
        escrow: The bids of this chain, which move with their timers.
    """

    state: StateTables
    timers: TimerTables
    changed: Callable[[], Iterable[bytes]]
    limits: WatchLimits | None
    escrow: Escrow | None = None

    def check(self, actor: bytes, keys: Sequence[bytes]) -> None:
        """Check the keys that a new timer is to watch; nothing is written.

        Raises:
            InvalidInput: There is no key, one too many, or one twice, or the policy has no state triggers.
            TooManyWatches: The actor has as many timers that watch as it may have.
        """
        if self.limits is None:
            raise InvalidInput("watched", "the policy has no state triggers")
        most = self.limits.max_keys_per_watch
        if not 0 < len(keys) <= most:
            raise InvalidInput("watched", f"{len(keys)} keys, 1 to {most} can be watched")
        if len(dict.fromkeys(keys)) < len(keys):
            raise InvalidInput("watched", "a key stands there twice")
        watching = self._count(actor)
        if watching >= self.limits.max_watches_per_actor:
            raise TooManyWatches(watching, self.limits.max_watches_per_actor)

    def is_watching(self, timer: Timer) -> bool:
        """Say whether a timer watches."""
        return bool(self._books().watching) and self._watch(timer) is not None

    def begin(self, timer: Timer, keys: Sequence[bytes]) -> Iterator[CoveragePoint]:
        """Let a timer that came in watch; return the coverage points of it."""
        sequences, is_shared = [], False
        for key in keys:
            watched = self._watched(key) or WatchedKey(key, 0, 0, 0, None)
            is_shared |= watched.count > 0
            # Behind a hit that waits all places may be empty: then the new one is the first that is live.
            head = watched.head if watched.count else watched.tail
            self._set_watched(WatchedKey(key, head, watched.tail + 1, watched.count + 1, watched.hit))
            self.state.set(watcher_key(key, watched.tail), Watcher(key, watched.tail, timer.timer_id))
            sequences.append(watched.tail)
        self.state.set(watch_key(timer.timer_id), TimerWatch(timer.timer_id, tuple(keys), tuple(sequences)))
        self._add(timer.actor, 1)
        return _cells_of_watch(keys, is_shared=is_shared)

    def leave(self, timer: Timer, exit_: Exit) -> Iterator[CoveragePoint]:
        """End the watch of a timer that left, if it has one; return the coverage points of it."""
        if self.is_watching(timer):
            self._end(timer)
            if exit_ in (Exit.BY_OWNER, Exit.BY_GOVERNANCE):
                yield WatchRule.WATCH_CANCELLED
            elif exit_ is Exit.EXPIRED:
                yield WatchRule.WATCH_EXPIRED

    def trigger(self, now: int, *, is_paused: bool) -> PhaseResult:
        """Note the block's hits, and trigger timers in the order of the queue, as far as the limit reaches.

        It comes behind all that can change a value: what is triggered competes from the next block on. A lane that
        `is_paused` triggers as any other.
        """
        books = self._books()
        if self.limits is None or not (books.watching or books.tail):
            return PhaseResult()
        reached: list[CoveragePoint] = [WatchRule.HIT_RESUMED] if books.tail else []
        self._note_hits(reached)
        hit_timers = self._work_off(now, self.limits.max_triggers_per_block, reached)
        moved = self.timers.bring_forward([timer for timer, _ in hit_timers], now)
        events = []
        for (timer, key), brought in zip(hit_timers, moved, strict=True):
            if self.escrow is not None:
                self.escrow.move(timer, brought)
            events.append(TimerTriggered(brought.timer_id, brought.due, brought.sequence, key))
        if moved and is_paused:
            reached.append(WatchRule.TRIGGERED_WHILE_PAUSED)
        return PhaseResult(events=tuple(events), reached=tuple(reached))

    def _note_hits(self, reached: list[CoveragePoint]) -> None:
        """Put a hit of each watched key that changed at the end of the queue, or widen the one that it has there."""
        books = self._books()
        tail = books.tail
        for key in self.changed():
            watched = self._watched(key)
            if watched is None or not watched.count:
                continue
            if watched.hit is None:
                self.state.set(hit_key(tail), Hit(key, watched.head, watched.tail))
                self._set_watched(WatchedKey(key, watched.head, watched.tail, watched.count, tail))
                tail += 1
            else:
                waiting = self._hit(watched.hit)
                self.state.set(hit_key(watched.hit), Hit(key, waiting.next_, watched.tail))
                reached.append(WatchRule.HIT_WIDENED)
        self._set_books(WatchBooks(books.watching, books.head, tail))

    def _work_off(self, now: int, limit: int, reached: list[CoveragePoint]) -> list[tuple[Timer, bytes]]:
        """End the watches of the timers that are hit, oldest hit first; return these with the key of each."""
        hit_timers: list[tuple[Timer, bytes]] = []
        books = self._books()
        index, looks = books.head, limit
        while index < books.tail and looks:
            hit = self._hit(index)
            # What has no watcher any more counts as well: the work of a block is bounded by the limit alone.
            stop = min(hit.end, hit.next_ + looks)
            for sequence in range(hit.next_, stop):
                timer = self._watcher(hit.key, sequence, now, reached)
                if timer is not None:
                    self._end(timer)
                    hit_timers.append((timer, hit.key))
            looks -= stop - hit.next_
            if stop < hit.end:
                self.state.set(hit_key(index), Hit(hit.key, stop, hit.end))
                break
            self._close(index, hit)
            index += 1
        # Read anew: ending the watches has counted them down.
        watching = self._books().watching
        is_worked_off = index == books.tail
        if not is_worked_off:
            reached.append(WatchRule.HIT_WAITS)
        self._set_books(WatchBooks(watching, 0, 0) if is_worked_off else WatchBooks(watching, index, books.tail))
        return hit_timers

    def _watcher(self, key: bytes, sequence: int, now: int, reached: list[CoveragePoint]) -> Timer | None:
        """Return the timer at a place that a hit looks at, unless it has gone or is too old to fire (K-42)."""
        watcher = self.state.get(WATCHER, watcher_key(key, sequence))
        if watcher is None:
            reached.append(WatchRule.HIT_NOBODY)
            return None
        timer = self.timers.timer(watcher.timer_id)
        assert timer is not None, f"timer {watcher.timer_id.hex()} watches and is gone"
        # In the next block it would have expired: it goes on watching until the GC lane removes it.
        is_too_late = now >= timer.expires_at
        reached.append(WatchRule.HIT_TOO_LATE if is_too_late else WatchRule.TRIGGERED)
        return None if is_too_late else timer

    def _close(self, index: int, hit: Hit) -> None:
        """Take a hit that is worked off out of the queue."""
        self.state.set(hit_key(index), None)
        watched = self._watched(hit.key)
        assert watched is not None, "a watched key stays while it has a hit"
        self._set_watched(WatchedKey(hit.key, watched.head, watched.tail, watched.count, None))

    def _end(self, timer: Timer) -> None:
        """Take a timer that watches out of every table of watches."""
        watch = self._watch(timer)
        assert watch is not None, f"timer {timer.timer_id.hex()} does not watch"
        for key, sequence in zip(watch.keys, watch.sequences, strict=True):
            self.state.set(watcher_key(key, sequence), None)
            watched = self._watched(key)
            assert watched is not None, "a key is kept while a timer watches it"
            head, count = watched.head, watched.count - 1
            # Gaps that others left: each is passed once, since the head never goes back.
            while count and self.state.get(WATCHER, watcher_key(key, head)) is None:
                head += 1
            self._set_watched(WatchedKey(key, head if count else watched.tail, watched.tail, count, watched.hit))
        self.state.set(watch_key(timer.timer_id), None)
        self._add(timer.actor, -1)

    def _add(self, actor: bytes, change: int) -> None:
        """Count a timer more or less that watches."""
        watching = self._count(actor) + change
        self.state.set(watch_count_key(actor), WatchCount(watching) if watching else None)
        books = self._books()
        self._set_books(WatchBooks(books.watching + change, books.head, books.tail))

    def _count(self, actor: bytes) -> int:
        found = self.state.get(WATCH_COUNT, watch_count_key(actor))
        return 0 if found is None else found.watching

    def _books(self) -> WatchBooks:
        return self.state.get(WATCH_BOOKS, WATCH_BOOKS.key()) or _NO_BOOKS

    def _set_books(self, books: WatchBooks) -> None:
        self.state.set(WATCH_BOOKS.key(), books if books.watching or books.tail else None)

    def _watch(self, timer: Timer) -> TimerWatch | None:
        return self.state.get(WATCH, watch_key(timer.timer_id))

    def _watched(self, key: bytes) -> WatchedKey | None:
        return self.state.get(WATCHED_KEY, watched_key_key(key))

    def _set_watched(self, watched: WatchedKey) -> None:
        # With a hit in the queue it stays: places that were given anew would be hit by what came before them.
        is_kept = watched.count or watched.hit is not None
        self.state.set(watched_key_key(watched.key), watched if is_kept else None)

    def _hit(self, index: int) -> Hit:
        hit = self.state.get(HIT, hit_key(index))
        assert hit is not None, f"hit {index} is in the queue"
        return hit


def _cells_of_watch(keys: Sequence[bytes], *, is_shared: bool) -> Iterator[CoveragePoint]:
    yield WatchRule.WATCHED
    if is_shared:
        yield WatchRule.KEY_SHARED
    if len(keys) > 1:
        yield WatchRule.KEYS_SEVERAL
