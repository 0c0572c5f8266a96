"""Random chains of the GBA auction: scheduler and oracle come to the same events, changes and roots in every block."""

from hypothesis import given

from tests.support.auction_plans import chains, plans, run_auction
from tests.support.properties import examples
from tests.support.racers import consult


@examples(40)
@given(plans, chains)
def test_engine_and_oracle_agree_on_random_auctions(plan, chain):
    """All switches, agents of all kinds, governance of every key, activation after and before other policies."""
    result = consult(*run_auction(plan, **chain))

    assert result.status == "passed", result.summary
