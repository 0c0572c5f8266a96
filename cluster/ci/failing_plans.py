"""A folder of plans that failed once: every sweep runs them first, so that a bug that comes back is seen at once.

A plan is a scenario file as `shrink` writes it. Its seed stands in the comment with the command that runs it; without
the comment the seed is 0.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from checker.record.plain_files import read_plain
from cluster.campaign.results_db import SeedResult
from cluster.campaign.tasks import Task
from cluster.campaign.workers import Workers
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.toml_file import BYTES_MAX

FOLDER: Final = Path("failing-plans")
"""Where a sweep looks if nothing else is said."""

_SEED: Final = re.compile(r"^#.* --seed (\d{1,19})\b", re.MULTILINE)


class FailingPlan(NamedTuple):
    """A plan of the folder, and its result by the code of today."""

    path: Path
    result: SeedResult


def plans_in(folder: Path) -> list[tuple[Path, int]]:
    """Return the plans of a folder by name, each with its seed; none if there is no folder.

    Raises:
        UnsuitableFileError: A plan is not a plain file, or is longer than a scenario may be.
        OSError: The file system refuses.
    """
    found = []
    for path in sorted(folder.glob("*.toml")):
        seed = _SEED.search(read_plain(path, BYTES_MAX).decode(errors="replace"))
        found.append((path, int(seed.group(1)) if seed else 0))
    return found


def run_plans(folder: Path, *, runs: Path, jobs: int) -> Iterator[FailingPlan]:
    """Run the plans of a folder, and yield each with its result, as they come."""
    tasks = []
    for path, seed in plans_in(folder):
        scenario = load_scenario(str(path))
        tasks.append(
            Task(encode_scenario(scenario), seed, runs=str(runs), label=str(path), plugins=tuple(scenario.plugins))
        )
    if not tasks:
        return
    with Workers(min(jobs, len(tasks))) as workers:
        for task, result in workers.results(tasks):
            yield FailingPlan(Path(task.label), result)


def plan_as_json(plan: FailingPlan) -> dict[str, object]:
    """Return a plan and its result as plain data."""
    result = plan.result
    return {"plan": str(plan.path), "seed": result.seed, "verdict": result.verdict, "headline": result.headline}
