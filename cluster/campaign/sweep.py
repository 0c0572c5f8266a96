"""Many seeds of one scenario: judged in worker processes, written one by one, grouped by what went wrong.

Workers share nothing: each is a process of its own with a replay worker of its own, and what passes between it and the
sweep is a task and a result. Most seeds use the worker's replay process; every 20th is replayed in a fresh one and
repeated under another hash seed and shuffle, so that the test bed's own determinism is judged all along.

A run directory is kept for each seed that did not pass, and for no other.
"""

import multiprocessing
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self, final

from checker.record.cold_replay import ColdReplayWorker
from checker.record.fingerprint import this_code
from checker.record.host import refusal_behind
from checker.results import EXIT_CODES, EXPECTED, PRECEDENCE, CheckResult, deciding_check, verdict_of
from cluster.campaign.coverage import CoverageTable, Place
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.worker_process import interrupts_held, start_worker, work
from cluster.scenario.load import decode_scenario
from cluster.verdict.determinism import compare_with_repeat
from cluster.verdict.pipeline import COLD_HASH_SEED, Judged, judge
from network.kernel import RunFailedError
from report.console import LiveProgress

THOROUGH_EVERY: Final = 20
"""Seeds divisible by this are replayed in a fresh process and checked for determinism."""

TASKS_PER_JOB: Final = 2
"""Tasks that wait for each worker; few, so that a sweep that is told to end does."""

_BYTES_IN_HEXADECIMAL: Final = re.compile(r"\b[0-9a-f]{6,}\b(\.\.\.)?")
_NUMBER: Final = re.compile(r"\d[\d,.]*")
_SEVERAL: Final = re.compile(r"#(?:,? #)+")


class Task(NamedTuple):
    """One run to judge.

    Attributes:
        scenario: The resolved scenario, encoded.
        seed: Its seed.
        runs: Where the run directory goes if the run does not pass; nowhere where this is empty.
        is_thorough: Whether it is replayed in a fresh process and repeated.
    """

    scenario: bytes
    seed: int
    runs: str = ""
    is_thorough: bool = False


class Judges(Protocol):
    """Judges tasks somewhere; a context manager. See `Workers`."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    def judge(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, SeedResult]]: ...  # noqa: D102


@dataclass(slots=True)
class Tally:
    """How far a sweep has come: counts by verdict, the seeds of each signature of a run that did not pass, coverage.

    `resumed` seeds were there already; `outdated` counts those judged again, by the fingerprint that had judged them.
    """

    total: int
    done: int = 0
    resumed: int = 0
    outdated: dict[str, int] = field(default_factory=dict)
    milliseconds: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    groups: dict[str, list[SeedResult]] = field(default_factory=dict)
    coverage: CoverageTable = field(default_factory=CoverageTable)

    def add(self, result: SeedResult) -> None:
        """Count one result."""
        self.done += 1
        self.milliseconds += result.milliseconds
        self.verdicts[result.verdict] = self.verdicts.get(result.verdict, 0) + 1
        self.coverage.add(result.cells)
        if result.exit_code:
            self.groups.setdefault(result.signature, []).append(result)

    @property
    def verdict(self) -> str:
        """The worst verdict so far, by the precedence of the exit codes; where no fault went, nothing was shown."""
        is_whole = self.done and not self.coverage.empty
        best = EXPECTED if EXPECTED in self.verdicts else "passed"
        return next((name for name in PRECEDENCE if name in self.verdicts), best if is_whole else "inconclusive")

    @property
    def exit_code(self) -> int:
        """The exit code of the worst verdict."""
        return EXIT_CODES[self.verdict]


def signature_of(checks: Sequence[CheckResult], expected: Collection[str] = ()) -> str:
    """Return what runs that went wrong in the same way have in common; nothing where nothing went wrong.

    It is what the check that decides the verdict means, its name, and its line without values: the same mistake at
    another height, at another timer, has the same signature. Names stay: of tables, events, fields and reasons.
    """
    decisive = deciding_check(checks, expected)
    if decisive is None:
        return ""
    masked = _NUMBER.sub("#", _BYTES_IN_HEXADECIMAL.sub("#", decisive.summary.partition(" (and ")[0]))
    line = _SEVERAL.sub("#", masked)
    return f"{verdict_of([decisive]).name}: {decisive.name}: {line}"


def sweep(
    scenario_of: Callable[[int], bytes],
    seeds: Iterable[int],
    *,
    results: ResultsFile,
    runs: Path,
    jobs: int,
    on_result: Callable[[Tally, SeedResult], None],
    promised: tuple[Place, ...] = (),
    workers: Judges | None = None,
    is_fresh: bool = False,
) -> Tally:
    """Judge every seed that the results file does not hold yet, and those again that other code has judged.

    Args:
        scenario_of: Gives the resolved scenario of a seed, encoded.
        seeds: Which seeds.
        results: Where results go, and what is there already.
        runs: Where the run directories of seeds that do not pass go.
        jobs: Worker processes.
        on_result: Is told of each new result, in the order in which they come.
        promised: The cells of the coverage table that have to be reached.
        workers: Who judges, instead of worker processes of this machine.
        is_fresh: Whether seeds are judged again that this code has judged.
    """
    wanted = list(dict.fromkeys(seeds))
    tally = Tally(len(wanted), coverage=CoverageTable(promised))
    there = {result.seed: result for result in results.results()}
    missing = [seed for seed in wanted if not _counts(tally, there.get(seed), is_fresh=is_fresh)]
    tasks = (Task(scenario_of(seed), seed, str(runs), seed % THOROUGH_EVERY == 0) for seed in missing)
    with workers or Workers(jobs) as judges:
        for _, result in judges.judge(tasks):
            results.add(result)
            tally.add(result)
            on_result(tally, result)
    return tally


def _counts(tally: Tally, result: SeedResult | None, *, is_fresh: bool) -> bool:
    """Count a result that was there, if there was one and it is to stand."""
    if result is None or is_fresh:
        return False
    if result.fingerprint != this_code().fingerprint:
        tally.outdated[result.fingerprint] = tally.outdated.get(result.fingerprint, 0) + 1
        return False
    tally.add(result)
    tally.resumed += 1
    return True


_CONTEXT: Final = multiprocessing.get_context("spawn")
"""Spawned, not forked: a worker that inherits nothing can share nothing."""


@final
class Workers:
    """Processes that judge tasks; a context manager.

    A process that is killed from inside (a run that computes for ever, a machine without memory) takes the others of
    its pool with it: what was under way is judged again, each alone, and the one that ends its process once more is
    the result.

    Args:
        jobs: How many processes.
        judge_one: What each of them does with a task.
    """

    def __init__(self, jobs: int, judge_one: "Callable[[Task], SeedResult] | None" = None) -> None:
        self._jobs = jobs
        self._judge_one = judge_one or judge_task
        # Workers hold the other end and end when this one closes.
        self._other_end, self._lifeline = _CONTEXT.Pipe(duplex=False)
        self._pool = self._make_pool(jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            # Nobody waits for what is under way.
            self._lifeline.close()
        self._pool.shutdown(cancel_futures=True)
        self._lifeline.close()
        self._other_end.close()

    def judge(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, SeedResult]]:
        """Judge tasks and yield each with its result, in the order in which they are done."""
        queue = iter(tasks)
        pending: dict[Future[SeedResult], Task] = {}
        while True:
            for task in islice(queue, self._jobs * TASKS_PER_JOB - len(pending)):
                pending[self._submit(task)] = task
            if not pending:
                return
            finished, _ = wait(pending, return_when=FIRST_COMPLETED)
            try:
                for future in finished:
                    result = future.result()
                    yield pending.pop(future), result
            except BrokenProcessPool:
                suspects = list(pending.values())
                pending.clear()
                self._pool = self._make_pool(self._jobs)
                for task in suspects:
                    yield task, self._judge_alone(task)

    def _judge_alone(self, task: Task) -> SeedResult:
        before, self._pool = self._pool, self._make_pool(1)
        try:
            result = self._submit(task).result()
        except BrokenProcessPool:
            result = broken_result(task.seed, "its process ended: a task computes for ever, or no memory is left")
        self._pool.shutdown()
        self._pool = before
        return result

    def _submit(self, task: Task) -> Future[SeedResult]:
        with interrupts_held():
            return self._pool.submit(work, self._judge_one, task)

    def _make_pool(self, jobs: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(jobs, mp_context=_CONTEXT, initializer=_start_worker, initargs=(self._other_end,))


_replayer: list[ColdReplayWorker] = []
"""The worker process's own replay process, started with its first seed."""


