"""A toy workload."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from stampede_testbed.plugin.workloads import (
    Client,
    ExecuteActor,
    GenesisShare,
    Site,
    TimedTransaction,
    Volume,
    WorkloadKind,
    means,
)


class Countdowns(WorkloadKind, tag="countdowns", frozen=True, kw_only=True):
    """Toy actors that count down, each started at once."""

    actors: Annotated[int, msgspec.Meta(ge=1, le=100), means("Actors.")] = 1
    count: Annotated[int, msgspec.Meta(ge=1, le=100), means("Timers that each fires.")] = 3

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        return Volume(self.actors, self.actors * min(self.count, slots))

    def genesis(self, site: Site) -> GenesisShare:
        """Return one client account, and the actors with funds of their own."""
        return site.owned_actors("countdown", self.actors)

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Start every actor."""
        client = Client(site)
        for index in range(self.actors):
            yield client.sign(0, ExecuteActor(site.actor(index), "start", bytes([self.count])))

    def firing_actors(self, site: Site) -> tuple[bytes, ...]:
        """Return all of them."""
        return tuple(site.actor(index) for index in range(self.actors))
