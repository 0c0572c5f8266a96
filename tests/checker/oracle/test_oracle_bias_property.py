"""Random chains of the bias auction: scheduler and oracle come to the same events, changes and roots in every block."""

from hypothesis import given

from tests.support.bias_plans import chains, plans, run_bias
from tests.support.properties import examples
from tests.support.racers import consult


@examples(40)
@given(plans, chains)
def test_engine_and_oracle_agree_on_random_bias_auctions(plan, chain):
    """All rules of payment, bids by agents, governance of every key, activation after and before other policies."""
    result = consult(*run_bias(plan, **chain))

    assert result.status == "passed", result.summary