def _start_worker(lifeline: Connection) -> None:
    """Make this process a worker, which sees which code is run before that can change."""
    start_worker(lifeline)
    this_code()


def judge_task(task: Task) -> SeedResult:
    """Judge one seed and keep its run directory if it did not pass; runs in a worker process."""
    started = time.perf_counter()
    try:
        judged = _judge(task)
    except Exception as error:  # noqa: BLE001 - one seed that breaks the test bed is a result, not the sweep's end
        if (refusal := refusal_behind(error)) is not None:
            # Not this seed's result: every other one would meet the same, and this one is judged when there is room.
            raise refusal from None
        name = "" if isinstance(error, RunFailedError) else f"{type(error).__name__}: "
        return broken_result(task.seed, f"the test bed broke: {name}{error}", _milliseconds_since(started))
    return SeedResult(
        seed=task.seed,
        exit_code=judged.exit_code,
        verdict=judged.verdict,
        signature=signature_of(judged.checks, judged.scenario.expect.fails),
        headline=judged.headline,
        digest=judged.digest.hex(),
        milliseconds=_milliseconds_since(started),
        directory=str(judged.directory or ""),
        failed=" ".join(check.name for check in judged.checks if _is_finding(check)),
        fingerprint=this_code().fingerprint,
        cells=judged.cells,
    )


def _is_finding(check: CheckResult) -> bool:
    """Whether a check failed, or found that the run does not show what it is to show."""
    is_lacking = check.status == "inconclusive" and check.exit_class == "inconclusive"
    return check.status == "failed" or is_lacking


def _judge(task: Task) -> Judged:
    scenario = decode_scenario(task.scenario, f"seed {task.seed}")
    if not _replayer:
        _replayer.append(ColdReplayWorker(COLD_HASH_SEED))
    with LiveProgress(title="", is_quiet=True) as progress:
        return judge(
            scenario,
            task.seed,
            runs=Path(task.runs) if task.runs else None,
            progress=progress,
            extra=compare_with_repeat if task.is_thorough else None,
            replay=None if task.is_thorough else _replayer[0].run,
            keeps=lambda judged: judged.exit_code != 0,
        )


def broken_result(seed: int, headline: str, milliseconds: int = 0) -> SeedResult:
    """Return the result of a seed that broke the test bed instead of being judged."""
    signature = f"environment: {_NUMBER.sub('#', headline)}"
    result = SeedResult(seed, EXIT_CODES["environment"], "environment", signature, headline, "", milliseconds)
    return result._replace(fingerprint=this_code().fingerprint)


def _milliseconds_since(started: float) -> int:
    return int((time.perf_counter() - started) * 1_000)
