"""The judging process gives the results that the same blocks give at the end of a run, however late they come."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from select import select
from tempfile import TemporaryFile

import msgspec
import pytest

from checker.checks.oracle import consult_oracle
from checker.judging import ClosingFrame, ExecutedFrame, FinalFrame, JudgingProcess, OpeningFrame, SettledFrame, _Judge
from checker.oracle.consensus.calls import tagged, untagged
from checker.record.cold_replay import ColdReplayProcessError
from checker.record.final_blocks import final_block
from checker.record.program import module_process
from checker.record.root import PROJECT_ROOT
from checker.record.streams import BranchRecord
from cluster.live.progress import LiveProgress
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario
from cluster.verdict.monitor import make_monitor
from cluster.verdict.pipeline import run_pipeline
from tests.support.cluster_runs import applied_blocks, replay_worker
from tests.support.keystones import rest_in_soak
from tests.support.mutation import WITH_CATALOGUE
from validators.execution import ProposalContext
from validators.execution.blocks import encode_block, header_digest
from validators.identity import TransactionVerifier
from validators.settings import make_engine


@cache
def executed_blocks():
    """Return genesis and the final blocks of a short run."""
    run, applied = applied_blocks("calm", "run.until_height=5")
    return run.genesis, [executed for node, executed in applied if node == 0]


def opening(**changes):
    genesis, _ = executed_blocks()
    return msgspec.structs.replace(OpeningFrame(msgspec.msgpack.encode(genesis), (), has_oracle=True), **changes)


def judging(**changes):
    return JudgingProcess(opening(**changes), 7)


def record_of(executed):
    block = executed.block
    return BranchRecord(block.header.parent, header_digest(block.header), 0, "", encode_block(block))


@pytest.fixture
def chain():
    return executed_blocks()[1]


def send_all(process, blocks, *, settled=True):
    for frame in frames_of(blocks):
        if settled or not isinstance(frame, SettledFrame):
            process.send(frame)


@pytest.mark.parametrize("settled", [True, False])
def test_blocks_are_judged_as_they_are_at_the_end(chain, settled):
    """Whether they were settled during the run or only with its end."""
    process = judging()
    send_all(process, chain, settled=settled)
    judged = process.result([5])
    last = len(chain)

    assert judged.cold.roots[1:] == tuple(each.root for each in chain)
    assert sorted(judged.cold.values) == sorted({5, last})
    assert judged.cold.error == ""
    assert judged.oracle == consult_oracle(executed_blocks()[0], chain)


def judged_as_told(frames):
    """Return the result where the run tells of each frame by itself."""
    lengths = BytesIO()
    with TemporaryFile() as file:
        for frame in (opening(), *frames):
            encoded = msgspec.msgpack.encode(frame)
            file.write(len(encoded).to_bytes(4, "big") + encoded)
            lengths.write(file.tell().to_bytes(8, "big"))
        file.flush()
        lengths.seek(0)
        return _Judge(file.fileno(), lengths).judge()


def frames_of(blocks):
    for executed in blocks:
        yield ExecutedFrame(record_of(executed))
        yield FinalFrame(final_block(executed))
        yield SettledFrame(executed.header.height)


def test_values_of_a_height_that_was_passed_are_had_all_the_same(chain):
    """The run knows only at its end which heights its replicas stand at."""
    judged = judged_as_told([*frames_of(chain), ClosingFrame((2,))])
    shorter = judged_as_told([*frames_of(chain[:2]), ClosingFrame(())])

    assert sorted(judged.cold.values) == [2, len(chain)]
    assert judged.cold.values[2] == shorter.cold.values[2]


def test_a_block_executed_late_beside_a_judged_block_is_judged(chain):
    """A replica that lost its disk executes a sibling that no other replica knew."""
    first = chain[0].header
    engine = make_engine(executed_blocks()[0], TransactionVerifier())
    context = ProposalContext(
        parent=first.parent, view=first.view + 1, proposer=0, timestamp_ms=first.timestamp_ms + 1_000
    )
    late = ExecutedFrame(record_of(engine.propose(context, [])))
    judged = judged_as_told([*frames_of(chain), late, ClosingFrame(())])

    assert judged.oracle.status == "passed"
    assert dict(judged.oracle.evidence)["branch_blocks"] == 1


def test_a_wrong_root_is_found_and_the_replay_goes_on(chain):
    process = judging()
    for executed in chain:
        final = final_block(executed)
        changes = dict(final.changes) if executed.header.height != 3 else {}
        process.send(FinalFrame(msgspec.structs.replace(final, changes=changes)))
        process.send(SettledFrame(executed.header.height))
    judged = process.result([])

    assert (judged.oracle.status, judged.oracle.summary[:9]) == ("failed", "height 3:")
    assert len(judged.cold.roots) == 1 + len(chain)


def test_without_an_oracle_there_is_only_a_replay(chain):
    process = judging(has_oracle=False)
    send_all(process, chain)

    assert process.result([]).oracle is None


def test_a_process_that_is_gone_is_an_error_with_its_exit_code(chain):
    process = judging()
    process._process.kill()
    process._process.wait()
    send_all(process, chain)

    with pytest.raises(ColdReplayProcessError, match="ended with -9"):
        process.result([])


def test_a_full_disk_leaves_the_judging_to_the_end_of_the_run(chain):
    process = judging()
    process._file.close()
    with Path("/dev/full").open("wb", buffering=0) as process._file:
        send_all(process, chain)

        assert process.result([]) is None


def test_a_run_does_not_wait_for_a_judge_that_is_behind(chain):
    """A pipe holds some thousand lengths; those that it does not take are told with the end."""
    process = judging()
    os.kill(process._process.pid, signal.SIGSTOP)
    send_all(process, chain)
    for _ in range(20_000):
        process.send(SettledFrame(5))
    os.kill(process._process.pid, signal.SIGCONT)

    assert len(process.result([]).cold.roots) == 1 + len(chain)


def test_the_process_ends_with_its_run(tmp_path):
    """Its input closes when the run is killed."""
    with (tmp_path / "frames").open("w+b") as frames:
        made = subprocess.Popen(
            **module_process("checker.judging", [str(frames.fileno())], hash_seed=7),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(frames.fileno(),),
        )
        answer, _ = made.communicate()

    assert (answer, made.returncode) == (b"", 1)


@pytest.mark.parametrize("name", ["calm", "hotstuff-partition", "longest-chain-eclipse"])
def test_calls_of_an_engine_come_back_as_they_were(name):
    """With the types of their events and effects: two of them may have equal fields."""
    cluster = Cluster(load_scenario(name), 0)
    context = make_monitor(cluster).context
    cluster.run()
    kept = [call for lives in context.engine_calls.values() for life in lives for _, call in life.calls()]
    again = [untagged(msgspec.msgpack.decode(msgspec.msgpack.encode(tagged(call)))) for call in kept]

    assert len(kept) > 100
    assert again == kept
    assert [*map(types_in, again)] == [*map(types_in, kept)]


def types_in(value):
    """Return the types of a call and of all its parts."""
    parts = [types_in(each) for each in value] if isinstance(value, tuple) else []
    return type(value), parts


KILLED = """
import os, signal
from checker import judging
from cluster.live.progress import LiveProgress
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import load_scenario
from cluster.verdict.pipeline import run_pipeline
send = judging.JudgingProcess.send
def send_and_die(self, frame):
    send(self, frame)
    if isinstance(frame, judging.SettledFrame):
        print(self._process.pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
judging.JudgingProcess.send = send_and_die
run_pipeline(load_scenario("calm"), 0, runs=None, progress=LiveProgress(title="", is_quiet=True))
"""


def test_a_killed_run_leaves_no_process():
    done = subprocess.run([sys.executable, "-c", KILLED], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    with suppress(ProcessLookupError):
        judge = os.pidfd_open(int(done.stdout))
        assert select([judge], [], [], 60)[0], "the judging process is still there"
        os.close(judge)

    assert done.returncode == -signal.SIGKILL


JUDGED = [
    ("certified-split", ()),
    ("calm", ("chain.policy=eip1559",)),
    ("longest-chain-eclipse", ()),
    # A consensus engine that differs from its specification, and blocks of which the oracle thinks otherwise.
    ("calm", (WITH_CATALOGUE, "mutants.signers-shifted=[1]")),
    ("calm", (WITH_CATALOGUE, "mutants.tip-burned=[0,1,2,3]")),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "settings"),
    rest_in_soak(JUDGED, JUDGED[3:4]),
)
def test_a_run_judged_beside_has_the_verdict_of_a_run_judged_afterwards(name, settings):
    scenario = load_scenario(name, settings)
    quiet = LiveProgress(title="", is_quiet=True)
    beside = run_pipeline(scenario, 0, runs=None, progress=quiet, has_page=False)
    after = run_pipeline(scenario, 0, runs=None, progress=quiet, has_page=False, replay=replay_worker().run)

    assert beside.checks == after.checks
    assert beside.digest == after.digest
