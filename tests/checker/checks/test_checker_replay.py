"""The checks of the end over real engines: live values, the log on the disk, and a cold replay in a fresh process."""

import msgpack
import msgspec
import pytest

from checker.checks.cold_replay import EqualColdReplay
from checker.checks.context import RunEnd
from checker.checks.live_values import LiveValues, fold_operations
from checker.checks.readback import read_back, read_disk, share_log
from checker.checks.timer_delivery import TimerDelivery
from checker.observations import DiskFaults, ReadBack
from checker.record.cold_replay import ColdReplay, ColdReplayProcessError, replay_directory, run_cold_replay
from checker.record.run_directory import BLOCKS, GENESIS
from checker.tables import describe_key, describe_value
from tests.support.checker_chain import HEIGHTS, VALIDATORS, run_chain, write_record
from tests.support.checks import finish as finish_check
from tests.support.checks import make_run
from validators.actors import PROGRAMS
from validators.execution import Engine, decode_entry
from validators.execution.blocks import encode_header
from validators.restored import StateBase
from validators.storage import FinalizedLog
from validators.storage.files import FinalizedEntry


@pytest.fixture
def chain():
    return run_chain()


@pytest.fixture
def writer(chain, tmp_path):
    with write_record(chain, tmp_path / "run") as writer:
        yield writer


def read_all(chain):
    return [read_back(node, chain.engines[node], chain.disks[node]) for node in range(VALIDATORS)]


def finish(chain, readbacks, cold):
    results = chain.suite.finish(RunEnd(reason="stopped", readbacks=readbacks, cold=cold))
    return {result.name: result for result in results}


def held_against(readback, values=None, **facts):
    """Return what the check of live values says of one validator, beside a cold replay that came to these values."""
    check = LiveValues(make_run(**facts))
    cold = None if values is None else ColdReplay(roots=(), values={readback.height: values})
    return finish_check(check, readbacks=[readback], cold=cold)


def replayed(cold, roots):
    """Return what the check of the cold replay says beside the roots of the run."""
    check = EqualColdReplay(make_run())
    check._roots = roots
    return finish_check(check, cold=cold)


class TestRealChain:
    def test_every_check_passes(self, chain, writer):
        """Four engines and a fresh process agree, and timers of every exit were seen on the way."""
        cold = run_cold_replay(writer.directory, hash_seed=1)

        results = finish(chain, read_all(chain), cold)

        assert {result.status for result in results.values()} == {"passed"}, results
        figures = chain.run.check(TimerDelivery).figures()
        assert min(figures.fired, figures.expired, figures.insolvent) > 0
        assert figures.due == figures.fired + figures.expired + figures.insolvent + figures.waiting

    @pytest.mark.soak
    def test_cold_replays_are_equal_under_every_hash_seed(self, chain, writer):
        """Neither the hash seed nor the process shows in a root or a value."""
        replays = [run_cold_replay(writer.directory, hash_seed=seed, values_at=[3]) for seed in (0, 1, 4_021)]

        assert replays[0] == replays[1] == replays[2] == replay_directory(writer.directory, [3])
        assert list(replays[0].values) == [3, HEIGHTS]
        assert replays[0].roots[1:] == tuple(executed.header.state_root for executed in chain.blocks)

    def test_the_describer_knows_every_key_of_the_chain(self, chain):
        """The checker's own decoder names each entry's table as the schema does."""
        names = {}
        for engine in chain.engines[:1]:
            for key, value in engine.database.items():
                table = decode_entry(key, value).table
                names[table] = None
                assert describe_key(key).startswith(table)
                assert describe_value(value).startswith("[")
        assert len(names) >= 8


