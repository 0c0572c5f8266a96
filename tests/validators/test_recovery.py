"""Recovery from a disk: the right to vote or not, the newest state that has its header's root, a note of damage."""

from functools import partial
from types import SimpleNamespace

import msgspec
import pytest

from tests.support.checker_chain import HEIGHTS, run_chain
from tests.support.journals import HEAD
from tests.support.simplex_bench import (
    CONFIG,
    GENESIS,
    Bench,
    KeyedHashScheme,
    finalization,
    finalize,
    notarization,
    notarize,
    nullify,
    proposal_of,
)
from validators.consensus.interface import Started
from validators.consensus.simplex import Certification, Nullify, Simplex, encode_artifact
from validators.consensus.simplex.kind import SIMPLEX
from validators.events import DamageFound, DamageRepaired
from validators.execution.blocks import encode_header
from validators.identity import TransactionVerifier
from validators.recovery import RepairLog, reopen_consensus, reopen_state
from validators.restored import StateBase
from validators.settings import make_engine
from validators.stats import ValidatorCounts
from validators.storage import (
    JOURNAL_FILES,
    BitFlip,
    Damage,
    DiskReadError,
    FinalizedEntry,
    FinalizedLog,
    Journal,
    SimulatedDisk,
    provision,
)
from validators.storage.medium import Medium
from validators.storage.records import TORN


class Notes:
    """A port that keeps what is traced."""

    def __init__(self):
        self.events = []
        self.counts = ValidatorCounts()
        self.repairs = RepairLog(SimpleNamespace(trace=self.events.append), SIMPLEX.records, self.counts)

    def kinds(self):
        return [event.kind for event in self.events]


def flip(disk, name, offset):
    disk.overwrite(name, offset, bytes([disk.read(name, offset, 1)[0] ^ 1]))


@pytest.fixture
def notes():
    return Notes()


class TestRepairLog:
    def test_damage_and_repairs_are_traced_and_counted(self, notes):
        """Both by file and place."""
        notes.repairs.found(Damage("blocks", 7, 20, "damaged record"))
        notes.repairs.repaired("blocks", 3, "from a peer")

        assert notes.events == [DamageFound("blocks", 7, "damaged record"), DamageRepaired("blocks", 3, "from a peer")]
        assert (notes.counts.damaged, notes.counts.repaired) == (1, 1)

    def test_a_torn_tail_is_no_damage(self, notes):
        """No finished sync covered it, so no message relied on it."""
        notes.repairs.found(Damage("blocks", 7, 20, TORN))

        assert (notes.events, notes.counts.damaged) == ([], 0)


