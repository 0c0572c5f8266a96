"""The passing run nearest to a failed run: of twenty other seeds, the run whose events agree with it longest."""

from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Final, NamedTuple

from checker.record.places import put_in_place, work_directory
from checker.record.run_directory import RecordReader, read_events
from checker.record.streams import first_difference
from cluster.campaign.results_db import SeedResult
from cluster.campaign.tasks import Task
from cluster.campaign.workers import Workers
from cluster.scenario.load import encode_scenario
from cluster.verdict.replay import recorded_scenario

SEEDS: Final = 20
"""Seeds that are tried."""


class Nearest(NamedTuple):
    """A passing run: its directory and seed, the events that both runs begin with, and how many seeds passed."""

    directory: Path
    seed: int
    events: int
    passed: int


def nearest_passing(
    reader: RecordReader, *, runs: Path, jobs: int, on_result: Callable[[SeedResult], None]
) -> Nearest | None:
    """Run the plan of a record with other seeds, keep the nearest run that passes, and return it; None if none passes.

    Args:
        reader: The record of the failed run.
        runs: The folder that the run directory goes to.
        jobs: Worker processes.
        on_result: Called with each result, in the order in which they come.
    """
    scenario = recorded_scenario(reader)
    encoded, plugins = encode_scenario(scenario), tuple(scenario.plugins)
    with work_directory(runs, "nearest") as aside, Workers(min(jobs, SEEDS)) as workers:
        tasks = [
            Task(encoded, seed, str(aside), plugins=plugins, keeps_passed=True)
            for seed in islice(_seeds_beside(reader.manifest.seed), SEEDS)
        ]
        found = []
        for task, result in workers.results(tasks):
            on_result(result)
            # A failure that was expected is exit code 0 as well.
            if result.directory and not result.failed:
                directory = Path(result.directory)
                found.append((-_events_in_common(reader.path, directory), task.seed, directory))
        if not found:
            return None
        events, seed, directory = min(found)
        return Nearest(put_in_place(directory, runs / directory.name), seed, -events, len(found))


def _seeds_beside(seed: int) -> Iterator[int]:
    return (other for other in count() if other != seed)


def _events_in_common(one: Path, other: Path) -> int:
    difference = first_difference(read_events(one), read_events(other))
    return sum(1 for _ in read_events(one)) if difference is None else difference.index
