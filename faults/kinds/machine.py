"""Faults of machines: power, pauses, slowness, an empty disk."""

from collections.abc import Iterator

from faults.kinds.fields import Factor, FaultBase, Milliseconds, NotNegative, Positive, Validator
from network.regions import Region
from validators.storage import Boundary


class Crash(FaultBase, tag="crash", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Stop one validator in an instant: memory and unsynced writes are gone. It restarts from its disk."""

    validator: Validator
    at_ms: Milliseconds
    restart_ms: Milliseconds


class Blackout(FaultBase, tag="blackout", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut the power of validators in one instant; they come back at one later time, or ``restart_every_ms`` apart.

    ``regions`` of ``[network]`` stand for those who are there.
    """

    validators: tuple[Validator, ...] = ()
    regions: tuple[Region, ...] = ()
    at_ms: Milliseconds
    restart_ms: Milliseconds
    restart_every_ms: Milliseconds = 0

    def restarts_ms(self) -> Iterator[tuple[int, int]]:
        """Yield each validator with the time at which it comes back, in the order in which they are named."""
        for place, node in enumerate(self.validators):
            yield node, self.restart_ms + place * self.restart_every_ms


class Pause(FaultBase, tag="pause", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Hold back all events of a validator and of those in ``also``, until it is resumed; clocks go on.

    With ``pause_ms`` and ``run_ms`` it stands still for so long, runs for so long, and again: a throttled processor.
    """

    validator: Validator
    also: tuple[Validator, ...] = ()
    start_ms: Milliseconds
    stop_ms: Milliseconds
    pause_ms: Milliseconds = 0
    run_ms: Milliseconds = 0

    @property
    def validators(self) -> tuple[int, ...]:
        """Everybody who is paused."""
        return (self.validator, *self.also)


class Slow(FaultBase, tag="slow", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """All work of one validator (executing, verifying, syncing) takes ``factor`` times as long."""

    validator: Validator
    factor: Factor
    start_ms: Milliseconds
    stop_ms: Milliseconds


class CrashAtBoundary(FaultBase, tag="crash-at-boundary", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Crash one validator at a boundary of its write-ahead order: at one occurrence, or at each ``every``-th.

    ``after-send`` is when the first message of a vote's broadcast has left and the others have not. Those in ``also``
    lose their power in the same instant, wherever they are.
    """

    validator: Validator
    also: tuple[Validator, ...] = ()
    boundary: Boundary
    start_ms: Milliseconds
    stop_ms: Milliseconds
    occurrence: Positive = 1
    every: NotNegative = 0
    restart_after_ms: Positive

    @property
    def validators(self) -> tuple[int, ...]:
        """Everybody who loses power."""
        return (self.validator, *self.also)


class RestartStorm(FaultBase, tag="restart-storm", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut the power of one validator after the other, again and again; without ``validators`` all are hit.

    Between two cuts lies a drawn time within ``every_ms``, and a validator is off for a drawn time within ``down_ms``;
    whoever is off still is passed over. They are hit in turn, or with ``is_drawn`` in a drawn order.
    """

    validators: tuple[Validator, ...] = ()
    start_ms: Milliseconds
    stop_ms: Milliseconds
    every_ms: tuple[Positive, Positive]
    down_ms: tuple[Positive, Positive]
    is_drawn: bool = False


class Wipe(FaultBase, tag="wipe", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut the power of one validator, put an empty disk in, and switch it on again."""

    validator: Validator
    at_ms: Milliseconds
    restart_ms: Milliseconds


MachineFault = Crash | Blackout | Pause | Slow | CrashAtBoundary | RestartStorm | Wipe
