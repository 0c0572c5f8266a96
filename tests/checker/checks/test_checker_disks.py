"""Losses that disk faults may cause, and those that fail a run: observers, stops, damage, and states from snapshots."""

import pytest
from msgspec.structs import replace

from network.events import Event
from tests.support.checker_history import RULES, assert_only, digest_of, failing, write_history
from tests.support.events import logged
from validators.events import SnapshotJoined


def end_for(history, node):
    """Take away all that a validator says after the faults are over."""
    healed = history.position(-1, "healed")
    kept = [step for step in history.steps[healed:] if step.node != node]
    history.steps[healed:] = kept


def insert(history, place, node, kind, *values):
    history.steps.insert(place, logged(history.steps[place].at_us, node, kind, *values))


def silence(history, node):
    """Take away all votes of a validator, and its name from every certificate."""
    history.steps = [
        step for step in history.steps if not (isinstance(step, Event) and (step.node, step.kind) == (node, "vote"))
    ]


class TestObservers:
    def test_an_observer_that_follows_passes(self):
        """It has lost its vote to a disk fault, says nothing of its own, and finalizes with the others."""
        history = write_history()
        silence(history, 3)
        history.disk_destroyed = (3,)
        insert(history, 0, 3, "observer", "no head")

        assert failing(history.judge()) == []

    def test_an_observer_that_votes_fails(self):
        """It does not know what it said before: any vote may contradict it."""
        history = write_history()
        history.disk_destroyed = (3,)
        insert(history, history.position(3, "vote", "finalize", 3), 3, "observer", "no head")

        assert_only(history.judge(), "no-double-vote", "validator 3 sent finalize in view 3", "no head")

    def test_an_observer_whose_disk_no_fault_touched_fails(self):
        """A vote given up for nothing is a fault of the validator."""
        history = write_history()
        silence(history, 3)
        insert(history, 0, 3, "observer", "no head")

        assert_only(history.judge(), "finality-regained", "validator 3 has become an observer", "no head")

    def test_an_observer_after_a_fault_that_spares_what_was_synced_fails(self):
        """Its votes cannot be lost."""
        history = write_history()
        silence(history, 3)
        history.disk_faulted = (3,)
        insert(history, 0, 3, "observer", "no head")

        assert_only(history.judge(), "finality-regained", "validator 3 has become an observer", "no head")

    def test_an_observer_that_stays_behind_fails(self):
        """It has no vote, and follows like any other."""
        history = write_history()
        silence(history, 3)
        end_for(history, 3)
        history.disk_destroyed = (3,)
        history.run_reason = "time-limit"
        insert(history, 0, 3, "observer", "no head")

        assert_only(history.judge(), "finality-regained", "validator 3 finalized no new block")

    def test_more_observers_than_f_blame_nobody(self):
        """With too few votes left, finality was not to be had."""
        history = write_history()
        history.disk_destroyed = (2, 3)
        for node in (2, 3):
            silence(history, node)
            insert(history, 0, node, "observer", "no head")
        results = history.judge()

        assert results["finality-regained"].status == "inconclusive"
        assert "validators 2, 3 lost their votes to their disks; f = 1" in results["finality-regained"].summary


