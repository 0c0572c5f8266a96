"""Digests that no change of layout, words or seams may move, and what produces them again.

`digests.json` holds the digest and what failed of every shipped scenario (small size, seed 0), of the first swarm
seeds, and of a run that kills each mutant: the first of a campaign, or a quicker one. `python -m tests.frozen
[NAME ...]` compares.
"""

import json
from pathlib import Path
from typing import Final, NamedTuple

from checker.mutants import CATALOGUE
from cluster.campaign.mutants import campaign_scenario, needs_repeat
from cluster.campaign.scan.runs import small_settings
from cluster.campaign.tasks import Task, run_task
from cluster.scenario.load import encode_scenario, load_scenario, scenario_paths
from cluster.swarm.generator import draw_scenario

FROZEN_FILE: Final = Path(__file__).with_name("digests.json")

SWARM_SEEDS: Final = range(20)


class Frozen(NamedTuple):
    """One frozen run: its digest, its verdict, the checks that failed, and the seed that was run."""

    digest: str
    verdict: str
    failed: str
    seed: int = 0


def read_frozen() -> dict[str, Frozen]:
    """Return the frozen runs by name: a scenario's, `swarm-SEED`, or `mutant-NAME`."""
    return {name: Frozen(*row) for name, row in json.loads(FROZEN_FILE.read_text()).items()}


def names_of_all() -> list[str]:
    """Return the names of all runs that are frozen."""
    scenarios = [path.stem for path in scenario_paths()]
    return [*scenarios, *(f"swarm-{seed}" for seed in SWARM_SEEDS), *(f"mutant-{name}" for name in CATALOGUE)]


def task_of(name: str, seed: int) -> Task:
    """Return the run of a name; a mutant's is that of its campaign for the seed."""
    if name.startswith("swarm-"):
        return Task(encode_scenario(draw_scenario(seed)), seed)
    if name.startswith("mutant-"):
        mutant = CATALOGUE[name.removeprefix("mutant-")]
        return Task(encode_scenario(campaign_scenario(mutant, seed)), seed, is_thorough=needs_repeat(mutant))
    return Task(encode_scenario(load_scenario(name, small_settings(name))), seed)


def measure(name: str, seed: int) -> Frozen:
    """Return how a run ends now."""
    result = run_task(task_of(name, seed))
    return Frozen(result.digest, result.verdict, result.failed, seed)


def seed_of(name: str, frozen: dict[str, Frozen]) -> int:
    """Return the seed that a name is run with: the swarm's own, the one that killed a mutant, 0 for a scenario."""
    if name.startswith("swarm-"):
        return int(name.removeprefix("swarm-"))
    return frozen[name].seed if name in frozen else 0
