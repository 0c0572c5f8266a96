"""The check that the faults of a plan took effect: a run whose faults have no effect tests nothing.

An adversary whose own code broke tests nothing either: it is silent from then on, like a machine that is down.
"""

from typing import ClassVar

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.results import CheckResult, ExitClass
from network.clock import MILLION
from network.events import Event, Handlers
from validators.events import Halted
from validators.stats import BROKEN


class FaultsEffective(Check):
    """Every fault that is required, or enabled and may not be idle, had an effect; no adversary broke down.

    A required fault has to be enabled as well. A fault without effect makes the run inconclusive, not passed.
    """

    name = "faults-effective"
    exit_class: ClassVar[ExitClass] = "inconclusive"
    sees_everybody = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._broken: list[str] = []

    @property
    def handlers(self) -> Handlers:
        """Adversaries that stop."""
        return {Halted: self.halted}

    def not_asked(self) -> str:
        """Return a reason where every fault may be idle, and no adversary broke down."""
        return "" if self._names() or self._broken else "no fault has to take effect"

    def halted(self, event: Event, halted: Halted) -> None:
        """Note an adversary whose own code broke; `agreement` reports honest replicas that halt."""
        if event.node not in self.run.honest and halted.reason.startswith(BROKEN):
            self._broken.append(f"adversary {event.node} stopped at {event.at_us / MILLION:.3f} s: {halted.reason}")

    def finish(self) -> CheckResult:
        """Return the result."""
        by_name = {fault.name: fault for fault in self.run.end.faults}
        lacking: list[str] = []
        for name in self._names():
            fault = by_name.get(name)
            self.tally.compared += 1
            if fault is None:
                lacking.append(f"{name} is not in the plan")
            elif not fault.is_enabled:
                lacking.append(f"{name} is switched off")
            elif not fault.count:
                is_past = "was done earlier, and the data directory has no record of its effect"
                lacking.append(f"{name} {is_past if fault.is_past else 'had no effect'}")
        if lacking or self._broken:
            required = [f"required: {'; '.join(lacking)}"] if lacking else []
            return self.tally.inconclusive("; ".join((*required, *self._broken)))
        counts = {name: by_name[name].count for name in self._names()}
        effects = ", ".join(
            f"{name} {count:,} times{' (done earlier)' * by_name[name].is_past}" for name, count in counts.items()
        )
        return self.tally.result(f"each took effect: {effects}", **counts)

    def _names(self) -> list[str]:
        own = [fault.name for fault in self.run.end.faults if fault.is_enabled and not fault.may_be_idle]
        return list(dict.fromkeys((*self.run.expect.requires, *own)))
