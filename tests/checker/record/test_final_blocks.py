"""The final blocks of a run: what goes to the file comes back as it was, in any order of reading."""

import pytest

from checker.record import final_blocks
from checker.record.final_blocks import FinalChain, final_block
from network import spill
from tests.support.cluster_runs import applied_blocks


@pytest.fixture(scope="module")
def executed():
    _, applied = applied_blocks("calm", "run.until_height=12")
    return [block for node, block in applied if node == 0]


@pytest.fixture
def chain(executed, monkeypatch):
    """Return a chain most of which is in a file, and whose pieces there end within blocks."""
    monkeypatch.setattr(final_blocks, "HOT_BLOCKS", 4)
    monkeypatch.setattr(spill, "HOT_BYTES", 2_048)
    monkeypatch.setattr(spill, "PIECE_BYTES", 1_024)
    chain = FinalChain()
    for block in executed:
        chain.append(final_block(block))
    return chain


def test_blocks_of_the_file_are_those_that_went_there(chain, executed):
    assert chain.blocks_in_memory <= 4
    assert list(chain) == [final_block(block) for block in executed]


def test_a_block_is_found_by_its_place(chain, executed):
    assert [chain[place].height for place in (7, 0, -1)] == [8, 1, len(executed)]
    assert [block.height for block in chain[2:9]] == list(range(3, 10))
    with pytest.raises(IndexError):
        chain[len(executed)]


def test_changes_come_back_in_the_order_of_the_block(chain, executed):
    """A key that was deleted among them."""
    assert [list(block.changes.items()) for block in chain] == [list(block.changes.items()) for block in executed]
    assert any(None in block.changes.values() for block in chain)


def test_the_parts_of_a_block_are_decoded_again(chain, executed):
    assert [block.header for block in chain] == [block.header for block in executed]
    assert [block.events for block in chain] == [block.events for block in executed]


def test_a_block_with_many_entries_leaves_memory_at_once(executed, monkeypatch):
    monkeypatch.setattr(final_blocks, "HOT_ENTRIES", 10)
    chain = FinalChain()
    for block in executed:
        chain.append(final_block(block))
        assert sum(len(chain[-1 - back].changes) for back in range(chain.blocks_in_memory)) <= 10

    assert len(chain) == len(executed)
