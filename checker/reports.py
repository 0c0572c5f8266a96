"""What honest validators reported besides votes and certificates: why they left views, and evidence.

Evidence is two signed votes of one signer that exclude each other. It punishes nobody here; it is kept in the verdict.
"""

from dataclasses import dataclass, field
from typing import Final, final

from checker.observations import Report, read_event
from network.trace import Event
from validators.consensus.timeouts import TimeoutReason

EVIDENCE: Final = ("ConflictingNotarize", "ConflictingFinalize", "NullifyFinalize")
"""What two votes that exclude each other are called."""

REPORTS: Final = (*(reason.value for reason in TimeoutReason), *EVIDENCE)
"""Everything that is counted and can be promised: reasons to leave a view, and kinds of evidence."""


@final
@dataclass(slots=True)
class Reports:
    """How often each thing was reported, by each validator that did."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REPORTS, 0))

    def observe(self, event: Event) -> None:
        """See an event of an honest validator."""
        if event.kind != "report":
            return
        report = read_event(event, Report)
        name = report.activity if report.activity in EVIDENCE else report.detail
        self.counts[name] = self.counts.get(name, 0) + 1

    @property
    def evidence(self) -> int:
        """Pairs of votes that exclude each other, each counted by each validator that holds it."""
        return sum(self.counts[name] for name in EVIDENCE)
