"""Derived state: a kept entry that its source does not have, one that is missing, and a size above its bound."""

from types import SimpleNamespace

import pytest

from checker.checks.derived import DerivedState
from checker.observations import DiskFaults
from faults.events import Crashed
from network.events import Event
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from tests.support.cluster_runs import check_named, result_of
from tests.support.simplex_bench import Bench, notarize, nullify, proposal_of
from validators.consensus.signing import Ed25519Scheme
from validators.consensus.simplex import encode_artifact
from validators.derived import Derived, DerivedSize
from validators.events import BlockExecuted, BlockFinalized, BlockRolledBack, SnapshotJoined
from validators.identity import TransactionVerifier, public_key_of
from validators.sync.follower import PEER_BLOCK_BYTES_MIN, Follower, Goal, PeerBlock, Purpose

WHOLE = Derived("shelf", {"book": 1}, {"book": 1}, (DerivedSize("books", 1, 1, "n"),))


def judge(part, **facts):
    return finish(DerivedState(make_run(**facts)), derived={2: (part,)})


def test_what_its_source_leads_to_passes():
    result = judge(WHOLE)

    assert (result.status, result.compared) == ("passed", 2)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"kept": {"book": 2}}, "shelf, book, is 2; expected 1"),
        ({"kept": {"book": 1, "dust": b"\xaa"}}, "shelf, dust, is aa; expected absent"),
        ({"kept": {}}, "shelf, book, is absent; expected 1"),
        ({"sizes": (DerivedSize("books", 3, 2, "2 n"),)}, "shelf has 3 books; expected at most 2 (2 n)"),
    ],
)
def test_what_is_stale_missing_or_too_much_is_named(change, text):
    result = judge(WHOLE._replace(**change))

    assert result.status == "failed"
    assert result.summary.startswith("validator 2: ")
    assert text in result.summary


def test_a_disk_that_a_fault_touched_is_no_source():
    part = WHOLE._replace(kept={"book": 2}, is_of_disk=True)

    assert judge(part).status == "failed"
    assert judge(part, disk_faults=DiskFaults(touched=[2])).status == "passed"


def test_a_reorganization_is_compared_in_the_middle_of_the_run():
    check = DerivedState(make_run())
    check.rederived(1, (WHOLE._replace(kept={}),))

    assert "validator 1 after a reorganization: shelf" in finish(check).summary


def test_a_vote_of_the_journal_that_does_not_count_is_missing():
    """Its sender may be the one that a quorum needs, when all others have lost what they had in memory."""
    records = [notarize(0, proposal_of(1, 0)), nullify(0, 1)]
    bench = Bench(journal=[encode_artifact(record) for record in records])
    whole = bench.engine.derived(records, None)
    bench.engine._views.round(1).votes.nullifies.clear()

    assert whole.kept == whole.rebuilt
    assert "Nullify of view 1 counted, is absent; expected True" in judge(bench.engine.derived(records, None)).summary


@pytest.mark.soak
def test_a_run_compares_every_part_of_every_validator():
    """With reorganizations as well, though no audit of the state is asked for."""
    result = check_named(result_of("certified-split", "run.audit_reorgs=false"), "derived")

    assert result.status == "passed"
    assert "after a reorganization" in result.summary


def block(height, number):
    return SimpleNamespace(header=SimpleNamespace(height=height, parent=bytes([number - 1])))


def make_follower(height=0):
    engine = SimpleNamespace(
        finalized=SimpleNamespace(height=height, view=height), finalized_digest=b"", executed=lambda _digest: None
    )
    ways = dict.fromkeys(("execute", "request", "settle"), lambda *_given: None)
    return Follower(engine, **ways, find_fault=lambda *_given: "")


