"""What honest validators reported besides votes and certificates: why they left views, evidence, dropped requests.

Evidence is two signed votes of one signer that exclude each other. It punishes nobody here; it is kept in the verdict.
"""

from dataclasses import dataclass, field
from typing import Final, final

from checker.observations import Report, read_event
from network.trace import Event
from validators.consensus.timeouts import TimeoutReason
from validators.serving import TOO_MANY, UNDER_WAY

EVIDENCE: Final = ("ConflictingNotarize", "ConflictingFinalize", "NullifyFinalize")
"""What two votes that exclude each other are called."""

UNANSWERED: Final = (UNDER_WAY, TOO_MANY)
"""Why requests of peers are not answered."""

REPORTS: Final = (*(reason.value for reason in TimeoutReason), *EVIDENCE, *UNANSWERED)
"""Everything that is counted and can be promised: reasons to leave a view, kinds of evidence, requests not answered."""


@final
@dataclass(slots=True)
class Reports:
    """How often each thing was reported, by each validator that did."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REPORTS, 0))

    def observe(self, event: Event) -> None:
        """See an event of an honest validator."""
        if event.kind == "refused" and event.values[1] in UNANSWERED:
            self._count(str(event.values[1]))
        elif event.kind == "report":
            report = read_event(event, Report)
            self._count(report.activity if report.activity in EVIDENCE else report.detail)

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    @property
    def evidence(self) -> int:
        """Pairs of votes that exclude each other, each counted by each validator that holds it."""
        return sum(self.counts[name] for name in EVIDENCE)
