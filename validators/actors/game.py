"""The game loop and its players: ticks by timer, calls by message (seed, use cases).

The loop pays for its ticks out of its own units and continues until they run dry. At each tick it sends a message to
each player, which is delivered in the same block, after the timers. The player's answer is sent while the mailbox is
served, so it is delivered in the next block.
"""

import contextlib
from typing import Annotated, ClassVar, Final

import msgspec

from scheduler import UnknownTimer
from validators.actors.calls import Actor
from validators.actors.host import Revert
from validators.actors.orders import (
    Address,
    Count,
    Interval,
    Order,
    decode_order,
    get_count,
    put_count,
    require_empty,
    require_own_timer,
    require_owner,
    schedule_on_terms,
)

PLAYERS_MAX: Final = 64
"""Greatest number of players in one game."""

MOVE_CYCLES: Final = 1_000
"""Cycles that a player gives to its answer."""


class GameOrder(Order, frozen=True):
    """Tick every `interval`, in the chain's timebase; a player gets `cycles`. A `gas_limit` of 0 means the default."""

    traced_name: ClassVar[str] = "GameOrder"

    interval: Interval
    players: Annotated[tuple[Address, ...], msgspec.Meta(max_length=PLAYERS_MAX)]
    gas_limit: Count = 0
    cycles: Count = 3_000


class GameLoop(Actor):
    """Counts ticks and informs the players of each; keeps the last move of each player."""

    handlers = ("start", "move", "handle_timer")

    def start(self, payload: bytes) -> None:
        """Remember the order and schedule the next tick, replacing a pending tick. Only the owner may."""
        require_owner(self)
        decode_order(payload, GameOrder)
        pending = self.host.get(b"next")
        if pending is not None:
            with contextlib.suppress(UnknownTimer):
                self.host.cancel_timer(pending)
        self.host.put(b"order", payload)
        self._schedule_next(self._order())

    def move(self, payload: bytes) -> None:
        """Keep a player's move. Only the players may."""
        if self.host.sender not in self._order().players:
            raise Revert("not a player")
        self.host.put(b"move" + self.host.sender, payload[:8])
        put_count(self, b"moves", get_count(self, b"moves") + 1)

    def handle_timer(self, payload: bytes) -> None:
        """Count a tick, inform the players, and schedule the next tick."""
        require_own_timer(self)
        require_empty(payload)
        order, tick = self._order(), get_count(self, b"ticks") + 1
        put_count(self, b"ticks", tick)
        for player in order.players:
            self.host.send(player, "on_tick", tick.to_bytes(8, "big"), order.cycles)
        self._schedule_next(order)

    def _order(self) -> GameOrder:
        return decode_order(self.host.get(b"order") or b"", GameOrder)

    def _schedule_next(self, order: GameOrder) -> None:
        timer_id = schedule_on_terms(self, self.host.now + order.interval, b"", gas_limit=order.gas_limit or None)
        self.host.put(b"next", timer_id)


class GamePlayer(Actor):
    """Answers each tick with a move."""

    handlers = ("on_tick",)

    def on_tick(self, payload: bytes) -> None:
        """Count the tick and answer its sender."""
        put_count(self, b"ticks", get_count(self, b"ticks") + 1)
        self.host.send(self.host.sender, "move", payload[:8], MOVE_CYCLES)
