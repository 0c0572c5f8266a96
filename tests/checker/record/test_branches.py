"""The record of executed blocks: the same whatever order validators have within one virtual instant."""

import pytest

from checker.record.branches import ExecutedBlocks
from tests.support.cluster_runs import applied_blocks


@pytest.fixture(scope="module")
def executions():
    """Return (node, executed) of a short run, in the order of the log."""
    _, applied = applied_blocks("calm", "run.until_height=3", "run.time_limit_ms=6_000")
    return applied


def taken(executions):
    blocks = ExecutedBlocks()
    for node, executed in executions:
        blocks.executed(node, executed)
    return blocks.take()


def test_the_order_of_validators_does_not_show(executions):
    assert taken(executions) == taken(executions[::-1])


def test_a_block_is_noted_once_by_the_first_validator_in_number(executions):
    records = taken(executions)

    assert len(records) == len({executed.digest for _, executed in executions})
    assert {record.node for record in records} == {0}


def test_a_block_that_was_taken_is_not_noted_again(executions):
    blocks = ExecutedBlocks()
    for _ in range(2):
        for node, executed in executions:
            blocks.executed(node, executed)
        last = blocks.take()

    assert last == []
