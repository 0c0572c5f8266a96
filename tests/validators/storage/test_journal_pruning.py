"""Pruning of the vote journal: what is needed stays, wherever a crash or damage comes, and its length stays flat."""

from types import SimpleNamespace

import pytest
from msgspec.structs import replace

from cluster.runtime.cluster import Cluster
from cluster.runtime.directory_disk import DirectoryDisk
from cluster.scenario.load import load_scenario
from tests.support.cluster_runs import check_named, result_of
from tests.support.journals import (
    HEAD,
    KEPT,
    OLD,
    FailingDisk,
    PowerCutError,
    damage,
    half_pruned,
    recovered,
    sync,
    written,
)
from tests.support.simplex_bench import (
    CONFIG,
    GENESIS,
    KeyedHashScheme,
    finalization,
    notarization,
    nullification,
    proposal_of,
)
from tests.support.simplex_harness import World, final_view
from validators.consensus.interface import Started
from validators.consensus.simplex import Finalization, Simplex, artifact_view, decode_artifact, encode_artifact
from validators.consensus.simplex.kind import SIMPLEX
from validators.pruning import JournalPruner, PruneDue
from validators.storage import JOURNAL_FILES, Barrier, Journal, JournalLostError, SimulatedDisk, provision

DISKS = ["simulated", "directory"]


def make_disk(kind, tmp_path):
    return SimulatedDisk() if kind == "simulated" else DirectoryDisk(tmp_path / "disk")


def pruned(disk):
    """Return a journal that was pruned to `KEPT`."""
    journal = written(disk)
    journal.prune(b"floor", keep=KEPT.__contains__)
    return journal