class TestLiveValues:
    def test_one_byte_in_one_validator_is_found_with_its_key(self, chain, writer):
        """A value that changed in memory without a block names validator, table and key."""
        readbacks = read_all(chain)
        key = next(key for key in readbacks[2].live if key[0] == 2)
        changed = bytearray(readbacks[2].live[key])
        changed[-1] ^= 1
        readbacks[2] = readbacks[2]._replace(live={**readbacks[2].live, key: bytes(changed)})

        result = finish(chain, readbacks, replay_directory(writer.directory))["live-values"]

        assert result.status == "failed"
        assert "validator 2" in result.summary
        assert f"actor {key[1:21].hex()}" in result.summary
        assert dict(result.evidence)["validator"] == 2
        assert dict(result.evidence)["key"] == key.hex()

    def test_memory_that_agrees_with_its_log_is_compared_with_the_replay(self, chain, writer):
        """Memory and log that changed together still differ from what genesis and blocks lead to."""
        readback = read_all(chain)[1]
        wrong = dict(readback.live)
        wrong.popitem()

        values = replay_directory(writer.directory).values[HEIGHTS]
        summary = held_against(readback._replace(live=wrong, operations=[]), values, genesis_values=wrong).summary

        assert "validator 1" in summary
        assert "absent in memory" in summary
        assert "the cold replay" in summary

    def test_a_damaged_log_is_a_finding(self, chain):
        """A log that cannot be read names the validator and raises nothing."""
        disk = chain.disks[3]
        data = bytearray(disk.read("operations-a"))
        data[len(data) // 2] ^= 1
        disk.truncate("operations-a", 0)
        disk.append("operations-a", bytes(data))

        result = held_against(read_back(3, chain.engines[3], disk))

        assert result.status == "failed"
        assert "validator 3: its operation log cannot be read back" in result.summary

    def test_an_operation_that_is_none_is_a_finding(self, chain):
        """Bytes that no database wrote are reported as such."""
        readback = read_all(chain)[0]

        assert "cannot be decoded" in held_against(readback._replace(operations=[b"\x00"])).summary

    def test_a_log_that_ends_below_the_engines_height_is_a_finding(self, chain):
        """Intact as far as it goes, and not all that was final."""
        disk = chain.disks[3]
        log = FinalizedLog(disk)
        log.recover()
        log.keep(HEIGHTS - 1)

        assert read_back(3, chain.engines[3], disk).error == f"it ends at height {HEIGHTS - 1}"
        # So is the disk of a replica whose memory cannot be read.
        assert read_disk(3, chain.engines[3].finalized, disk).error == f"it ends at height {HEIGHTS - 1}"
        assert read_disk(3, chain.engines[3].finalized, chain.disks[2]) == ReadBack(
            3, HEIGHTS, chain.engines[2].finalized.state_root
        )

    def test_a_log_above_a_snapshot_is_folded_from_there(self, chain):
        """Memory and disk agree; what genesis held and the snapshot does not is not expected."""
        engine, disk = chain.engines[2], chain.disks[2]
        base = StateBase(encode_header(engine.finalized), engine.database.snapshot())
        FinalizedLog(disk).install(height=HEIGHTS, encoded=msgspec.msgpack.encode(base))
        readback = read_back(2, engine, disk)
        result = held_against(readback, genesis_values={b"gone".ljust(32, b"\0"): b"long ago"})

        assert (readback.base_height, readback.error) == (HEIGHTS, "")
        assert result.status == "passed", result.summary

    def test_a_log_that_a_fault_has_damaged_is_not_held_against_its_validator(self, chain):
        """The cold replay alone says what it should hold."""
        disk = chain.disks[3]
        disk.overwrite("operations-a", 40, b"?")
        readback = read_back(3, chain.engines[3], disk)
        excused = held_against(readback, readback.live, disk_faults=DiskFaults(touched=(3,)))
        blamed = held_against(readback, readback.live)

        assert readback.error
        assert (excused.status, blamed.status) == ("passed", "failed")

    def test_replicas_with_one_log_share_it_and_another_log_stays(self, chain):
        first, second, third = read_all(chain)[:3]
        third = third._replace(operations=[*third.operations[:-1], b"other"])

        assert share_log(second, [first]).operations is first.operations
        assert share_log(third, [first, second]) is third

    def test_what_lies_above_the_engines_height_is_left_out(self, chain):
        """A block that was synced but not applied when the run ended is no difference."""
        whole = read_back(0, chain.engines[0], chain.disks[0])
        FinalizedLog(chain.disks[0]).append(FinalizedEntry(HEIGHTS + 1, bytes(32), b"", (b"unknown",)))

        assert read_back(0, chain.engines[0], chain.disks[0]) == whole

    def test_a_log_may_begin_with_genesis_or_after_it(self, chain):
        """Genesis' own operations say what genesis says; folding them in again changes nothing."""
        readback = read_all(chain)[0]
        engine = chain.engines[0]
        genesis_values = genesis_values_of(chain)

        assert fold_operations(genesis_values, readback.operations) == dict(engine.database.items())
        assert fold_operations(genesis_values, engine.database.operations()) == dict(engine.database.items())


class TestColdReplay:
    def test_a_root_that_differs_names_its_height(self, chain, writer):
        """Roots are compared height by height, genesis included."""
        cold = replay_directory(writer.directory)
        roots = dict(enumerate(cold.roots))
        roots[5] = bytes(32)

        result = replayed(cold, roots)

        assert (result.status, dict(result.evidence)["height"]) == ("failed", 5)

    def test_a_chain_that_cannot_be_replayed_fails(self, writer):
        """A block that is not valid ends the replay, and the check says where and why."""
        path = writer.directory / BLOCKS
        content = path.read_bytes()
        records = list(read_stream(content))
        records[4][3] = records[5][3]
        path.write_bytes(b"".join(msgspec.msgpack.encode(record) for record in records))

        cold = run_cold_replay(writer.directory, hash_seed=1)
        result = replayed(cold, dict(enumerate(cold.roots)))

        assert result.status == "failed"
        assert "height 5: UnknownParentError" in result.summary

    def test_a_replay_that_ends_early_fails(self, writer):
        """Missing heights are differences."""
        cold = replay_directory(writer.directory)
        shorter = ColdReplay(roots=cold.roots[:-1], values={})

        assert replayed(shorter, dict(enumerate(cold.roots))).status == "failed"

    def test_no_replay_is_inconclusive(self):
        """A replay that was not made proves nothing."""
        assert replayed(None, {0: bytes(32)}).status == "inconclusive"

    def test_a_damaged_genesis_is_told(self, writer):
        """The reason is one line with the place."""
        (writer.directory / GENESIS).write_bytes(b"\x00")

        assert GENESIS in run_cold_replay(writer.directory, hash_seed=1).error

    def test_a_process_without_a_result_raises(self, writer):
        """A process that dies is the machine's matter, not the chain's."""
        with pytest.raises(ColdReplayProcessError, match="no result"):
            run_cold_replay(writer.directory, hash_seed=-1)


def genesis_values_of(chain):
    """Return the genesis values of a chain: those of an engine that has run nothing."""
    fresh = Engine(chain.genesis, programs=PROGRAMS, verify_transaction=lambda transaction: True)
    return dict(fresh.database.items())


def read_stream(content):
    """Yield the records of a stream."""
    unpacker = msgpack.Unpacker(raw=False)
    unpacker.feed(content)
    yield from unpacker
