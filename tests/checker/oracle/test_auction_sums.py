"""The sums of the auction that have a greatest number, or nothing to divide by: execution and the oracle agree."""

from pathlib import Path

import pytest

from tests.support.cluster_runs import check_named, result_of


@pytest.mark.soak
def test_the_tip_of_a_fire_without_cycles_is_the_oracles():
    result = result_of(str(Path(__file__).with_name("fire-without-cycles.toml")), seed=921)

    assert check_named(result, "oracle").status == "passed"


def test_a_sum_stays_at_the_greatest_number_of_a_record():
    """The lane's budget of one block is that number, and an epoch has more blocks."""
    result = result_of(str(Path(__file__).with_name("books-saturate.toml")))

    assert check_named(result, "oracle").status == "passed"
