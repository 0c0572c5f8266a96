"""The determinism check: the same run again in another process, and the first event that differs.

The second process has another hash seed, and its tasks take their events themselves, in another shuffle. Trio shuffles
tasks on purpose so that no code relies on their order; here a seeded shuffle detects races. The seed of the shuffle is
private to trio, and only this module uses it. If a version of trio lacks it, the check uses the stock shuffle and
reports that.

`run --check-determinism` starts a process for its repetition. A sweep repeats one seed in 20 in a process that its
worker keeps, so that state left behind by an earlier run is detected too.
"""

import argparse
import hashlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from checker.record.places import scratch_directory
from checker.record.program import module_process
from checker.record.request_process import RequestProcess, serve_requests
from checker.record.streams import first_difference, iterate_events
from checker.results import CheckResult
from cluster.outside.hosting.calls import APPLICATION_CALLS, read_calls
from cluster.outside.hosting.run import applications_of
from cluster.runtime.cluster import Cluster
from cluster.scenario.load import decode_scenario, encode_scenario
from cluster.scenario.model import Scenario
from cluster.verdict.result import PipelineResult
from network.words import counted
from report.visible import guard_standard_error

REPEAT_HASH_SEED: Final = 4_021
REPEAT_SHUFFLE: Final = 77
REPEAT_DELIVERY: Final = "by tasks"
"""Trio's order shows where it runs the tasks; the run that is repeated called their handlers itself."""

STOCK_SHUFFLE: Final = -1


def seed_shuffle(seed: int) -> bool:
    """Make trio order runnable tasks by `seed`; False where this trio has no such thing."""
    internals: Any = getattr(getattr(trio, "_core", None), "_run", None)
    if not hasattr(internals, "_ALLOW_DETERMINISTIC_SCHEDULING") or not hasattr(internals, "_r"):
        return False
    internals._ALLOW_DETERMINISTIC_SCHEDULING = True  # noqa: SLF001 - the one use of trio's private scheduler seed
    internals._r.seed(seed)  # noqa: SLF001 - see above
    return True


def repeat_in_fresh_process(
    scenario: bytes, seed: int, *, hash_seed: int, shuffle: int, python: str = sys.executable, calls: bytes = b""
) -> bytes:
    """Run a resolved scenario in a process of its own and return its event log.

    For a scenario with an application, `calls` are the recorded calls, whose answers are used.

    Raises:
        subprocess.CalledProcessError: the other process broke; its standard error is passed on.
    """
    with scratch_directory("repeat") as scratch:
        scenario_path, log_path = scratch / "scenario.json", scratch / "events.msgpack"
        scenario_path.write_bytes(scenario)
        arguments = [str(scenario_path), str(log_path), "--seed", str(seed), "--shuffle", str(shuffle)]
        if calls:
            (scratch / APPLICATION_CALLS).write_bytes(calls)
            arguments += ["--calls", str(scratch / APPLICATION_CALLS)]
        process = module_process("cluster.verdict.determinism", arguments, hash_seed=hash_seed, python=python)
        # Out of reach of the terminal's interrupt, which this process passes on by ending it.
        subprocess.run(**process, check=True, process_group=0)
        return log_path.read_bytes()


class RepeatRequest(msgspec.Struct, frozen=True, array_like=True):
    """A resolved scenario to run again."""

    scenario: bytes
    seed: int
    calls: bytes = b""


class RepeatWorker(RequestProcess):
    """A process with another hash seed and shuffle, which repeats runs in turn; a context manager."""

    def __init__(self) -> None:
        super().__init__("cluster.verdict.determinism", ["--serve"], hash_seed=REPEAT_HASH_SEED)
        self._runs = 0

    def compare(self, result: PipelineResult) -> CheckResult:
        """Return whether every event is the same when a run is repeated there.

        Raises:
            ProcessGoneError: The process is gone.
        """
        request = RepeatRequest(encode_scenario(result.scenario), result.seed, result.calls)
        log = self.ask(msgspec.msgpack.encode(request))
        check = compare_logs(bytes(result.log), log)
        earlier, self._runs = self._runs, self._runs + 1
        return replace(check, summary=f"{check.summary}, in a process with {counted(earlier, 'runs')} before")


def answer_request(encoded: bytes) -> bytes:
    """Return the event log of a requested run: the other end of `RepeatWorker`."""
    request = msgspec.msgpack.decode(encoded, type=RepeatRequest)
    seed_shuffle(REPEAT_SHUFFLE)
    scenario = decode_scenario(request.scenario, "the scenario")
    return run_again(scenario, request.seed, request.calls)


def run_again(scenario: Scenario, seed: int, calls: bytes) -> bytes:
    """Return the event log of a run whose tasks take their events themselves."""
    recorded = read_calls(calls, APPLICATION_CALLS) if calls else None
    with applications_of(scenario, seed, None, recorded) as applications:
        cluster = Cluster(scenario, seed, delivery=REPEAT_DELIVERY, is_sharing=False, applications=applications)
        return bytes(cluster.run().trace.log)


def compare_with_repeat(result: PipelineResult) -> CheckResult:
    """Return whether every event is the same when a run is repeated in a fresh process."""
    log = repeat_in_fresh_process(
        encode_scenario(result.scenario),
        result.seed,
        hash_seed=REPEAT_HASH_SEED,
        shuffle=REPEAT_SHUFFLE,
        calls=result.calls,
    )
    return compare_logs(bytes(result.log), log)


def compare_logs(first: bytes, second: bytes) -> CheckResult:
    """Compare two event logs of the same scenario and seed."""
    events = sum(1 for _ in iterate_events(first))
    difference = None if first == second else first_difference(iterate_events(first), iterate_events(second))
    summary = (
        f"one digest {hashlib.sha256(first).hexdigest()[:16]} twice, over {events:,} events"
        if difference is None
        else f"first difference at event {difference.index}: {difference.first} / {difference.second}"
    )
    return CheckResult(
        name="determinism",
        status="passed" if difference is None else "failed",
        exit_class="determinism",
        summary=summary,
        evidence=(),
        compared=events,
    )


def main(arguments: Sequence[str]) -> int:
    """Run a resolved scenario and write its event log, or with `--serve` one after another: the other process."""
    if list(arguments) == ["--serve"]:
        serve_requests(sys.stdin.buffer, sys.stdout.buffer, answer_request)
        return 0
    parser = argparse.ArgumentParser(prog="python -m cluster.verdict.determinism")
    parser.add_argument("scenario", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--calls", type=Path)
    parser.add_argument("--shuffle", type=int, default=STOCK_SHUFFLE)
    options = parser.parse_args(arguments)
    guard_standard_error()
    if options.shuffle != STOCK_SHUFFLE and not seed_shuffle(options.shuffle):
        sys.stderr.write("this trio has no scheduler seed: the repeat uses its stock shuffle\n")
    scenario = decode_scenario(options.scenario.read_bytes(), str(options.scenario))
    calls = b"" if options.calls is None else options.calls.read_bytes()
    options.log.write_bytes(run_again(scenario, options.seed, calls))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
