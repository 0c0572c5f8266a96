"""The result of a run: its verdict, and all that the command, the record and the page show of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from checker.checks.expected_reports import Contradiction
from checker.coverage.collector import RuleHit
from checker.families import by_family, title_of
from checker.record.final_blocks import FinalBlock
from checker.record.fingerprint import this_code
from checker.record.plugins import code_with, plugin_codes
from checker.record.streams import OldestWait
from checker.results import (
    EXIT_CODES,
    FORMER_NAMES,
    UNFINISHED,
    CheckResult,
    Verdict,
    deciding_check,
    verdict_of,
)
from cluster.runtime.failures import AT_FAILURE
from cluster.scenario.model import Scenario
from cluster.verdict.facts import why_no_view_ends
from faults import FaultPoint
from network.trace import Trace
from report.verdict_rows import ValidatorRow
from validators.execution import Genesis


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """A run with its verdict."""

    scenario: Scenario
    seed: int
    digest: bytes
    checks: tuple[CheckResult, ...]
    validators: tuple[ValidatorRow, ...]
    figures: Mapping[str, int | str]
    evidence: tuple[Contradiction, ...]
    points: tuple[FaultPoint, ...]
    rules: tuple[RuleHit, ...]
    pairs: tuple[str, ...]
    workloads: Mapping[str, int]
    """Acts by workload; 0 for a workload without effect."""
    scripts: Mapping[str, int]
    trace: Trace = field(repr=False)
    genesis: Genesis = field(repr=False)
    chain: Sequence[FinalBlock] = field(repr=False)
    roots: list[tuple[int, int, bytes, bytes]] = field(repr=False)
    waits: list[tuple[OldestWait, ...]] = field(repr=False)
    calls: bytes = field(default=b"", repr=False)
    """All that its applications were asked and answered, encoded; nothing of a run without any."""
    application: str = ""
    """Its application by name and version, and what held its processes; nothing of a run without any."""
    directory: Path | None = None
    reopened: str = ""
    unfinished: str = ""
    """Where the run ended before it was judged, the virtual time and the heights that it had come to."""
    broken_by: str = ""
    """The error of a plug-in that ended an unfinished run; nothing where an interrupt did."""
    not_asked: Mapping[str, str] = field(default_factory=dict)
    not_judged: tuple[str, ...] = ()
    """Checks that could not say anything because a failure ended the run early."""
    answer: tuple[str, ...] = ()
    """Why it went wrong, in two sentences, where a witness of the run could say."""
    because: str = ""
    """The cause of an application's failure, and the first word of the key that differs."""
    branches: str = ""
    """The SHA-256 of the executed blocks as the record has them."""

    @property
    def log(self) -> bytes:
        """The event log, in one piece."""
        return self.trace.log

    @property
    def verdict(self) -> str:
        """The verdict in a word."""
        return self._verdict.name

    @property
    def exit_code(self) -> int:
        """The exit code that belongs to the verdict."""
        return self._verdict.exit_code

    @property
    def _verdict(self) -> Verdict:
        if self.unfinished:
            return Verdict(UNFINISHED, EXIT_CODES["usage" if self.broken_by else UNFINISHED])
        return verdict_of(self.checks, self.scenario.expect.fails)

    @property
    def decisive(self) -> CheckResult | None:
        """The check that decides the verdict: where that is *failed as expected*, the worst that was expected."""
        return deciding_check(self.checks, self.scenario.expect.fails) or deciding_check(self.checks)

    @property
    def headline(self) -> str:
        """The first thing to know: the failure that decides the verdict, or what was shown."""
        if self.unfinished:
            return f"{self.broken_by}, {self.unfinished}" if self.broken_by else f"interrupted {self.unfinished}"
        unjudged = self._unjudged
        if self.verdict == "inconclusive" and not self.chain and (reason := why_no_view_ends(self.scenario)):
            return reason
        if self.answer:
            return " ".join([*self.answer, *[f"{self._stop[2:].capitalize()}."] * bool(self._stop)])
        if self.decisive is not None:
            return f"{title_of(self.decisive)}: {self.decisive.summary}{self._stop}{unjudged}"
        height = max((row.finalized_height for row in self.validators), default=0)
        statuses = [row.status for row in self.validators]
        voters = statuses.count("voter")
        holders = f"{voters} validator{'s' if voters != 1 else ''}"
        if observers := statuses.count("observer"):
            holders += f" and {observers} observer{'s' if observers > 1 else ''}"
        if adversaries := statuses.count("byzantine"):
            holders += f" beside {adversaries} Byzantine"
        stopped = f"; {count} stopped over a disk" if (count := statuses.count("stopped")) else ""
        stopped += f"; {count} left behind with an outdated build" if (count := statuses.count("behind")) else ""
        again = f"; {self.reopened}" if self.reopened else ""
        hold = "hold" if len(statuses) > 1 else "holds"
        return f"{holders} {hold} one state root at every height up to {height}{stopped}{again}{unjudged}"

    @property
    def _stop(self) -> str:
        if self.figures.get("end") != AT_FAILURE:
            return ""
        left_out = f", not judged: {', '.join(self.not_judged)}" if self.not_judged else ""
        return f"; stopped at {self.figures['end_detail']}{left_out}"

    @property
    def _unjudged(self) -> str:
        """The end of the headline: whether the oracle was left out."""
        return "; no oracle judged it" if self.scenario.oracle == "off" else ""

    @property
    def made_by(self) -> list[str]:
        """The code that ran, and the plug-ins, a line each."""
        return [str(this_code()), *(f"with {plugin}" for plugin in plugin_codes(self.scenario.plugins))]

    def with_check(self, check: CheckResult) -> "PipelineResult":
        """Return the same run with a further check."""
        return replace(self, checks=(*self.checks, check))

    def as_json(self, command: str) -> dict[str, object]:
        """Return the whole verdict as plain data."""
        return {
            "scenario": self.scenario.name,
            "seed": self.seed,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "headline": self.headline,
            "answer": list(self.answer),
            "digest": self.digest.hex(),
            "code": code_with(self.scenario.plugins)._asdict(),
            "plugins": [msgspec.to_builtins(code) for code in plugin_codes(self.scenario.plugins)],
            "families": [
                {**row._asdict(), "parts": [part.name for part in row.parts]} for row in by_family(self.checks)
            ],
            "checks": [msgspec.to_builtins(check) for check in self.checks],
            "not_asked": dict(self.not_asked),
            "former_names": dict(FORMER_NAMES),
            "not_judged": list(self.not_judged),
            "validators": [msgspec.to_builtins(row) for row in self.validators],
            "figures": dict(self.figures),
            "evidence": [msgspec.to_builtins(each) for each in self.evidence],
            "coverage": [point._asdict() for point in self.points],
            "rules": {hit.point: hit.hits for hit in self.rules},
            "workloads": dict(self.workloads),
            "reopened": self.reopened,
            "application": self.application,
            "directory": None if self.directory is None else str(self.directory),
            "repeat": command,
        }
