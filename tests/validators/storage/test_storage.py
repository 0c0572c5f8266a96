"""The simulated disk and the write-ahead barrier."""

import pytest

from validators.storage import (
    Barrier,
    DiskHandle,
    DiskRevokedError,
    SimulatedDisk,
)


def test_a_revoked_handle_writes_nothing_and_refuses_to_read():
    """Writes of a dying validator have no effect."""
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
