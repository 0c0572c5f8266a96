"""Trials as tasks of a campaign: an arm with a seed goes out, its figures come back and are kept in a results file.

A trial's number is the digest of its arm and its seed. So a study that was killed goes on where it stopped, and a study
with other axes finds the trials of the arms that both have.
"""

import hashlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from checker.record.cold_replay import open_engine, replay_blocks
from checker.record.errors import ReportedError
from checker.record.host import refusal_behind
from checker.record.places import scratch_directory
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.sweep import SweepTally, sweep
from cluster.campaign.tasks import Task, TaskRunner, broken_result
from cluster.live.progress import LiveProgress
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from cluster.studies.bidders import BidderGroup
from cluster.studies.chain import ChainTrial, log_of
from cluster.studies.figures import TrialLog
from cluster.studies.load import Arm, Trials, as_document, study_of_arm
from cluster.studies.study import Study
from cluster.studies.watching import BlockWatcher
from cluster.verdict.pipeline import run_pipeline

SUBJECT: Final = "study 1"
"""The subject of a results file of trials."""

SEED_BITS: Final = 20
SEEDS_MAX: Final = 1 << SEED_BITS
_ARM_BYTES: Final = 5

Found = dict[str, float | None]
"""The figures of a trial by name."""


class TrialBrokenError(ReportedError):
    """A trial could not be run: the test bed broke, or a run under a network did not pass."""

    exit_code = 6


class TrialTask(msgspec.Struct, frozen=True):
    """A trial as it goes to a worker: the arm's study file, its place, and the arm in words."""

    document: dict[str, object]
    place: str
    label: str


BLOCK_SECONDS: Final = 0.001
ORDER_SECONDS: Final = 0.000_25
RUN_SECONDS: Final = 2.0
"""About what a block, an order and a whole run take of a processor: for the estimate before a study."""


def estimate_seconds(trials: Trials, seeds: range) -> float:
    """Return about how many processor seconds a study takes."""
    total = 0.0
    for arm in trials.arms:
        study, _ = study_of_arm(as_document(arm), trials.place)
        orders = sum(_orders(group, study.blocks) for group in study.bidders.values())
        on_chain = study.blocks * BLOCK_SECONDS + orders * ORDER_SECONDS
        total += len(seeds) * (RUN_SECONDS if study.engine == "cluster" else on_chain)
    return total


def _orders(group: BidderGroup, blocks: int) -> float:
    """Return the orders of a group over a trial, without tasks that are tried again."""
    active = (min(group.last_block, blocks) if group.last_block else blocks) - group.first_block + 1
    return max(0, active) * group.per_block[0] / group.per_block[1]


def number_of(arm: Arm, seed: int) -> int:
    """Return the number of a trial in the results file."""
    encoded = msgspec.json.encode(arm.raw, order="sorted")
    return int.from_bytes(hashlib.sha256(encoded).digest()[:_ARM_BYTES], "big") << SEED_BITS | seed


def run_trials(
    trials: Trials,
    seeds: range,
    *,
    results: ResultsFile,
    jobs: int,
    workers: TaskRunner,
    on_result: Callable[[SweepTally, SeedResult], None],
    is_fresh: bool = False,
) -> dict[tuple[int, int], Found]:
    """Run every trial that the results file lacks, and return the figures of all by arm and seed.

    Raises:
        TrialBrokenError: A trial could not be run.
    """
    places = {number_of(arm, seed): (index, seed) for index, arm in enumerate(trials.arms) for seed in seeds}
    sweep(
        lambda number: _task(trials, *places[number]),
        # Seed by seed: an interrupted study has every arm.
        sorted(places, key=lambda number: (places[number][1], places[number][0])),
        results=results,
        runs=Path(),
        jobs=jobs,
        on_result=on_result,
        workers=workers,
        is_fresh=is_fresh,
        plugins=tuple(trials.study.scenario.get("plugins", ())),
    )
    return dict(_figures(trials, results.results(), places))


def _task(trials: Trials, index: int, _seed: int) -> bytes:
    arm = trials.arms[index]
    return msgspec.json.encode(TrialTask(as_document(arm), trials.place, arm.label))


def _figures(
    trials: Trials, results: Iterable[SeedResult], places: dict[int, tuple[int, int]]
) -> Iterable[tuple[tuple[int, int], Found]]:
    for result in results:
        if (place := places.get(result.seed)) is None:
            continue
        if result.exit_code:
            label = trials.arms[place[0]].label or "its only arm"
            raise TrialBrokenError(f"{trials.name}: trial of {label} with seed {place[1]}: {result.headline}")
        yield place, msgspec.json.decode(result.headline, type=Found)


def run_trial(task: Task) -> SeedResult:
    """Run a trial in a worker process."""
    started = time.perf_counter()
    seed = task.seed & (SEEDS_MAX - 1)
    try:
        trial = msgspec.json.decode(task.scenario, type=TrialTask)
        study, scenario = study_of_arm(trial.document, trial.place)
        log = ChainTrial(study, scenario, seed).run() if study.engine == "chain" else _whole_run(study, scenario, seed)
        found: Found = {name: log.figure(name) for name in study.figures}
    except Exception as error:  # noqa: BLE001 - a trial that breaks the test bed is a result, which ends the study
        if (refusal := refusal_behind(error)) is not None:
            raise refusal from None
        name = "" if isinstance(error, ReportedError) else f"{type(error).__name__}: "
        return broken_result(task, f"{name}{error}")
    return SeedResult(
        seed=task.seed,
        exit_code=0,
        verdict="passed",
        signature="",
        headline=msgspec.json.encode(found).decode(),
        digest="",
        milliseconds=int((time.perf_counter() - started) * 1_000),
        fingerprint=task.fingerprint,
    )


def _whole_run(study: Study, scenario: Scenario, seed: int) -> TrialLog:
    """Run validators on a network, and read the final chain; raises ScenarioError for a run that does not pass."""
    with scratch_directory("study") as scratch, LiveProgress(title="", is_quiet=True) as progress:
        result = run_pipeline(scenario, seed, runs=scratch, progress=progress, has_page=False)
        if result.exit_code or result.directory is None:
            raise ScenarioError(scenario.name, f"the run does not pass: {result.headline}")
        watcher = BlockWatcher(log_of(study, scenario), scenario, study)
        for executed in replay_blocks(result.directory, open_engine(result.directory)):
            watcher.note(executed, {})
    return watcher.log
