"""Finalized blocks that were synced but never reported to the checks are executed again from the disks."""

from functools import partial

import msgspec
import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.runtime.reexecute import ReexecutionError, reexecute
from cluster.scenario.load import load_scenario
from tests.support.cluster_runs import result_of
from validators.execution.blocks import encode_header
from validators.recovery import layer_at
from validators.restored import StateBase
from validators.settings import ValidatorFactory
from validators.storage import FinalizedLog, SimulatedDisk

HEIGHTS = 6


@pytest.fixture(scope="module")
def history():
    """A short run, and what validator 0 applied in it."""
    applied = []

    def look(node, executed):
        if node == 0:
            applied.append(executed)

    scenario = load_scenario("calm", (f"run.until_height={HEIGHTS}",))
    run = Cluster(scenario, 0, hooks=RunHooks(on_applied=look)).run()
    return run, applied


@pytest.mark.parametrize("above", [0, 3])
def test_a_disk_tells_what_was_applied(history, above):
    """The same blocks with the same receipts, changes and roots."""
    run, applied = history

    reported = reexecute(run.genesis, [(run.slots[1].disk.pristine(), ValidatorFactory())], above, HEIGHTS)

    expected = applied[above:HEIGHTS]
    assert [each.digest for each in reported] == [each.digest for each in expected]
    assert [each.receipts for each in reported] == [each.receipts for each in expected]
    assert [each.changes for each in reported] == [each.changes for each in expected]
    assert [each.summary for each in reported] == [each.summary for each in expected]


def joined_at(run, disk, height):
    """Return a disk as a validator has it that joined from a snapshot at this height, and went on from there."""
    contents = FinalizedLog(disk).read()
    state = layer_at(contents, height, partial(ValidatorFactory().layer, run.genesis, lambda _transaction: True))
    joined = SimulatedDisk()
    log = FinalizedLog(joined)
    log.recover()
    header = encode_header(state.finalized)
    log.install(height=height, encoded=msgspec.msgpack.encode(StateBase(header, state.database.snapshot())))
    for entry in contents.entries[height:]:
        log.append(entry)
    joined.append("blocks", disk.read("blocks"))
    return joined


@pytest.mark.parametrize("above", [2, 4])
def test_a_log_that_begins_with_a_snapshot_tells_what_is_above_it(history, above):
    run, applied = history
    disk = joined_at(run, run.slots[1].disk.pristine(), 2)

    reported = reexecute(run.genesis, [(disk, ValidatorFactory())], above, HEIGHTS)
    assert [each.digest for each in reported] == [each.digest for each in applied[above:HEIGHTS]]


def test_a_log_that_begins_above_tells_nothing(history):
    run, _ = history
    disk = joined_at(run, run.slots[1].disk.pristine(), 2)

    with pytest.raises(ReexecutionError, match="height 2"):
        reexecute(run.genesis, [(disk, ValidatorFactory())], 1, HEIGHTS)


def test_a_disk_that_lacks_a_block_leaves_it_to_the_next(history):
    """And with none that has it, the height is named."""
    run, applied = history
    disk = run.slots[2].disk.pristine()
    disk.truncate("blocks", 0)
    poor, good = (disk, ValidatorFactory()), (run.slots[1].disk.pristine(), ValidatorFactory())

    reported = reexecute(run.genesis, [poor, good], 2, HEIGHTS)
    assert reported[-1].digest == applied[HEIGHTS - 1].digest
    with pytest.raises(ReexecutionError, match="height 3"):
        reexecute(run.genesis, [poor], 2, HEIGHTS)


def test_a_block_that_the_disk_of_the_log_has_lost_is_read_from_another(history):
    """A start may cut it where bits rot, and no other log may be as long yet; found by the swarm (seed 412214)."""
    run, applied = history
    has_log, has_blocks = run.slots[2].disk.pristine(), run.slots[1].disk.pristine()
    has_log.truncate("blocks", 0)
    log = FinalizedLog(has_blocks)
    log.recover()
    log.keep(2)

    reported = reexecute(run.genesis, [(has_log, ValidatorFactory()), (has_blocks, ValidatorFactory())], 2, HEIGHTS)

    assert [each.digest for each in reported] == [each.digest for each in applied[2:HEIGHTS]]


def test_what_one_validators_code_cannot_execute_is_left_to_the_next(history):
    """And with none that can, its reason is reported."""
    run, applied = history
    disk = run.slots[1].disk.pristine()
    broken, good = (disk, ValidatorFactory(layer=fail)), (disk, ValidatorFactory())

    assert reexecute(run.genesis, [broken, good], 2, HEIGHTS)[-1].digest == applied[HEIGHTS - 1].digest
    with pytest.raises(ReexecutionError, match="height 3: it is broken"):
        reexecute(run.genesis, [broken], 2, HEIGHTS)


def fail(*_arguments):
    raise ValueError("it is broken")


def test_a_block_synced_by_all_and_applied_by_no_validator_is_checked():
    """All lose their power between the sync of a final block and its application, and go on above it."""
    boundary = 'boundary="after-sync", start_ms=2_000, stop_ms=9_000, every=3, restart_after_ms=700'
    faults = [f'faults.at-{node}={{kind="crash-at-boundary", validator={node}, {boundary}}}' for node in range(4)]

    result = result_of("calm", "run.until_height=12", *faults, 'requires=["at-0", "at-3"]')

    assert result.verdict == "passed", result.headline
    assert [executed.header.height for executed in result.chain[:12]] == list(range(1, 13))


def test_the_log_of_a_finished_run_begins_at_genesis(history):
    """The log that the tests above start from is whole."""
    run, _ = history

    assert FinalizedLog(run.slots[1].disk.pristine()).read().entries[0].height == 1
