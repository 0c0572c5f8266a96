"""The check `write-ahead`: what is told and not durable fails; it reads the journals for the check `journals`."""

import msgspec
import pytest

from checker.checks.context import RunEnd
from checker.checks.journals import Journals
from checker.checks.suite import Suite
from checker.checks.write_ahead import WriteAhead
from checker.observations import DiskFaults
from tests.support.checks import make_run, show, statuses
from tests.support.events import logged
from validators.consensus.simplex import (
    Certification,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    decode_artifact,
    encode_artifact,
)
from validators.storage import (
    BlockFile,
    FinalizedEntry,
    FinalizedLog,
    Journal,
    JournalHead,
    RecordFile,
    SimulatedDisk,
    provision,
)

PAYLOAD = b"\x07" * 32
HEAD = JournalHead(chain_id="test", validator=0, public_key=b"\x01" * 32, epoch=0)
SIGNATURE = b"\x02" * 64
VIEW = 5
PROPOSAL = Proposal(VIEW, VIEW - 1, PAYLOAD)
QUORUM = (b"\x07", (SIGNATURE,) * 3)

SAID = {
    "notarize": (Notarize(0, PROPOSAL, SIGNATURE), ("vote", "notarize", VIEW, PAYLOAD)),
    "nullify": (Nullify(0, VIEW, SIGNATURE), ("vote", "nullify", VIEW, b"")),
    "notarization": (Notarization(PROPOSAL, *QUORUM), ("certificate", "notarization", VIEW, PAYLOAD, [0, 1, 2])),
    "nullification": (Nullification(VIEW, *QUORUM), ("certificate", "nullification", VIEW, b"", [0, 1, 2])),
    "finalization": (Finalization(PROPOSAL, *QUORUM), ("certificate", "finalization", VIEW, PAYLOAD, [0, 1, 2])),
}
"""Artifacts, and the event that tells of each."""


class Bench:
    """One validator's disk and the check that looks at it."""

    def __init__(self, **faults):
        self.disk = SimulatedDisk()
        provision(self.disk, HEAD)
        self.journal = Journal(self.disk)
        self.check = WriteAhead(self.facts(disk_faults=DiskFaults(**faults)))

    def facts(self, **facts):
        return make_run(**{"disks": [self.disk], "honest": [0], "view_retention": 2, **facts})

    def write(self, *artifacts):
        for artifact in artifacts:
            self.journal.append(encode_artifact(artifact))

    def sync(self):
        self.disk.finish_sync(self.disk.begin_sync())

    def tell(self, kind, *values, node=0):
        show(self.check, logged(1, node, kind, *values))

    def status(self):
        return self.check.finish().status

    def results(self):
        """Return what both checks of the journal say."""
        return [self.check.finish(), self.check.run.check(Journals).finish()]

    def start(self, *told):
        """Start the validator, with what it tells again of its journal."""
        self.disk.lose_unsynced()
        self.tell("restart", 0, node=-1)
        for event in told:
            self.tell(*event)
        self.tell("boot", 1, 1, 0, b"")


@pytest.mark.parametrize("name", SAID)
def test_what_is_told_after_the_sync_passes(name):
    bench = Bench()
    artifact, event = SAID[name]
    bench.write(artifact)
    bench.sync()
    bench.tell(*event)

    assert bench.status() == "passed"


@pytest.mark.parametrize("name", SAID)
def test_what_is_told_before_the_sync_fails(name):
    bench = Bench()
    artifact, event = SAID[name]
    bench.write(artifact)
    bench.tell(*event)

    deed = f"{'sent' if event[0] == 'vote' else 'held'} a {name} of view {VIEW}"
    assert bench.check.finish().summary == f"validator 0 {deed} before it was durable on its disk"


def test_what_stands_in_one_copy_of_the_journal_alone_fails():
    bench = Bench()
    artifact, event = SAID["notarize"]
    payload = bytes(8) + encode_artifact(artifact)
    bench.journal._copies[0].append(payload)
    bench.sync()
    bench.tell(*event)

    assert bench.status() == "failed"


def test_a_vote_that_a_crash_took_from_the_disk_is_not_there_any_more():
    bench = Bench()
    artifact, event = SAID["notarize"]
    bench.write(artifact)
    bench.disk.lose_unsynced()
    bench.tell("restart", 0, node=-1)
    bench.tell(*event)

    assert bench.status() == "failed"


def test_a_vote_that_a_start_reads_back_may_have_lost_its_block():
    """It was never sent: a crash in the middle of a sync kept the one and lost the other."""
    bench = Bench()
    bench.write(SAID["notarization"][0], Certification(VIEW, ok=True), Finalize(0, PROPOSAL, SIGNATURE))
    bench.sync()
    bench.tell("vote", "finalize", VIEW, PAYLOAD)

    assert bench.status() == "passed"


