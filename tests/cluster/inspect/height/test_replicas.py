"""Blocks as single replicas executed them: lost and refused ones, known bugs, Byzantine validators, broken-off runs."""

import signal
from contextlib import suppress

import pytest

from checker.record.fingerprint import CodeChangedError
from checker.record.run_directory import RecordReader
from cluster.cli.main import main
from cluster.inspect.height.recorded import ALONE, IN_RUN, ShowError
from cluster.inspect.height.report import show_height
from cluster.live.progress import LiveProgress
from cluster.scenario.load import load_scenario
from cluster.verdict.pipeline import run_pipeline
from report.block import height_lines
from tests.support.cluster_runs import result_of
from tests.support.mutation import WITH_CATALOGUE

FORK = ("certified-split", WITH_CATALOGUE, "mutants.record-of-another-fork=[1]")
"""At height 9 validator 1 takes a record of the losing block for one of the final block's state."""

FORGED = (
    *("run.until_height=9", "workload.storm.timers_per_actor=10", "workload.storm.timers_per_transaction=10"),
    *("faults.claims.stop_ms=12_000", "faults.no-clean-up.enabled=false", "faults.years-ahead.enabled=false"),
    'requires=["claims"]',
)
"""Of two Byzantine validators the one that claims roots."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


def bug_of(runs, mutant, node):
    settings = (WITH_CATALOGUE, "mutants.refund-rounded-down=[]", f"mutants.{mutant}=[{node}]", "expect.fails=[]")
    return RecordReader(result_of("broken-refund", *settings, runs=runs).directory)


@pytest.fixture(scope="module")
def diverged(runs):
    """Return the record of a run in which validator 2 gives back too little, and comes to another root at height 3."""
    return bug_of(runs, "refund-rounded-down", 2)


@pytest.fixture(scope="module")
def forked(runs):
    return RecordReader(result_of(*FORK, "run.until_height=12", runs=runs).directory)


class TestOtherRoot:
    def test_the_height_says_who_has_which_root(self, diverged):
        report = show_height(diverged, 3)
        (block,) = report.blocks
        final, other = report.roots

        assert (report.is_agreed, show_height(diverged, 2).is_agreed) == (False, True)
        assert (final.root, final.is_final, final.replicas) == (block.state_root, True, [0, 1, 3])
        assert (other.is_final, other.replicas, other.block) == (False, [2], block.block)
        assert (block.final_on, block.executed_by, block.refused_by) == ([0, 1, 3], [0, 1, 3], [2])
        assert [(each.replica, each.reason.partition(":")[0]) for each in report.absent] == [
            (2, "halted behind height 2")
        ]
        lines = list(height_lines(report))
        assert "replicas do not agree; --replica N shows the block of a replica" in lines
        assert f"  root {other.root[:12]} of block {block.block[:12]} on replica 2, not final there" in lines

    def test_the_replica_has_its_own_root_and_values(self, diverged):
        report = show_height(diverged, 3, replica=2)

        assert (report.block.executed_as, report.block.source) == (2, ALONE)
        assert report.block.root == report.roots[1].root
        assert report.block.refusal.startswith(f"state_root {report.roots[0].root} where executing gives ")
        assert (report.replica.mutants, report.replica.refused) == (["refund-rounded-down"], [report.blocks[0].block])
        assert [each.mode for each in report.replica.executed] == ["diverged"]

    def test_it_is_set_beside_another_replica(self, diverged):
        """The receipts are the same, and four balances are not."""
        comparison = show_height(diverged, 3, replica=2).comparison

        assert (comparison.replica, comparison.root) == (0, show_height(diverged, 3).block.root)
        assert (comparison.receipts, comparison.receipt_counts) == ([], (10, 10))
        assert [key.name.partition(" ")[0] for key in comparison.keys] == ["account"] * 4
        assert all(key.here.startswith("balance=") and key.here != key.elsewhere for key in comparison.keys)

    def test_a_replica_that_agrees_is_set_beside_none(self, diverged):
        report = show_height(diverged, 3, replica=3)

        assert (report.comparison, report.block.executed_as) == (None, 3)
        assert (report.replica.final, report.replica.root) == (report.blocks[0].block, report.blocks[0].state_root)

    def test_a_height_that_the_replica_did_not_come_to_has_no_block(self, diverged):
        report = show_height(diverged, 4, replica=2)

        assert (report.block, report.comparison) == (None, None)
        assert "  the record has no execution of this replica at this height" in list(height_lines(report))

    def test_all_replicas_with_one_bug_execute_by_it(self, runs):
        """The block is shown with the values of the run, and not with those of sound code."""
        reader = RecordReader(result_of("broken-refund", runs=runs).directory)
        report = show_height(reader, 4)

        assert (report.is_agreed, report.block.source, report.block.refusal) == (True, ALONE, "")
        assert report.block.root == report.blocks[0].state_root


class TestBrokenOff:
    @pytest.fixture(scope="class")
    @classmethod
    def halted(cls, runs):
        return bug_of(runs, "removed-timers-wait-on", 1)

    def test_an_execution_that_broke_off_is_shown_up_to_there(self, halted):
        report = show_height(halted, 4, replica=1)

        assert (report.block.root, report.block.refusal) == ("", "AssertionError: no timer lies at 3, 0")
        assert (report.block.summary, report.block.timers.waiting) == ({}, [])
        assert report.comparison.receipt_counts == (0, 8)
        assert (report.comparison.receipts, report.comparison.keys) == ([], [])
        assert report.notes == ["the record has no execution of this block by replica 1; its code does this"]
        lines = list(height_lines(report))
        assert "state root none: the execution aborted" in lines
        assert "timers that wait: not counted, the execution aborted" in lines

    def test_a_block_behind_it_is_refused_with_the_reason(self, halted):
        prefix = show_height(halted, 5).blocks[0].block

        with pytest.raises(ShowError, match="height 5: the code of replica 1 stops behind height 3: AssertionError"):
            show_height(halted, 5, replica=1, prefix=prefix)


class TestMemory:
    @pytest.mark.soak
    def test_what_memory_made_comes_from_the_repeated_run(self, forked):
        """Alone, the code of the replica accepts the block that the replica refused."""
        report = show_height(forked, 9, replica=1)

        assert (report.block.source, report.block.refusal) == (IN_RUN, "transaction 0: nonce 10 where 11 comes next")
        assert {row.status for row in report.block.transactions} == {"not run"}
        final = report.blocks[0]
        assert report.notes == [f"alone, the code of replica 1 comes to another result: state root {final.state_root}"]
        assert (final.status, final.reason) == ("final", report.block.refusal)

    def test_other_code_is_named_instead(self, forked, monkeypatch):
        """The result of other code on a block proves nothing about the run."""
        monkeypatch.setattr("cluster.inspect.height.recorded.is_made_by_this_code", lambda _reader: False)

        with pytest.raises(
            CodeChangedError, match=r"the code changed since: recorded by .*; executing height 9 gives: "
        ):
            show_height(forked, 9, replica=1)

    def test_a_run_that_cannot_be_repeated_says_so(self, forked, monkeypatch):
        monkeypatch.setattr("cluster.inspect.height.recorded.execute_in_run", lambda *_: None)
        report = show_height(forked, 9, replica=1)

        assert (report.block.source, report.block.root) == (ALONE, report.blocks[0].state_root)
        assert report.notes[1:] == [
            "the run cannot be repeated for the execution of replica 1; alone, its code does this"
        ]

    @pytest.mark.soak
    def test_an_interrupted_run_is_repeated_up_to_its_last_event(self, runs):
        interrupted = *FORK[1:], "run.until_height=200", 'expect.fails=["agreement"]'
        with LiveProgress(title="", is_quiet=True) as progress, suppress(KeyboardInterrupt):
            run_pipeline(
                load_scenario(FORK[0], interrupted), 0, runs=runs, progress=progress, witnesses=[InterruptsAt(13)]
            )
        reader = RecordReader(runs / "certified-split-0-unfinished")

        report = show_height(reader, 9, replica=1)
        assert (report.verdict, report.heights[1] < 20) == ("unfinished", True)
        assert (report.block.source, report.block.refusal) == (IN_RUN, "transaction 0: nonce 10 where 11 comes next")


class InterruptsAt:
    """A witness that interrupts the run when a height is final."""

    def __init__(self, height):
        self._height = height

    def attach(self, _cluster):
        pass

    def executed(self, _node, _executed):
        pass

    def broken_off(self, _node, _broken):
        pass

    def applied(self, _node, executed):
        if executed.header.height == self._height:
            signal.raise_signal(signal.SIGINT)


class TestLosingBlocks:
    def test_all_blocks_are_listed_and_the_final_one_is_shown(self, forked):
        report = show_height(forked, 9)

        assert [block.status for block in report.blocks] == ["final", "lost"]
        assert report.block.header.block == report.blocks[0].block
        assert "2 blocks at this height; --block PREFIX shows another block" in list(height_lines(report))

    def test_a_prefix_shows_the_lost_one(self, forked):
        lost = show_height(forked, 9).blocks[1]
        report = show_height(forked, 9, prefix=lost.block[:7])

        assert report.block.header.block == lost.block
        assert (report.block.root, report.block.refusal) == (lost.state_root, "")
        assert report.block.header.parent == show_height(forked, 9).block.header.parent

    @pytest.mark.soak
    def test_a_branch_of_several_blocks_is_executed_from_its_fork(self, runs):
        """Its timers are those of the branch: each fires once on the way, as on the chain."""
        reader = RecordReader(result_of("deep-reorg-hotstuff", runs=runs).directory)
        height, lost = 11, show_height(reader, 11).blocks[1]
        report = show_height(reader, height, prefix=lost.block)

        assert (report.block.source, report.block.root, report.notes) == (ALONE, lost.state_root, [])
        assert report.block.header.parent == show_height(reader, height - 1).blocks[1].block
        assert report.block.timers.fired
        assert all(row.gas_limit for row in report.block.timers.fired)

    @pytest.mark.soak
    def test_two_final_blocks_are_both_final(self, runs):
        reader = RecordReader(result_of("k-too-small", runs=runs).directory)
        report = show_height(reader, 6)

        assert [(block.status, block.final_on) for block in report.blocks] == [("final", [2, 3]), ("final", [0, 1])]
        assert not report.is_agreed
        own = show_height(reader, 6, replica=0)
        assert (own.block.header.block, own.replica.final) == (report.blocks[1].block, report.blocks[1].block)


class TestByzantine:
    @pytest.fixture(scope="class")
    @classmethod
    def forged(cls, runs):
        return RecordReader(result_of("forged-root", *FORGED, runs=runs).directory)

    @pytest.mark.soak
    def test_a_block_that_honest_replicas_refuse_is_refused(self, forged):
        """All of them came to one root: nothing is wrong among them."""
        report = show_height(forged, 9)
        refused = report.blocks[1]

        assert (refused.status, refused.executed_by, refused.reason) == (
            "refused",
            [2],
            "its roots are not those that executing it gives",
        )
        assert report.is_agreed
        shown = show_height(forged, 9, prefix=refused.block)
        assert (shown.block.executed_as, shown.block.refusal.partition(" ")[0]) == (0, "state_root")

    @pytest.mark.soak
    def test_its_maker_has_the_root_that_it_claims(self, forged):
        refused = show_height(forged, 9).blocks[1]
        report = show_height(forged, 9, replica=2, prefix=refused.block)

        assert (report.block.source, report.block.root, report.replica.mode) == (
            IN_RUN,
            refused.state_root,
            "byzantine",
        )
        assert report.comparison.refusal.startswith("state_root ")


@pytest.mark.soak
def test_a_run_that_went_on_with_its_disks_has_its_first_blocks(tmp_path, capsys):
    """The record of the second process has no event of them."""
    settings = ["--set", "run.until_height=3", "--runs", str(tmp_path / "runs"), "--data-dir", str(tmp_path / "data")]
    for _ in range(2):
        assert main(["run", "calm", *settings, "--quiet"]) == 0
    capsys.readouterr()
    (again,) = (tmp_path / "runs").glob("calm-0-at-*")

    report = show_height(RecordReader(again), 2)
    assert (report.block.source, report.block.root) == (ALONE, report.blocks[0].state_root)
    assert report.notes == []
    assert {each.reason for each in report.absent} == {"started with height 3 on its disk"}
