"""The operation log is the one that the specification describes."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.state_batches import WRITES, commit
from tests.support.state_model import Model
from validators.state import Database


@given(st.lists(WRITES, max_size=8))
def test_the_log_is_the_one_that_the_specification_describes(batches):
    """Order of operations and floor raise agree with a plain restatement."""
    database = Database()
    model = Model.fresh()

    for writes in batches:
        model = model.after(writes)
        commit(database, writes)

    assert (tuple(model.log), model.floor) == (database.operations(), database.floor)