def test_a_validator_that_is_not_honest_is_not_judged():
    bench = Bench()
    suite = Suite(bench.facts(honest=[]), [WriteAhead])
    suite.observe(logged(1, 0, *SAID["notarize"][1]))

    assert statuses(suite.finish(RunEnd())) == {"write-ahead": "inconclusive"}


@pytest.mark.parametrize(("is_stored", "status"), [(True, "passed"), (False, "failed")])
def test_a_block_is_stored_before_its_finality_is_voted_for(is_stored, status):
    bench = Bench()
    bench.tell("boot", 0, 1, 0, b"")
    bench.write(SAID["notarization"][0], Certification(VIEW, ok=True), Finalize(0, PROPOSAL, SIGNATURE))
    if is_stored:
        BlockFile(bench.disk).append(height=1, digest=PAYLOAD, block=b"block")
    bench.sync()
    bench.tell("vote", "finalize", VIEW, PAYLOAD)

    assert bench.status() == status


@pytest.mark.parametrize(("is_synced", "status"), [(True, "passed"), (False, "failed")])
def test_a_final_block_is_logged_before_it_is_applied(is_synced, status):
    bench = Bench()
    BlockFile(bench.disk).append(height=1, digest=PAYLOAD, block=b"block")
    bench.sync()
    FinalizedLog(bench.disk).append(FinalizedEntry(1, PAYLOAD, b"header", (b"operation",)))
    if is_synced:
        bench.sync()
    bench.tell("finalized", 1, VIEW, PAYLOAD, b"root")

    assert bench.status() == status


@pytest.mark.parametrize(("is_stored", "status"), [(True, "passed"), (False, "failed")])
def test_a_final_block_is_stored_before_it_is_applied(is_stored, status):
    bench = Bench()
    FinalizedLog(bench.disk).append(FinalizedEntry(1, PAYLOAD, b"header", (b"operation",)))
    if is_stored:
        BlockFile(bench.disk).append(height=1, digest=PAYLOAD, block=b"block")
    bench.sync()
    bench.tell("finalized", 1, VIEW, PAYLOAD, b"root")

    assert bench.status() == status


@pytest.mark.parametrize(("is_stored", "status"), [(True, "passed"), (False, "failed")])
def test_a_block_behind_a_hole_that_a_torn_write_left_is_stored(is_stored, status):
    """A start keeps what stands behind the hole, and appends there (found by the swarm, longest-chain seed 436338)."""
    bench = Bench()
    blocks = BlockFile(bench.disk)
    for place in range(3):
        blocks.append(height=place + 1, digest=bytes([place]) * 32, block=b"block")
    bench.sync()
    bench.disk.overwrite("blocks", RecordFile(bench.disk, "blocks").read().records[1].offset, bytes(8))
    bench.start()
    blocks = BlockFile(bench.disk)
    blocks.load()
    FinalizedLog(bench.disk).append(FinalizedEntry(1, PAYLOAD, b"header", (b"operation",)))
    bench.sync()
    blocks.append(height=1, digest=PAYLOAD, block=b"block")
    if is_stored:
        bench.sync()
    bench.tell("finalized", 1, VIEW, PAYLOAD, b"root")

    assert bench.status() == status


@pytest.mark.parametrize(("touched", "status"), [((), "failed"), ((0,), "passed")])
def test_a_snapshot_that_the_disk_does_not_give_back_fails(touched, status):
    """The validator starts in the midst of its life then; a bad disk may make it."""
    bench = Bench(touched=touched)
    bench.start()

    bench.tell("boot", 0, 1, 0, b"")
    assert bench.status() == status


