"""Failures of checks that compare validators with each other, reworded by the oracle's result.

A check by comparison cannot know which validator is right; it names the validator that differs. Where the oracle
differs from the block that a quorum made final, the quorum is wrong, and the named validator may be right.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from checker.oracle import NAME as ORACLE
from checker.results import CheckResult

OF_NO_FINAL_BLOCK: Final = ("refusal", "audit")
"""Findings of the oracle about blocks that no quorum made final."""


def hear_the_oracle(results: Iterable[CheckResult], by_comparison: Collection[str]) -> list[CheckResult]:
    """Return the results, reworded where a check by comparison blames a minority that agrees with the oracle.

    Args:
        results: The results of all checks of a run.
        by_comparison: Names of the checks that compare validators with each other.
    """
    made = list(results)
    against = next((result for result in made if result.name == ORACLE and result.status == "failed"), None)
    evidence = {} if against is None else dict(against.evidence)
    if against is None or "block" in evidence or evidence.get("what") in OF_NO_FINAL_BLOCK:
        return made
    words = f"by the oracle the majority is wrong, from height {evidence.get('height', 0)} on; "
    return [
        replace(result, summary=words + result.summary)
        if result.status == "failed" and result.name in by_comparison
        else result
        for result in made
    ]
