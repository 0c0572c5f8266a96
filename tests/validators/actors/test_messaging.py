"""Games and subscriptions: what they tell each other, who pays, and how they end."""

import msgspec

from scheduler import TimerCancelledInsufficientFunds, TimerConfig, TimerScheduled
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    BOB,
    advance,
    balance_of,
    make_engine,
    make_genesis,
    order,
    pay,
    stored,
)
from validators.actors import Emitted, GameOrder, PlanOrder, Status
from validators.execution import GenesisActor, MessageDelivered, decode_receipt

GAME, PLAYER, OTHER, PLAN, SHOP = (bytes([0xD0 + index]) * 20 for index in range(5))
GAS = 20_000
FIRE_MOST = GAS * 800 + 20_000 * 800
"""The units that a payer must have for a fire: its gas limit and its cells at the least basefees."""


def serving(funds=BALANCE, **changes):
    """Return an engine with a game, two players, a subscription and a merchant, all of Alice's."""
    actors = (
        GenesisActor(GAME, "game-loop", ALICE, funds),
        GenesisActor(PLAYER, "game-player", ALICE),
        GenesisActor(OTHER, "game-player", ALICE),
        GenesisActor(PLAN, "subscription", ALICE, funds),
        GenesisActor(SHOP, "merchant", BOB),
    )
    config = TimerConfig(max_cells_per_fire=20_000)
    return make_engine(make_genesis(actors=actors, timer_config=config, **changes))


def number(engine, actor, key):
    return int.from_bytes(stored(engine, actor, key) or b"", "big")


def delivered(executed):
    return [event.ok for event in executed.events if isinstance(event, MessageDelivered)]


def errors_of(executed):
    return [decode_receipt(receipt).error for receipt in executed.receipts[: len(executed.block.transactions)]]


