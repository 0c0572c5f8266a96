"""Random chains in the timer lane: scheduler and oracle come to the same events, changes and roots in every block."""

import pytest
from hypothesis import given

from tests.support.lane_plans import chains, governed, plans, run_lane
from tests.support.properties import examples
from tests.support.racers import consult


@examples(25)
@given(plans, chains)
def test_engine_and_oracle_agree_on_random_chains_in_the_lane(plan, chain):
    """All readings of all switches, activation on the way, agents of all kinds, governance of every key."""
    result = consult(*run_lane(plan, **chain))

    assert result.status == "passed", result.summary


@examples(25)
@given(governed, chains)
@pytest.mark.soak
def test_engine_and_oracle_agree_on_random_chains_that_are_governed(plan, chain):
    """Any key to any value, also to one that no chain can run on."""
    result = consult(*run_lane(plan, **chain))

    assert result.status == "passed", result.summary
