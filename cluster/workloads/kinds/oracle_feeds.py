"""The workload `oracle-feeds`."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final

from cluster.scenario.fields import Million, Milliseconds, Positive, Thousand, means
from cluster.workloads.submission import Client, GenesisShare, Site, TimedTransaction, Volume, WorkloadKind
from validators.actors import FeedOrder, Submission

BASE_VALUE: Final = 1_000
"""Values of a feed stay near this one."""


class OracleFeeds(WorkloadKind, tag="oracle-feeds", kw_only=True, frozen=True):
    """Feeds that publish their owners' values at their interval."""

    is_recurring: ClassVar[bool] = True

    feeds: Annotated[Thousand, means("Feeds, each with an owner.")]
    interval_slots: Annotated[Million, means("Each feed publishes once in this many slots.")] = 2
    values: Annotated[Positive, means("Values that each owner submits.")] = 10
    gas_limit: Annotated[Positive, means("Cycles that a fire may use.")] = 20_000
    start_ms: Annotated[Milliseconds, means("When the feeds are started.")] = 0
    every_ms: Annotated[Positive, means("Time from one value of an owner to the next.")] = 1_000

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        return Volume(self.feeds * (1 + self.values), self.feeds * (1 + slots // self.interval_slots))

    def first_due(self, slot_ms: int) -> int:
        """Return the first slot in which one of its timers is due."""
        return self.start_ms // slot_ms + self.interval_slots

    def genesis(self, site: Site) -> GenesisShare:
        """Return an owner for each feed, and the feeds with funds of their own."""
        return site.owned_actors("oracle-feed", self.feeds)

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield each owner's transactions: they start its feed and submit one value after the other."""
        for index in range(self.feeds):
            owner, feed = Client(site, index), site.actor(index)
            yield owner.order(self.start_ms, feed, "start", FeedOrder(self.interval_slots, self.gas_limit))
            for step in range(1, self.values + 1):
                value = BASE_VALUE + step * 37 % 101
                yield owner.order(self.start_ms + step * self.every_ms, feed, "submit", Submission(value))