class TestJournal:
    """The two copies on a disk."""

    @pytest.mark.parametrize("kind", DISKS)
    def test_a_pruned_journal_holds_floor_and_kept_entries(self, kind, tmp_path):
        """In both copies, durably, and it goes on from there."""
        disk = make_disk(kind, tmp_path)
        journal = pruned(disk)
        journal.append(b"six")
        sync(disk)

        for emptied in JOURNAL_FILES:
            disk.truncate(emptied, 0)
            contents = recovered(disk)
            assert (contents.head.floor, contents.artifacts) == (b"floor", [*KEPT, b"six"])

    @pytest.mark.parametrize("kind", DISKS)
    @pytest.mark.parametrize("steps", range(10))
    def test_a_crash_at_any_step_leaves_a_good_copy(self, kind, steps, tmp_path):
        """Either all entries are there or the kept ones with the floor, and both copies are whole again."""
        disk = make_disk(kind, tmp_path)
        written(disk)
        journal = Journal(FailingDisk(disk, steps))
        journal._head, journal._artifacts = HEAD, [*OLD, *KEPT]
        with pytest.raises(PowerCutError):
            journal.prune(b"floor", keep=KEPT.__contains__)
        disk.lose_unsynced()

        contents = recovered(disk)
        is_pruned = steps >= 4
        assert (contents.head.floor, contents.artifacts) == ((b"floor", KEPT) if is_pruned else (b"", [*OLD, *KEPT]))
        for emptied in JOURNAL_FILES:
            disk.truncate(emptied, 0)
            assert recovered(disk).artifacts == contents.artifacts
        assert recovered(disk).damages == []

    @pytest.mark.parametrize("kind", DISKS)
    @pytest.mark.parametrize("steps", range(10))
    def test_a_crash_in_the_repair_after_a_crash_leaves_a_good_copy(self, kind, steps, tmp_path):
        """The start after a half-finished pruning is cut off as well."""
        disk = make_disk(kind, tmp_path)
        half_pruned(disk)
        try:
            Journal(FailingDisk(disk, steps)).recover(HEAD)
        except PowerCutError:
            disk.lose_unsynced()

        contents = recovered(disk)
        assert (contents.head.floor, contents.artifacts) == (b"floor", KEPT)

    @pytest.mark.parametrize("copy", [0, 1])
    @pytest.mark.parametrize("offset", [0, 5, 20, 60])
    def test_a_damaged_head_comes_from_the_other_copy(self, copy, offset):
        """Torn or rotten: it is found, said, and written again."""
        disk = SimulatedDisk()
        pruned(disk)
        damage(disk, copy, offset)

        contents = recovered(disk)
        assert (contents.head.floor, contents.artifacts) == (b"floor", KEPT)
        assert [found.file for found in contents.damages] == [JOURNAL_FILES[copy]]
        assert recovered(disk).damages == []

    def test_heads_damaged_in_both_copies_are_a_lost_journal(self):
        """Without the floor the missing entries are unknown."""
        disk = SimulatedDisk()
        pruned(disk)
        damage(disk, 0, 20)
        damage(disk, 1, 30)

        with pytest.raises(JournalLostError):
            recovered(disk)

    def test_a_carried_entry_lost_in_both_copies_is_no_torn_tail(self):
        """The last one too: the head says how many there are."""
        disk = SimulatedDisk()
        pruned(disk)
        for copy, name in enumerate(JOURNAL_FILES):
            damage(disk, copy, disk.size(name) - 1)

        with pytest.raises(JournalLostError, match="which was synced"):
            recovered(disk)

    def test_a_journal_lost_in_both_copies_is_written_anew_from_memory(self):
        """It would be lost at the next start, and be never pruned until then; found by the swarm (seed 1762)."""
        disk = SimulatedDisk()
        journal = written(disk)
        for copy in (0, 1):
            damage(disk, copy, disk.synced_bytes(JOURNAL_FILES[copy]) // 2)
        with pytest.raises(JournalLostError):
            recovered(disk)
        journal.prune(b"floor", keep=KEPT.__contains__)

        assert recovered(disk).artifacts == KEPT

    def test_what_follows_a_pruning_never_gives_way_to_what_was_before(self):
        """A vote may rest on it: rather lose the journal than go back to the older copy."""
        disk = SimulatedDisk()
        journal = written(disk)
        before = disk.read(JOURNAL_FILES[1])
        journal.prune(b"floor", keep=KEPT.__contains__)
        journal.append(b"six")
        sync(disk)
        disk.truncate(JOURNAL_FILES[1], 0)
        disk.overwrite(JOURNAL_FILES[1], 0, before)
        damage(disk, 0, 20)

        with pytest.raises(JournalLostError):
            recovered(disk)

    def test_a_sector_of_the_time_before_is_no_entry(self):
        """A stale read of the head in one copy: the other copy says what generation the journal is of."""
        disk = SimulatedDisk()
        journal = written(disk)
        before = disk.read(JOURNAL_FILES[0], 0, 60)
        journal.prune(b"floor", keep=KEPT.__contains__)
        disk.overwrite(JOURNAL_FILES[0], 0, before)

        assert recovered(disk).head.floor == b"floor"
        assert recovered(disk).damages == []

    def test_a_journal_begun_anew_skips_a_generation(self):
        """A copy that lacks records may hide a pruning: that generation must not be taken for the newest one day."""
        disk = SimulatedDisk()
        journal = written(disk)
        before = journal._head.generation
        disk.truncate(JOURNAL_FILES[0], disk.synced_bytes(JOURNAL_FILES[0]) // 2)

        assert recovered(disk).is_new_generation
        assert recovered(disk).head.generation == before + 2

    def test_provisioning_anew_counts_above_the_generations_before(self):
        """A crash between its two copies leaves a journal that must not sign, not one that was given up."""
        disk = SimulatedDisk()
        pruned(disk)
        doubtful = disk.read(JOURNAL_FILES[1])
        provision(disk, replace(HEAD, observes="lost"))
        disk.truncate(JOURNAL_FILES[1], 0)
        disk.overwrite(JOURNAL_FILES[1], 0, doubtful)

        assert recovered(disk).head.observes == "lost"


def views_of(journal):
    return [artifact_view(decode_artifact(artifact)) for artifact in journal.artifacts]


class TestPruner:
    """The times at which a journal is pruned, and the entries that stay."""

    def pruner(self):
        disk = SimulatedDisk()
        provision(disk, HEAD)
        journal = Journal(disk)
        journal.recover(HEAD)
        barrier = type("Barrier", (), {"then": lambda _self, action: action()})()
        port = type("Port", (), {"work_on": lambda _self, _lane, _cost_us, token: pruner.prune(token)})()
        pruner = JournalPruner(port, barrier, journal, SIMPLEX.records, view_retention=3, sync_us=1)
        return pruner, journal

    def finalize(self, pruner, journal, view):
        found = finalization(proposal_of(view, view - 1))
        journal.append(encode_artifact(found))
        pruner.finalized(found)

    def test_as_many_views_again_pile_up_and_the_retention_stays(self):
        """Nothing goes before; then all but the finalized view and as many below it as are retained."""
        pruner, journal = self.pruner()
        for view in range(1, 7):
            self.finalize(pruner, journal, view)
        assert views_of(journal) == [1, 2, 3, 4, 5, 6]

        self.finalize(pruner, journal, 7)
        assert views_of(journal) == [4, 5, 6, 7]

    def test_what_is_above_the_finalized_view_stays(self):
        """However much it is: a finalization that is learnt late takes nothing of it."""
        pruner, journal = self.pruner()
        journal.append(encode_artifact(nullification(1)))
        for view in range(20, 40):
            journal.append(encode_artifact(nullification(view)))
        self.finalize(pruner, journal, 19)

        assert views_of(journal) == [*range(20, 40), 19]

    def test_a_finality_that_came_twice_prunes_once(self):
        """The second request finds nothing more to drop."""
        pruner, journal = self.pruner()
        self.finalize(pruner, journal, 1)
        self.finalize(pruner, journal, 9)
        generation = journal._head.generation
        pruner.prune(PruneDue(finalization(proposal_of(9, 8))))

        assert journal._head.generation == generation == 1


class Waiting:
    """A pruner whose syncs and work end when a test says so; it keeps 3 views below the finalized one."""

    def __init__(self):
        disk = SimulatedDisk()
        provision(disk, HEAD)
        self.journal = Journal(disk)
        self.journal.recover(HEAD)
        self.syncs, self.work = [], []
        self.barrier = Barrier(disk, self.syncs.append)
        port = SimpleNamespace(
            work_on=lambda _lane, _cost_us, token: self.work.append(token), is_busy=lambda _lane: bool(self.work)
        )
        self.pruner = JournalPruner(port, self.barrier, self.journal, SIMPLEX.records, view_retention=3, sync_us=1)

    def finalize(self, views):
        for view in views:
            found = finalization(proposal_of(view, view - 1))
            self.journal.append(encode_artifact(found))
            self.pruner.finalized(found)

    def end_sync(self):
        self.barrier.finish(self.syncs.pop())

    @property
    def is_within_its_bounds(self):
        derived = self.pruner.derived()
        return derived.kept == derived.rebuilt and all(size.found <= size.bound for size in derived.sizes)


class TestDerived:
    """The facts that a check gets of a journal: its first view, and the number of its entries."""

    def test_entries_pile_up_while_the_disk_is_at_one_sync(self):
        """One sync of 150 s is no leak, nor is the time of the prunings that it held up; from the swarm (431337)."""
        case = Waiting()
        case.finalize(range(1, 201))
        assert case.is_within_its_bounds
        case.end_sync()
        case.finalize([201])
        while case.syncs or case.work:
            case.end_sync() if case.syncs else case.pruner.prune(case.work.pop(0))
            assert case.is_within_its_bounds

        assert views_of(case.journal)[0] == 201 - 2 * 3 + 1

    @pytest.mark.parametrize("lost", ["work", "request"])
    def test_old_entries_are_seen_where_nothing_is_waited_for(self, lost, monkeypatch):
        """A pruning that got lost on its way."""
        case = Waiting()
        if lost == "request":
            monkeypatch.setattr(JournalPruner, "_is_due", lambda _self, _finality: False)
        case.finalize(range(1, 8))
        while case.syncs:
            case.end_sync()
        case.work.clear()

        assert not case.is_within_its_bounds

    def test_an_entry_that_is_appended_again_and_again_is_seen(self):
        case = Waiting()
        for _ in range(7):
            case.journal.append(encode_artifact(nullification(1)))
        assert case.is_within_its_bounds
        case.journal.append(encode_artifact(nullification(1)))

        assert not case.is_within_its_bounds


def machine(artifacts, floor=None, me=0):
    simplex = Simplex(me=me, validators=4, scheme=KeyedHashScheme(me), config=CONFIG, genesis=GENESIS)
    simplex.replay(artifacts, floor)
    return simplex


def test_a_replay_of_the_pruned_journal_comes_to_the_same_state():
    """Pruned at each of its finalizations: the same views, and the same first words of the next life."""
    world = World(4)
    world.heal(views=12, steps_max=300)
    compared = 0
    for seat in world.seats:
        journal = [decode_artifact(record) for record in seat.durable]
        for floor in (artifact for artifact in journal if isinstance(artifact, Finalization)):
            kept = [artifact for artifact in journal if artifact_view(artifact) >= floor.proposal.view - 3]
            whole, rest = machine(journal, me=seat.identity), machine(kept, floor, me=seat.identity)
            assert vars(whole._views) == vars(rest._views)
            assert whole.step(Started()) == rest.step(Started())
            compared += 1
    assert compared > 20


def test_the_floor_alone_is_a_finality():
    """Nothing may be voted for at or below it, even if every entry were gone."""
    simplex = machine([], finalization(proposal_of(7, 6)))

    assert (simplex.position.view, final_view(simplex)) == (8, 7)
    assert simplex.check(3, notarization(proposal_of(7, 6))).reason == "stale"
    assert simplex.check(3, notarization(proposal_of(8, 7))).ok


def journal_sizes(height):
    """Return how many bytes each copy of each validator's journal has after a run."""
    cluster = Cluster(load_scenario("calm", (f"run.until_height={height}", "consensus.view_retention=5")), 0)
    cluster.run()
    return [disk.size(name) for disk in cluster.disks for name in JOURNAL_FILES]


@pytest.mark.soak
def test_the_journal_of_a_long_run_is_no_longer_than_that_of_a_short_one():
    """Three times the blocks, and never more than twice the retention and a few views."""
    short, long = journal_sizes(20), journal_sizes(60)

    assert max(long) < 1.3 * max(short)
    assert max(long) < 823 * (2 * 5 + 4)


@pytest.mark.soak
def test_power_goes_between_the_copies_of_a_pruning_and_of_its_repair():
    """A start that finds two generations goes on from the newer one, also when it is itself cut off."""
    cut = 'faults.cut={kind="crash-at-boundary", validator=1, boundary="mid-prune", every=%d, start_ms=3_000, %s}'
    span = "stop_ms=12_000, restart_after_ms=300"
    for every in (1, 2):
        result = result_of("calm", "run.until_height=14", "consensus.view_retention=1", cut % (every, span))

        assert result.verdict == "passed", result.headline
        assert result.figures["fault_cut"] > 2


def test_a_run_that_prunes_and_restarts_keeps_the_rules():
    """Every validator comes back from a pruned journal."""
    result = result_of("rolling-restart", "consensus.view_retention=1")

    assert result.verdict == "passed", result.headline
    assert check_named(result, "journals").status == "passed"
