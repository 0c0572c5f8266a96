"""The workloads of the documents' use cases: oracle feeds and liquidation bots."""

from collections.abc import Iterator
from typing import Annotated

import msgspec

from cluster.workloads.submission import (
    FUNDS,
    Client,
    GenesisShare,
    Milliseconds,
    Positive,
    Site,
    TimedTransaction,
    Volume,
    WorkloadKind,
)
from validators.actors import FeedOrder, PositionOrder, PriceOrder, Submission
from validators.execution import GenesisActor

BASE_VALUE = 1_000
"""What a feed's values move around."""


class OracleFeeds(WorkloadKind, tag="oracle-feeds", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Feeds that publish at their interval what their owner submits every ``every_ms``, ``values`` times."""

    feeds: Annotated[int, msgspec.Meta(ge=1, le=1_000)]
    interval_slots: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 2
    values: Positive = 10
    gas_limit: Positive = 20_000
    start_ms: Milliseconds = 0
    every_ms: Positive = 1_000

    def volume(self, slots: int) -> Volume:
        """Its submissions and timers over so many slots."""
        return Volume(self.feeds * (1 + self.values), self.feeds * (1 + slots // self.interval_slots))

    def genesis(self, site: Site) -> GenesisShare:
        """An owner for each feed, and the feeds with funds of their own."""
        owners = [Client(site, index) for index in range(self.feeds)]
        actors = [GenesisActor(site.actor(index), "oracle-feed", it.address, FUNDS) for index, it in enumerate(owners)]
        return GenesisShare(tuple(owner.funded for owner in owners), tuple(actors))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Each owner starts its feed and submits one value after the other."""
        for index in range(self.feeds):
            owner, feed = Client(site, index), site.actor(index)
            yield owner.order(self.start_ms, feed, "start", FeedOrder(self.interval_slots, self.gas_limit))
            for step in range(1, self.values + 1):
                value = BASE_VALUE + step * 37 % 101
                yield owner.order(self.start_ms + step * self.every_ms, feed, "submit", Submission(value))


class Liquidations(WorkloadKind, tag="liquidations", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Bots that watch positions while the price moves through ``prices``, a step every ``every_ms``.

    The i-th position of a bot has a collateral of 100 and a debt of ``(i + 1) * debt_step``.
    """

    bots: Annotated[int, msgspec.Meta(ge=1, le=1_000)]
    positions: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 10
    debt_step: Positive = 1_000
    prices: Annotated[tuple[Positive, ...], msgspec.Meta(min_length=1)] = (100, 90, 60)
    interval_slots: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 4
    gas_limit: Positive = 40_000
    start_ms: Milliseconds = 0
    every_ms: Positive = 4_000

    def volume(self, slots: int) -> Volume:
        """Its submissions and timers over so many slots."""
        orders = self.bots * (self.positions + len(self.prices))
        return Volume(orders, self.bots * (1 + slots // self.interval_slots))

    def genesis(self, site: Site) -> GenesisShare:
        """An owner for each bot, and the bots with funds of their own."""
        owners = [Client(site, index) for index in range(self.bots)]
        actors = [
            GenesisActor(site.actor(index), "liquidation-bot", it.address, FUNDS) for index, it in enumerate(owners)
        ]
        return GenesisShare(tuple(owner.funded for owner in owners), tuple(actors))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Each owner opens the positions and then tells one price after the other."""
        for index in range(self.bots):
            owner, bot = Client(site, index), site.actor(index)
            for position in range(self.positions):
                yield owner.order(self.start_ms, bot, "open", PositionOrder(100, (position + 1) * self.debt_step))
            for step, price in enumerate(self.prices, start=1):
                order = PriceOrder(price, self.interval_slots, self.gas_limit)
                yield owner.order(self.start_ms + step * self.every_ms, bot, "price", order)
