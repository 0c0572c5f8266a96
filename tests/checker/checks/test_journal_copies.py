"""Starts: both copies of the journal alike, a generation that is not there yet, no bytes behind the last block."""

import pytest

from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.repairs import Repairs
from faults.events import Crashed
from network.events import Event
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.events import Booted
from validators.storage import JOURNAL_FILES, BlockFile, Journal, JournalHead, RecordFile, SimulatedDisk, provision

HEAD = JournalHead(chain_id="test", validator=0, public_key=b"\x01" * 32, epoch=0)
CRASH = Event(5, SUPERVISOR, Crashed(0, 0))
BOOT = Event(9, 0, Booted(1, 3, 2, bytes(32)))


class Bench:
    """A disk with a journal of three entries and a block, and the check that looks at it."""

    def __init__(self, *faults):
        self.disk = SimulatedDisk()
        provision(self.disk, HEAD)
        journal = Journal(self.disk)
        journal.recover(HEAD)
        for entry in (b"one", b"two", b"three"):
            journal.append(entry)
        BlockFile(self.disk).append(height=1, digest=bytes(32), block=b"block")
        self.disk.finish_sync(self.disk.begin_sync())
        self.check = Repairs(make_run(honest=(0,), disks=(self.disk,), plan=PlannedRun(faults=faults)))

    def cut_copy(self, place):
        """Take the last entry away from a copy of the journal."""
        name = JOURNAL_FILES[place]
        self.disk.truncate(name, RecordFile(self.disk, name).read().records[-1].offset)

    def start(self, recover=lambda disk: Journal(disk).recover(HEAD)):
        show(self.check, CRASH)
        recover(self.disk)
        show(self.check, BOOT)
        return finish(self.check, now_us=10)


def write_anew(disk, generation):
    """Write both copies of the journal with a generation of its own."""
    records = RecordFile(disk, JOURNAL_FILES[0]).read().records
    entries = [generation.to_bytes(4, "big") + record.payload[4:] for record in records[1:]]
    for name in JOURNAL_FILES:
        file = RecordFile(disk, name)
        file.cut(0)
        file.append(_encode(generation))
        for entry in entries:
            file.append(entry)


def _encode(generation):
    disk = SimulatedDisk()
    for _ in range(generation + 1):
        provision(disk, HEAD)
    return RecordFile(disk, JOURNAL_FILES[0]).read().records[0].payload


@pytest.mark.parametrize("place", [0, 1, None])
def test_a_start_that_repairs_the_journal_passes(place):
    bench = Bench()
    if place is not None:
        bench.cut_copy(place)

    assert bench.start().status == "passed"


def test_a_copy_that_stays_short_is_named():
    bench = Bench()
    bench.cut_copy(1)

    assert "of its journal copies of 4 and 3 records differ" in bench.start(lambda _disk: None).summary


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        (0, "generation 0 went on, and a copy lacked records of it"),
        (1, "generation 1 was begun, which may be on the disk unseen"),
        (2, ""),
    ],
)
def test_a_copy_without_all_records_ends_its_generation(step, fault):
    bench = Bench()
    bench.cut_copy(1)
    result = bench.start(lambda disk: write_anew(disk, step))

    assert result.status == ("failed" if fault else "passed")
    assert fault in result.summary


def test_a_bad_disk_may_have_shown_another_journal():
    """It may have hidden from the check, or from the replica, that a copy lacks records."""
    bench = Bench(PlannedFault("bad-disk", 0, 10, (0,)))
    bench.cut_copy(1)

    assert bench.start(lambda disk: write_anew(disk, 0)).status == "passed"


def test_bytes_behind_the_last_block_are_named():
    bench = Bench()
    bench.disk.append("blocks", b"torn")

    assert "left 4 bytes behind its last intact block" in bench.start().summary


def test_a_torn_block_that_is_cut_off_passes():
    bench = Bench()
    bench.disk.append("blocks", b"torn")

    assert bench.start(lambda disk: BlockFile(disk).load()).status == "passed"


def test_damage_in_the_only_copy_is_named():
    """Pruning had written the first copy as its power went, and the second one was damaged."""
    bench = Bench()
    old = RecordFile(bench.disk, JOURNAL_FILES[1]).read().records
    first = RecordFile(bench.disk, JOURNAL_FILES[0])
    first.cut(0)
    first.append(_encode(1))
    bench.disk.overwrite(JOURNAL_FILES[1], old[2].offset, b"\x00")
    result = bench.start(lambda disk: write_anew(disk, 3))

    assert "was pruning its journal, and journal-b, which is older, is damaged" in result.summary


def test_a_torn_entry_in_the_older_copy_is_no_damage_of_it():
    """The crash came before it was synced; found by the swarm (seed 389)."""
    bench = Bench()
    first = RecordFile(bench.disk, JOURNAL_FILES[0])
    first.cut(0)
    first.append(_encode(1))
    bench.disk.append(JOURNAL_FILES[1], b"torn")

    assert bench.start(lambda disk: write_anew(disk, 3)).status == "passed"


def test_damage_beside_a_newer_copy_is_no_fault_of_a_start():
    """It had read the newer copy whole, and was about to write the older one anew."""
    bench = Bench()
    show(bench.check, CRASH)
    old = RecordFile(bench.disk, JOURNAL_FILES[1]).read().records
    first = RecordFile(bench.disk, JOURNAL_FILES[0])
    first.cut(0)
    first.append(_encode(1))
    bench.disk.overwrite(JOURNAL_FILES[1], old[2].offset, b"\x00")

    assert bench.start(lambda disk: write_anew(disk, 3)).status == "passed"


def test_a_crash_in_the_instant_of_a_start_leaves_something_else():
    bench = Bench()
    bench.cut_copy(1)
    show(bench.check, CRASH, BOOT, Event(BOOT.at_us, SUPERVISOR, Crashed(0, 9)))

    assert bench.check.not_asked()
