"""Final disks and repairs: blocks that a disk lacks, that a replica does not serve, and repairs that left a copy."""

from types import SimpleNamespace

import msgspec
import pytest

from checker.checks.final_disks import FinalDisks
from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.repairs import Repairs
from checker.observations import DiskFaults
from checker.record.final_blocks import final_block
from faults.events import Crashed
from network.events import Event
from network.types import SUPERVISOR
from tests.support.chain_harness import advance, make_engine
from tests.support.checks import finish, make_run, show
from validators.events import BlockFinalized, Booted, DamageFound, DamageRepaired, Halted
from validators.storage import JOURNAL_FILES, BlockFile, RecordFile, SimulatedDisk

PLAN = PlannedRun(fetch_grace_us=200_000, fetch_timeout_us=1_000_000)


def make_chain(count=3):
    engine = make_engine()
    return [final_block(advance(engine)) for _ in range(count)]


CHAIN = make_chain()
BLOCKS = [final.encoded for final in CHAIN]


def make_disk(*kept):
    disk = SimulatedDisk()
    file = BlockFile(disk)
    for height in kept:
        file.append(height=height, digest=CHAIN[height - 1].digest, block=BLOCKS[height - 1])
    return disk


ALL = (tuple(reversed(BLOCKS)),)
BOOT = Event(1, 0, Booted(0, 1, 0, b""))


def read(served=ALL, **fields):
    return SimpleNamespace(**{"node": 0, "height": 3, "base_height": 0, "served": served, "error": "", **fields})


def judge(*events, kept=(1, 2, 3), readback=None, **facts):
    run = make_run(**{"plan": PLAN, "disks": (make_disk(*kept),), "chain": CHAIN, **facts})
    check = FinalDisks(run)
    show(check, BOOT, *events, Event(20_000_000, 0, BlockFinalized(3, 3, b"", b"")))
    return finish(check, readbacks=[readback or read()])


class TestOfBlocks:
    def test_a_whole_disk_passes(self):
        result = judge()

        assert (result.status, result.compared) == ("passed", 3)

    def test_a_block_that_is_not_on_the_disk_is_named(self):
        assert "its disk does not hold block" in judge(kept=(1, 3)).summary

    def test_a_block_that_is_not_served_is_named(self):
        assert "it does not serve block" in judge(readback=read(((BLOCKS[2], BLOCKS[1]),))).summary

    def test_an_answer_that_stops_too_soon_fails(self):
        """One block in each, where there is room for all."""
        result = judge(readback=read([(block,) for block in reversed(BLOCKS)]))

        assert "answers a request for all blocks with 1 block, and has more" in result.summary

    def test_below_a_snapshot_nothing_has_to_be_there(self):
        assert judge(kept=(3,), readback=read(((BLOCKS[2],),), base_height=2)).status == "passed"

    @pytest.mark.parametrize("end", [Event(9, SUPERVISOR, Crashed(0, 0)), Event(9, 0, Halted("root mismatch"))])
    def test_a_replica_that_starts_still_or_stopped_serves_nobody(self, end):
        """Its start is not over at the end of the run, or never began."""
        assert judge(end, readback=read(())).compared == 0

    @pytest.mark.parametrize(("restarted_us", "status"), [(15_000_000, "passed"), (2_000_000, "failed")])
    def test_a_replica_has_time_to_fetch_after_a_restart(self, restarted_us, status):
        boot = Event(restarted_us, 0, Booted(1, 3, 3, b""))

        assert judge(boot, kept=(1, 3)).status == status

    @pytest.mark.parametrize(
        ("boot", "status"),
        [((0, 0), "passed"), ((1, 2_000_000), "passed"), ((1, 10_000_000), "failed")],
        ids=["the first and only start", "a restart while the disk rots", "a restart after it"],
    )
    def test_damage_after_the_last_start_may_be_unnoticed(self, boot, status):
        incarnation, at_us = boot
        plan = PLAN._replace(faults=(PlannedFault("rot", 1_000_000, 9_000_000, (0,)),))
        facts = {"plan": plan, "disk_faults": DiskFaults([0], [0]), "kept": (1, 3)}

        assert judge(Event(at_us, 0, Booted(incarnation, 3, 3, b"")), **facts).status == status


def repair(file, place=0):
    return Event(1, 0, DamageRepaired(file, place, "so it is said"))