class TestConsensus:
    """Each test ends one life with a journal on a disk and begins the next."""

    def disk(self, *artifacts):
        disk = SimulatedDisk()
        provision(disk, HEAD)
        journal = Journal(disk)
        journal.recover(HEAD)
        for artifact in artifacts:
            journal.append(encode_artifact(artifact))
            disk.finish_sync(disk.begin_sync())
        return disk

    def reopen(self, disk, notes):
        def make(is_observer):
            scheme = KeyedHashScheme(0)
            return Simplex(me=0, validators=4, scheme=scheme, config=CONFIG, genesis=GENESIS, is_observer=is_observer)

        return reopen_consensus(disk, Journal(disk), HEAD, repairs=notes.repairs, make=make)

    def test_an_intact_journal_is_a_vote(self, notes):
        """It goes on where it was."""
        proposal = proposal_of(1, 0)
        simplex, reason = self.reopen(self.disk(notarization(proposal), Certification(1, True)), notes)

        assert (simplex.position.view, reason, notes.kinds()) == (2, "", ["certificate"])

    def test_a_vote_that_the_journal_kept_counts_as_said(self, notes):
        """It may have left; and a certificate may carry it before it leaves again."""
        self.reopen(self.disk(nullify(0, 1)), notes)

        assert notes.kinds() == ["vote"]

    def test_a_vote_in_the_finalized_view_counts_as_said_too(self, notes):
        """Power went after the sync: the vote was never sent, and the finalization that holds it is served."""
        proposal = proposal_of(1, 0)
        kept = (notarization(proposal), Certification(1, True), finalize(0, proposal), finalization(proposal))
        self.reopen(self.disk(*kept), notes)

        assert notes.kinds() == ["certificate", "vote", "certificate"]

    def test_a_damaged_copy_is_repaired_and_noted(self, notes):
        """No vote is lost, but the disk needs a look."""
        proposal = proposal_of(1, 0)
        disk = self.disk(notarization(proposal), Certification(1, True))
        flip(disk, JOURNAL_FILES[1], disk.size(JOURNAL_FILES[1]) - 1)
        simplex, reason = self.reopen(disk, notes)

        assert (simplex.position.view, reason) == (2, "")
        assert notes.kinds() == ["damage", "repaired", "certificate"]

    @pytest.mark.parametrize(
        "artifact",
        [notarize(3, proposal_of(1, 0)), Certification(1, True)],
        ids=["a vote of another validator", "a certification of nothing"],
    )
    def test_a_journal_that_this_validator_cannot_have_written_is_lost(self, notes, artifact):
        """Whole records of another memory say nothing about what was voted."""
        _, reason = self.reopen(self.disk(artifact), notes)

        assert reason

    def test_an_observer_says_nothing_whatever_happens(self, notes):
        """Its state machine follows views and casts no vote."""
        disk = self.disk()
        disk.truncate(JOURNAL_FILES[0], 0)
        disk.truncate(JOURNAL_FILES[1], 0)
        simplex, reason = self.reopen(disk, notes)
        bench = Bench(is_observer=True)
        bench.engine = simplex
        bench.take(simplex.step(Started()))
        bench.fire("leader", 1)

        assert reason == "the disk holds none"
        assert bench.ever_said(Nullify) == []

    def test_an_observer_stays_one_over_restarts_and_keeps_its_certificates(self, notes):
        """The new journal's head says so, durably, before the validator says anything."""
        disk = self.disk(finalize(0, proposal_of(1, 0)))
        disk.truncate(JOURNAL_FILES[0], 0)
        disk.truncate(JOURNAL_FILES[1], 0)
        _, reason = self.reopen(disk, notes)
        disk.lose_unsynced()
        journal = Journal(disk)
        journal.recover(HEAD)
        for artifact in (notarization(proposal_of(1, 0)), Certification(1, True)):
            journal.append(encode_artifact(artifact))
        simplex, again = self.reopen(disk, notes)

        assert (again, simplex.position.view) == (reason, 2)


