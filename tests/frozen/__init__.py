"""Digests that no change of layout, words or seams may move, and what produces them again.

`digests.json` holds the digest and what failed of every shipped scenario (small size, seed 0) and of the first swarm
seeds. Of each mutant it holds a check and a seed that kill it: the first of a campaign, or a quicker one.
`python -m tests.frozen [NAME ...]` compares.
"""

import json
from pathlib import Path
from typing import Final, NamedTuple

from checker.mutants import Mutant
from cluster.authoring.small_sizes import small_settings
from cluster.campaign.tasks import Task, run_task
from cluster.scenario.load import encode_scenario, load_scenario, scenario_paths
from cluster.scenario.model import Scenario
from cluster.swarm.generator import draw_scenario
from tools.mutation.campaign import campaign_scenario, needs_repeat
from tools.mutation.catalogue import CATALOGUE

FROZEN_FILE: Final = Path(__file__).with_name("digests.json")

SWARM_SEEDS: Final = range(20)


class Frozen(NamedTuple):
    """One frozen run: its digest, its verdict, the checks that failed, and the seed that was run."""

    digest: str
    verdict: str
    failed: str
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.digest[:16]} {self.verdict}{f' ({self.failed})' if self.failed else ''} seed {self.seed}"


class Killed(NamedTuple):
    """A seed, and the first failed check of those that the mutant names; empty where it survives."""

    check: str
    seed: int

    def __str__(self) -> str:
        return f"{f'killed by {self.check}' if self.check else 'survives'} seed {self.seed}"


def read_frozen() -> dict[str, Frozen | Killed]:
    """Return the frozen runs by name: a scenario's, `swarm-SEED`, or `mutant-NAME`."""
    rows = json.loads(FROZEN_FILE.read_text())
    return {name: (Killed if name.startswith("mutant-") else Frozen)(*row) for name, row in rows.items()}


def names_of_all() -> list[str]:
    """Return the names of all runs that are frozen."""
    scenarios = [path.stem for path in scenario_paths()]
    return [*scenarios, *(f"swarm-{seed}" for seed in SWARM_SEEDS), *(f"mutant-{name}" for name in CATALOGUE)]


def scenario_of(name: str, seed: int) -> Scenario:
    """Return the scenario of a name; a mutant's is that of its campaign for the seed."""
    if name.startswith("swarm-"):
        return draw_scenario(seed)
    if mutant := mutant_of(name):
        return campaign_scenario(mutant, seed)
    return load_scenario(name, small_settings(name))


def mutant_of(name: str) -> Mutant | None:
    """Return the mutant of `mutant-NAME`; None for other runs."""
    return CATALOGUE[name.removeprefix("mutant-")] if name.startswith("mutant-") else None


def task_of(name: str, seed: int) -> Task:
    """Return the run of a name."""
    mutant = mutant_of(name)
    is_thorough = mutant is not None and needs_repeat(mutant)
    return Task(encode_scenario(scenario_of(name, seed)), seed, is_thorough=is_thorough)


def measure(name: str, seed: int) -> Frozen | Killed:
    """Return how a run ends now."""
    result = run_task(task_of(name, seed))
    if mutant := mutant_of(name):
        return Killed(next((check for check in result.failed.split() if check in mutant.kills), ""), seed)
    return Frozen(result.digest, result.verdict, result.failed, seed)


def seed_of(name: str, frozen: dict[str, Frozen | Killed]) -> int:
    """Return the seed that a name is run with: the swarm's own, the one that killed a mutant, 0 for a scenario."""
    if name.startswith("swarm-"):
        return int(name.removeprefix("swarm-"))
    return frozen[name].seed if name in frozen else 0
