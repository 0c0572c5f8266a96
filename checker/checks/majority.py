"""Failures of checks that compare validators with each other, worded once the oracle has been heard.

Such a check cannot tell who is right; it names whoever differs from the others. Where the oracle differs from what a
quorum made final, those others are wrong, and the one that is named may be the only one who is right.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from checker.oracle import NAME as ORACLE
from checker.results import CheckResult

OF_NO_FINAL_BLOCK: Final = ("refusal", "audit")
"""Findings of the oracle about what no quorum did."""


def hear_the_oracle(results: Iterable[CheckResult], by_comparison: Collection[str]) -> list[CheckResult]:
    """Return the results, in which no failure by comparison calls a minority wrong that has the oracle on its side.

    Args:
        results: Of all checks of a run.
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
