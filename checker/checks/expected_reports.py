"""Reports of honest validators besides votes and certificates: why they left views, evidence, dropped requests.

Evidence is two signed votes of one signer that exclude each other. It has no consequence; it is kept in the verdict.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from checker.checks.context import RunContext
from checker.checks.expectations import Compared, LeastCounts
from checker.checks.rules.registry import RULES
from network.events import Event, Handlers, read_event
from validators.events import EvidenceReported, MessageRefused, Reported
from validators.sync.serving import TOO_MANY, UNDER_WAY

EVIDENCE: Final = tuple(name for rules in RULES.values() for name in rules.evidence)
"""Names of pairs of votes that exclude each other, of every engine."""

UNANSWERED: Final = (UNDER_WAY, TOO_MANY)
"""Reasons why requests of peers are not answered."""

REPORTS: Final = (*(reason for rules in RULES.values() for reason in rules.reasons), *EVIDENCE, *UNANSWERED)
"""Names of `[expect.reports]`: reasons to leave a view, kinds of evidence, reasons for unanswered requests."""


def reports_of(engine: str) -> tuple[str, ...]:
    """Return the names that validators of an engine can report."""
    rules = RULES[engine]
    return (*rules.reasons, *rules.evidence, *UNANSWERED)


SHOWN: Final = 3
"""Pieces of evidence that the verdict shows; its file has all pieces."""


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """Two signed votes of one signer that exclude each other, encoded in hexadecimal, and the validators with both."""

    activity: str
    signer: int
    view: int
    votes: tuple[str, str]
    holders: list[int]

    def describe(self) -> str:
        """Return one line that names the signer, its view and the votes."""
        rules = next(rules for rules in RULES.values() if self.activity in rules.evidence)
        first, second = (rules.describe_vote(bytes.fromhex(vote)) for vote in self.votes)
        held_by = ", ".join(map(str, self.holders))
        return f"view {self.view}, validator {self.signer}: {first} and {second}, held by {held_by}"


class ExpectedReports(LeastCounts):
    """Validators report what the scenario expects: why they left views, evidence, requests not answered.

    Each report counts once for each validator that made it.
    """

    name = "expected-reports"
    sees_earlier_events = False
    counts_one_process = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self.counts = dict.fromkeys(REPORTS, 0)
        self._evidence: dict[tuple[str, int, int, bytes, bytes], list[int]] = {}

    @property
    def handlers(self) -> Handlers:
        """Reports of validators, and messages that they refuse."""
        return {MessageRefused: self.refused, Reported: self.report}

    def compared(self) -> Compared:
        """Return counts of `[expect.reports]` over all honest validators; names of other engines are left out."""
        own = reports_of(self.run.engine)
        return {name: least for name, least in self.run.expect.reports.items() if name in own}, self.counts

    def refused(self, _event: Event, refused: MessageRefused) -> None:
        """Count a request of a peer that was not answered."""
        if refused.reason in UNANSWERED:
            self._count(refused.reason)

    def report(self, event: Event, report: Reported) -> None:
        """Count a report, and keep evidence."""
        is_evidence = report.activity in EVIDENCE
        self._count(report.activity if is_evidence else report.detail)
        if is_evidence:
            self._keep(event)

    def evidence(self) -> tuple[Contradiction, ...]:
        """Return the evidence against Byzantine validators, each pair once, in the order of discovery."""
        return tuple(
            Contradiction(
                activity=activity, signer=signer, view=view, votes=(first.hex(), second.hex()), holders=sorted(holders)
            )
            for (activity, signer, view, first, second), holders in self._evidence.items()
        )

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def _keep(self, event: Event) -> None:
        """Note a validator that holds a pair; two validators may have got its votes in opposite order."""
        report, holder = read_event(event, EvidenceReported), event.node
        assert report is not None, "the log has one kind for both reports"
        first, second = sorted((report.first, report.second))
        holders = self._evidence.setdefault((report.activity, report.signer, report.view, first, second), [])
        if holder not in holders:
            holders.append(holder)


def describe_evidence(evidence: Sequence[Contradiction]) -> Iterator[str]:
    """Yield a line for each of the first pairs of votes, and a line for the rest."""
    for each in evidence[:SHOWN]:
        yield f"evidence: {each.describe()}"
    if len(evidence) > SHOWN:
        yield f"evidence: {len(evidence) - SHOWN} more pairs of votes in verdict.json"
