"""The workload `resubmitters`: clients that send their call again and again, without back-off and without an answer.

While the chain halts the calls pile up, and after it each of them schedules a timer of its own.
"""

from collections.abc import Iterator
from typing import Annotated

from cluster.scenario.fields import Milliseconds, NotNegative, Positive, Thousand, means
from cluster.workloads.quoting import QuotingKind
from cluster.workloads.submission import Client, GenesisShare, Site, TimedTransaction, Volume
from validators.actors import StormOrder


class Resubmitters(QuotingKind, tag="resubmitters", kw_only=True, frozen=True):
    """Clients that send a call and resubmit it without back-off; each call schedules one more timer of their actor."""

    attempts: Annotated[Thousand, means("Calls of each client: the first call and its repetitions.")]
    retry_ms: Annotated[Positive, means("Time from one call of a client to the next.")] = 1_000
    every_ms: Annotated[Milliseconds, means("Time from the first call of a client to that of the next client.")] = 100
    start_ms: Annotated[Milliseconds, means("When the first client begins.")] = 0
    gas_limit: Annotated[Positive, means("Cycles that a fire may use.")] = 20_000
    ttl_slots: Annotated[NotNegative, means("Slots that a timer lives beyond its own.")] = 100_000

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        del slots
        calls = self.actors * self.attempts
        return Volume(calls, calls)

    def first_due(self, slot_ms: int) -> int:
        """Return the first slot in which one of its timers is due."""
        return self.start_ms // slot_ms + 1

    def genesis(self, site: Site) -> GenesisShare:
        """Return a client for each actor, and the actors."""
        share = site.owned_actors("storm-maker", self.actors)
        return GenesisShare(share.accounts, (*share.actors, *self.agents(site)))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield the calls, client by client; each is a new transaction."""
        for index in range(self.actors):
            client, terms = Client(site, index), self.terms(site, index)
            order = StormOrder(1, 1, 0, 1, self.ttl_slots, gas_limit=self.gas_limit, terms=terms)
            for attempt in range(self.attempts):
                at_ms = self.start_ms + index * self.every_ms + attempt * self.retry_ms
                yield client.order(at_ms, site.actor(index), "make", order)
