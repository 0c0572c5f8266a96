"""The oracle feed, the liquidation bot, and what a storm maker does besides making timers that fire."""

import msgspec
import pytest

from scheduler import (
    TimerCancelled,
    TimerCancelledInsufficientFunds,
    TimerConfig,
    TimerExtended,
    TimerFired,
    TimerScheduled,
    timer_id_of,
)
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    BOB,
    STORM,
    advance,
    make_engine,
    make_genesis,
    order,
    transaction,
)
from validators.actors import (
    CancelOrder,
    Emitted,
    FeedOrder,
    PositionOrder,
    PriceOrder,
    Status,
    StormOrder,
    Submission,
    storm_payload,
)
from validators.execution import ExecuteActor, GenesisActor, decode_receipt
from validators.execution.schema import storage_key

FEED, BOT = b"\xb0" * 20, b"\xb1" * 20
GAS = 20_000


def serving(**config):
    """Return an engine with a feed and a bot of Alice's."""
    actors = (
        GenesisActor(FEED, "oracle-feed", ALICE, BALANCE),
        GenesisActor(BOT, "liquidation-bot", ALICE, BALANCE),
        GenesisActor(STORM, "storm-maker", ALICE, BALANCE),
    )
    config = TimerConfig(**({"max_cells_per_fire": 2_000} | config))
    return make_engine(make_genesis(actors=actors, timer_config=config, block_cells=50_000_000))


def status_of(executed, index=0):
    receipt = decode_receipt(executed.receipts[index])
    return Status(receipt.status), receipt.error


def emitted(executed):
    return [(event.topic, event.data) for event in executed.events if isinstance(event, Emitted)]


def be8(number):
    return number.to_bytes(8, "big")


class TestOracleFeed:
    def feeding(self, interval=2):
        engine = serving()
        advance(engine, [order(0, 0, FEED, "start", FeedOrder(interval, GAS))])
        return engine

    def test_it_publishes_the_latest_value_once(self):
        """Of two submissions between updates the later one counts, and an unchanged value is not reported again."""
        engine = self.feeding()
        advance(engine, [order(0, 1, FEED, "submit", Submission(7)), order(0, 2, FEED, "submit", Submission(8))])

        reported = [emitted(advance(engine)) for _ in range(5)]
        assert reported == [[("value", be8(8))], [], [], [], []]

    def test_a_submission_extends_the_pending_update(self):
        """The update may now be late by five intervals from this moment."""
        engine = self.feeding()
        events = advance(engine, [order(0, 1, FEED, "submit", Submission(7))]).events

        assert [(type(event), event.expires_at) for event in events] == [(TimerExtended, 2 + 5 * 2)]

    def test_a_submission_revives_a_feed_whose_update_expired(self):
        """After an outage longer than the update's life the feed rests until a value is submitted."""
        engine = make_engine(make_genesis(timebase="slot", actors=(GenesisActor(FEED, "oracle-feed", ALICE, BALANCE),)))
        advance(engine, [order(0, 0, FEED, "start", FeedOrder(2, GAS))])
        assert advance(engine, after_ms=60_000).summary.expired == 1
        events = advance(engine, [order(0, 1, FEED, "submit", Submission(7))]).events

        assert [type(event) for event in events] == [TimerScheduled]
        advance(engine)
        assert emitted(advance(engine)) == [("value", be8(7))]

    def test_only_the_owner_supplies_it(self):
        """Only its timer publishes."""
        engine = self.feeding()
        executed = advance(
            engine,
            [
                order(1, 0, FEED, "submit", Submission(9)),
                order(1, 1, FEED, "start", FeedOrder(1)),
                order(0, 1, FEED, "handle_timer", None),
            ],
        )

        assert [status_of(executed, index)[1] for index in range(3)] == [
            "not the owner",
            "not the owner",
            "not a timer of this actor",
        ]


class TestLiquidationBot:
    def watching(self, *debts, price=100, interval=5):
        engine = serving()
        calls = [order(1, index, BOT, "open", PositionOrder(10, debt)) for index, debt in enumerate(debts)]
        advance(engine, [*calls, order(0, 0, BOT, "price", PriceOrder(price, interval, GAS))])
        return engine

    def test_it_liquidates_above_nine_tenths_and_leaves_the_rest(self):
        """At a value of 1,000 a debt of 900 stays and one of 901 goes."""
        engine = self.watching(100, 900, 901)

        assert emitted(advance(engine)) == [("liquidated", be8(2))]
        assert engine.database.get(storage_key(BOT, b"p" + be8(1))) is not None
        assert engine.database.get(storage_key(BOT, b"p" + be8(2))) is None

    @pytest.mark.parametrize(("debt", "fires"), [(700, [1, 0, 0, 0, 0, 1]), (701, [1, 1, 1, 1, 1, 1])])
    def test_it_looks_more_often_when_a_position_is_near_its_limit(self, debt, fires):
        """Above seven tenths the next check is one block away, else an interval."""
        engine = self.watching(debt)

        assert [advance(engine).summary.fired for _ in range(6)] == fires

    def test_a_new_price_brings_the_next_check_forward(self):
        """The pending check is cancelled, the new one is due at once, and it finds the position too risky."""
        engine = self.watching(600)
        advance(engine)
        events = advance(engine, [order(0, 1, BOT, "price", PriceOrder(60, 5, GAS))]).events
        assert [type(event) for event in events] == [TimerCancelled, TimerScheduled]

        assert emitted(advance(engine)) == [("liquidated", be8(0))]

    def test_a_check_goes_on_where_the_last_one_ended(self):
        """Sixteen positions a check; the seventeenth is found by the second one, and computing is paid for."""
        engine = self.watching(*[1] * 16, 1_000, interval=1)
        first = advance(engine)

        assert emitted(first) == []
        assert next(it.used_cycles for it in first.events if isinstance(it, TimerFired)) >= 16 * 500
        assert emitted(advance(engine)) == [("liquidated", be8(16))]