class TestGame:
    def playing(self, *players, funds=BALANCE, interval=2, **changes):
        engine = serving(funds, **changes)
        advance(engine, [order(0, 0, GAME, "start", GameOrder(interval, players, GAS))])
        return engine

    def test_players_hear_of_a_tick_in_its_block_and_answer_in_the_next(self):
        """The tick is a timer, so its messages come after it; the answers were sent by messages."""
        engine = self.playing(PLAYER, OTHER)
        assert delivered(advance(engine)) == []
        assert delivered(advance(engine)) == [True, True]
        assert (number(engine, PLAYER, b"ticks"), number(engine, GAME, b"moves")) == (1, 0)

        assert delivered(advance(engine)) == [True, True]
        assert number(engine, GAME, b"moves") == 2

    def test_it_goes_on_ticking(self):
        """Every interval, until something ends it."""
        engine = self.playing(PLAYER)
        for _ in range(8):
            advance(engine)

        assert number(engine, GAME, b"ticks") == 4

    def test_it_ends_when_it_cannot_pay_for_another_tick(self):
        """Its timer is removed as insolvent; money and another start revive it."""
        engine = self.playing(PLAYER, funds=FIRE_MOST + 1_000_000, interval=1)
        reported = [advance(engine) for _ in range(3)]
        gone = [
            event
            for executed in reported
            for event in executed.events
            if isinstance(event, TimerCancelledInsufficientFunds)
        ]
        assert (number(engine, GAME, b"ticks"), len(gone)) == (1, 1)

        again = order(0, 2, GAME, "start", GameOrder(1, (PLAYER,), GAS))
        advance(engine, [pay(0, 1, GAME, BALANCE // 2), again])
        advance(engine)
        assert number(engine, GAME, b"ticks") == 2

    def test_only_players_move(self):
        """Neither a stranger's transaction nor a stranger's message."""
        engine = self.playing(PLAYER)
        executed = advance(engine, [order(1, 0, GAME, "move", None), order(1, 1, OTHER, "on_tick", None)])

        assert errors_of(executed) == ["not a player", ""]
        # The player called by Bob answers Bob, who is not a program.
        assert delivered(executed) == [False]

    def test_only_the_owner_starts_it(self):
        """And only its timer ticks."""
        engine = serving()
        calls = [order(1, 0, GAME, "start", GameOrder(1, ())), order(0, 0, GAME, "handle_timer", None)]

        assert errors_of(advance(engine, calls)) == ["not the owner", "not a timer of this actor"]

    def test_another_start_replaces_the_pending_tick(self):
        """There are never two loops."""
        engine = self.playing(PLAYER)
        advance(engine, [order(0, 1, GAME, "start", GameOrder(1, (PLAYER,), GAS))])
        advance(engine)
        advance(engine)

        assert number(engine, GAME, b"ticks") == 2


class TestSubscription:
    def subscribed(self, price=1_000, interval=2, funds=BALANCE):
        engine = serving(funds)
        advance(engine, [order(0, 0, PLAN, "subscribe", PlanOrder(SHOP, price, interval, GAS))])
        return engine

    def test_it_pays_at_once_and_then_at_its_interval(self):
        """And tells the merchant in the block of the payment."""
        engine = self.subscribed()
        reported = [delivered(advance(engine)) for _ in range(5)]

        assert reported == [[True], [], [True], [], [True]]
        assert (balance_of(engine, SHOP), number(engine, SHOP, b"payments")) == (3_000, 3)

    def test_it_lapses_when_it_cannot_pay_the_price(self):
        """The fire itself is paid; nothing is scheduled any more."""
        engine = self.subscribed(price=10**9, interval=1, funds=FIRE_MOST + 10**9 + 5 * 10**6)
        first, second = advance(engine), advance(engine)

        assert delivered(first) == [True]
        assert [event.topic for event in second.events if isinstance(event, Emitted)] == ["lapsed"]
        assert advance(engine).events == ()

    def test_it_ends_when_it_cannot_pay_for_the_fire(self):
        """Its timer is removed as insolvent; money and another order revive it."""
        engine = self.subscribed(price=1, interval=1, funds=FIRE_MOST + 1_000_000)
        reported = [advance(engine) for _ in range(2)]
        assert [event.fee_payer for event in reported[1].events] == [PLAN]

        advance(engine, [pay(0, 1, PLAN, BALANCE // 2), order(0, 2, PLAN, "subscribe", PlanOrder(SHOP, 1, 1, GAS))])
        assert delivered(advance(engine)) == [True]

    def test_cancelling_ends_it(self):
        """Once; a second time there is nothing to cancel."""
        engine = self.subscribed()
        executed = advance(engine, [order(0, nonce, PLAN, "cancel", None) for nonce in (1, 2)])
        assert errors_of(executed) == ["", "no subscription"]

        assert not any(isinstance(event, TimerScheduled) for _ in range(3) for event in advance(engine).events)

    def test_only_the_owner_changes_it(self):
        """And only its timer renews."""
        engine = self.subscribed()
        calls = [
            order(1, 0, PLAN, "subscribe", PlanOrder(SHOP, 0, 1)),
            order(1, 1, PLAN, "cancel", None),
            order(0, 1, PLAN, "handle_timer", None),
        ]

        assert errors_of(advance(engine, calls)) == ["not the owner", "not the owner", "not a timer of this actor"]

    def test_an_order_that_names_no_address_is_refused(self):
        """Nineteen bytes are no address."""
        executed = advance(serving(), [order(0, 0, PLAN, "subscribe", PlanOrder(b"m" * 19, 1, 1))])

        assert decode_receipt(executed.receipts[0]).status == Status.REVERTED
        assert errors_of(executed) == ["not a PlanOrder"]


def test_orders_leave_out_what_has_a_default():
    """As docs/programs.md says."""
    assert msgspec.msgpack.decode(b"\x92\x01\x90", type=GameOrder) == GameOrder(1, (), 0, 3_000)
