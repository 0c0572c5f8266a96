"""The campaign of a mutation scan: clean runs with probes, then every mutant in those of them that can show it.

Each mutant ends in one of these ways: *killed* by the first check that fails in a run and does not in the clean one;
*survived* in all runs in which it made a difference to what it changes; *never differed*, though it was reached;
*unreached*; *not loadable*, if its module cannot be imported; *equivalent*, if a person said so with a reason.
"""

import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from checker.record.host import make_folder
from checker.record.plain_files import read_plain
from checker.record.program import module_process
from tools.mutation.scan.constants import read_sources, readers_of
from tools.mutation.scan.mutant_runs import LOADED, LOADING, ChildTask, Trial, TrialOutcome
from tools.mutation.scan.points import ScanMutant
from tools.mutation.scan.probes import instrument, runs_at_import
from tools.mutation.scan.report import (
    EQUIVALENT,
    KILLED,
    NEVER_DIFFERED,
    NOT_LOADABLE,
    OPEN,
    SURVIVED,
    UNREACHED,
    ScanRow,
)
from tools.mutation.scan.runs import TRIES, limited
from tools.mutation.scan.triage import Equivalent

GUARD_S: Final = 120
GUARD_FACTOR: Final = 20
"""Real seconds without an outcome after which a process is ended, and for each processor second that it may use."""

ROWS_BYTES_MAX: Final = 1 << 28
"""No file of kept results is longer: a row has some hundred bytes."""

ENDED: Final = "process-ended"
"""Stands for the failed check of a run whose process was ended: no memory, or a computation that nothing interrupts."""


ROUNDS: Final = (5, 40)
"""Runs after which a round ends and the next begins."""


class CleanRunsError(Exception):
    """The runs without a mutant do not end as they have to."""