class TestStops:
    def test_a_stop_over_a_faulty_disk_counts_towards_f(self):
        """It stopped instead of going on with doubtful state, as it should."""
        history = write_history()
        end_for(history, 3)
        history.disk_faulted = (3,)
        history.add(3, "halted", "disk: journal: write failed")
        results = history.judge()

        assert failing(results) == []
        assert results["finality-regained"].status == "passed"

    def test_a_stop_over_a_disk_that_no_fault_touched_fails(self):
        """Its reason is not true."""
        history = write_history()
        end_for(history, 3)
        history.add(3, "halted", "disk: journal: write failed")

        assert_only(history.judge(), "finality-regained", "validator 3 halted: disk: journal")

    def test_any_other_stop_fails_whatever_the_disk_did(self):
        """A disk fault excuses what it explains and nothing else."""
        history = write_history()
        end_for(history, 3)
        history.disk_faulted = (3,)
        history.add(3, "halted", "stopped for another reason")

        assert_only(history.judge(), "finality-regained", "validator 3 halted: stopped for another reason")

    @pytest.mark.parametrize("is_recovered", [True, False])
    def test_a_validator_restarted_after_its_stop_has_to_follow_again(self, is_recovered):
        """The operator mended the disk: it is live from its start on, and its votes are not lost to the disk."""
        history = write_history()
        end_for(history, 3)
        history.disk_faulted = (3,)
        history.run_reason = "time-limit"
        history.add(3, "halted", "disk: journal: write failed")
        history.add(-1, "restart", 3)
        if is_recovered:
            history.add(3, "boot", 1, 4, 3, history.blocks[3].root)

        assert_only(history.judge(), "finality-regained", "validator 3 finalized no new block")

    def test_an_observer_and_a_stopped_validator_are_two(self):
        """Both are lost to the quorum."""
        history = write_history()
        silence(history, 2)
        history.disk_faulted, history.disk_destroyed = (3,), (2,)
        insert(history, 0, 2, "observer", "no head")
        end_for(history, 3)
        history.add(3, "halted", "disk: journal: write failed")

        assert "validators 2, 3 lost their votes" in history.judge()["finality-regained"].summary


class TestDamage:
    def test_a_disk_fault_may_take_a_validator_back(self):
        """Blocks lost by the disk are fetched and finalized again; the others have the same blocks there."""
        history = write_history()
        history.disk_faulted = history.disk_destroyed = (1,)
        place = history.position(1, "boot")
        history.replace(place, 1, 3, 0, RULES.genesis_root)
        insert(history, place, 1, "damage", "operations", 0, "checksum differs")
        again = [
            step
            for step in history.steps[:place]
            if step.node == 1 and (not isinstance(step, Event) or step.kind == "finalized")
        ]
        history.steps[place + 2 : place + 2] = again

        assert failing(history.judge()) == []

    def test_a_fault_that_spares_what_was_synced_takes_nobody_back(self):
        """A full or slow disk, or a torn write, is no excuse for a lost height."""
        history = write_history()
        history.disk_faulted = (1,)
        history.replace(history.position(1, "boot"), 1, 3, 0, RULES.genesis_root)
        results = history.judge()

        assert "validator 1 restarted at finalized height 0 after 2" in results["agreement"].summary

    def test_damage_that_no_fault_made_fails(self):
        """A validator that cannot read what it wrote has a fault of its own."""
        history = write_history()
        insert(history, history.position(1, "boot"), 1, "damage", "blocks", 77, "checksum differs")

        assert_only(history.judge(), "agreement", "validator 1 found blocks damaged at 77", "no fault")


def joined_history(**changes):
    """Return a history in which validator 3 does not finalize height 3 and joins from a snapshot of it."""
    history = write_history()
    block = history.blocks[3]
    joined = SnapshotJoined(**{"height": 3, "digest": block.digest, "root": block.root, **changes})
    place = history.position(3, "finalized", 3)
    history.steps[place] = replace(history.steps[place], body=joined)
    del history.steps[place + 1]
    return history


class TestSnapshotJoined:
    def test_a_validator_goes_on_above_the_snapshot(self):
        """Its heights jump to the snapshot's, and block by block from there."""
        assert failing(joined_history().judge()) == []

    def test_another_root_than_the_others_fails(self):
        """The root recomputed from the snapshot is compared like any root."""
        assert_only(joined_history(root=digest_of("else")).judge(), "equal-roots", "height 3", "validator 3")

    def test_a_snapshot_below_what_was_final_fails(self):
        """A snapshot brings a validator forward, never back."""
        history = joined_history()
        place = history.position(3, "snapshot-joined")
        block = history.blocks[2]
        insert(history, place + 1, 3, "snapshot-joined", 2, block.digest, block.root)
        results = history.judge()

        assert "agreement" in failing(results)
        assert "joined from a snapshot of height 2, but had height 3" in results["agreement"].summary

    def test_a_block_that_is_not_the_others_fails(self):
        """The height's block is one."""
        results = joined_history(digest=digest_of("else")).judge()

        assert "agreement" in failing(results)
        assert "validator 3 finalized" in results["agreement"].summary
