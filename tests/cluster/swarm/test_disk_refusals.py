"""Refusals of disks that the swarm draws: each operation, on each kind of file."""

import pytest

from checker.coverage.events import DiskPoints
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.swarm.pace import sooner
from faults.kinds.disk import DiskFull, IoErrorFault
from faults.kinds.drawing import FAULTS_UNTIL_MS
from network.events import Event
from tests.support.drawn import Drawn, draw_once
from validators.events import Halted

SEEDS = range(40)
DRAWN = Drawn(SEEDS)


def refusals():
    return [scenario.faults["disk-refusals"] for scenario in DRAWN if "disk-refusals" in scenario.faults]


def test_one_seed_in_four_has_a_disk_that_refuses():
    assert len(refusals()) >= len(SEEDS) // 4


def test_every_operation_is_refused_on_the_files_that_it_is_about():
    errors = [fault for fault in refusals() if isinstance(fault, IoErrorFault)]

    assert {name for fault in errors if fault.write_ppm for name in fault.files} == {"operations", "blocks", "journal"}
    assert {fault.files[0] for fault in errors if fault.read_ppm} >= {"operations", "blocks"}
    assert any(fault.sync_ppm for fault in errors)
    assert any(isinstance(fault, DiskFull) for fault in refusals())


def test_every_kind_of_write_is_refused_alone():
    """A start overwrites and cuts a journal, and appends are refused by themselves."""
    errors = [fault for plan in DRAWN for fault in plan.faults.values() if isinstance(fault, IoErrorFault)]

    assert {fault.writes for fault in errors if fault.write_ppm} == {(), ("overwrite",), ("truncate",)}


def test_the_finalized_log_is_refused_until_the_faults_end():
    """It is written only when a block is final."""
    errors = [fault for fault in refusals() if isinstance(fault, IoErrorFault) and fault.write_ppm]
    ends_ms = {fault.stop_ms for fault in errors if fault.files == ("operations",)}

    assert ends_ms == {sooner({"stop_ms": FAULTS_UNTIL_MS})["stop_ms"]}


@pytest.mark.parametrize(
    ("reason", "cell"),
    [
        ("append of operations-b: no room for 9 bytes", "disk-full"),
        ("append of operations-b: input/output error", "log-write-failed"),
        ("truncate of snapshot-a: input/output error", "snapshot-write-failed"),
        ("overwrite of journal-a: input/output error", "journal-write-failed"),
        ("append of blocks: input/output error", "block-write-failed"),
        ("read of journal-b: input/output error", "read-failed"),
        ("sync of all files: input/output error", "sync-failed"),
    ],
)
def test_a_halt_over_a_disk_is_counted_by_what_it_refused(reason, cell):
    reached = []
    DiskPoints(reached.append).handlers[Halted](Event(0, 0, Halted("")), Halted(f"disk: {reason}"))

    assert [each.label for each in reached] == [cell]


@pytest.mark.parametrize(
    ("seed", "reason"),
    [(5, "truncate of blocks"), (10, "read of snapshot-a")],
)
def test_a_start_is_refused_what_it_cuts_and_what_it_reads(seed, reason):
    """Each takes what stood on the disk before: a torn tail of blocks, and a snapshot that was joined from."""
    halts = []
    hooks = RunHooks(on_event=lambda event: halts.append(event.body) if isinstance(event.body, Halted) else None)
    Cluster(draw_once(seed), seed, factories={}, hooks=hooks).run()

    assert f"disk: {reason}: input/output error" in [halt.reason for halt in halts]
