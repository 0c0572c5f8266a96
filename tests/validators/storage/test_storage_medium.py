"""Faults of a simulated disk: each does what it says, stays where it is, and spares the last good copy."""

from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.chance import Chance
from tests.support.journals import HEAD, sync
from validators.storage import (
    JOURNAL_FILES,
    BitFlip,
    BlockFile,
    DiskFullError,
    DiskReadError,
    DiskSyncError,
    DiskWriteError,
    FullDisk,
    IoErrors,
    Journal,
    JournalLostError,
    MisdirectedWrite,
    SimulatedDisk,
    StaleRead,
    TornWrite,
    provision,
)

ALWAYS = 1_000_000
WRITES = {
    "append": lambda disk: disk.append("blocks", b"x"),
    "overwrite": lambda disk: disk.overwrite("blocks", 0, b"x"),
    "truncate": lambda disk: disk.truncate("blocks", 0),
}


def disk_with(condition, seed=0, **files):
    """Return a disk with these synced files, and then the fault."""
    disk = SimulatedDisk(0, Chance(seed))
    for name, data in files.items():
        disk.append(name, data)
    sync(disk)
    if condition is not None:
        disk.medium.impose("bad", condition)
    return disk


class TestBitRot:
    def test_only_named_files_are_hit(self):
        """`files` names groups."""
        disk = disk_with(BitFlip(ALWAYS, ("blocks",)), blocks=b"x" * 9)
        disk.append("operations-a", b"y" * 9)
        sync(disk)

        assert disk.read("operations-a") == b"y" * 9
        assert disk.read("blocks") != b"x" * 9

    def test_another_fault_leaves_its_draws_as_they_were(self):
        """Chance is keyed, not streamed."""
        data = bytes(40_000)
        alone = disk_with(BitFlip(200_000), blocks=data)
        beside = disk_with(IoErrors(0, 0, ALWAYS), blocks=data)
        beside.medium.impose("rot", BitFlip(0))
        beside.medium.lift("rot")
        beside.medium.lift("bad")
        beside.medium.impose("torn", TornWrite())
        beside.medium.impose("bad", BitFlip(200_000))

        assert alone.read("blocks") == beside.read("blocks") != data


class TestStaleReads:
    def test_a_sector_reads_as_an_earlier_sync_left_it(self):
        """Bytes appended since then read as zeros."""
        disk = disk_with(None, blocks=b"old")
        disk.append("blocks", b"new")
        sync(disk)
        disk.medium.impose("bad", StaleRead(ALWAYS))

        assert disk.read("blocks") == b"old\0\0\0"

    def test_a_file_that_was_written_anew_reads_as_what_it_was_before(self):
        """An older content of that place that was valid once."""
        disk = disk_with(None)
        disk.append("snapshot-a", b"generation 1")
        sync(disk)
        disk.truncate("snapshot-a", 0)
        disk.append("snapshot-a", b"generation 2")
        sync(disk)
        disk.medium.impose("bad", StaleRead(ALWAYS))

        assert disk.read("snapshot-a") == b"generation 1"

    def test_a_place_without_a_past_is_not_touched(self):
        """There is nothing older to be read."""
        disk = disk_with(StaleRead(ALWAYS), blocks=b"first")

        assert disk.read("blocks") == b"first"
        assert disk.medium.touched("bad") == 0


class TestMisdirectedWrites:
    def test_the_bytes_land_elsewhere_and_their_place_holds_zeros(self):
        """Two places are wrong after one write."""
        disk = disk_with(MisdirectedWrite(ALWAYS), blocks=b"b" * 2_048)
        disk.append("operations-a", b"astray")

        assert disk.read("operations-a") == bytes(6)
        assert disk.read("blocks").count(b"astray") == 1
        assert disk.medium.touched("bad") == 1

    def test_blocks_that_are_hit_are_found_out(self):
        """Neither the lost block nor the one that was hit is ever returned wrong."""
        disk = disk_with(None)
        blocks = BlockFile(disk)
        for height in range(1, 9):
            blocks.append(height=height, digest=bytes([height]) * 32, block=bytes([height]) * 600)
        sync(disk)
        disk.medium.impose("bad", MisdirectedWrite(ALWAYS))
        blocks.append(height=9, digest=b"n" * 32, block=b"astray" * 10)
        found = []
        again = BlockFile(disk, found.append)
        again.load()

        assert len(list(again.above(0))) == 7
        assert all(block == bytes([block[0]]) * 600 for block in again.above(0))
        assert len(found) == 2


