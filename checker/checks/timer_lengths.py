"""Timer lengths: every timer of a replica is set to the time that its settings say.

A timer that is too long is missed by nobody while others act, and one that is too short costs messages. The trace has
the time that each was set to, whatever the machine's clock made of it.
"""

from collections.abc import Collection
from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.rules.registry import RULES
from checker.results import CheckResult, ExitClass
from network.events import Event, Handlers, TimerElapsed

SECOND_US: Final = 1_000_000


class TimerLengths(Check):
    """Every timer of an honest replica was set to the time of the settings that is its own."""

    name = "timer-lengths"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        plan = run.plan
        self._lengths: dict[object, Collection[int]] = {
            "regossip": (plan.regossip_us,),
            "answers": (SECOND_US,),
            "snapshot": (plan.fetch_timeout_us,),
            "fetch": (plan.fetch_grace_us, plan.fetch_timeout_us),
            # The rest of the interval, as the wall clock shows it.
            "pace": range(1, plan.block_interval_us + 1),
        }
        timers = RULES[run.engine].timers(plan)
        self._of_engine: dict[object, Collection[int]] = {name: (length_us,) for name, length_us in timers.items()}

    @property
    def handlers(self) -> Handlers:
        """Timers."""
        return {TimerElapsed: self.elapsed}

    @property
    def is_asked(self) -> bool:
        """Return whether any timer of a known name fired."""
        return self.tally.compared > 0

    def elapsed(self, event: Event, timer: TimerElapsed) -> None:
        """Compare the time that a timer was set to."""
        key = timer.key if isinstance(timer.key, tuple) else (timer.key,)
        is_of_engine = key[0] == "consensus"
        name = key[1] if is_of_engine else key[0]
        allowed = (self._of_engine if is_of_engine else self._lengths).get(name)
        if allowed is None:
            return
        self.tally.compared += 1
        if timer.asked_us not in allowed:
            lengths = (
                f"1 to {allowed[-1]:,}" if isinstance(allowed, range) else " or ".join(f"{us:,}" for us in allowed)
            )
            self.tally.fail(
                f"validator {event.node} set its timer {name} to {timer.asked_us:,} us, and not to {lengths}",
                validator=event.node,
                at_us=event.at_us,
            )

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(f"{self.tally.compared:,} timers were set to the times of the settings")
