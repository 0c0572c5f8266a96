"""The workload `games`."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Final

import msgspec

from cluster.scenario.fields import Million, Milliseconds, Positive, Thousand, means
from cluster.workloads.submission import FUNDS, Client, GenesisShare, Site, TimedTransaction, Volume, WorkloadKind
from validators.actors import GameOrder
from validators.execution import GenesisActor

FOREIGN_MOVE_MS: Final = 900
"""Time from one move of an owner to the next, in ms."""


class Games(WorkloadKind, tag="games", kw_only=True, frozen=True):
    """Game loops that message their players at each tick; players answer in the next block."""

    is_recurring: ClassVar[bool] = True

    games: Annotated[Thousand, means("Games, each with an owner.")]
    players: Annotated[int, msgspec.Meta(ge=1, le=16), means("Players of each game.")] = 4
    absent_players: Annotated[
        int, msgspec.Meta(ge=0, le=16), means("Addresses without an actor that each game messages as well.")
    ] = 0
    interval_slots: Annotated[Million, means("Each game ticks once in this many slots.")] = 1
    message_cycles: Annotated[Positive, means("Cycles that a player's handler may use.")] = 3_000
    gas_limit: Annotated[Positive, means("Cycles that a fire may use.")] = 100_000
    funds: Annotated[Positive, means("Units that each game has to tick with.")] = FUNDS
    start_ms: Annotated[Milliseconds, means("When the games are started.")] = 0
    foreign_moves: Annotated[
        int, msgspec.Meta(ge=0, le=16), means("Refused moves of each owner, which plays no game.")
    ] = 0

    def volume(self, slots: int) -> Volume:
        """Return its submissions and timers."""
        return Volume(self.games * (1 + self.foreign_moves), self.games * (1 + slots // self.interval_slots))

    def first_due(self, slot_ms: int) -> int:
        """Return the first slot in which one of its timers is due."""
        return self.start_ms // slot_ms + self.interval_slots

    def genesis(self, site: Site) -> GenesisShare:
        """Return an owner for each game, the games with their funds, and their players."""
        share = site.owned_actors("game-loop", self.games, self.funds)
        players = [
            GenesisActor(player, "game-player", game.owner)
            for index, game in enumerate(share.actors)
            for player in self._players(site, index)
        ]
        return GenesisShare(share.accounts, (*share.actors, *players))

    def transactions(self, site: Site) -> Iterator[TimedTransaction]:
        """Each owner starts its game, and may try moves of its own in it."""
        for index in range(self.games):
            absent = (site.actor(place, f"{site.name}/{index}/absent") for place in range(self.absent_players))
            players = (*self._players(site, index), *absent)
            order = GameOrder(self.interval_slots, players, self.gas_limit, self.message_cycles)
            owner, game = Client(site, index), site.actor(index)
            yield owner.order(self.start_ms, game, "start", order)
            for turn in range(1, self.foreign_moves + 1):
                yield owner.order(self.start_ms + turn * FOREIGN_MOVE_MS, game, "move", order)

    def _players(self, site: Site, game: int) -> list[bytes]:
        return [site.actor(place, f"{site.name}/{game}/players") for place in range(self.players)]
