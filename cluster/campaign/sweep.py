"""Many seeds of a scenario: run in worker processes, each result written on arrival, grouped by signature.

Most seeds are replayed in the worker's replay process. Every 20th seed is replayed in a fresh process, and repeated in
a second process under another hash seed and shuffle. This checks the determinism of the test bed during each sweep.
With a corpus every second of these seeds is a varied plan.

A run directory is kept only for a seed that did not pass.
"""

from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from checker.record.plugins import code_with
from checker.results import EXIT_CODES, EXPECTED, PRECEDENCE
from cluster.campaign.corpus.rounds import CorpusPlans, rounds
from cluster.campaign.corpus.unseen import COVERAGE_POINTS, FAULT_POINTS, PAIRS, SORTS, History, Unseen
from cluster.campaign.coverage import NO_PROMISES, CoverageTable, Promises
from cluster.campaign.results_db import COUNT, SCRIPT, WORKLOAD, ResultsFile, SeedResult
from cluster.campaign.tasks import Task, TaskRunner
from cluster.campaign.workers import Workers
from report.campaign import SweepCounts

THOROUGH_EVERY: Final = 20
"""The distance between seeds that are replayed in a fresh process and repeated in a second process."""


def is_thorough(seed: int, *, has_corpus: bool = False) -> bool:
    """Whether a sweep replays a seed in a fresh process and repeats it in a second process.

    Without a corpus these seeds are the multiples of 20. With a corpus only odd seeds are varied: there the seeds are
    0, 21, 40, 61 and so on, in turn a drawn and a varied plan.
    """
    period, place = divmod(seed, THOROUGH_EVERY)
    return place == (period % 2 if has_corpus else 0)


