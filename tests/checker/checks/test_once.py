"""Once: executions and stored blocks that are there a second time."""

import pytest

from checker.checks.observations import DiskFaults
from checker.checks.once import DoneOnce
from faults.events import Restarted
from network.events import Event
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.events import BlockExecuted, SnapshotJoined
from validators.storage import BlockFile, SimulatedDisk


def execute(mode, digest=b"one", node=0):
    return Event(1, node, BlockExecuted(3, 4, digest, b"", mode))


def judge(*events, disk=None, **facts):
    check = DoneOnce(make_run(honest=(0,), disks=(disk or SimulatedDisk(),), **facts))
    show(check, *events)
    return finish(check)


def test_a_block_that_is_executed_again_fails():
    result = judge(execute("verify"), execute("verify"))

    assert (result.status, result.exit_class) == ("failed", "liveness")
    assert result.summary == "validator 0 executed block 6f6e65 of height 3 once more"


@pytest.mark.parametrize(
    "between",
    [Event(2, SUPERVISOR, Restarted(0)), Event(2, 0, SnapshotJoined(9, b"", b""))],
    ids=["another life", "another state"],
)
def test_a_block_may_be_executed_again_where_it_was_forgotten(between):
    assert judge(execute("verify"), between, execute("verify")).status == "passed"


def test_a_block_that_comes_back_or_was_recovered_is_no_second_one():
    assert judge(execute("recover"), execute("verify"), execute("reapply")).status == "passed"


def make_disk():
    disk = SimulatedDisk()
    for _ in range(2):
        BlockFile(disk).append(height=3, digest=b"one", block=b"")
    return disk


def test_a_block_that_is_stored_twice_fails():
    assert judge(disk=make_disk()).summary == "the disk of validator 0 holds block 6f6e65 of height 3 twice"


def test_a_block_that_a_bad_disk_has_lost_may_be():
    assert judge(disk=make_disk(), disk_faults=DiskFaults(touched=(0,))).status != "failed"
