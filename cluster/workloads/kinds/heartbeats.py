"""The workload `heartbeats`."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

from cluster.scenario.fields import Milliseconds, Positive, means
from cluster.workloads.quoting import QuotingKind
from cluster.workloads.submission import FUNDS, Client, GenesisShare, Site, TimedTransaction, Volume
from validators.actors import HeartbeatOrder
from validators.execution import GenesisActor


class Heartbeats(QuotingKind, tag="heartbeats", kw_only=True, frozen=True):
    """Actors that schedule themselves for ever."""

    is_recurring: ClassVar[bool] = True

    interval_slots: Annotated[Positive, means("Each actor fires once in this many slots.")] = 1
    gas_limit: Annotated[Positive, means("Cycles that a fire may use.")] = 20_000
    funds: Annotated[Positive, means("Units that each actor has at genesis.")] = FUNDS
    start_ms: Annotated[Milliseconds, means("When the actors are started.")] = 0

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        return Volume(self.actors, self.actors * (1 + slots // self.interval_slots))

    def first_due(self, slot_ms: int) -> int:
        """Return the first slot in which one of its timers is due."""
        return self.start_ms // slot_ms + self.interval_slots

    def genesis(self, site: Site) -> GenesisShare:
        """Return one client account, and the actors with funds of their own."""
        client = Client(site)
        actors = [
            GenesisActor(site.actor(index), "heartbeat", client.address, self.funds) for index in range(self.actors)
        ]
        return GenesisShare((client.funded,), (*actors, *self.agents(site)))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield one transaction an actor, which starts it."""
        client = Client(site)
        for index in range(self.actors):
            order = HeartbeatOrder(self.interval_slots, self.gas_limit, self.terms(site, index))
            yield client.order(self.start_ms, site.actor(index), "start", order)
