"""Drawn scenarios, each drawn once in a process and only when a test asks: a draw takes 25 milliseconds."""

from collections.abc import Sequence
from functools import cache

from cluster.swarm.generator import draw_scenario


@cache
def draw_once(seed, *settings):
    """Return the scenario of a seed, which tests leave as it is."""
    return draw_scenario(seed, settings)


class Drawn(Sequence):
    """The drawn scenarios of some seeds under some settings."""

    def __init__(self, seeds, *settings):
        self.seeds = seeds
        self.settings = settings

    def __len__(self):
        return len(self.seeds)

    def __getitem__(self, at):
        if isinstance(at, slice):
            return [*Drawn(self.seeds[at], *self.settings)]
        return draw_once(self.seeds[at], *self.settings)
