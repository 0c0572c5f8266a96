"""The workload `liquidations`."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final

import msgspec

from cluster.scenario.fields import Million, Milliseconds, Positive, Thousand, means
from cluster.workloads.submission import Client, GenesisShare, Site, TimedTransaction, Volume, WorkloadKind
from validators.actors import PositionOrder, PriceOrder

COLLATERAL: Final = 100
"""Collateral of every position."""


class Liquidations(WorkloadKind, tag="liquidations", kw_only=True, frozen=True):
    """Bots that watch positions while the price moves.

    The i-th position of a bot has a collateral of 100 and a debt of `(i + 1) * debt_step`.
    """

    is_recurring: ClassVar[bool] = True

    bots: Annotated[Thousand, means("Bots, each with an owner.")]
    positions: Annotated[Thousand, means("Positions that each bot watches.")] = 10
    debt_step: Annotated[Positive, means("Difference between the debts of successive positions.")] = 1_000
    prices: Annotated[tuple[Positive, ...], msgspec.Meta(min_length=1), means("The prices, in their order.")] = (
        *(100, 90, 60),
    )
    interval_slots: Annotated[Million, means("Each bot looks at its positions once in this many slots.")] = 4
    gas_limit: Annotated[Positive, means("Cycles that a fire may use.")] = 40_000
    start_ms: Annotated[Milliseconds, means("When the positions are opened.")] = 0
    every_ms: Annotated[Positive, means("Time from one price to the next.")] = 4_000

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        orders = self.bots * (self.positions + len(self.prices))
        return Volume(orders, self.bots * (1 + slots // self.interval_slots))

    def first_due(self, slot_ms: int) -> int:
        """Return the first slot in which one of its timers is due."""
        return self.start_ms // slot_ms + self.interval_slots

    def genesis(self, site: Site) -> GenesisShare:
        """Return an owner for each bot, and the bots with funds of their own."""
        return site.owned_actors("liquidation-bot", self.bots)

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Yield each owner's transactions: they open the positions and then report one price after the other."""
        for index in range(self.bots):
            owner, bot = Client(site, index), site.actor(index)
            for position in range(1, self.positions + 1):
                yield owner.order(self.start_ms, bot, "open", PositionOrder(COLLATERAL, position * self.debt_step))
            for step, price in enumerate(self.prices, start=1):
                order = PriceOrder(price, self.interval_slots, self.gas_limit)
                yield owner.order(self.start_ms + step * self.every_ms, bot, "price", order)
