"""Chance that changes while a run goes on: a new seed from a turn of the kernel on, and other values of single draws.

Draws are keyed and not streamed. So a run with a new seed from turn T on is the same run in all turns before T, and new
from there on. Draws that were made ahead are thrown away: the bus draws eight delays of a link at once, and some faults
draw all their moments when they begin. A moment of a fault that is due after the change is drawn again.

A draw of another value stands for its key in the whole run, whatever the seed is then.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from network.chance import Chance, Draws
from network.events import Reseeded
from network.kernel import Delivery, Kernel
from network.lanes import QueuedEvent
from network.trace import Trace
from network.types import MILLISECOND_US, SUPERVISOR, Micros

Redraw: TypeAlias = tuple[str, str, int, int]
"""The purpose, the subject and the ordinal of a draw, and the 64-bit value that it has instead of its own."""


class ConsumedDraw(NamedTuple):
    """A draw that a run has used: its key, the turn of the kernel, and its 64-bit value.

    `due_us` is the virtual time that a draw was made ahead for; None for a draw of its own turn.
    """

    purpose: str
    subject: str
    ordinal: int
    turn: int
    value: int
    due_us: Micros | None = None


@dataclass(slots=True)
class _Changes:
    """The changes of a run's chance, which all views of it share.

    `since` has each seed that came so far with the virtual time from which it holds.
    """

    reseeds: Mapping[int, int]
    given: Mapping[tuple[str, str], Mapping[int, int]]
    consumed: list[ConsumedDraw] | None
    since: list[tuple[Micros, int]]
    holders: list[Callable[[], None]] = field(default_factory=list)
    times_us: list[Micros] = field(default_factory=list)
    turn: Callable[[], int] = int


class ChangedChance(Chance):
    """The chance of a run in which draws change; its seed is the seed of the present turn."""

    __slots__ = ("_changes", "_due_us", "_origin_us")

    def __init__(self, seed: int, changes: _Changes, origin_us: Micros = 0, due_us: Micros | None = None) -> None:
        super().__init__(seed)
        self._changes = changes
        self._origin_us = origin_us
        self._due_us = due_us

    @property
    def is_logged(self) -> bool:
        """Whether each draw is noted when it is used."""
        return self._changes.consumed is not None

    @property
    def times_us(self) -> list[Micros]:
        """The virtual time of each turn so far, the first turn first."""
        return self._changes.times_us

    def stream(self, purpose: str, subject: str) -> Draws:
        """Return the draws of one purpose and subject under the present seed, with the values that were given."""
        changes, names, made = self._changes, (purpose, subject), super().stream(purpose, subject)
        is_plain = names not in changes.given and changes.consumed is None
        return made if is_plain else _ChangedDraws(made, names, changes, self._due_us)

    def note_draws(self) -> list[ConsumedDraw]:
        """Note each draw from now on; return the list that takes the draws. A run that has begun is not noted whole."""
        if self._changes.consumed is None:
            self._changes.consumed = []
        return self._changes.consumed

    def on_reseed(self, forget: Callable[[], None]) -> None:
        """Call this holder of draws at each new seed."""
        self._changes.holders.append(forget)

    def counted_from(self, origin_us: Micros) -> Chance:
        """Return this chance for a fault whose times count from this virtual time."""
        return ChangedChance(self.seed, self._changes, origin_us)

    def at(self, at_ms: int) -> Chance:
        """Return the chance for a draw that is made ahead for this time of a fault.

        A moment in the instant of a change still has the seed before.
        """
        at_us = self._origin_us + at_ms * MILLISECOND_US
        seed = next(seed for since_us, seed in reversed(self._changes.since) if since_us < at_us or since_us < 0)
        return ChangedChance(seed, self._changes, due_us=at_us)

    def reach(self, turn: int, now_us: Micros) -> int | None:
        """Begin a turn of the kernel; return the seed that all draws have from here on if it is another."""
        self._changes.times_us.append(now_us)
        seed = self._changes.reseeds.get(turn)
        if seed is not None:
            self.seed = seed
            self._changes.since.append((now_us, seed))
            for forget in self._changes.holders:
                forget()
        return seed


class _ChangedDraws(Draws):
    """The draws of a stream, some with given values; each is noted when it is used."""

    __slots__ = ("_changes", "_due_us", "_given", "_names")

    def __init__(self, made: Draws, names: tuple[str, str], changes: _Changes, due_us: Micros | None) -> None:
        super().__init__(made._prefix)  # noqa: SLF001 - the same class
        self._names, self._changes, self._due_us = names, changes, due_us
        self._given: Mapping[int, int] = changes.given.get(names, {})

    def at(self, ordinal: int) -> int:
        found = self._given.get(ordinal)
        value = super().at(ordinal) if found is None else found
        if self._changes.consumed is not None:
            draw = ConsumedDraw(*self._names, ordinal, self._changes.turn(), value, self._due_us)
            self._changes.consumed.append(draw)
        return value

    def block(self, number: int) -> tuple[int, ...]:
        words = super().block(number)
        first = number * len(words)
        return tuple(self._given.get(first + place, word) for place, word in enumerate(words))


class ReseedingKernel(Kernel):
    """A kernel that tells chance the turns at which its seed changes."""

    def __init__(self, chance: ChangedChance, trace: Trace, *, limits: "KernelLimits") -> None:
        super().__init__(trace, **limits._asdict())
        self._chance: Final = chance
        self._supervisor: Final = trace.chain(SUPERVISOR)
        chance._changes.turn = lambda: self._turns  # noqa: SLF001 - the two are one mechanism

    def _act(self, events: list[QueuedEvent]) -> None:
        turn = self._turns + 1
        seed = self._chance.reach(turn, self.now_us)
        if seed is not None:
            self._supervisor.add(self.now_us, Reseeded(turn, seed))
        super()._act(events)


class KernelLimits(NamedTuple):
    """The arguments of a kernel."""

    step_limit: int
    time_limit_us: Micros
    start_us: Micros
    delivery: Delivery


def chance_of(
    seed: int,
    reseeds: Sequence[tuple[int, int]] = (),
    redraws: Sequence[Redraw] = (),
    consumed: list[ConsumedDraw] | None = None,
) -> Chance:
    """Return the chance of a run.

    Args:
        seed: The run's seed.
        reseeds: Each turn of the kernel from which on all draws have another seed, and this seed.
        redraws: The draws with other values.
        consumed: Takes each draw that is used, where it is asked for; the run is slower then.
    """
    if not reseeds and not redraws and consumed is None:
        # The chance of nearly all runs, which pay nothing for changes.
        return Chance(seed)
    given: dict[tuple[str, str], dict[int, int]] = {}
    for purpose, subject, ordinal, value in redraws:
        given.setdefault((purpose, subject), {})[ordinal] = value
    return ChangedChance(seed, _Changes(dict(reseeds), given, consumed, [(-1, seed)]))


def kernel_of(chance: Chance, trace: Trace, limits: KernelLimits) -> Kernel:
    """Return the kernel of a run with this chance."""
    if isinstance(chance, ChangedChance):
        return ReseedingKernel(chance, trace, limits=limits)
    return Kernel(trace, **limits._asdict())
