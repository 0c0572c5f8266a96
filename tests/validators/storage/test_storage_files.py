"""Blocks and the finalized log: damage is named and left out, and an older base is kept until a newer one stands."""

import pytest

from tests.support.journals import sync
from validators.storage import BlockFile, FinalizedEntry, FinalizedLog, SimulatedDisk
from validators.storage.records import RecordFile


def flip(disk, name, offset):
    disk.overwrite(name, offset, bytes([disk.read(name, offset, 1)[0] ^ 1]))


def entry(height):
    return FinalizedEntry(height, bytes([height]) * 32, b"header", (b"op",))


def heights(contents):
    return [each.height for each in contents.entries]


def log_of(*wanted):
    disk = SimulatedDisk()
    log = FinalizedLog(disk)
    for height in wanted:
        log.append(entry(height))
    sync(disk)
    return disk, log


class TestBlocks:
    def stored(self):
        disk = SimulatedDisk()
        blocks = BlockFile(disk)
        blocks.append(height=2, digest=b"b" * 32, block=b"second")
        blocks.append(height=1, digest=b"a" * 32, block=b"first")
        blocks.append(height=1, digest=b"a" * 32, block=b"first again")
        return disk, blocks

    def test_they_are_found_again_after_a_restart(self):
        """The index is rebuilt from the disk, in height order."""
        disk, _ = self.stored()
        again = BlockFile(disk)
        again.load()

        assert again.get(b"a" * 32) == b"first"
        assert again.get(b"x" * 32) is None
        assert list(again.above(0)) == [b"first", b"second"]
        assert list(again.above(1)) == [b"second"]

    def test_a_damaged_one_is_skipped_and_named(self):
        """The others stay."""
        disk, _ = self.stored()
        flip(disk, "blocks", 20)
        found = []
        again = BlockFile(disk, found.append)
        again.load()

        assert list(again.above(0)) == [b"first"]
        assert [(damage.file, damage.offset) for damage in found] == [("blocks", 0)]

    def test_one_that_is_damaged_while_serving_can_be_stored_again(self):
        """It leaves the index at the read."""
        disk, blocks = self.stored()
        flip(disk, "blocks", 20)

        assert blocks.get(b"b" * 32) is None
        blocks.append(height=2, digest=b"b" * 32, block=b"second")
        assert blocks.get(b"b" * 32) == b"second"
        assert list(blocks.above(0)) == [b"first", b"second"]

    def test_a_torn_tail_is_cut_off(self):
        """The next record is not appended behind the torn tail."""
        disk, _ = self.stored()
        size = disk.size("blocks")
        disk.append("blocks", b"torn")
        BlockFile(disk).load()

        assert disk.size("blocks") == size

    def test_a_record_of_another_shape_is_named(self):
        """Whole, but no block."""
        disk = SimulatedDisk()
        RecordFile(disk, "blocks").append(b"\x93\x01\x02\x03")
        found = []
        BlockFile(disk, found.append).load()

        assert [damage.what for damage in found] == ["not a block"]


