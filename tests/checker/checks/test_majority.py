"""A minority that is right: checks that compare validators say so once the oracle has been heard."""

import pytest

from checker.checks import CHECKS
from checker.checks.majority import hear_the_oracle
from checker.results import CheckResult
from tests.support.cluster_runs import result_of

SHORT = ("run.until_height=3", "run.time_limit_ms=8_000")
WORDS = "by the oracle the majority is wrong, from height 1 on; "


def oracle(status="failed", **evidence):
    return CheckResult("oracle", status, "safety", "whatever", tuple(evidence.items()), 1)


def failed(name):
    return CheckResult(name, "failed", "safety", "validator 3 differs", (), 1)


def test_a_majority_that_is_wrong_is_called_so_in_the_headline():
    """Three validators burn tips; the fourth is right, and halts over their first block."""
    result = result_of("calm", "mutants.tip-burned=[0, 1, 2]", *SHORT)

    assert result.headline.startswith(f"agreement: {WORDS}validator 3 halted")
    assert result.exit_code == 1


def test_a_minority_that_is_wrong_is_named_alone():
    """The oracle has nothing against what became final, but that it was refused."""
    result = result_of("calm", "mutants.tip-burned=[3]", *SHORT)

    assert result.headline.startswith("agreement: validator 3 halted")


BY_COMPARISON = [check.name for check in CHECKS if check.compares_replicas]


@pytest.mark.parametrize("name", ["agreement", "equal-roots", "write-sets", "certificates"])
def test_each_check_by_comparison_says_it(name):
    """And no other, whose words do not depend on a count."""
    results = [failed(name), failed("supply"), oracle(what="receipts", height=1)]
    first, other, _ = hear_the_oracle(results, BY_COMPARISON)

    assert first.summary == f"{WORDS}validator 3 differs"
    assert other.summary == "validator 3 differs"


@pytest.mark.parametrize(
    "heard",
    [
        oracle("passed"),
        oracle("inconclusive"),
        oracle(what="refusal", height=1),
        oracle(what="audit", height=1),
        oracle(what="roots", height=1, block="00"),
    ],
)
def test_an_oracle_that_agrees_with_the_final_chain_changes_nothing(heard):
    """Nor one that says something of a losing block, or of itself."""
    results = [failed("agreement"), heard]

    assert hear_the_oracle(results, BY_COMPARISON) == results
