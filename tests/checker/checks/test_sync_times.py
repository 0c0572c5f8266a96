"""The parts of the check `write-ahead` that go by the ends of syncs: rewritten files and certified blocks."""

import pytest

from checker.checks.rules.registry import RULES
from checker.checks.sync_times import CertifiedVotes, Rewrites
from checker.checks.write_ahead import WriteAhead
from checker.results import CheckTally
from faults.events import DiskSynced
from network.events import Event, WorkFinished
from tests.support.checks import make_run
from validators.events import CertificateHeld, Voted

DIGEST = b"\x07" * 32
SYNC_US = 100


def of(body, at_us=0):
    return Event(at_us, 0, body)


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


def test_the_check_reads_both():
    handled = WriteAhead(make_run(disks=[])).handlers

    assert {WorkFinished, DiskSynced, CertificateHeld, Voted} <= handled.keys()
