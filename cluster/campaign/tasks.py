"""Tasks: a task is a run to check in a worker process; its result is a row of a results file.

Only tasks and results pass between a worker and the campaign, so that a task can go to another machine.
"""

import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Literal, NamedTuple, Protocol, Self

from checker.coverage.collector import RuleHit
from checker.families import title_of
from checker.record.cold_replay import ColdReplay, ColdReplayProcessError, ColdReplayWorker
from checker.record.host import refusal_behind
from checker.record.plugins import code_with, error_of_plugin
from checker.record.request_process import ProcessGoneError
from checker.results import EXIT_CODES, CheckResult, deciding_check, verdict_of
from cluster.campaign.results_db import SCRIPT, WORKLOAD, SeedResult
from cluster.inspect.witness import ExecutionWitness
from cluster.live.progress import LiveProgress
from cluster.scenario.load import decode_scenario
from cluster.verdict.beside import COLD_HASH_SEED
from cluster.verdict.determinism import RepeatWorker
from cluster.verdict.pipeline import run_pipeline
from cluster.verdict.result import PipelineResult
from network.outcome import RunFailedError

_BYTES_IN_HEXADECIMAL: Final = re.compile(r"\b[0-9a-f]{6,}\b(\.\.\.)?")
_NUMBER: Final = re.compile(r"\d[\d,.]*")
_SEVERAL: Final = re.compile(r"#(?:,? #)+")


class Task(NamedTuple):
    """A run to check.

    Attributes:
        scenario: The resolved scenario, encoded.
        seed: Its seed.
        runs: The directory for the run directory of a run that does not pass; empty if none is kept.
        is_thorough: Whether it is replayed in a fresh process, and repeated in this process's kept repetition process.
        label: A name for use by the campaign alone.
        plugins: The plug-ins that its scenario names.
        keeps_passed: Whether run directories of passed runs are kept, instead of the other runs' directories.
        is_explained: Whether a failure is explained, for the headline and the signature.
    """

    scenario: bytes
    seed: int
    runs: str = ""
    is_thorough: bool = False
    label: str = ""
    plugins: tuple[str, ...] = ()
    keeps_passed: bool = False
    is_explained: bool = True

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the code that this process would run it by."""
        return code_with(self.plugins).fingerprint


class TaskRunner(Protocol):
    """Runs tasks somewhere; a context manager. See `Workers`."""

    under_way: list[Task]

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, SeedResult]]: ...  # noqa: D102


_replayer: list[ColdReplayWorker] = []
"""The replay process of this worker process, started with the first task and again after it ended."""

_repeater: list[RepeatWorker] = []
"""The repetition process of this worker process, started with the first thorough task and again after it ended."""


def run_task(task: Task) -> SeedResult:
    """Run a task in a worker process, and keep its run directory if the task asks for it."""
    started = time.perf_counter()
    try:
        run = _judge(task)
    except Exception as error:  # noqa: BLE001 - a seed that breaks the test bed is a result and does not end the sweep
        if (refusal := refusal_behind(error)) is not None:
            # Not this seed's result: every other seed would fail too, and this seed is run again once there is space.
            raise refusal from None
        if said := error_of_plugin(error):
            return broken_result(task, said, _milliseconds_since(started), kind="usage")
        name = "" if isinstance(error, RunFailedError) else f"{type(error).__name__}: "
        return broken_result(task, f"the test bed broke: {name}{error}", _milliseconds_since(started))
    return SeedResult(
        seed=task.seed,
        exit_code=run.exit_code,
        verdict=run.verdict,
        signature=signature_of(run.checks, run.scenario.expect.fails, run.because),
        headline=run.headline,
        digest=run.digest.hex(),
        milliseconds=_milliseconds_since(started),
        directory=str(run.directory or ""),
        failed=" ".join(check.name for check in run.checks if check.is_finding),
        fingerprint=task.fingerprint,
        points=run.points,
        rules=(*run.rules, *_hits(WORKLOAD, run.workloads), *_hits(SCRIPT, run.scripts)),
        pairs=run.pairs,
    )


def _hits(sort: str, counts: Mapping[str, int]) -> Iterator[RuleHit]:
    """Yield counts that are stored with the rules' counts, under names that no coverage point of a rule has."""
    return (RuleHit(f"{sort}{name}", count) for name, count in counts.items())


def signature_of(checks: Sequence[CheckResult], expected: Collection[str] = (), because: str = "") -> str:
    """Return the signature of a run's failure, equal for runs that failed in the same way; empty if the run passed.

    It consists of the deciding check's verdict, its name, and its line without values. So the same mistake at another
    height or timer has the same signature. Names of tables, events, fields and reasons stay. `because` has the cause
    of an application's failure, and the first word of the key that differs.
    """
    decisive = deciding_check(checks, expected)
    if decisive is None:
        return ""
    text = decisive.summary.partition(" (and ")[0] + (f" ({because})" if because else "")
    line = _SEVERAL.sub("#", _NUMBER.sub("#", _BYTES_IN_HEXADECIMAL.sub("#", text)))
    return f"{verdict_of([decisive]).name}: {title_of(decisive)}: {line}"


def broken_result(
    task: Task, headline: str, milliseconds: int = 0, *, kind: Literal["environment", "usage"] = "environment"
) -> SeedResult:
    """Return the result of a task that broke the test bed, or that its own plug-in broke off."""
    signature = f"{kind}: {_NUMBER.sub('#', headline)}"
    result = SeedResult(task.seed, EXIT_CODES[kind], kind, signature, headline, "", milliseconds)
    return result._replace(fingerprint=task.fingerprint)


def _judge(task: Task) -> PipelineResult:
    scenario = decode_scenario(task.scenario, f"seed {task.seed}")
    with LiveProgress(title="", is_quiet=True) as progress:
        return run_pipeline(
            scenario,
            task.seed,
            runs=Path(task.runs) if task.runs else None,
            progress=progress,
            extra=_repeat if task.is_thorough else None,
            replay=None if task.is_thorough else replay_kept,
            explains=ExecutionWitness() if task.is_explained else None,
            keeps=lambda checked: (checked.exit_code == 0) is task.keeps_passed,
        )


def replay_kept(directory: Path, hash_seed: int, values_at: Collection[int] = ()) -> ColdReplay:
    """Return the cold replay by the kept process; a process that ended is replaced, and the replay repeated once."""
    if not _replayer:
        _replayer.append(ColdReplayWorker(COLD_HASH_SEED))
    try:
        return _replayer[0].run(directory, hash_seed, values_at)
    except ColdReplayProcessError:
        # The process may have ended since its last answer. If a fresh process ends too, that is this seed's result.
        _replayer[:] = [ColdReplayWorker(COLD_HASH_SEED)]
        return _replayer[0].run(directory, hash_seed, values_at)


def _repeat(result: PipelineResult) -> CheckResult:
    if not _repeater:
        _repeater.append(RepeatWorker())
    try:
        return _repeater[0].compare(result)
    except ProcessGoneError:
        # The next seed's repetition starts another process.
        _repeater.clear()
        raise


def _milliseconds_since(started: float) -> int:
    return int((time.perf_counter() - started) * 1_000)