class TestStormMaker:
    def storm(self, engine, *, nonce=0, sender=0, count=3, cycles=None, **fields):
        asked = StormOrder(
            **({"count": count, "delay": 1, "not_before": 0, "spread": 1, "ttl": 9, "gas_limit": GAS} | fields)
        )
        call = ExecuteActor(STORM, "make", msgspec.msgpack.encode(asked))
        return advance(engine, [transaction(sender, nonce, call, cells_limit=4_000_000)])

    @pytest.mark.parametrize(
        ("handler", "ok", "cycles"),
        [("", True, 450), ("fail", False, 300), ("spin", False, GAS), ("crash", False, 300)],
    )
    def test_its_timers_call_what_the_order_names(self, handler, ok, cycles):
        """By the JSON convention: fires that succeed, revert, run out of gas and fail; each leaves once."""
        engine = serving()
        self.storm(engine, handler=handler)
        executed = advance(engine)
        fires = [event for event in executed.events if isinstance(event, TimerFired)]

        assert [(fire.ok, fire.used_cycles) for fire in fires] == [(ok, cycles)] * 3
        assert engine.database.get(storage_key(STORM, b"failed")) is None
        assert engine.database.get(storage_key(STORM, b"spun")) is None
        assert advance(engine).summary.fired == 0

    def test_a_fire_that_spends_everything_leaves_the_next_ones_insolvent(self):
        """Timers of one payer settle strictly in order: the second finds nothing, in the same block."""
        engine = serving()
        self.storm(engine, handler="spend")
        executed = advance(engine)

        assert [type(event) for event in executed.events] == [
            Emitted,
            TimerFired,
            TimerCancelledInsufficientFunds,
            TimerCancelledInsufficientFunds,
        ]
        assert executed.events[0].data == be8(0)

    def test_the_sender_pays_where_the_order_says_so(self):
        """The fee payer of each timer is the order's sender."""
        events = self.storm(serving(), sender=1, sender_pays=True).events

        assert [event.fee_payer for event in events] == [BOB] * 3

    def test_its_owner_cancels_what_is_left_and_passes_over_what_is_gone(self):
        """Identifiers can be told in advance: actor, due height, payload, nonce, counter."""
        engine = serving()
        scheduled = [event.timer_id for event in self.storm(engine, delay=3).events]
        wanted = StormOrder(count=3, delay=3, not_before=0, spread=1, ttl=9, gas_limit=GAS)
        assert scheduled == [
            timer_id_of(STORM, 4, storm_payload(wanted, index), 0, counter=index) for index in range(3)
        ]
        some = CancelOrder((scheduled[1], b"gone", scheduled[0]))
        refused = advance(engine, [order(1, 0, STORM, "cancel", some)])
        executed = advance(engine, [order(0, 1, STORM, "cancel", some)])

        assert status_of(refused) == (Status.REVERTED, "not the owner")
        assert [event.timer_id for event in executed.events] == [scheduled[1], scheduled[0]]
        assert advance(engine).summary.fired == 1

    def test_payloads_go_up_to_a_mebibyte(self):
        """The limit itself is taken and fires; wrapped for a handler it is too long."""
        engine = serving()
        self.storm(engine, count=1, payload_size=1_048_576)
        assert advance(engine).summary.fired == 1
        refused = self.storm(engine, nonce=1, count=1, payload_size=1_048_576, handler="fail")

        assert status_of(refused) == (Status.REVERTED, "PayloadTooLarge")

    @pytest.mark.parametrize("handler", ["Fail", "fail\n", "x" * 33, '"'])
    def test_a_handler_that_could_break_the_json_text_is_no_order(self, handler):
        """Letters and underscores only."""
        assert status_of(self.storm(serving(), handler=handler)) == (Status.REVERTED, "not a StormOrder")

    def test_nobody_but_its_timers_makes_it_fail_spin_crash_or_spend(self):
        """A transaction cannot empty another owner's actor."""
        engine = serving()
        names = ("fail", "spin", "crash", "spend")
        executed = advance(engine, [order(0, nonce, STORM, name, None) for nonce, name in enumerate(names)])

        assert [status_of(executed, index)[1] for index in range(4)] == ["not a timer of this actor"] * 4