class TestState:
    """A chain of eight heights in the finalized log of a disk."""

    @pytest.fixture
    def chain(self):
        return run_chain()

    def reopen(self, chain, disk, notes):
        return reopen_state(
            FinalizedLog(disk), partial(make_engine, chain.genesis, TransactionVerifier()), notes.repairs
        )

    def entry(self, chain, height, **changes):
        executed = chain.blocks[height - 1]
        entry = FinalizedEntry(height, executed.digest, encode_header(executed.header), tuple(executed.operations))
        return msgspec.structs.replace(entry, **changes)

    def rewrite(self, chain, disk, wrong):
        """Write the log again with one entry changed: whole records, and a wrong state."""
        disk.truncate("operations-a", 0)
        log = FinalizedLog(disk)
        for height in range(1, HEIGHTS + 1):
            log.append(wrong if wrong.height == height else self.entry(chain, height))
        disk.finish_sync(disk.begin_sync())

    def install(self, chain, disk, height=HEIGHTS):
        """Make the state of engine 0 the base of the log."""
        engine = chain.engines[0]
        base = StateBase(encode_header(engine.finalized), engine.database.snapshot())
        FinalizedLog(disk).install(height=height, encoded=msgspec.msgpack.encode(base))
        disk.finish_sync(disk.begin_sync())

    def test_an_intact_log_is_the_whole_state(self, chain, notes):
        """At its last entry's root."""
        state = self.reopen(chain, chain.disks[0], notes)

        assert state.layer.finalized == chain.engines[0].finalized
        assert (len(state.entries), notes.events) == (HEIGHTS, [])

    def test_an_empty_disk_is_genesis(self, chain, notes):
        """Nothing is final yet, or everything is lost."""
        state = self.reopen(chain, SimulatedDisk(), notes)

        assert (state.layer.finalized.height, state.entries) == (0, [])

    def test_damage_costs_what_lies_behind_it(self, chain, notes):
        """The intact prefix is the state; the rest is executed again."""
        disk = chain.disks[0]
        flip(disk, "operations-a", disk.size("operations-a") - 9)
        state = self.reopen(chain, disk, notes)

        assert state.layer.finalized == chain.blocks[HEIGHTS - 2].header
        assert notes.kinds() == ["damage", "repaired"]

    @pytest.mark.parametrize("height", [1, 4, HEIGHTS])
    def test_a_log_with_a_wrong_operation_is_cut_back_to_the_last_right_root(self, chain, notes, height):
        """The checksum holds and the root does not: what is wrong is found, cut off and not found again."""
        disk = chain.disks[0]
        operations = chain.blocks[height - 1].operations
        self.rewrite(chain, disk, self.entry(chain, height, operations=(*operations[1:], operations[-1])))
        state = self.reopen(chain, disk, notes)

        assert state.layer.finalized.height == height - 1
        assert state.layer.database.canonical_root == state.layer.finalized.state_root
        assert notes.kinds() == ["damage", "repaired"]
        assert self.reopen(chain, disk, Notes()).layer.finalized.height == height - 1

    def test_an_entry_that_claims_another_header_is_cut_off(self, chain, notes):
        """Its operations are right, and lead to a root that it does not name."""
        disk = chain.disks[0]
        header = encode_header(msgspec.structs.replace(chain.blocks[-1].header, state_root=bytes(32)))
        self.rewrite(chain, disk, self.entry(chain, HEIGHTS, header=header))

        assert self.reopen(chain, disk, notes).layer.finalized.height == HEIGHTS - 1

    def test_a_snapshot_is_a_base_like_genesis(self, chain, notes):
        """The state is the base's, and blocks are executed on it."""
        disk = SimulatedDisk()
        self.install(chain, disk)
        state = self.reopen(chain, disk, notes)

        assert state.layer.finalized == chain.engines[0].finalized
        assert state.layer.database.canonical_root == chain.engines[0].database.canonical_root
        assert (state.entries, notes.events) == ([], [])

    def test_a_base_that_is_no_state_gives_way_to_the_log_before_it(self, chain, notes):
        """Whole bytes with a wrong root: given up, and the older state stands."""
        disk = chain.disks[0]
        engine = chain.engines[0]
        header = msgspec.structs.replace(engine.finalized, state_root=bytes(32))
        base = StateBase(encode_header(header), engine.database.snapshot())
        FinalizedLog(disk).install(height=HEIGHTS, encoded=msgspec.msgpack.encode(base))
        disk.finish_sync(disk.begin_sync())
        state = self.reopen(chain, disk, notes)

        assert (state.layer.finalized, len(state.entries)) == (engine.finalized, HEIGHTS)
        assert notes.kinds() == ["damage", "repaired"]

    def test_bytes_that_are_no_base_give_way_as_well(self, chain, notes):
        """A whole record of something else."""
        disk = chain.disks[0]
        FinalizedLog(disk).install(height=HEIGHTS, encoded=b"\x93\x01\x02\x03")

        assert self.reopen(chain, disk, notes).layer.finalized == chain.engines[0].finalized


def test_a_disk_that_loses_a_journal_just_begun_has_failed(notes, monkeypatch):
    """It will hold no vote either; that its reason begins with the disk is for the checks."""
    # A plan of faults leaves one copy of what the last sync wrote.
    monkeypatch.setattr(Medium, "_may_scar", lambda *_: True)
    disk = SimulatedDisk()
    provision(disk, HEAD)
    disk.finish_sync(disk.begin_sync())
    disk.medium.impose("rot", BitFlip(1_000_000, ("journal",), both_copies=True))

    with pytest.raises(DiskReadError, match="the journal begun anew is lost"):
        reopen_consensus(disk, Journal(disk), HEAD, repairs=notes.repairs, make=lambda _observes: None)
