"""The root matrix: which replica came to which root at a height, and in which way."""

import pytest

from checker.record.streams import RootRecord
from checker.results import CheckResult
from cluster.page.matrix import DROPPED, REPLAYED, SPECULATIVE, TILES_MAX, UNDONE, ExecutionMarks, Who, make_matrix
from network.events import Event, EventRouter
from validators.events import BlockExecuted, BlockRolledBack, BlockUndone

WHO = [Who("validator 0", "0", "", ""), Who("validator 1", "1", "", "")]


def digest(number):
    return bytes([number]) * 32


CHAIN = [(digest(1), digest(11)), (digest(2), digest(12))]


def matrix_of(roots, events=(), checks=(), chain=CHAIN):
    executions = ExecutionMarks()
    router = EventRouter(executions.handlers)
    for node, body in events:
        router.route(Event(0, node, body))
    return make_matrix(chain, roots, executions, replicas=WHO, checks=checks)


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


def test_a_judge_that_parts_has_its_row_up_to_there():
    failed = CheckResult("oracle", "failed", "safety", "height 2", (("height", 2),), 1)
    found = matrix_of(final(0, 1), checks=[failed])

    assert (found.rows[-1].name, found.rows[-1].cells) == ("oracle", b"\1\2")
    assert found.first_divergence == 2


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
