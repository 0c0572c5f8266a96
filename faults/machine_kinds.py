"""Faults of machines: power, pauses, slowness, an empty disk."""

from collections.abc import Iterator

from faults.terms import Factor, FaultBase, Milliseconds, NotNegative, Positive, Validator
from validators.storage import Boundary


class Crash(FaultBase, tag="crash", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Stop one validator in an instant: memory and unsynced writes are gone. It restarts from its disk."""

    validator: Validator
    at_ms: Milliseconds
    restart_ms: Milliseconds


class Blackout(FaultBase, tag="blackout", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut the power of validators in one instant; they come back at one later time, or ``restart_every_ms`` apart."""

    validators: tuple[Validator, ...]
    at_ms: Milliseconds
    restart_ms: Milliseconds
    restart_every_ms: Milliseconds = 0

    def restarts_ms(self) -> Iterator[tuple[int, int]]:
        """Yield each validator with the time at which it comes back, in the order in which they are named."""
        for place, node in enumerate(self.validators):
            yield node, self.restart_ms + place * self.restart_every_ms


class Pause(FaultBase, tag="pause", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Hold back all events of one validator and deliver them when it is resumed; its clock goes on."""

    validator: Validator
    start_ms: Milliseconds
    stop_ms: Milliseconds


class Slow(FaultBase, tag="slow", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """All work of one validator (executing, verifying, syncing) takes ``factor`` times as long."""

    validator: Validator
    factor: Factor
    start_ms: Milliseconds
    stop_ms: Milliseconds


class CrashAtBoundary(FaultBase, tag="crash-at-boundary", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Crash one validator at a boundary of its write-ahead order: at one occurrence, or at each ``every``-th.

    ``after-send`` is when the first message of a vote's broadcast has left and the others have not.
    """

    validator: Validator
    boundary: Boundary
    start_ms: Milliseconds
    stop_ms: Milliseconds
    occurrence: Positive = 1
    every: NotNegative = 0
    restart_after_ms: Positive


class Wipe(FaultBase, tag="wipe", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Cut the power of one validator, put an empty disk in, and switch it on again."""

    validator: Validator
    at_ms: Milliseconds
    restart_ms: Milliseconds


MachineFault = Crash | Blackout | Pause | Slow | CrashAtBoundary | Wipe
