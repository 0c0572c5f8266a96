"""Trials of runs of the swarm alone: longer specimens, engines without blocks, and a second chain."""

from collections.abc import Sequence
from typing import Final

from checker.checks.parts.parts import find_long_trials
from checker.checks.parts.trial import Trial
from cluster.scenario.model import Scenario
from cluster.verdict.second_chain import second_chain
from network.draw import SWARM

CHAINS_EVERY: Final = 4
"""One seed of the swarm in so many has a second chain: what it finds shows in many of them."""


def trials_of(scenario: Scenario, seed: int) -> Sequence[Trial]:
    """Return what a run tries beside the specimens of every run: nothing, where it is none of the swarm."""
    if scenario.name != SWARM:
        return ()
    chains = (second_chain(seed // CHAINS_EVERY),) if seed % CHAINS_EVERY == 0 else ()
    return (*find_long_trials(seed, scenario.consensus.engine), *chains)
