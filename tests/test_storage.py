"""The simulated disk, framed records, and the write-ahead barrier."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from validators.storage import (
    Barrier,
    BlockFile,
    CorruptLogError,
    CorruptRecordError,
    DiskHandle,
    DiskRevokedError,
    FinalizedEntry,
    FinalizedLog,
    Journal,
    RecordFile,
    SimulatedDisk,
)


def sync(disk):
    disk.finish_sync(disk.begin_sync())


def test_a_crash_loses_exactly_what_no_finished_sync_covered():
    """Bytes synced stay, bytes appended after the sync began go."""
    disk = SimulatedDisk()
    disk.append("journal", b"kept")
    point = disk.begin_sync()
    disk.append("journal", b"late")
    disk.finish_sync(point)

    assert disk.lose_unsynced() == 4
    assert disk.read("journal") == b"kept"
    assert disk.is_synced


def test_a_sync_that_was_under_way_at_the_crash_saves_nothing():
    """Only a finished sync counts."""
    disk = SimulatedDisk()
    disk.append("journal", b"gone")
    disk.begin_sync()

    disk.lose_unsynced()

    assert disk.read("journal") == b""


def test_a_revoked_handle_writes_nothing_and_refuses_to_read():
    """What a dying validator still does cannot be observed."""
    disk = SimulatedDisk()
    handle = DiskHandle(disk)
    handle.append("journal", b"before")
    point = handle.begin_sync()
    handle.revoke()

    handle.append("journal", b"after")
    handle.truncate("journal", 0)
    handle.finish_sync(point)

    assert disk.read("journal") == b"before"
    assert not disk.is_synced
    with pytest.raises(DiskRevokedError):
        handle.read("journal")


@given(payloads=st.lists(st.binary(max_size=40), max_size=8), cut=st.integers(0, 400))
def test_records_cut_anywhere_read_back_as_a_prefix(payloads, cut):
    """A torn tail costs the record it is in and no other."""
    disk = SimulatedDisk()
    file = RecordFile(disk, "records")
    for payload in payloads:
        file.append(payload)
    disk.truncate("records", cut)

    found = [record.payload for record in RecordFile(disk, "records").scan()]

    assert found == payloads[: len(found)]
    file.append(b"next")
    assert [record.payload for record in file.scan()] == [*found, b"next"]


@given(payloads=st.lists(st.binary(min_size=1, max_size=20), min_size=2, max_size=5), data=st.data())
def test_a_flipped_byte_in_a_complete_record_is_damage(payloads, data):
    """Half a memory is worse than none: damage before the tail raises."""
    disk = SimulatedDisk()
    file = RecordFile(disk, "records")
    for payload in payloads:
        file.append(payload)
    raw = bytearray(disk.read("records"))
    place = data.draw(st.integers(0, len(payloads[0]) + 11))
    raw[place] ^= 1 << data.draw(st.integers(0, 7))
    disk.truncate("records", 0)
    disk.append("records", bytes(raw))

    with pytest.raises(CorruptRecordError, match="records at byte 0"):
        list(RecordFile(disk, "records").scan())


def test_the_journal_replays_what_was_synced():
    """Append, crash, replay."""
    disk = SimulatedDisk()
    journal = Journal(disk)
    journal.append(b"one")
    sync(disk)
    journal.append(b"two")
    disk.lose_unsynced()

    assert list(Journal(disk).replay()) == [b"one"]


def test_the_block_file_finds_blocks_again_after_a_restart():
    """The index is rebuilt from the disk, in height order."""
    disk = SimulatedDisk()
    blocks = BlockFile(disk)
    blocks.append(height=2, digest=b"b" * 32, block=b"second")
    blocks.append(height=1, digest=b"a" * 32, block=b"first")
    blocks.append(height=1, digest=b"a" * 32, block=b"first again")

    again = BlockFile(disk)
    again.load()

    assert again.get(b"a" * 32) == b"first"
    assert again.get(b"x" * 32) is None
    assert list(again.above(0)) == [b"first", b"second"]
    assert list(again.above(1)) == [b"second"]


def test_a_gap_in_the_finalized_log_is_named():
    """Heights are consecutive from 1, or the log is not what it says."""
    disk = SimulatedDisk()
    log = FinalizedLog(disk)
    log.append(FinalizedEntry(1, b"a" * 32, (b"op",)))
    log.append(FinalizedEntry(3, b"c" * 32, ()))

    with pytest.raises(CorruptLogError, match="height 3, expected 2"):
        list(FinalizedLog(disk).replay())


def test_a_record_of_another_shape_is_named():
    """A whole record with the wrong content raises."""
    disk = SimulatedDisk()
    RecordFile(disk, "operations").append(b"\x93\x01\x02\x03")

    with pytest.raises(CorruptLogError, match="operations at byte 0"):
        list(FinalizedLog(disk).replay())


class TestBarrier:
    """Append, sync, and only then act."""

    def test_an_action_waits_for_the_sync_that_covers_it(self):
        """Nothing is sent before the bytes it promises are durable."""
        disk, done, syncs = SimulatedDisk(), [], []
        barrier = Barrier(disk, syncs.append)
        disk.append("journal", b"vote")

        barrier.then(lambda: done.append("send"))

        assert done == []
        barrier.finish(syncs.pop())
        assert done == ["send"]

    def test_what_is_appended_during_a_sync_waits_for_the_next(self):
        """A sync covers what was there when it began."""
        disk, done, syncs = SimulatedDisk(), [], []
        barrier = Barrier(disk, syncs.append)
        disk.append("journal", b"first")
        barrier.then(lambda: done.append(1))
        disk.append("journal", b"second")
        barrier.then(lambda: done.append(2))

        assert len(syncs) == 1
        barrier.finish(syncs.pop())
        assert done == [1]
        barrier.finish(syncs.pop())
        assert done == [1, 2]

    def test_an_action_with_nothing_to_wait_for_runs_at_once(self):
        """A clean disk makes no one wait."""
        disk, done, syncs = SimulatedDisk(), [], []
        barrier = Barrier(disk, syncs.append)

        barrier.then(lambda: done.append("send"))

        assert (done, syncs) == (["send"], [])

    def test_an_action_that_hands_over_another_ends_before_the_next_one_runs(self):
        """In order means one after the other, not one inside the other."""
        disk, done, syncs = SimulatedDisk(), [], []
        barrier = Barrier(disk, syncs.append)
        disk.append("journal", b"vote")

        def first():
            done.append("first begins")
            barrier.then(lambda: done.append("third"))
            done.append("first ends")

        barrier.then(first)
        barrier.then(lambda: done.append("second"))
        barrier.finish(syncs.pop())

        assert done == ["first begins", "first ends", "second", "third"]

    @given(steps=st.lists(st.sampled_from(["append", "then", "finish"]), max_size=40))
    def test_every_action_is_durable_when_it_runs_and_in_order(self, steps):
        """Whatever the interleaving, a crash at an action loses nothing the action relies on."""
        disk, done, syncs = SimulatedDisk(), [], []
        barrier = Barrier(disk, syncs.append)
        handed = 0

        def act(number, size):
            assert sum(length for _, length in disk.begin_sync().lengths) >= size
            done.append(number)
            assert disk_synced_bytes(disk) >= size

        for step in steps:
            if step == "append":
                disk.append("journal", b"x")
            elif step == "then":
                size = disk.appended_bytes
                barrier.then(lambda number=handed, size=size: act(number, size))
                handed += 1
            elif syncs:
                barrier.finish(syncs.pop(0))
        while syncs:
            barrier.finish(syncs.pop(0))

        assert done == list(range(handed))


def disk_synced_bytes(disk):
    return sum(file.synced_bytes for file in disk._files.values())