class TestOfAFollower:
    def test_blocks_and_rooms_follow_what_is_pruned(self):
        follower = make_follower()
        for height in (1, 2):
            follower.add_block(bytes([height]), block(height, height), PeerBlock(3, 10))
        follower.layer.finalized.height = 1
        before = follower.derived(1)
        follower.prune()
        after = follower.derived(1)

        assert before.kept.keys() - before.rebuilt.keys() == {"block 01"}
        assert after.kept == after.rebuilt
        assert after.kept["room of peer 3"] == PEER_BLOCK_BYTES_MIN

    def test_a_seal_goes_with_its_block(self):
        follower = make_follower()
        follower.add_block(b"\x01", block(1, 1))
        follower.seal(b"\x01", b"seal")
        assert follower.derived(1).kept == follower.derived(1).rebuilt
        del follower._blocks[b"\x01"]

        assert "seal of 01, is True; expected absent" in judge(follower.derived(1)).summary

    def test_one_block_of_others_is_executed_at_a_time(self):
        follower = make_follower()
        follower.begin(b"\x01")
        follower.begin(b"\x02", is_own=True)
        assert judge(follower.derived(1)).status == "passed"
        follower.begin(b"\x03")

        assert "follower has 2 executions of others' blocks; expected at most 1" in judge(follower.derived(1)).summary

    def test_own_blocks_under_way_are_no_more_than_views(self):
        follower = make_follower()
        for number in range(3):
            follower.begin(bytes([number]), is_own=True)

        assert judge(follower.derived(2)).status == "passed"
        assert "3 executions of own blocks; expected at most 2" in judge(follower.derived(1)).summary

    def test_a_goal_of_a_view_that_was_left_is_stale(self):
        follower = make_follower()
        follower.want(Goal(Purpose.VERIFY, 4, b"\x09"))

        assert follower.derived(4).kept == follower.derived(4).rebuilt
        assert follower.derived(5).kept != follower.derived(5).rebuilt


class TestOfLostBlocks:
    """Validator 1 executes blocks of height 3 of which one becomes final, and then another one of height 4."""

    def judge(self, *between):
        check = DerivedState(make_run())
        for number in (1, 2):
            show(check, Event(1, 1, BlockExecuted(3, 3, bytes([number]), b"", "verify")))
        show(check, Event(5, 1, BlockFinalized(3, 3, b"\x01", b"")))
        show(check, *between, Event(9, 1, BlockFinalized(4, 4, b"\x04", b"")))
        return finish(check, derived={1: (WHOLE,)})

    def test_one_that_is_kept_is_named(self):
        assert self.judge().summary == "validator 1 kept block 02 of height 3, but height 3 is final with another block"

    @pytest.mark.parametrize(
        "event",
        [
            Event(5, 1, BlockRolledBack(3, b"\x02")),
            Event(6, SUPERVISOR, Crashed(1, 0)),
            Event(6, 1, SnapshotJoined(3, b"\x03", b"")),
        ],
        ids=["dropped", "crashed", "joined"],
    )
    def test_one_that_is_dropped_or_lost_passes(self, event):
        assert self.judge(event).status == "passed"


class TestOfMemos:
    """Results that are remembered: transactions and signatures that were verified once."""

    def test_a_scheme_remembers_no_more_results_than_it_came_to(self):
        scheme = Ed25519Scheme(bytes(32), [public_key_of(bytes(32))])
        signature = scheme.sign(b"name", b"message")
        for number in range(3):
            assert scheme.verify(0, b"name", b"%d" % number, signature) is False
        (size,) = scheme.derived().sizes
        assert (size.found, size.bound) == (4, 4)
        scheme._results[b"stray"] = True

        assert "signatures has 5 results; expected at most 4" in judge(scheme.derived()).summary

    def test_a_verifier_remembers_no_more_transactions_than_it_verified(self):
        verifier = TransactionVerifier()
        verifier._valid[b"stray"] = None
        part = Derived("mempool", sizes=(verifier.remembered(),))

        assert "mempool has 1 verified transactions; expected at most 0" in judge(part).summary
