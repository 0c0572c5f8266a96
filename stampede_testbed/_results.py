"""Results of the public functions: typed, frozen, and made from the JSON object that the command line prints.

By hand and not by msgspec, which a run needs: a command that is started where it is not installed says so in one line.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class CodeIdentity:
    """The code that ran: `fingerprint` tells it from any other."""

    fingerprint: str
    commit: str
    python: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of one check.

    Attributes:
        name: The check, as docs/invariants.md names it.
        status: Passed, failed or inconclusive; one that compared nothing is never passed.
        exit_class: What a failure of it means.
        summary: One line for a person: heights, validators, keys.
        evidence: Named values of the first failure, or figures of a pass.
        compared: How many comparisons were made.
    """

    name: str
    status: Literal["passed", "failed", "inconclusive"]
    exit_class: str
    summary: str
    evidence: tuple[tuple[str, str | int], ...]
    compared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One run with its verdict.

    Attributes:
        scenario: The scenario's name.
        seed: Which run of it.
        verdict: `passed`, `failed as expected`, or what its worst check means: `safety`, `liveness`, `inconclusive` ...
        exit_code: The exit code that the command returns for it.
        headline: The first thing to know.
        digest: The SHA-256 of every event of the run, in hexadecimal digits.
        checks: Every check with a result, in the order of the verdict.
        not_asked: By name of each check without a result, why the run does not ask it.
        former_names: By the name of a check that went in this release, the check that does its work.
        directory: The run directory.
        code: Which code ran.
        repeat: The command that repeats the run.
    """

    scenario: str
    seed: int
    verdict: str
    exit_code: int
    headline: str
    digest: str
    checks: tuple[CheckReport, ...]
    not_asked: dict[str, str]
    former_names: dict[str, str]
    directory: Path
    code: CodeIdentity
    repeat: str

    @property
    def passed(self) -> bool:
        """Whether the run passed, or failed as its scenario expects."""
        return self.exit_code == 0

    def check(self, name: str) -> CheckReport:
        """Return the check of this name, with or without its family before it; raises KeyError.

        The name of a check that went in this release leads to the check that does its work, with a warning.
        """
        made = {check.name: check for check in self.checks}
        if name not in made and name in self.former_names:
            warnings.warn(f"the check {name} is now called {self.former_names[name]}", DeprecationWarning, stacklevel=2)
            name = self.former_names[name]
        return made[name if name in made else name.rpartition("/")[2]]


@dataclass(frozen=True, slots=True)
class FailedSeed:
    """A seed of a sweep that did not pass: its headline, and its run directory, empty where none was kept."""

    seed: int
    headline: str
    directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """Many seeds with one verdict.

    Attributes:
        scenario: The scenario's name, or `swarm`.
        verdict: The worst verdict of all seeds.
        exit_code: The exit code that the command returns for it.
        seeds: Seeds with a result.
        resumed: Those among them that were in the results file before.
        verdicts: Seeds by verdict.
        groups: Seeds that did not pass, by what went wrong.
        results: The results file.
        code: Which code ran.
    """

    scenario: str
    verdict: str
    exit_code: int
    seeds: int
    resumed: int
    verdicts: dict[str, int]
    groups: dict[str, tuple[FailedSeed, ...]]
    results: Path
    code: CodeIdentity

    @property
    def passed(self) -> bool:
        """Whether every seed passed, or failed as its scenario expects."""
        return self.exit_code == 0


def run_result(document: Mapping[str, Any]) -> RunResult:
    """Return the result that a printed verdict holds."""
    checks = tuple(
        CheckReport(**_take(CheckReport, check) | {"evidence": tuple(map(tuple, check["evidence"]))})
        for check in document["checks"]
    )
    code = CodeIdentity(**_take(CodeIdentity, document["code"]))
    typed = {"checks": checks, "code": code, "directory": Path(document["directory"])}
    return RunResult(**_take(RunResult, document) | typed)


def sweep_result(document: Mapping[str, Any]) -> SweepResult:
    """Return the result that a printed sweep holds."""
    groups = {
        signature: tuple(FailedSeed(**_take(FailedSeed, seed)) for seed in group)
        for signature, group in document["groups"].items()
    }
    code = CodeIdentity(**_take(CodeIdentity, document["code"]))
    return SweepResult(
        **_take(SweepResult, document) | {"groups": groups, "code": code, "results": Path(document["results"])}
    )


def _take(kind: type[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a kind from a document that may hold more."""
    return {field.name: document[field.name] for field in fields(kind)}
