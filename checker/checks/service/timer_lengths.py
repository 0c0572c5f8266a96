"""Timer lengths: every timer of a replica, except the engine's timers, is set to the time of its settings.

A timer that is too long does not show while other replicas act, and a timer that is too short costs messages. The trace
has the time to which each timer was set, before the machine's clock changes it. The specification judges the engine's
timers (`checker.checks.consensus`).
"""

from collections.abc import Collection
from typing import ClassVar

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.results import CheckResult, ExitClass
from network.clock import MILLION
from network.events import Event, Handlers, TimerElapsed


class TimerLengths(Check):
    """Every timer of a replica, except the engine's timers, is set to the time of the settings."""

    name = "timer-lengths"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        plan = run.plan
        self._lengths: dict[object, Collection[int]] = {
            "regossip": (plan.regossip_us,),
            "answers": (MILLION,),
            "snapshot": (plan.fetch_timeout_us,),
            "fetch": (plan.fetch_grace_us, plan.fetch_timeout_us),
            # The rest of the interval, as the wall clock shows it.
            "pace": range(1, plan.block_interval_us + 1),
        }

    @property
    def handlers(self) -> Handlers:
        """Timers."""
        return {TimerElapsed: self.elapsed}

    def not_asked(self) -> str:
        """Return a reason where no timer of a known name ran out."""
        return "" if self.tally.compared else "no timer of a known name ran out"

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """Compare the time that a timer was set to."""
        name = timer.key[0] if isinstance(timer.key, tuple) else timer.key
        allowed = self._lengths.get(name)
        if allowed is None:
            return
        self.tally.compared += 1
        if timer.asked_us not in allowed:
            lengths = (
                f"1 to {allowed[-1]:,}" if isinstance(allowed, range) else " or ".join(f"{us:,}" for us in allowed)
            )
            self.tally.fail(
                f"validator {event.node} set its timer {name} to {timer.asked_us:,} us, expected {lengths}",
                validator=event.node,
                at_us=event.at_us,
            )

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(f"{self.tally.compared:,} timers were set to the times of the settings")
