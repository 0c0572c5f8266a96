"""The parts of the check `write-ahead` that go by the ends of syncs: starts, rewritten files and certified blocks."""

import pytest

from checker.checks.rules.registry import RULES
from checker.checks.sync_times import CertifiedVotes, Rewrites, StartedFinality
from checker.checks.write_ahead import WriteAhead
from checker.results import CheckTally
from faults.events import DiskSynced
from network.events import Event, WorkFinished
from tests.support.checks import make_run
from validators.events import BlockExecuted, BlockFinalized, Booted, CertificateHeld, Voted

DIGEST, OTHER = b"\x07" * 32, b"\x08" * 32
SYNC_US = 100


def of(body, at_us=0):
    return Event(at_us, 0, body)


class Start:
    """One start of a replica, which has executed block 4 and found its finality."""

    def __init__(self, *, engine="simplex", mode="recover", kind="", executed=DIGEST, height=3):
        self.tally = CheckTally("write-ahead", "safety")
        self.finality = RULES[engine].finality
        self.part = StartedFinality(self.tally, RULES[engine])
        self.part.restart(0)
        self.execute(executed, mode)
        self.hold(kind)
        booted = Booted(1, 9, height, b"")
        self.part.boot(of(booted), booted)

    def execute(self, digest, mode):
        block = BlockExecuted(4, 8, digest, b"", mode)
        self.part.execute(of(block), block)

    def hold(self, kind, view=8, digest=DIGEST):
        held = CertificateHeld(kind or self.finality, view, digest, (0, 1, 2))
        self.part.hold(of(held), held)

    def apply(self, height=4):
        block = BlockFinalized(height, 8, DIGEST, b"")
        self.part.finalize(of(block), block)

    def sync(self, count):
        for _ in range(count):
            self.part.end_sync(of(WorkFinished("disk", 1, SYNC_US)))

    def summary(self):
        return self.tally.inconclusive("").summary


class TestFinalityOfAJournal:
    @pytest.mark.parametrize("engine", RULES)
    def test_its_block_is_applied_within_two_syncs(self, engine):
        start = Start(engine=engine)
        start.sync(3)

        assert start.summary() == (
            "validator 0 started with block 070707070707 of height 4 executed and its finality of view 8 in its journal"
            ", and has not applied it 2 syncs later"
        )

    def test_a_sync_that_was_under_way_may_end_before(self):
        start = Start()
        start.sync(2)
        start.apply()
        start.sync(5)

        assert not start.summary()

    def test_a_block_below_is_not_enough(self):
        start = Start()
        start.apply(3)
        start.sync(3)

        assert start.summary()

    @pytest.mark.parametrize(
        "other", [{"mode": "verify"}, {"kind": "notarization"}, {"executed": OTHER}, {"height": 4}]
    )
    def test_a_block_that_is_not_ready_final_and_new_is_not_waited_for(self, other):
        start = Start(**other)
        start.sync(3)

        assert not start.summary()

    def test_the_newest_finality_counts(self):
        start = Start()
        start.part.restart(0)
        start.execute(OTHER, "recover")
        start.hold("", 8, DIGEST)
        start.hold("", 9, OTHER)
        booted = Booted(1, 9, 3, b"")
        start.part.boot(of(booted), booted)
        start.sync(3)

        assert "view 9" in start.summary()

    @pytest.mark.parametrize(
        ("engine", "is_judged"), [("simplex", True), ("hotstuff", False), ("longest-chain", False)]
    )
    def test_a_later_finality_by_blocks_may_come_first(self, engine, is_judged):
        start = Start(engine=engine)
        start.hold("", 10, OTHER)
        start.sync(3)

        assert bool(start.summary()) == is_judged

    def test_nothing_is_expected_of_a_replica_without_power(self):
        start = Start()
        start.part.forget(0)
        start.sync(3)

        assert not start.summary()


class TestRewrites:
    @pytest.mark.parametrize(("written_us", "is_judged"), [(0, False), (1, True), (99, True), (100, False)])
    def test_no_file_is_rewritten_in_the_midst_of_a_sync(self, written_us, is_judged):
        tally = CheckTally("write-ahead", "safety")
        part = Rewrites(tally)
        part.write(of(DiskSynced(1), written_us), DiskSynced(1))
        part.end_sync(of(None, SYNC_US), WorkFinished("disk", 1, SYNC_US - 40, 40))

        text = f"rewrote a file at 0.{written_us:06} s, in the midst of the sync that began at 0.000000 s"
        assert (text in tally.inconclusive("").summary) == is_judged

    def test_a_start_ends_the_sync_that_the_power_cut_short(self):
        tally = CheckTally("write-ahead", "safety")
        part = Rewrites(tally)
        part.write(of(DiskSynced(1), 50), DiskSynced(1))
        part.forget(0)
        part.end_sync(of(None, SYNC_US), WorkFinished("disk", 1, SYNC_US))

        assert not tally.inconclusive("").summary


class Certified:
    """A replica that holds a certificate, and votes to make its block final."""

    def __init__(self, engine="simplex", kind="notarization"):
        self.tally = CheckTally("write-ahead", "safety")
        self.part = CertifiedVotes(self.tally, RULES[engine])
        held = CertificateHeld(kind, 8, DIGEST, (0, 1, 2))
        self.part.hold(of(held), held)

    def vote(self, kind="finalize", view=8):
        vote = Voted(kind, view, DIGEST)
        self.part.vote(of(vote), vote)
        return self.tally.inconclusive("").summary


class TestCertifiedVotes:
    def test_a_vote_of_the_sync_that_brought_its_certificate_is_too_early(self):
        assert Certified().vote() == (
            "validator 0 voted to finalize view 8 in the sync that brought the notarization, and its block can have "
            "been durable no sooner"
        )

    def test_a_sync_later_it_may_come(self):
        replica = Certified()
        replica.part.end_sync(of(None))

        assert not replica.vote()

    @pytest.mark.parametrize(("kind", "view"), [("notarize", 8), ("finalize", 9)])
    def test_other_votes_wait_for_no_certificate(self, kind, view):
        assert not Certified().vote(kind, view)

    def test_a_vote_that_a_start_casts_again_rests_on_an_earlier_life(self):
        replica = Certified()
        replica.part.forget(0)

        assert not replica.vote()

    def test_where_votes_come_first_nothing_is_asked(self):
        assert not Certified("hotstuff", "quorum-certificate").vote("vote")


def test_the_check_reads_all():
    handled = WriteAhead(make_run(disks=[])).handlers

    assert {WorkFinished, DiskSynced, BlockExecuted, CertificateHeld, Voted} <= handled.keys()
