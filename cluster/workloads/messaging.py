"""The workloads of programs that send each other messages: games and subscriptions, which pay until they run dry."""

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
from validators.actors import GameOrder, PlanOrder
from validators.execution import GenesisActor
from validators.execution.blocks import Transfer

Interval = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]


class Games(WorkloadKind, tag="games", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Game loops that tick every ``interval_slots`` and tell their players, who answer in the next block.

    Each game has ``funds`` units to tick with. ``absent_players`` are told as well, and there is nobody at home.
    """

    games: Annotated[int, msgspec.Meta(ge=1, le=1_000)]
    players: Annotated[int, msgspec.Meta(ge=1, le=16)] = 4
    absent_players: Annotated[int, msgspec.Meta(ge=0, le=16)] = 0
    interval_slots: Interval = 1
    message_cycles: Positive = 3_000
    gas_limit: Positive = 100_000
    funds: Positive = FUNDS
    start_ms: Milliseconds = 0

    def volume(self, slots: int) -> Volume:
        """Its submissions and timers over so many slots."""
        return Volume(self.games, self.games * (1 + slots // self.interval_slots))

    def genesis(self, site: Site) -> GenesisShare:
        """An owner for each game, the games with their funds, and their players."""
        owners = [Client(site, index) for index in range(self.games)]
        games = [
            GenesisActor(site.actor(index), "game-loop", owner.address, self.funds)
            for index, owner in enumerate(owners)
        ]
        players = [
            GenesisActor(player, "game-player", owner.address)
            for index, owner in enumerate(owners)
            for player in self._players(site, index)
        ]
        return GenesisShare(tuple(owner.funded for owner in owners), (*games, *players))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Each owner starts its game."""
        for index in range(self.games):
            absent = (site.actor(place, f"{site.name}/{index}/absent") for place in range(self.absent_players))
            players = (*self._players(site, index), *absent)
            order = GameOrder(self.interval_slots, players, self.gas_limit, self.message_cycles)
            yield Client(site, index).order(self.start_ms, site.actor(index), "start", order)

    def _players(self, site: Site, game: int) -> list[bytes]:
        return [site.actor(place, f"{site.name}/{game}/players") for place in range(self.players)]


class Subscriptions(WorkloadKind, tag="subscriptions", kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Subscriptions that pay ``price`` units to one merchant every ``interval_slots``, out of ``funds`` units each.

    At ``again_ms`` their owners give them as much once more and subscribe again.
    """

    subscriptions: Annotated[int, msgspec.Meta(ge=1, le=1_000)]
    price: Positive = 1_000_000
    interval_slots: Interval = 2
    gas_limit: Positive = 20_000
    funds: Positive = FUNDS
    start_ms: Milliseconds = 0
    again_ms: Milliseconds | None = None

    def problem(self, site: Site) -> str:
        """Say what does not fit together."""
        del site
        if self.again_ms is not None and self.again_ms <= self.start_ms:
            return f"again_ms must be after start_ms, which is {self.start_ms}"
        return ""

    def volume(self, slots: int) -> Volume:
        """Its submissions and timers over so many slots."""
        return Volume(3 * self.subscriptions, self.subscriptions * (1 + slots // self.interval_slots))

    def genesis(self, site: Site) -> GenesisShare:
        """An owner for each subscription, the subscriptions with their funds, and the merchant."""
        owners = [Client(site, index) for index in range(self.subscriptions)]
        actors = [
            GenesisActor(site.actor(index), "subscription", owner.address, self.funds)
            for index, owner in enumerate(owners)
        ]
        merchant = GenesisActor(self._merchant(site), "merchant", owners[0].address)
        return GenesisShare(tuple(owner.funded for owner in owners), (*actors, merchant))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Each owner subscribes, and may do so once more."""
        order = PlanOrder(self._merchant(site), self.price, self.interval_slots, self.gas_limit)
        for index in range(self.subscriptions):
            owner, actor = Client(site, index), site.actor(index)
            yield owner.order(self.start_ms, actor, "subscribe", order)
            if self.again_ms is not None:
                yield owner.sign(self.again_ms, Transfer(actor, self.funds))
                yield owner.order(self.again_ms, actor, "subscribe", order)

    def _merchant(self, site: Site) -> bytes:
        return site.actor(0, f"{site.name}/merchant")
