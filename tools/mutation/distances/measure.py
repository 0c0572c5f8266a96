"""Measures one mutant: the run that kills it, ended by its failure, and continuations of that run.

The continuations are those of `curve` with other chance: the same turns have the same seeds, and each has to be the run
up to its turn. A point is decided if all of 36 continuations from it on fail alike, because the lower bound of their
share is then above 0.9; a single other continuation of 36 refutes that. Halving the time between an open point and a
decided point finds the border to within a second. That takes for granted that a decided failure stays decided.
"""

import hashlib
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

import msgspec

from checker.families import FAMILY_OF, title_of
from checker.mutants import Mutant
from checker.record.errors import ReportedError
from checker.record.plugins import code_with
from checker.record.streams import iterate_events
from checker.results import CheckResult, deciding_check
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.tasks import Task, broken_result
from cluster.causality.asking import Ask, Continuations, Point
from cluster.causality.continuations import FailedRun, failed_run, judge, run_continuation
from cluster.causality.rise import END_RUNS, GENESIS_RUNS
from cluster.runtime.failures import AT_FAILURE
from cluster.scenario.load import decode_scenario, encode_scenario
from cluster.scenario.model import Scenario
from faults import byzantine_validators
from network.events import events_of_type
from network.words import counted
from tools.mutation import PLUGIN
from tools.mutation.campaign import campaign_scenario
from tools.mutation.distances.rows import Row
from validators.events import BlockExecuted

WITHIN_US: Final = 1_000_000
"""The largest distance between the open point and the decided point at the end of a search."""

RUN_SECONDS_MAX: Final = 10
"""Seconds of a processor: a mutant whose single run takes longer is not measured."""

GROWTH: Final = 3
"""A point gets three times as many continuations as before until a continuation refutes it."""


class Border(NamedTuple):
    """The last turn found at which a failure is open and the first found at which it is decided.

    A failure that is decided from the first turn on has no open turn, which is 0 then.
    """

    open_turn: int
    decided_turn: int


def find_border(points: Callable[[Ask], list[Point]], times_us: tuple[int, ...]) -> Border:
    """Return the border of a failure; turn 1 after the last is the run itself, in which it is decided."""
    if _is_decided(points, 1, GENESIS_RUNS):
        return Border(0, 1)
    low, high = 1, len(times_us) + 1
    ends_us = (*times_us, times_us[-1])
    while high - low > 1 and ends_us[high - 1] - ends_us[low - 1] > WITHIN_US:
        middle_us = (ends_us[low - 1] + ends_us[high - 1]) // 2
        middle = min(max(bisect_left(ends_us, middle_us) + 1, low + 1), high - 1)
        low, high = (low, middle) if _is_decided(points, middle, END_RUNS) else (middle, high)
    return Border(low, high)


def _is_decided(points: Callable[[Ask], list[Point]], turn: int, runs: int) -> bool:
    """Whether all continuations fail alike; they are asked for in growing numbers, until a continuation does not."""
    asked = 1
    while True:
        (point,) = points([(turn, asked)])
        if point.same < point.runs or asked == runs:
            return point.same == point.runs
        asked = min(asked * GROWTH, runs)


def stopped_scenario(mutant: Mutant, seed: int) -> Scenario:
    """Return the scenario of the standard campaign, ended by the first failure that ends a run."""
    scenario = campaign_scenario(mutant, seed)
    return msgspec.structs.replace(scenario, run=msgspec.structs.replace(scenario.run, stop_at_failure=True))


def distance_task(mutant: Mutant, seed: int, directory: Path) -> Task:
    """Return the task that measures a mutant; its results file goes to a directory."""
    return Task(encode_scenario(stopped_scenario(mutant, seed)), seed, str(directory), label=mutant.name)


def measure_task(task: Task) -> SeedResult:
    """Measure a mutant in a worker process, and return its row as the headline."""
    scenario = decode_scenario(task.scenario, task.label)
    try:
        row = _measure(task.label, scenario, task.seed, Path(task.runs))
    except ReportedError as error:
        row = Row(task.label, task.seed, unmeasured=str(error))
    return broken_result(task, msgspec.json.encode(row).decode())


def row_of(result: SeedResult) -> Row:
    """Return the row of a measured mutant; a worker that broke raises ValidationError or DecodeError."""
    return msgspec.json.decode(result.headline, type=Row)


def _measure(name: str, scenario: Scenario, seed: int, directory: Path) -> Row:
    started = time.process_time()
    first = judge(scenario, seed, "")
    seconds = time.process_time() - started
    if seconds > RUN_SECONDS_MAX:
        return Row(name, seed, unmeasured=f"its run takes longer than {counted(RUN_SECONDS_MAX, 'seconds')}")
    decisive = deciding_check(first.checks)
    run = failed_run(scenario, seed, first.checks)
    if decisive is None or run is None or run.title != title_of(decisive):
        return Row(name, seed, unmeasured="its run does not fail alike where one family judges it")
    if run.log != bytes(first.log):
        return Row(name, seed, unmeasured="its run is another run when it is repeated")
    identity = hashlib.sha256(encode_scenario(scenario) + code_with([PLUGIN]).fingerprint.encode()).hexdigest()
    with ResultsFile(directory / f"{name}.sqlite", f"distance {identity} {seed}") as results:
        asked = Continuations(run, "chance", runner=HereRunner(), results=results)
        border = find_border(asked.points, run.times_us)
        made = len(list(results.results()))
    is_unavoidable = border.open_turn == 0
    return Row(
        name,
        seed,
        family=FAMILY_OF.get(decisive.name, decisive.name),
        check=run.title,
        is_stopped=first.figures.get("end") == AT_FAILURE,
        is_unavoidable=is_unavoidable,
        baked_us=0 if is_unavoidable else run.time_of(border.decided_turn),
        open_us=0 if is_unavoidable else run.time_of(border.open_turn),
        shown_us=_shown_us(run, decisive),
        end_us=run.times_us[-1],
        runs=made,
    )


def _shown_us(run: FailedRun, decisive: CheckResult) -> int | None:
    """Return when an honest replica first executed a block of the height that a check names, None without one."""
    height = dict(decisive.evidence).get("height")
    byzantine = byzantine_validators(run.scenario.faults)
    for event, block in events_of_type(iterate_events(run.log), BlockExecuted):
        if block.height == height and event.node not in byzantine:
            return event.at_us
    return None


class HereRunner:
    """Runs continuations in this process, which is the worker of its mutant."""

    def __init__(self) -> None:
        self.under_way: list[Task] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was started."""

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, SeedResult]]:
        """Run each task when it is asked for."""
        for task in tasks:
            yield task, run_continuation(task)