class TestLog:
    def test_it_reads_back(self):
        """Heights from 1, nothing damaged."""
        disk, _ = log_of(1, 2, 3)

        contents = FinalizedLog(disk).recover()

        assert (contents.base, heights(contents), contents.damages) == (None, [1, 2, 3], [])

    def test_what_lies_behind_damage_is_cut_off(self):
        """It can be executed again; the log goes on behind the intact prefix."""
        disk, _ = log_of(1, 2, 3)
        flip(disk, "operations-a", disk.size("operations-a") // 2)
        log = FinalizedLog(disk)

        contents = log.recover()

        assert heights(contents) == [1]
        assert [damage.file for damage in contents.damages] == ["operations-a"]
        log.append(entry(2))
        assert heights(FinalizedLog(disk).recover()) == [1, 2]

    def test_a_gap_is_named_and_cut_off(self):
        """Heights are consecutive, or the log is not what it says."""
        disk, _ = log_of(1, 3)

        contents = FinalizedLog(disk).recover()

        assert heights(contents) == [1]
        assert [damage.what for damage in contents.damages] == ["height 3, expected 2"]

    def test_reading_changes_nothing(self):
        """A reader at the end of a run cuts nothing off."""
        disk, _ = log_of(1, 3)
        before = disk.read("operations-a")

        assert heights(FinalizedLog(disk).read()) == [1]
        assert disk.read("operations-a") == before

    def test_it_goes_on_above_a_snapshot(self):
        """The first entry is the height after the base's."""
        disk, log = log_of(1, 2)
        log.install(height=7, encoded=b"state at 7")
        log.append(entry(8))

        contents = FinalizedLog(disk).recover()

        assert contents.base is not None
        assert (contents.base.height, contents.base.encoded, heights(contents)) == (7, b"state at 7", [8])

    def test_a_crash_before_the_snapshot_is_synced_keeps_the_older_state(self):
        """The older base and its log are not touched by a new base."""
        disk, log = log_of(1, 2)
        log.install(height=7, encoded=b"state at 7")
        log.append(entry(8))
        disk.lose_unsynced()

        assert heights(FinalizedLog(disk).recover()) == [1, 2]

    @pytest.mark.parametrize("bases", [1, 2, 3])
    def test_a_damaged_base_gives_way_to_the_one_before_it_with_its_log(self, bases):
        """And the next base takes the damaged one's place."""
        disk, log = log_of(1)
        for base in range(1, bases + 1):
            log.install(height=10 * base, encoded=bytes([base]))
            log.append(entry(10 * base + 1))
            sync(disk)
        flip(disk, ("snapshot-b", "snapshot-a")[(bases - 1) % 2], 20)
        again = FinalizedLog(disk)

        contents = again.recover()

        assert heights(contents) == [10 * (bases - 1) + 1]
        assert "snapshot" in {damage.file[:8] for damage in contents.damages}
        again.append(entry(10 * (bases - 1) + 2))
        again.install(height=90, encoded=b"newest")
        sync(disk)
        assert FinalizedLog(disk).recover().base.height == 90

    def test_damage_of_an_older_log_above_genesis_is_not_told(self):
        """It stays as it is, as that of an older base does: each start would tell it again, as cut off."""
        disk, log = log_of(1, 2)
        log.install(height=10, encoded=b"ten")
        sync(disk)
        flip(disk, "operations-a", 20)

        assert FinalizedLog(disk).recover().damages == []
        assert FinalizedLog(disk).read().damages == []
        flip(disk, "snapshot-b", 20)
        assert {damage.file for damage in FinalizedLog(disk).recover().damages} == {"operations-a", "snapshot-b"}

    def test_a_base_that_was_damaged_once_is_not_used_again(self):
        """Not even if it can be read the next time: the log has gone on elsewhere."""
        disk, log = log_of(1)
        log.install(height=10, encoded=b"ten")
        sync(disk)
        flip(disk, "snapshot-b", 20)
        FinalizedLog(disk).recover()
        if disk.size("snapshot-b"):
            flip(disk, "snapshot-b", 20)

        assert heights(FinalizedLog(disk).recover()) == [1]

    def test_with_both_bases_damaged_the_state_is_lost_and_named(self):
        """Nothing is returned rather than something wrong."""
        disk, log = log_of(1)
        for base in (1, 2):
            log.install(height=10 * base, encoded=bytes([base]))
            log.append(entry(10 * base + 1))
            sync(disk)
        flip(disk, "snapshot-a", 20)
        flip(disk, "snapshot-b", 20)

        contents = FinalizedLog(disk).recover()

        assert (contents.base, contents.entries) == (None, [])
        assert {"snapshot-a", "snapshot-b"} <= {damage.file for damage in contents.damages}
