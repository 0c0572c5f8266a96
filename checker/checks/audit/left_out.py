"""The parts of the test bed that the audit leaves out, because a fault of a plug-in may touch them.

The audit does not know what such a fault does, only what its kind says that it may reach (`Fault.reaches`). Nothing is
left out before the first edge of the fault.
"""

from collections.abc import Collection, Mapping
from typing import Final

from checker.checks.audit.plan import TestBedPlan

PART_MARK: Final = "@"
"""Stands between the name of a fault and the part of it that a condition on links is."""


class LeftOut:
    """The parts that are left out so far, each with the fault because of which it is, and since when.

    Args:
        plan: The plan.
        known: The kinds of faults that the audit follows.
    """

    def __init__(self, plan: TestBedPlan, known: Collection[str]) -> None:
        self._reaches: Final[Mapping[str, Collection[str]]] = {
            name: plan.reaches[name] for name, fault in plan.enabled().items() if fault["kind"] not in known
        }
        self.since: Final[dict[str, tuple[str, int]]] = {}
        """By part the fault that reached it first, and the time."""

    def is_foreign(self, fault: str) -> bool:
        """Return whether a fault is of a kind that the audit does not follow."""
        return fault in self._reaches

    def begin(self, fault: str, now_us: int) -> None:
        """See such a fault at one of its edges."""
        for part in self._reaches[fault]:
            self.since.setdefault(part, (fault, now_us))

    def is_condition(self, condition: str) -> bool:
        """Return whether a condition on links is one of such a fault that has begun, and may reach links."""
        return "links" in self.since and "links" in self._reaches.get(condition.partition(PART_MARK)[0], ())

    def told(self) -> str:
        """Return the end of the sentence that says what was audited, empty where nothing was left out."""
        parts = [f"{part} from {at_us:,} us on (fault {fault})" for part, (fault, at_us) in self.since.items()]
        return f"; not audited: {', '.join(parts)}" if parts else ""