class TestErrors:
    @pytest.mark.parametrize(
        ("condition", "act", "error"),
        [
            (IoErrors(ALWAYS, 0, 0), lambda disk: disk.read("blocks"), DiskReadError),
            (IoErrors(0, ALWAYS, 0), lambda disk: disk.append("blocks", b"x"), DiskWriteError),
            (IoErrors(0, ALWAYS, 0), lambda disk: disk.overwrite("blocks", 0, b"x"), DiskWriteError),
            (IoErrors(0, ALWAYS, 0), lambda disk: disk.truncate("blocks", 0), DiskWriteError),
            (IoErrors(0, 0, ALWAYS), sync, DiskSyncError),
        ],
    )
    def test_an_operation_fails_with_its_own_error(self, condition, act, error):
        """And with no other."""
        disk = disk_with(condition, blocks=b"kept")

        with pytest.raises(error, match="input/output error"):
            act(disk)
        assert disk.pristine().read("blocks") == b"kept"

    @pytest.mark.parametrize("write", WRITES)
    def test_writes_of_other_kinds_do_not_fail(self, write):
        for name, act in WRITES.items():
            disk = disk_with(IoErrors(0, ALWAYS, 0, writes=(write,)), blocks=b"kept")
            with pytest.raises(DiskWriteError, match=f"{write} of blocks") if name == write else nullcontext():
                act(disk)

    def test_operations_on_other_files_do_not_fail(self):
        """Nor does a sync, which is of all files."""
        disk = disk_with(IoErrors(ALWAYS, ALWAYS, ALWAYS, ("operations",)), blocks=b"kept")

        with pytest.raises(DiskWriteError, match="append of operations-a"):
            disk.append("operations-a", b"entry")
        disk.append("blocks", b" more")
        sync(disk)
        assert disk.read("blocks") == b"kept more"

    def test_a_failed_sync_makes_nothing_durable(self):
        """Bytes that it should have covered are lost in a crash."""
        disk = disk_with(IoErrors(0, 0, ALWAYS))
        disk.append("blocks", b"gone")
        with pytest.raises(DiskSyncError):
            sync(disk)
        disk.lose_unsynced()

        assert disk.size("blocks") == 0

    def test_a_full_disk_takes_what_fits_and_says_so(self):
        """A part of the record may stand; it is torn, never wrong."""
        disk = disk_with(FullDisk(10), blocks=b"12345678")

        with pytest.raises(DiskFullError, match="no room for 4 bytes"):
            disk.append("blocks", b"abcd")
        assert disk.read("blocks") == b"12345678ab"
        disk.medium.lift("bad")
        assert disk.append("blocks", b"more") == 10


def test_a_wiped_disk_is_empty_and_sound():
    """Scars go with the disk."""
    disk = disk_with(BitFlip(ALWAYS), blocks=b"b" * 600)
    disk.read("blocks")
    disk.medium.lift("bad")
    disk.wipe()
    disk.append("blocks", b"c" * 600)

    assert disk.read("blocks") == b"c" * 600


STEPS = st.lists(st.sampled_from(["vote", "vote", "vote", "sync", "crash", "prune"]), max_size=40)
FAULTS = {
    "rot": BitFlip(300_000),
    "stale": StaleRead(300_000),
    "misdirected": MisdirectedWrite(300_000),
    "torn": TornWrite(),
}


@given(steps=STEPS, seed=st.integers(0, 1 << 32), sizes=st.lists(st.integers(1, 3_000), min_size=1, max_size=5))
def test_no_fault_of_the_medium_loses_a_synced_vote(steps, seed, sizes):
    """All of them at once, at high rates: what comes back is what was appended, up to the last sync at least."""
    disk = SimulatedDisk(0, Chance(seed))
    provision(disk, HEAD)
    for name, condition in FAULTS.items():
        disk.medium.impose(name, condition)
    journal, votes, synced, made = Journal(disk), [], 0, 0
    journal.recover(HEAD)
    for step in [*steps, "crash"]:
        if step == "vote":
            made += 1
            votes.append(made.to_bytes(2, "big") * sizes[made % len(sizes)])
            journal.append(votes[-1])
        elif step == "sync":
            sync(disk)
            synced = len(votes)
        elif step == "prune":
            votes = votes[len(votes) // 2 :]
            journal.prune(b"floor", keep=votes.__contains__)
            synced = len(votes)
        else:
            disk.lose_unsynced()
            journal = Journal(disk)
            recovered = journal.recover(HEAD).artifacts
            assert recovered == votes[: len(recovered)]
            assert len(recovered) >= synced
            votes, synced = recovered, len(recovered)


@pytest.mark.parametrize("seed", range(20))
def test_a_vote_that_both_copies_may_lose_is_missed(seed):
    """The last synced bytes stay in one copy, so that lost votes below them are no torn tail."""
    disk = SimulatedDisk(0, Chance(seed))
    provision(disk, HEAD)
    journal = Journal(disk)
    journal.recover(HEAD)
    votes = [bytes([number]) * 600 for number in range(6)]
    for vote in votes:
        journal.append(vote)
        sync(disk)
    disk.medium.impose("rot", BitFlip(600_000, ("journal",), both_copies=True))

    try:
        found = Journal(disk).recover(HEAD).artifacts
    except JournalLostError:
        return
    assert found == votes


@pytest.mark.parametrize("condition", [BitFlip(ALWAYS), StaleRead(ALWAYS)], ids=["rot", "stale reads"])
def test_the_only_copy_is_spared_while_the_other_one_is_cut(condition):
    """A start cuts a copy to write it anew, and the disk may refuse that; found by the swarm (seed 410845)."""
    first, second = JOURNAL_FILES
    disk = disk_with(None, **dict.fromkeys(JOURNAL_FILES, b"x" * 900))
    for name in JOURNAL_FILES:
        disk.append(name, b"y" * 900)
    sync(disk)
    disk.truncate(first, 0)
    disk.medium.impose("bad", condition)

    assert disk.read(second) == b"x" * 900 + b"y" * 900
    disk.overwrite(first, 0, b"x" * 900 + b"y" * 900)
    assert disk.read(second) != b"x" * 900 + b"y" * 900


def test_without_the_guard_both_copies_could_be_hit(monkeypatch):
    """The rule that is tested above is not vacuous."""
    monkeypatch.setattr("validators.storage.medium.Medium._may_scar", lambda *_: True)
    disk = SimulatedDisk(0, Chance(0))
    provision(disk, HEAD)
    disk.medium.impose("rot", BitFlip(ALWAYS))

    with pytest.raises(Exception, match="vote journal lost"):
        Journal(disk).recover(HEAD)
    assert JOURNAL_FILES == ("journal-a", "journal-b")
