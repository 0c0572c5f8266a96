"""Random chains of scheduled transactions: scheduler and oracle come to the same events, changes and roots."""

from hypothesis import given

from tests.support.properties import examples
from tests.support.queue_plans import chains, plans, run_queue
from tests.support.racers import consult


@examples(40)
@given(plans, chains)
def test_engine_and_oracle_agree_on_random_queues(plan, chain):
    """All profiles and switches, every call of the queue and of its service, governance of every key."""
    result = consult(*run_queue(plan, **chain))

    assert result.status == "passed", result.summary
