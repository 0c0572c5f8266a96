"""Results of checks, as data and never as an exception; and the verdict of a run.

A check compares and counts. It passes only if it compared values, so that an empty run never looks like
a proof. It fails with the place and the values. In any other case it is inconclusive. The verdict of a
run is the worst result of its checks, by the precedence of the exit codes.

A scenario may say which checks must fail. Then the verdict is *failed as expected* when exactly these fail.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

Status: TypeAlias = Literal["passed", "failed", "inconclusive"]
"""Statuses of a check."""

ExitClass: TypeAlias = Literal["safety", "usage", "inconclusive", "liveness", "determinism", "environment"]
"""Meanings of a failure for the caller; each class has its exit code."""

Evidence: TypeAlias = "str | int"
"""A value that supports a result: a number, or text with bytes in hexadecimal."""

EXPECTED: Final = "failed as expected"
"""The verdict of a run in which exactly the checks fail that its scenario names."""

EXPECTED_FAILURES: Final = "expected-failures"
"""The name of the result that says whether the named checks failed."""

PLUGINS: Final = "plug-ins"
"""The name of the result about errors that plug-ins raised inside validators, in runs that had any."""

UNFINISHED: Final = "unfinished"
"""The verdict of a run that ended before it was judged, by an interrupt or an error of a plug-in."""

OF_EXPECTATIONS: Final = ("storm", "reorg")
"""Checks of safety that are inconclusive only if an expectation of the scenario was not met."""

UNREACHED: Final = ("liveness", "inconclusive")
"""Classes of failures that only report an event that did not happen."""

EXIT_CODES: Final[dict[str, int]] = {
    "passed": 0,
    EXPECTED: 0,
    "safety": 1,
    "usage": 2,
    "inconclusive": 3,
    "liveness": 4,
    "determinism": 5,
    "environment": 6,
    UNFINISHED: 130,
}
"""Exit code by name of the verdict."""

FORMER_NAMES: Final = {
    **{f"promised-{what}": f"expected-{what}" for what in ("counts", "limits", "recovery", "reports")},
    "calm-views": "undisturbed-views",
    "promised-roads": "expected-replica-modes",
    "roads-effective": "replica-modes-effective",
    **dict.fromkeys(
        (
            *("duties", "insistence", "kept-votes", "verified-votes"),
            *("counted-votes", "view-changes", "followed-blocks", "heads", "vote-rules"),
        ),
        "consensus",
    ),
    **dict.fromkeys(
        ("lane-books", "auction-books", "bias-books", "queue-deposits", "state-triggers", "once"), "oracle"
    ),
    **dict.fromkeys(("answers", "snapshots"), "requests"),
}
"""Names of checks in the release before with the names of today, for records and data directories of that release."""

PRECEDENCE: Final = ("environment", "usage", "determinism", "safety", "liveness", "inconclusive")
"""Failing classes in the order in which they decide the verdict."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check.

    Attributes:
        name: The check's name, as in docs/invariants.md.
        status: Passed, failed or inconclusive.
        exit_class: The meaning of a failure of this check, for any status.
        summary: One line for a person: heights, validators, keys.
        evidence: Named values of the first failure, or figures of a pass.
        compared: The number of comparisons.
    """

    name: str
    status: Status
    exit_class: ExitClass
    summary: str
    evidence: tuple[tuple[str, Evidence], ...] = ()
    compared: int = 0

    def __post_init__(self) -> None:
        assert self.status != "passed" or self.compared > 0, f"{self.name} passed without having compared anything"

    @property
    def is_finding(self) -> bool:
        """Whether it failed, or found that the run does not meet the scenario's expectations."""
        is_lacking = self.status == "inconclusive" and self.exit_class == "inconclusive"
        return self.status == "failed" or is_lacking

    @property
    def is_unreached(self) -> bool:
        """Whether a longer run may have passed: an expected event did not happen, or not in time."""
        return self.status == "inconclusive" or (self.status == "failed" and self.exit_class in UNREACHED)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a run: its name, `passed`, `failed as expected` or an exit class, and the process's exit code."""

    name: str
    exit_code: int


def with_names_of_today(results: Iterable[CheckResult]) -> tuple[CheckResult, ...]:
    """Return recorded results with the names of today: of several checks that became one, the worst result."""
    made: dict[str, CheckResult] = {}
    for result in results:
        renamed = replace(result, name=FORMER_NAMES.get(result.name, result.name))
        before = made.setdefault(renamed.name, renamed)
        if rank_of(renamed) < rank_of(before):
            made[renamed.name] = renamed
    return tuple(made.values())


