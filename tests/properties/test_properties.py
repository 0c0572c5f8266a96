"""Each part of a validator does what its document says, by draws: one property for each part, a room for each room."""

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.properties.draws import drawn, seeded
from tests.properties.engines.followed_engines import followed_engines
from tests.properties.execution.block_trees import check_block_trees
from tests.properties.execution.books import check_books
from tests.properties.execution.guaranteed import check_guarantees
from tests.properties.execution.headers import check_headers
from tests.properties.execution.lanes import check_lanes
from tests.properties.execution.phase_cases import check_choices
from tests.properties.execution.timer_tables import check_timer_tables
from tests.properties.execution.updates import check_updates
from tests.properties.execution.waiting import check_waiting
from tests.properties.execution.waiting_lists import check_waiting_lists
from tests.properties.mempool.gossips import check_gossip
from tests.properties.mempool.intakes import check_intake
from tests.properties.mempool.pools import check_pools
from tests.properties.state.state_roots import check_state_roots
from tests.properties.storage.barriers import check_barriers
from tests.properties.storage.journals import check_journals
from tests.properties.storage.reopened_logs import check_reopened_logs
from tests.properties.storage.stored_files import check_files
from tests.properties.sync.exchanges import check_exchanges
from tests.properties.sync.finality import check_finality
from tests.properties.sync.followed import check_followed_blocks
from tests.properties.sync.followed_goals import check_followed_goals
from tests.properties.sync.snapshot_joins import check_snapshot_joins
from tests.properties.sync.snapshot_servers import check_serving
from tests.support.properties import examples
from validators.consensus.registry import ENGINES

SHORT = (
    *(check_waiting, check_guarantees, check_headers, check_lanes, check_choices, check_timer_tables, check_updates),
    *(check_block_trees, check_intake, check_pools, check_barriers, check_journals, check_files),
    *(check_reopened_logs, check_followed_blocks, check_finality, check_serving),
)
"""Properties of a few hundred draws: they shrink."""

LONG = (
    *(check_waiting_lists, check_books, check_state_roots, check_exchanges, check_followed_goals, check_gossip),
    *(check_snapshot_joins,),
)
"""Properties of so many draws, or of draws so even, that a seed stands for them all."""

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]


def name_of(check):
    return check.__name__


def judge(check, draw):
    for fault, holds in check(draw):
        assert holds, fault


@pytest.mark.parametrize("check", SHORT, ids=name_of)
@examples(100, suppress_health_check=SLOW)
@given(data=st.data())
def test_a_part_does_what_its_document_says(check, data):
    judge(check, data.draw(drawn()))


@pytest.mark.parametrize("check", LONG, ids=name_of)
@examples(40)
@given(data=st.data())
def test_a_part_of_many_draws_does_what_its_document_says(check, data):
    judge(check, data.draw(seeded(check.__name__)))


@pytest.mark.parametrize("engine", ENGINES)
@examples(50)
@given(data=st.data())
def test_engines_do_what_their_specification_says(engine, data):
    judge(followed_engines(ENGINES[engine]), data.draw(seeded(engine)))
