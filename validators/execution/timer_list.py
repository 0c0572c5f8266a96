"""A list of timers in the order (due, sequence) that forks share, and of which a block copies only the changed parts.

It consists of pieces: a changed list has its own pieces where timers left, were replaced or came in, and shares the
rest. Rejected: copying the list, which a block of the queue did three times to take a hundred entries out of 100,000.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, TypeAlias, overload

from scheduler import Timer

PIECE: Final = 32
"""Most timers of a piece. A block copies the pieces that it changes, and the list of all pieces."""

Place: TypeAlias = tuple[int, int]
"""A timer's due and sequence."""


class TimerList(Sequence[Timer]):
    """Timers by place; immutable."""

    __slots__ = ("_count", "_firsts", "_flat", "_pieces")

    def __init__(self, pieces: list[tuple[Timer, ...]], firsts: list[Place], count: int) -> None:
        self._pieces = pieces
        self._firsts = firsts
        """A place for each piece: no timer of the piece comes before it, and no timer of an earlier piece after it."""
        self._count = count
        self._flat: tuple[Timer, ...] | None = None

    @classmethod
    def of(cls, timers: Iterable[Timer]) -> "TimerList":
        """Return the list of sorted timers."""
        listed = tuple(timers)
        pieces = _cut(listed)
        return cls(pieces, [_place_of(piece[0]) for piece in pieces], len(listed))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Timer]:
        return chain.from_iterable(self._pieces)

    @overload
    def __getitem__(self, index: int) -> Timer: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Timer, ...]: ...
    def __getitem__(self, index: int | slice) -> Timer | tuple[Timer, ...]:
        if self._flat is None:
            self._flat = tuple(self)
        return self._flat[index]

    def at(self, place: Place) -> Timer | None:
        """Return the timer of a place."""
        for timer in self._pieces[self._index_of(place)] if self._pieces else ():
            if _place_of(timer) == place:
                return timer
        return None

    def changed(self, changes: Mapping[Place, Timer | None]) -> "TimerList":
        """Return the list with timers replaced, or removed where None; places not in the list change nothing."""
        if not changes or not self._pieces:
            return self
        pieces, firsts, count = list(self._pieces), self._firsts, self._count
        for index in dict.fromkeys(map(self._index_of, changes)):
            before = pieces[index]
            kept = [changes.get((timer.due, timer.sequence), timer) for timer in before]
            pieces[index] = tuple([timer for timer in kept if timer is not None])
            count += len(pieces[index]) - len(before)
        if not all(pieces):
            firsts = [first for first, piece in zip(firsts, pieces, strict=True) if piece]
            pieces = [piece for piece in pieces if piece]
        return TimerList(pieces, firsts, count)

    def extended(self, timers: Sequence[Timer]) -> "TimerList":
        """Return the list with timers of later places behind it."""
        if not timers:
            return self
        # The last piece is filled up: otherwise each block in which one timer becomes due would add a piece.
        kept = len(self._pieces) - (bool(self._pieces) and len(self._pieces[-1]) < PIECE)
        more = _cut((*chain.from_iterable(self._pieces[kept:]), *timers))
        firsts = [*self._firsts[:kept], *(_place_of(piece[0]) for piece in more)]
        return TimerList([*self._pieces[:kept], *more], firsts, self._count + len(timers))

    def _index_of(self, place: Place) -> int:
        """Return the number of the piece that contains a place, if any does."""
        return max(bisect_right(self._firsts, place) - 1, 0)


NO_TIMERS: Final = TimerList([], [], 0)
"""The list without timers."""


def _cut(timers: tuple[Timer, ...]) -> list[tuple[Timer, ...]]:
    return [timers[start : start + PIECE] for start in range(0, len(timers), PIECE)]


def _place_of(timer: Timer) -> Place:
    return timer.due, timer.sequence