class TestPruning:
    """The journal is read anew where a pruning has begun it again."""

    def pruned(self, *, keep_from):
        """Return a bench whose journal had finalizations of views 1 to 5, pruned below `keep_from`."""
        bench = Bench()
        bench.journal.recover(HEAD)
        for view in range(1, VIEW + 1):
            bench.write(Finalization(Proposal(view, view - 1, PAYLOAD), *QUORUM))
        bench.sync()
        bench.tell(*SAID["finalization"][1])
        floor = encode_artifact(SAID["finalization"][0])
        bench.journal.prune(floor, keep=lambda entry: decode_artifact(entry).proposal.view >= keep_from)
        return bench

    def test_what_is_appended_after_a_pruning_is_found(self):
        bench = self.pruned(keep_from=3)
        bench.write(Nullify(0, VIEW + 1, SIGNATURE))
        bench.tell("vote", "nullify", VIEW + 1, b"")
        assert bench.status() == "failed"

        bench = self.pruned(keep_from=3)
        bench.write(Nullify(0, VIEW + 1, SIGNATURE))
        bench.sync()
        bench.tell("vote", "nullify", VIEW + 1, b"")
        assert [result.status for result in bench.results()] == ["passed", "passed"]

    def test_an_entry_that_went_too_early_fails(self):
        bench = self.pruned(keep_from=4)
        bench.tell(*SAID["finalization"][1])

        summary = bench.results()[1].summary
        assert summary == "validator 0 lost the finalization of view 3 from its journal, whose floor is view 5"

    def test_a_head_that_counts_fewer_than_were_carried_over_fails(self):
        """A copy that a crash cut short would be taken for whole."""
        bench = self.pruned(keep_from=3)
        for name in ("journal-a", "journal-b"):
            file = RecordFile(bench.disk, name)
            head, *entries = (record.payload for record in file.read().records)
            decoded = msgspec.msgpack.decode(head, type=JournalHead)
            file.rewrite([msgspec.msgpack.encode(msgspec.structs.replace(decoded, carried=0)), *entries])
        bench.tell(*SAID["finalization"][1])

        summary = bench.results()[1].summary
        assert summary == "the head of validator 0's journal counts 0 entries, and pruning has carried 3 over"

    def test_a_copy_that_a_crash_left_unpruned_is_no_fault(self):
        """The newer copy is what counts, before the start repairs the other and afterwards."""
        bench = self.pruned(keep_from=3)
        before = bench.disk.read("journal-b")
        bench.journal.prune(encode_artifact(SAID["finalization"][0]), keep=lambda entry: entry != b"")
        bench.disk.truncate("journal-b", 0)
        bench.disk.overwrite("journal-b", 0, before)
        bench.start(SAID["finalization"][1])

        Journal(bench.disk).recover(HEAD)
        bench.tell(*SAID["finalization"][1])
        assert [result.status for result in bench.results()] == ["passed", "passed"]

    @pytest.mark.parametrize(("cut", "status"), [(("journal-a",), "passed"), (("journal-a", "journal-b"), "failed")])
    def test_a_pruning_that_the_disk_breaks_off_leaves_the_older_copy(self, cut, status):
        """It may do so in the turn in which the vote was synced and sent (swarm seed 429999, hotstuff)."""
        bench = self.pruned(keep_from=3)
        bench.write(Nullify(0, VIEW + 1, SIGNATURE))
        bench.sync()
        for name in cut:
            bench.disk.truncate(name, 0)
        bench.sync()
        bench.tell("vote", "nullify", VIEW + 1, b"")

        assert bench.status() == status

    def test_a_newer_copy_repaired_from_the_older_one_is_no_fault(self):
        """It has not all that it carries then, so that the older one counts (swarm seed 428159, longest-chain)."""
        bench = self.pruned(keep_from=3)
        bench.write(Nullify(0, VIEW + 1, SIGNATURE))
        bench.sync()
        before = bench.disk.read("journal-b")
        bench.journal.prune(encode_artifact(SAID["finalization"][0]), keep=lambda entry: entry != b"")
        bench.disk.truncate("journal-b", 0)
        bench.disk.overwrite("journal-b", 0, before)
        older, newer = (
            [record.payload for record in RecordFile(bench.disk, name).read().records]
            for name in ("journal-b", "journal-a")
        )
        RecordFile(bench.disk, "journal-a").rewrite([*newer[:-1], older[-1]])
        bench.start(SAID["finalization"][1])

        assert [result.status for result in bench.results()] == ["passed", "passed"]

    def test_the_new_disk_of_a_replica_without_a_vote_is_no_loss(self):
        """Its replica mode gives it another one after each start; it has promised nothing."""
        bench = Bench()
        for _ in range(2):
            bench.disk.wipe()
            provision(bench.disk, msgspec.structs.replace(HEAD, observes="it was never given a vote"))
            bench.tell("restart", 0, node=-1)
            bench.journal = Journal(bench.disk)
            bench.write(SAID["finalization"][0])
            bench.sync()
            bench.tell(*SAID["finalization"][1])

        assert [result.status for result in bench.results()] == ["passed", "passed"]

    def test_a_restart_of_a_validator_that_is_not_honest_is_not_judged(self):
        """Nor is what its journal says: only some of it would have been watched."""
        bench = Bench()
        bench.check = WriteAhead(bench.facts(honest=[]))
        bench.write(Nullify(1, 1, SIGNATURE))
        bench.sync()
        bench.tell("restart", 0, node=-1)

        assert bench.results()[1].status == "inconclusive"