class MutationScan:
    """Tries mutants in runs; a context manager, which ends the processes that are still at work.

    Args:
        mutants: The mutants.
        trials: The runs, in the order in which they are tried.
        directory: Where results are kept; finished mutants are not tried again.
        jobs: Processes at a time.
        tries: Runs that are made with one mutant at most, of those that can show it.
        equivalents: Mutants that are not tried.
    """

    def __init__(
        self,
        mutants: Sequence[ScanMutant],
        trials: Sequence[Trial],
        *,
        directory: Path,
        jobs: int,
        tries: int = TRIES,
        equivalents: Sequence[Equivalent] = (),
    ) -> None:
        self._trials = trials
        self._jobs = jobs
        self._tries = tries
        self._file = directory / "results.jsonl"
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        make_folder(directory)
        known = {(row.file, row.operator, row.occurrence): row for row in _read_rows(self._file)}
        self.rows: Final[dict[int, ScanRow]] = {}
        self._open: dict[int, ScanMutant] = {}
        for number, mutant in enumerate(mutants):
            point = mutant.point
            reason = next((entry.reason for entry in equivalents if entry.fits(mutant)), "")
            if reason:
                self.rows[number] = row_of(mutant, EQUIVALENT)._replace(headline=reason)
            elif (row := known.get((point.file, point.operator, point.occurrence))) is not None:
                self.rows[number] = row
            else:
                self._open[number] = mutant
        self._so_far = {number: row_of(mutant, OPEN) for number, mutant in self._open.items()}
        self._telling: dict[int, tuple[Trial, ...]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_processes()

    @property
    def open_rows(self) -> list[ScanRow]:
        """The rows, as far as they have come, of the mutants that have no result."""
        return [self._so_far[number] for number in self._open]

    def rounds(self) -> Iterator[Sequence[Trial]]:
        """Yield the runs in rounds, of which the first are short, to be probed and then tried.

        Half of the mutants that are killed at all are killed by the first runs; they need no probes in the others.
        When all rounds are over, every mutant that is left has its result.
        """
        bounds = [*(size for size in ROUNDS if size < len(self._trials)), len(self._trials)]
        for first, last in pairwise([0, *bounds]):
            if self._open:
                yield self._trials[first:last]
            self._close(number for number in list(self._open) if self._so_far[number].tried >= self._tries)
        self._close(list(self._open))

    def _close(self, numbers: Iterable[int]) -> None:
        """Give mutants that are not killed their result."""
        for number in numbers:
            row = self._so_far[number]
            status = SURVIVED if row.tried else NEVER_DIFFERED if row.reached else UNREACHED
            self._keep(number, row._replace(status=status))

    def probe(self, trials: Sequence[Trial]) -> Iterator[TrialOutcome]:
        """Run trials with probes and yield each outcome; afterwards it is known which mutant needs which of them.

        Raises:
            CleanRunsError: A run without a mutant breaks.
        """
        numbers = {number: place for place, number in enumerate(self._open)}
        sources, everywhere = self._instrumented()
        tasks = [
            ChildTask(sources=sources, trials=tuple(trials[job :: self._jobs]), probes=len(numbers))
            for job in range(min(self._jobs, len(trials)))
        ]
        clean: dict[str, TrialOutcome] = {}
        for outcome in self._in_threads(tasks):
            if outcome.name == LOADED:
                # Whatever an import made differs in every run.
                everywhere.update(outcome.differed)
                continue
            if outcome.name == LOADING or not outcome.events:
                raise CleanRunsError(f"a run with probes broke: {outcome.name}: {outcome.headline}")
            clean[outcome.name] = outcome
            yield outcome
        if missing := [trial.name for trial in trials if trial.name not in clean]:
            raise CleanRunsError(f"runs with probes have no result: {', '.join(missing)}")
        for number, place in numbers.items():
            pairs = [(trial, clean[trial.name]) for trial in trials]
            row = self._so_far[number]
            reached = sum(place in outcome.reached for _, outcome in pairs)
            telling = [pair for pair in pairs if place in everywhere or place in pair[1].differed]
            self._so_far[number] = row._replace(reached=row.reached + reached, differed=row.differed + len(telling))
            # The quickest first: one is often enough.
            quickest = sorted(telling, key=lambda pair: pair[1].cpu_ms)[: self._tries - row.tried]
            if quickest:
                self._telling[number] = tuple(limited(*pair) for pair in quickest)

    def _instrumented(self) -> tuple[dict[str, str], set[int]]:
        """Return sources with probes, and the mutants that any run may show, by their place among the open ones."""
        all_sources = read_sources()
        mutants: dict[str, list[tuple[int, ScanMutant]]] = {}
        reads: dict[str, list[tuple[int, str]]] = {}
        everywhere: set[int] = set()
        for place, mutant in enumerate(self._open.values()):
            file = mutant.point.file
            if not runs_at_import(all_sources[file], mutant):
                mutants.setdefault(file, []).append((place, mutant))
            elif (readers := readers_of(mutant, all_sources)) is not None:
                for reader in readers[1:]:
                    reads.setdefault(reader, []).append((place, readers[0]))
            else:
                everywhere.add(place)
        files = sorted({*mutants, *reads})
        made = {file: instrument(all_sources[file], mutants.get(file, ()), reads.get(file, ())) for file in files}
        return made, everywhere

    def run(self) -> Iterator[ScanRow]:
        """Try every mutant in the runs of the last probes that can show it, and yield its row as it is then."""
        queue = iter(list(self._telling))
        with ThreadPoolExecutor(self._jobs) as pool:
            pending: dict[Future[ScanRow], int] = {}
            try:
                while True:
                    while len(pending) < self._jobs and (number := next(queue, None)) is not None:
                        pending[pool.submit(self._try, number)] = number
                    if not pending:
                        return
                    for future in wait(pending, return_when=FIRST_COMPLETED).done:
                        row, number = future.result(), pending.pop(future)
                        del self._telling[number]
                        if row.status == OPEN:
                            self._so_far[number] = row
                        else:
                            self._keep(number, row)
                        yield row
            finally:
                # Before the pool waits for its threads: they wait for these.
                self._end_processes()

    def _try(self, number: int) -> ScanRow:
        mutant, trials = self._open[number], self._telling[number]
        task = ChildTask(sources={mutant.point.file: mutant.source}, trials=trials)
        outcomes = list(self._outcomes(task))
        before = self._so_far[number]
        row = before._replace(
            tried=before.tried + len(trials),
            cpu_ms=before.cpu_ms + sum(outcome.cpu_ms for outcome in outcomes),
        )
        if outcomes and outcomes[0].name == LOADING:
            return row._replace(status=NOT_LOADABLE, headline=outcomes[0].headline, tried=0)
        for place, trial in enumerate(trials):
            killed = row._replace(status=KILLED, run=trial.name, tried=before.tried + place + 1)
            if place == len(outcomes):
                return killed._replace(check=ENDED)
            if killers := outcomes[place].killers(trial):
                return killed._replace(check=killers[0], headline=outcomes[place].headline)
        changed = sum(outcome.digest != trial.digest for trial, outcome in zip(trials, outcomes, strict=True))
        return row._replace(changed=before.changed + changed)

    def _keep(self, number: int, row: ScanRow) -> None:
        self.rows[number] = row
        del self._open[number]
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(row) + b"\n")

    def _in_threads(self, tasks: Iterable[ChildTask]) -> Iterator[TrialOutcome]:
        """Yield the outcomes of several processes as each comes."""
        arrived: list[TrialOutcome] = []
        changed = threading.Condition()

        def collect(task: ChildTask) -> None:
            for outcome in self._outcomes(task):
                with changed:
                    arrived.append(outcome)
                    changed.notify()
            with changed:
                changed.notify()

        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                futures = [pool.submit(collect, task) for task in tasks]
                while True:
                    with changed:
                        is_over = all(future.done() for future in futures)
                        batch, arrived[:] = list(arrived), []
                        if not batch and not is_over:
                            changed.wait(1)
                    yield from batch
                    if is_over and not batch:
                        break
                for future in futures:
                    future.result()
            finally:
                self._end_processes()

    def _outcomes(self, task: ChildTask) -> Iterator[TrialOutcome]:
        """Yield the outcomes of a task's process."""
        # Out of reach of the terminal's interrupt, which this process passes on by ending it.
        process = subprocess.Popen(
            **module_process("tools.mutation.scan.child", [], hash_seed=0),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        self._processes[process.pid] = process
        assert process.stdin is not None, "the process was started with a pipe to it"
        assert process.stdout is not None, "the process was started with a pipe from it"
        patience_s = GUARD_S + GUARD_FACTOR * max(trial.cpu_s for trial in task.trials)
        guard = threading.Timer(patience_s, process.kill)
        try:
            guard.start()
            with suppress(BrokenPipeError):
                process.stdin.write(msgspec.json.encode(task))
                process.stdin.close()
            for line in process.stdout:
                yield msgspec.json.decode(line, type=TrialOutcome)
                guard.cancel()
                guard = threading.Timer(patience_s, process.kill)
                guard.start()
        finally:
            guard.cancel()
            process.kill()
            process.wait()
            process.stdout.close()
            del self._processes[process.pid]

    def _end_processes(self) -> None:
        for process in list(self._processes.values()):
            process.kill()


def row_of(mutant: ScanMutant, status: str) -> ScanRow:
    """Return the row of a mutant."""
    point = mutant.point
    return ScanRow(
        file=point.file,
        line=point.line,
        function=point.function,
        room=point.room,
        operator=point.operator,
        family=point.family,
        occurrence=point.occurrence,
        before=mutant.before,
        after=mutant.after,
        status=status,
    )


def _read_rows(file: Path) -> Iterator[ScanRow]:
    """Yield the rows that are kept; a line that was cut by an end in the middle of it counts for nothing."""
    if not file.exists():
        return
    for line in read_plain(file, ROWS_BYTES_MAX).splitlines():
        with suppress(msgspec.DecodeError):
            yield msgspec.json.decode(line, type=ScanRow)
