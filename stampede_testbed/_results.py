"""Results of the public functions: typed, frozen, and made from the JSON object that the command line prints.

This module does not use msgspec: without msgspec the command can still report that a package is missing.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class CodeIdentity:
    """The code that ran; `fingerprint` identifies it."""

    fingerprint: str
    commit: str
    python: str


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The result of a check.

    Attributes:
        name: The check's name in docs/invariants.md.
        status: Passed, failed or inconclusive; a check without comparisons never passes.
        exit_class: The class of the check's failures, for example `safety`.
        summary: One line for a person: heights, validators, keys.
        evidence: Named values of the first failure, or figures of a pass.
        compared: The number of comparisons.
    """

    name: str
    status: Literal["passed", "failed", "inconclusive"]
    exit_class: str
    summary: str
    evidence: tuple[tuple[str, str | int], ...]
    compared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A run with its verdict.

    Attributes:
        scenario: The scenario's name.
        seed: The seed of the run.
        verdict: `passed`, `failed as expected`, or the class of its worst check: `safety`, `liveness` ...
        exit_code: The exit code that the command returns for it.
        headline: The most important fact, in a sentence.
        digest: The SHA-256 of every event of the run, in hexadecimal digits.
        checks: Every check with a result, in the order of the verdict.
        not_asked: The reason for each check without a result, by the check's name.
        former_names: The replacement of each check that this release removed, by the removed name.
        directory: The run directory.
        code: The code that ran.
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
        """Return the check of this name, with or without its family as a prefix; raises KeyError.

        The name of a removed check returns its replacement, with a warning.
        """
        made = {check.name: check for check in self.checks}
        if name not in made and name in self.former_names:
            warnings.warn(f"the check {name} is now called {self.former_names[name]}", DeprecationWarning, stacklevel=2)
            name = self.former_names[name]
        return made[name if name in made else name.rpartition("/")[2]]


@dataclass(frozen=True, slots=True)
class FailedSeed:
    """A seed of a sweep that did not pass: its headline, and its run directory; empty if no directory was kept."""

    seed: int
    headline: str
    directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """The seeds of a sweep with their common verdict.

    Attributes:
        scenario: The scenario's name, or `swarm`.
        verdict: The worst verdict of all seeds.
        exit_code: The exit code that the command returns for it.
        seeds: The number of seeds with a result.
        resumed: The number of seeds whose result an earlier sweep had written.
        verdicts: The number of seeds by verdict.
        groups: Seeds that did not pass, by the signature of their failure.
        results: The results file.
        code: The code that ran.
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
    """Return the result in a printed verdict."""
    checks = tuple(
        CheckReport(**_take(CheckReport, check) | {"evidence": tuple(map(tuple, check["evidence"]))})
        for check in document["checks"]
    )
    code = CodeIdentity(**_take(CodeIdentity, document["code"]))
    typed = {"checks": checks, "code": code, "directory": Path(document["directory"])}
    return RunResult(**_take(RunResult, document) | typed)


def sweep_result(document: Mapping[str, Any]) -> SweepResult:
    """Return the result in a printed sweep."""
    groups = {
        signature: tuple(FailedSeed(**_take(FailedSeed, seed)) for seed in group)
        for signature, group in document["groups"].items()
    }
    code = CodeIdentity(**_take(CodeIdentity, document["code"]))
    return SweepResult(
        **_take(SweepResult, document) | {"groups": groups, "code": code, "results": Path(document["results"])}
    )


def _take(kind: type[Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a class from a document that may hold further fields."""
    return {field.name: document[field.name] for field in fields(kind)}
