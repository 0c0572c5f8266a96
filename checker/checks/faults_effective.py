"""The check that the faults of a plan took effect: a fault without effect shows nothing."""

from typing import ClassVar

from checker.checks.check import Check
from checker.results import CheckResult, ExitClass


class FaultsEffective(Check):
    """Every fault that is required, or enabled and may not be idle, touched the run.

    A required one has to be enabled as well. A fault without effect makes the run inconclusive, not passed.
    """

    name = "faults-effective"
    exit_class: ClassVar[ExitClass] = "inconclusive"

    @property
    def is_asked(self) -> bool:
        """Return whether any fault may not be idle."""
        return bool(self._names())

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
        if lacking:
            return self.tally.inconclusive(f"required: {'; '.join(lacking)}")
        counts = {name: by_name[name].count for name in self._names()}
        effects = ", ".join(
            f"{name} {count:,} times{' (done earlier)' * by_name[name].is_past}" for name, count in counts.items()
        )
        return self.tally.result(f"each took effect: {effects}", **counts)

    def _names(self) -> list[str]:
        own = [fault.name for fault in self.run.end.faults if fault.is_enabled and not fault.may_be_idle]
        return list(dict.fromkeys((*self.run.expect.requires, *own)))