@dataclass(slots=True)
class SweepTally:
    """The state of a sweep: counts by verdict, the seeds of each signature of a run that did not pass, coverage.

    `resumed` counts seeds with an earlier result; `outdated` counts seeds run again, by the older code's fingerprint.
    """

    total: int
    done: int = 0
    resumed: int = 0
    outdated: dict[str, int] = field(default_factory=dict)
    milliseconds: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    groups: dict[str, list[SeedResult]] = field(default_factory=dict)
    quickest: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Milliseconds and number of the seeds of each signature, the quickest first."""
    coverage: CoverageTable = field(default_factory=CoverageTable)
    rules: CoverageTable = field(default_factory=CoverageTable)
    """The coverage points of the rules; `coverage` has those of the faults."""
    histories: dict[str, History] = field(default_factory=lambda: {sort: History() for sort in SORTS})
    """Data for the estimate of the unseen, by the sort of place."""
    workloads: dict[str, tuple[int, int]] = field(default_factory=dict)
    """In how many runs a workload was on, and in how many of these it had no effect."""
    scripts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """In how many runs a script began, and in how many of these it did not arrive."""
    figures: Counter[str] = field(default_factory=Counter)
    """Figures of a campaign without runs, added up."""

    def add(self, result: SeedResult) -> None:
        """Count a result."""
        self.done += 1
        self.milliseconds += result.milliseconds
        self.verdicts[result.verdict] = self.verdicts.get(result.verdict, 0) + 1
        self.coverage.add(result.points)
        rules = [hit for hit in result.rules if not hit.point.startswith((WORKLOAD, SCRIPT, COUNT))]
        self.rules.add(rules)
        _add_idle(self.workloads, WORKLOAD, result)
        _add_idle(self.scripts, SCRIPT, result)
        for name, hits in result.rules:
            if name.startswith(COUNT):
                self.figures[name.removeprefix(COUNT)] += hits
        self.histories[FAULT_POINTS].add(result.seed, (point[:-1] for point in result.points))
        self.histories[COVERAGE_POINTS].add(result.seed, (hit.point for hit in rules))
        self.histories[PAIRS].add(result.seed, result.pairs)
        if result.exit_code:
            self.groups.setdefault(result.signature, []).append(result)
            insort(self.quickest.setdefault(result.signature, []), (result.milliseconds, result.seed))

    def resume(self, result: SeedResult, fingerprint: str) -> bool:
        """Count an earlier result if code with this fingerprint made it; return whether it did."""
        if result.fingerprint != fingerprint:
            self.outdated[result.fingerprint] = self.outdated.get(result.fingerprint, 0) + 1
            return False
        self.add(result)
        self.resumed += 1
        return True

    @property
    def idle(self) -> tuple[str, ...]:
        """The workloads without an effect in any run, where the coverage points of the rules are promised too."""
        # In a single run a workload may have no effect by chance; in a whole campaign it cannot have an effect.
        if not self.rules.promised:
            return ()
        return tuple(name for name, (runs, idle) in sorted(self.workloads.items()) if runs == idle)

    @property
    def unseen(self) -> dict[str, Unseen]:
        """The estimate of the unseen, by the sort of place."""
        return {sort: history.unseen() for sort, history in self.histories.items()}

    @property
    def counts(self) -> SweepCounts:
        """The progress in numbers."""
        return SweepCounts(self.total, self.done, self.resumed, self.verdicts)

    @property
    def verdict(self) -> str:
        """The worst verdict so far, by exit code; inconclusive if a promised coverage point was not reached."""
        is_whole = self.done and not self.coverage.empty and not self.rules.empty and not self.idle
        best = EXPECTED if EXPECTED in self.verdicts else "passed"
        return next((name for name in PRECEDENCE if name in self.verdicts), best if is_whole else "inconclusive")

    @property
    def exit_code(self) -> int:
        """The exit code of the worst verdict."""
        return EXIT_CODES[self.verdict]


def _add_idle(counts: dict[str, tuple[int, int]], sort: str, result: SeedResult) -> None:
    """Count the runs, and those of them without a hit, of each workload or script of a result."""
    for cell, hits in result.rules:
        if cell.startswith(sort):
            name = cell.removeprefix(sort)
            runs, idle = counts.get(name, (0, 0))
            counts[name] = runs + 1, idle + (not hits)


def sweep(
    scenario_of: Callable[[int], bytes],
    seeds: Iterable[int],
    *,
    results: ResultsFile,
    runs: Path,
    jobs: int,
    on_result: Callable[[SweepTally, SeedResult], None],
    on_outdated: Callable[[SweepTally], None] = lambda _tally: None,
    promised: Promises = NO_PROMISES,
    workers: TaskRunner | None = None,
    is_fresh: bool = False,
    plugins: tuple[str, ...] = (),
    corpus: CorpusPlans | None = None,
) -> SweepTally:
    """Run every seed without a result in the results file, and every seed whose result other code made.

    Args:
        scenario_of: Returns the resolved scenario of a seed, encoded.
        seeds: The seeds.
        results: The results file; earlier results in it count.
        runs: The directory for the run directories of seeds that do not pass.
        jobs: Worker processes.
        on_result: Called with each new result, in the order in which they come.
        on_outdated: Called before the first run if earlier results were made by other code.
        promised: The coverage points that have to be reached.
        workers: The task runner, instead of worker processes of this machine.
        is_fresh: Whether seeds are run again even if this code has run them.
        plugins: The plug-ins that the scenarios name.
        corpus: The plans with this `scenario_of`, if seeds go in rounds and plans with new coverage are kept.
    """
    wanted = list(dict.fromkeys(seeds))
    tally = SweepTally(len(wanted), coverage=CoverageTable(promised.faults), rules=CoverageTable(promised.rules))
    there = {} if is_fresh else _resume(tally, results, wanted, code_with(plugins).fingerprint)
    if tally.outdated:
        on_outdated(tally)
    task_of = partial(_task, scenario_of, runs, plugins, has_corpus=corpus is not None)
    with workers or Workers(jobs) as runner:
        for part in [wanted] if corpus is None else rounds(wanted):
            for task, result in runner.results(task_of(seed) for seed in part if seed not in there):
                if corpus is not None:
                    corpus.note(task.scenario, result)
                results.add(result)
                tally.add(result)
                on_result(tally, result)
            if corpus is not None:
                corpus.finish([there[seed] for seed in part if seed in there])
    results.note_unseen((sort, *unseen[:3]) for sort, unseen in tally.unseen.items())
    return tally


def _resume(tally: SweepTally, results: ResultsFile, wanted: Sequence[int], fingerprint: str) -> dict[int, SeedResult]:
    """Count the earlier results, and return them by seed."""
    there = {result.seed: result for result in results.results()}
    return {seed: there[seed] for seed in wanted if seed in there and tally.resume(there[seed], fingerprint)}


def _task(
    scenario_of: Callable[[int], bytes], runs: Path, plugins: tuple[str, ...], seed: int, *, has_corpus: bool
) -> Task:
    thorough = is_thorough(seed, has_corpus=has_corpus)
    return Task(scenario_of(seed), seed, str(runs), is_thorough=thorough, plugins=plugins)
