"""Random chains of the GBA auction: scheduler and oracle come to the same events, changes and roots in every block."""

from hypothesis import given, settings

from tests.support.auction_plans import chains, plans, run_auction
from tests.support.racers import consult


@settings(max_examples=40, deadline=None)
@given(plans, chains)
def test_engine_and_oracle_agree_on_random_auctions(plan, chain):
    """All switches, agents of all kinds, governance of every key, activation after and before other policies."""
    result = consult(*run_auction(plan, **chain))

    assert result.status == "passed", result.summary
