"""Random chains of the bias auction: scheduler and oracle come to the same events, changes and roots in every block."""

from hypothesis import given, settings

from tests.support.bias_plans import chains, plans, run_bias
from tests.support.racers import consult


@settings(max_examples=40, deadline=None)
@given(plans, chains)
def test_engine_and_oracle_agree_on_random_bias_auctions(plan, chain):
    """All rules of payment, bids by agents, governance of every key, activation after and before other policies."""
    result = consult(*run_bias(plan, **chain))

    assert result.status == "passed", result.summary