def write_journal(disk, name, *payloads):
    for payload in payloads:
        RecordFile(disk, name).append(msgspec.msgpack.encode(payload))


class TestOfRepairs:
    def test_a_journal_that_is_the_same_in_both_copies_passes(self):
        disk = SimulatedDisk()
        for name in JOURNAL_FILES:
            write_journal(disk, name, "head", "vote")
        check = Repairs(make_run(disks=(disk,)))
        show(check, repair("journal-a"))

        assert finish(check).status == "passed"

    def test_a_copy_that_lacks_a_record_fails(self):
        disk = SimulatedDisk()
        write_journal(disk, "journal-a", "head", "vote")
        write_journal(disk, "journal-b", "head")
        check = Repairs(make_run(disks=(disk,)))
        show(check, repair("journal-b"))

        assert (
            finish(check).summary == "validator 0 reported its journal repaired, but copies of 2 and 1 records differ"
        )

    def test_a_block_that_is_not_there_after_its_repair_fails(self):
        check = Repairs(make_run(chain=CHAIN))
        show(check, repair("blocks", 2))

        assert (
            "reported the repair of block 2, but does not have it"
            in finish(check, readbacks=[read(((BLOCKS[2],),))]).summary
        )

    def test_what_lies_below_a_block_harmed_again_is_not_seen(self):
        """Answers end above the damaged block of height 2; whether 1 is whole they do not show."""
        check = Repairs(make_run(chain=CHAIN))
        show(check, repair("blocks", 1))

        assert finish(check, readbacks=[read(((BLOCKS[2],),))]).status != "failed"

    def test_a_crash_may_take_a_repair_back(self):
        check = Repairs(make_run(chain=CHAIN, disks=(SimulatedDisk(),)))
        show(check, repair("blocks", 2), Event(2, SUPERVISOR, Crashed(0, 9)))

        assert check.not_asked()

    def test_a_log_that_is_not_whole_after_its_repair_fails(self):
        check = Repairs(make_run(chain=CHAIN))
        show(check, repair("operations-a", 1))

        assert (
            "it is not whole: it ends at height 2"
            in finish(check, readbacks=[read(error="it ends at height 2")]).summary
        )


def damage(place, file="blocks", node=0):
    return Event(1, node, DamageFound(file, place, "damaged record"))


class TestOfDamagedBlocks:
    """A place that was found damaged has left the index of its block file."""

    def judge(self, *events):
        check = Repairs(make_run(disks=(SimulatedDisk(), SimulatedDisk())))
        show(check, *events)
        return finish(check)

    def test_a_place_that_is_read_again_fails(self):
        assert self.judge(BOOT, damage(70), damage(70)).summary == (
            "validator 0 read its blocks at damaged byte 70 again in one life"
        )

    @pytest.mark.parametrize(
        "second",
        [damage(90), damage(70, node=1), damage(70, file="journal-a")],
        ids=["another place", "another replica", "another file"],
    )
    def test_another_place_may_be_damaged_too(self, second):
        boots = BOOT, Event(1, 1, Booted(0, 1, 0, b""))

        assert self.judge(*boots, damage(70), second).status == "passed"

    def test_another_life_reads_it_again(self):
        """The damage that a start finds is told before it serves, and so is that of the end that it cuts off."""
        crash = Event(2, SUPERVISOR, Crashed(0, 0))

        assert self.judge(BOOT, damage(70), crash, damage(70), BOOT, damage(70)).status == "passed"


class TestOfBlocksWrittenAgain:
    """A block of height 1 is found damaged, and said to be had again."""

    def judge(self, *, again):
        disk = make_disk(1)
        check = Repairs(make_run(disks=(disk,), plan=PLAN))
        show(check, BOOT, damage(0))
        if again:
            # As the replica itself writes it, whose index has forgotten the block.
            BlockFile(disk).append(height=1, digest=CHAIN[0].digest, block=BLOCKS[0])
        show(check, repair("blocks", 1))
        return finish(check, readbacks=[read()])

    def test_one_that_stands_behind_what_the_start_found_passes(self):
        assert self.judge(again=True).status == "passed"

    def test_one_that_was_left_as_it_was_fails(self):
        text = "validator 0 reported the repair of block 1, but did not write it again"

        assert text in self.judge(again=False).summary
