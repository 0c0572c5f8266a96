"""The root matrix: which replica came to which root at a height, and in which way."""

import pytest

from checker.record.streams import RootRecord
from checker.results import CheckResult
from cluster.page.matrix import (
    DROPPED,
    PARTED,
    REPLAYED,
    SPECULATIVE,
    TILES_MAX,
    UNDONE,
    UNJUDGED,
    ExecutionMarks,
    HeightFacts,
    Who,
    make_matrix,
)
from network.events import Event, EventRouter
from report.page.rows import NO_BLOCK
from validators.events import BlockExecuted, BlockFinalized, BlockRolledBack, BlockUndone

WHO = [Who("validator 0", "0", "", ""), Who("validator 1", "1", "", "")]


def digest(number):
    return bytes([number]) * 32


CHAIN = [(digest(1), digest(11)), (digest(2), digest(12))]


def matrix_of(roots, events=(), checks=(), chain=CHAIN, facts=()):
    executions = ExecutionMarks()
    router = EventRouter(executions.handlers)
    for node, body in events:
        router.route(Event(4_000, node, body))
    return make_matrix(chain, roots, executions, replicas=WHO, checks=checks, facts=facts)


def final(*nodes):
    return [RootRecord(node, height + 1, *CHAIN[height]) for node in nodes for height in range(2)]


def test_replicas_of_one_root_are_one_group():
    found = matrix_of(final(0, 1))

    assert [row.cells for row in found.rows] == [b"\1\1", b"\1\1"]
    assert found.first_divergence is None


def test_another_root_is_another_group_and_the_first_divergence():
    found = matrix_of([*final(0), RootRecord(1, 1, *CHAIN[0]), RootRecord(1, 2, digest(2), digest(99))])

    assert [row.cells for row in found.rows] == [b"\1\1", b"\1\2"]
    assert found.first_divergence == 2


def test_an_execution_that_never_was_final_is_speculative():
    found = matrix_of(final(0), [(1, BlockExecuted(2, 2, *CHAIN[1], "verify"))])

    assert found.rows[1].cells == bytes([0, SPECULATIVE | 1])


def test_a_root_of_its_own_in_an_execution_shows_before_finality():
    found = matrix_of(final(0), [(1, BlockExecuted(2, 2, digest(2), digest(99), "diverged"))])

    assert found.rows[1].cells == bytes([0, SPECULATIVE | 2])


@pytest.mark.parametrize(
    ("events", "flag"),
    [
        ([BlockRolledBack(1, digest(7))], DROPPED),
        ([BlockUndone(1, digest(7))], UNDONE),
        ([BlockExecuted(1, 1, *CHAIN[0], "verify"), BlockExecuted(1, 1, *CHAIN[0], "recover")], REPLAYED),
    ],
)
def test_what_happened_at_a_height_is_a_flag_of_its_cell(events, flag):
    found = matrix_of(final(0, 1), [(0, body) for body in events])

    assert found.rows[0].cells == bytes([flag | 1, 1])


def test_replicas_that_the_oracle_contradicts_are_those_that_differ():
    """The chain is wrong from height 2 on: the oracle is right there, and it did not look at height 3."""
    chain = [*CHAIN, (digest(3), digest(13))]
    roots = [RootRecord(node, height + 1, *chain[height]) for node in (0, 1) for height in range(3)]
    failed = [
        CheckResult(name, "failed", "safety", "height 2", (("height", 2),), 1) for name in ("cold-replay", "oracle")
    ]
    found = matrix_of(roots, checks=failed, chain=chain)

    assert [(row.name, row.cells) for row in found.rows] == [
        ("validator 0", bytes([1, PARTED, UNJUDGED])),
        ("validator 1", bytes([1, PARTED, UNJUDGED])),
        ("cold replay", bytes([1, UNJUDGED, 0])),
        ("oracle", b"\1\1\0"),
    ]
    assert found.first_divergence == 2


def test_who_parts_from_a_chain_that_is_wrong_is_not_drawn_as_wrong():
    roots = [*final(0), RootRecord(1, 1, *CHAIN[0]), RootRecord(1, 2, digest(2), digest(99))]
    failed = CheckResult("oracle", "failed", "safety", "height 2", (("height", 2),), 1)
    found = matrix_of(roots, checks=[failed])

    assert [row.cells for row in found.rows] == [bytes([1, PARTED]), bytes([1, UNJUDGED]), b"\1\1"]
    assert [found.names[row.roots[1]] for row in found.rows] == ["0c" * 6, "63" * 6, ""]


def test_a_block_that_lost_leaves_the_chain_as_it_is():
    evidence = (("height", 2), ("what", "changes"), ("block", "ab"))
    failed = CheckResult("oracle", "failed", "safety", "height 2", evidence, 1)
    found = matrix_of(final(0, 1), checks=[failed])

    assert [row.cells for row in found.rows] == [bytes([1, UNJUDGED]), bytes([1, UNJUDGED]), b"\1\0"]


def test_a_cell_has_its_root_its_time_and_the_facts_of_its_block():
    facts = [HeightFacts(3, 5, 7), HeightFacts(0, 1, 2)]
    found = matrix_of(final(0), [(0, BlockFinalized(1, 1, digest(1), digest(11)))], facts=facts)

    assert [found.names[place] for place in found.rows[0].roots] == ["0b" * 6, "0c" * 6]
    assert [list(row.times) for row in found.rows] == [[4, NO_BLOCK], [NO_BLOCK, NO_BLOCK]]
    assert (list(found.proposers), list(found.transactions), list(found.timers)) == ([3, 0], [5, 1], [7, 2])


def test_a_judge_that_could_not_tell_knows_nothing():
    unsure = CheckResult("oracle", "inconclusive", "safety", "no such policy")

    assert matrix_of(final(0, 1), checks=[unsure]).rows[-1].cells == b"\0\0"


def test_above_the_greatest_width_a_cell_shows_the_worst_of_several():
    chain = [(digest(1), digest(11))] * (TILES_MAX + 1)
    roots = [RootRecord(0, height, *chain[0]) for height in range(1, len(chain) + 1)]
    roots[-1] = RootRecord(0, len(chain), digest(1), digest(99))
    found = matrix_of(roots, chain=chain)

    assert (found.heights_per_tile, len(found.rows[0].cells), found.rows[0].cells[-1]) == (2, TILES_MAX // 2 + 1, 2)
    assert "2 heights" in found.note