def rank_of(result: CheckResult) -> int:
    """Return the place of a result among the outcomes, the worst first."""
    return len(PRECEDENCE) if result.status == "passed" else PRECEDENCE.index(_outcome_of(result))


class CheckTally:
    """The running count of a check: comparisons made, failures found.

    Only the first failure keeps its text and evidence: later failures are mostly its consequences.
    """

    __slots__ = ("_evidence", "_failures", "_first", "compared", "exit_class", "name")

    def __init__(self, name: str, exit_class: ExitClass) -> None:
        self.name = name
        self.exit_class: ExitClass = exit_class
        self.compared = 0
        self._failures = 0
        self._first = ""
        self._evidence: tuple[tuple[str, Evidence], ...] = ()

    @property
    def has_failed(self) -> bool:
        """Whether a failure was noted."""
        return self._failures > 0

    def fail(self, summary: str, /, **evidence: Evidence) -> None:
        """Note a failure; `summary` names the place in one line."""
        self._failures += 1
        if self._failures == 1:
            self._first = summary
            self._evidence = tuple(evidence.items())

    def require(self, holds: object, summary: str, /, **evidence: Evidence) -> None:
        """Compare once and note a failure unless it holds. For rare comparisons: the text is made in any case."""
        self.compared += 1
        if not holds:
            self.fail(summary, **evidence)

    def result(self, summary: str, /, **figures: Evidence) -> CheckResult:
        """Return the result; `summary` is the line of a pass."""
        if self._failures:
            more = f" (and {self._failures - 1:,} more)" if self._failures > 1 else ""
            text = self._first + more
            return CheckResult(self.name, "failed", self.exit_class, text, self._evidence, self.compared)
        if not self.compared:
            return self.inconclusive("nothing to compare")
        return CheckResult(self.name, "passed", self.exit_class, summary, tuple(figures.items()), self.compared)

    def inconclusive(self, reason: str) -> CheckResult:
        """Return the result of a run that cannot answer; a failure found before stays a failure."""
        if self._failures:
            return self.result("")
        return CheckResult(self.name, "inconclusive", self.exit_class, reason, (), self.compared)


def judge_expected(
    results: Iterable[CheckResult], expected: Collection[str], not_asked: Mapping[str, str] = MappingProxyType({})
) -> CheckResult:
    """Return whether the checks that a scenario expects to fail have failed; if not, the run shows nothing.

    Args:
        results: The checks' results.
        expected: Names of the checks that the scenario expects to fail.
        not_asked: By name of each check without a result, why the run does not ask it.
    """
    found = {name: f"was not asked: {reason}" for name, reason in not_asked.items()}
    found |= {result.name: result.status for result in results}
    others = [f"{name} {found.get(name, 'was not made')}" for name in expected if found.get(name) != "failed"]
    summary = f"expected to fail: {', '.join(others)}" if others else f"{', '.join(expected)} failed"
    status: Status = "inconclusive" if others else "passed"
    return CheckResult(EXPECTED_FAILURES, status, "inconclusive", summary, (), len(expected))


def deciding_check(results: Iterable[CheckResult], expected: Collection[str] = ()) -> CheckResult | None:
    """Return the check that decides the verdict, the first of the worst class; None without a failure.

    Faults of an application's process come before their consequences. Where a scenario expects checks to fail, other
    checks may be inconclusive as a consequence. Checks of expectations may not: a fault that never happened is no
    consequence.
    """
    wrong = [
        result
        for result in results
        if (result.status == "failed" and result.name not in expected)
        or (result.status == "inconclusive" and (not expected or _is_expectation(result)))
    ]
    return min(wrong, key=lambda each: (PRECEDENCE.index(_outcome_of(each)), each.name != "application"), default=None)


def _is_expectation(result: CheckResult) -> bool:
    return result.exit_class == "inconclusive" or result.name in OF_EXPECTATIONS


def verdict_of(results: Iterable[CheckResult], expected: Collection[str] = ()) -> Verdict:
    """Return the verdict of a run by the precedence 6, 2, 5, 1, 4, 3, 0; no results at all are inconclusive.

    Args:
        results: The checks' results.
        expected: The checks that the scenario expects to fail.
    """
    made = list(results)
    decisive = deciding_check(made, expected)
    if decisive is not None:
        name = _outcome_of(decisive)
    else:
        name = "inconclusive" if not made else EXPECTED if expected else "passed"
    return Verdict(name, EXIT_CODES[name])


def _outcome_of(result: CheckResult) -> str:
    return result.exit_class if result.status == "failed" else result.status
