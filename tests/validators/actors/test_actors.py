"""Actors: what a host lets a program do, what it costs, and the two built-in programs."""

import contextlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import InvalidInput, TimerCancelled, TimerConfig, TimerExtended, TimerFired, TimerScheduled
from tests.support.scheduler_doubles import Bench
from validators.actors import (
    PROGRAMS,
    Actor,
    Emitted,
    Frame,
    Heartbeat,
    HeartbeatOrder,
    Host,
    Meter,
    OutOfGas,
    Revert,
    Status,
    StormMaker,
    StormOrder,
    call_handler,
)

ACTOR, SENDER, OWNER, OTHER = (bytes([index]) * 20 for index in (0xA1, 0xB2, 0x99, 0xC3))


def make_host(bench=None, *, sender=SENDER, cycles=10**6, cells=10**6):
    meter = Meter(cycles, cells)
    return Host(bench or Bench(), Frame(ACTOR, sender, bytes(32), 4), meter), meter


def call(bench, program, handler, payload=b"", *, sender=SENDER):
    meter = Meter(10**9, 10**9)
    return call_handler(program, bench, Frame(ACTOR, sender, bytes(32), 0), meter, handler=handler, payload=payload)


class TestMeter:
    def test_limits_are_inclusive_and_never_exceeded(self):
        """Exactly the limit may be used; one more ends the call and counts all cycles as used."""
        meter = Meter(10, 5)
        meter.use(10, 5)

        with pytest.raises(OutOfGas):
            meter.use(0, 1)
        assert (meter.cycles, meter.cells, meter.exhausted) == (10, 5, True)

    def test_exhausted_stays_exhausted(self):
        """After OutOfGas not even a free action goes through."""
        meter = Meter(10, 5)
        with pytest.raises(OutOfGas):
            meter.use(11)

        with pytest.raises(OutOfGas):
            meter.use(0)
        assert meter.cycles == 10


class TestHost:
    @pytest.mark.parametrize(
        ("act", "cycles", "cells"),
        [
            (lambda host: host.get(b"k"), 50, 0),
            (lambda host: host.put(b"key", b"value"), 100, 8),
            (lambda host: host.delete(b"k"), 50, 0),
            (lambda host: host.balance(), 50, 0),
            (lambda host: host.balance(OTHER), 50, 0),
            (lambda host: host.transfer(OTHER, 0), 100, 0),
            (lambda host: host.emit("topic", b"abc"), 50, 8),
            (lambda host: host.send(OTHER, "h", b"abc", 1_000), 200 + 1_000, 3 + 1_000),
            (lambda host: host.compute(77), 77, 0),
            # A record of 108 bytes without its payload, its place of 35, a bucket of 5, and their three keys.
            (lambda host: host.schedule_timer(9, bytes(30)), 200, 30 + 108 + 35 + 5 + 3 * 32),
            (lambda host: (host.height, host.now, host.sender, host.actor, host.owner), 0, 0),
        ],
    )
    def test_each_action_costs_what_the_table_says(self, act, cycles, cells):
        """docs/chain.md, what it costs."""
        host, meter = make_host()
        act(host)

        assert (meter.cycles, meter.cells) == (cycles, cells)

    def test_timer_calls_are_priced_by_the_configuration(self):
        """Schedule, extend and cancel cost what TimerConfig says."""
        bench = Bench(TimerConfig(schedule_cycles=1, extend_cycles=10, cancel_cycles=100))
        host, meter = make_host(bench)
        timer = host.schedule_timer(9, b"")
        assert host.extend_timer(timer, 50) == 50
        host.cancel_timer(timer)

        assert meter.cycles == 111
        assert [type(event) for event in host.events] == [TimerScheduled, TimerExtended, TimerCancelled]

    def test_an_action_beyond_the_limit_does_not_happen(self):
        """Metering comes first."""
        bench = Bench()
        host, _ = make_host(bench, cells=7)

        with pytest.raises(OutOfGas):
            host.put(b"key", b"value")
        assert bench.storage == {}

    @pytest.mark.parametrize(
        "act",
        [
            lambda host: host.get("text"),
            lambda host: host.put(b"k", bytearray(b"v")),
            lambda host: host.put(b"k", 7),
            lambda host: host.delete(None),
            lambda host: host.balance(b"short"),
            lambda host: host.transfer(b"\x01" * 21, 0),
            lambda host: host.transfer(OTHER, -1),
            lambda host: host.transfer(OTHER, True),
            lambda host: host.transfer(OTHER, 1.5),
            lambda host: host.compute(-1),
            lambda host: host.emit("\ud800"),
            lambda host: host.send(b"short", "h", b"", 300),
            lambda host: host.send(OTHER, b"h", b"", 300),
            lambda host: host.send(OTHER, "\ud800", b"", 300),
            lambda host: host.send(OTHER, "h", "text", 300),
            lambda host: host.send(OTHER, "h", b"", -1),
            lambda host: host.send(OTHER, "h", b"", True),
            lambda host: host.emit(b"bytes"),
            lambda host: host.schedule_timer(2**63, b""),
            lambda host: host.schedule_timer(9, "text"),
            lambda host: host.schedule_timer(9, b"", gas_limit=-1),
            lambda host: host.schedule_timer(9, b"", expires_at=2**64),
            lambda host: host.schedule_timer(9, b"", fee_payer=b""),
            lambda host: host.cancel_timer(7),
        ],
    )
    def test_a_value_of_the_wrong_kind_is_refused_and_writes_nothing(self, act):
        """A record can never come to hold what its table does not say."""
        bench = Bench()
        bench.ledger.balances[ACTOR] = 100
        host, _ = make_host(bench)

        with pytest.raises(InvalidInput):
            act(host)
        assert (bench.storage, bench.tables.timers, bench.ledger.balances) == ({}, {}, {ACTOR: 100})

    def test_a_transfer_moves_what_is_there_and_no_more(self):
        """A program cannot spend what it does not have."""
        bench = Bench()
        bench.ledger.balances[ACTOR] = 100
        host, _ = make_host(bench)
        host.transfer(OTHER, 60)

        with pytest.raises(Revert):
            host.transfer(OTHER, 41)
        assert bench.ledger.balances == {ACTOR: 40, OTHER: 60}


class Troubled(Actor):
    """Fails in every way there is."""

    handlers = ("fine", "text", "surrogate", "bug", "deep", "swallow")

    def fine(self, payload):
        self.host.emit("fine", payload)

    def text(self, payload):
        raise Revert("x" * 1_000)

    def surrogate(self, payload):
        raise Revert("\ud800")

    def bug(self, payload):
        return {}["no such key"]

    def deep(self, payload):
        self.deep(payload)

    def swallow(self, payload):
        for _ in range(3):
            try:
                self.host.compute(10**9 + 1)
            except OutOfGas:
                continue

    def unlisted(self, payload):
        self.host.put(b"reached", b"")


class TestCalls:
    @pytest.mark.parametrize(
        ("handler", "status", "error"),
        [
            ("fine", Status.OK, ""),
            ("text", Status.REVERTED, "x" * 128),
            ("surrogate", Status.REVERTED, "?"),
            ("bug", Status.FAULT, ""),
            ("deep", Status.FAULT, ""),
            ("swallow", Status.OUT_OF_GAS, "OutOfGas"),
            ("unlisted", Status.REVERTED, "UnknownHandler"),
            ("__init__", Status.REVERTED, "UnknownHandler"),
        ],
    )
    def test_every_way_to_end_has_its_status(self, handler, status, error):
        """No exception of a program gets out, and only stated reasons get into the result."""
        result = call(Bench(), Troubled, handler)

        assert (result.status, result.error) == (status, error)
        assert bool(result.events) == (status is Status.OK)
        assert result.cycles == (10**9 if status is Status.OUT_OF_GAS else 250 if handler == "fine" else 200)

    def test_calling_costs_before_anything_runs(self):
        """A limit below the price of a call ends it at once."""
        bench, meter = Bench(), Meter(199, 10)
        result = call_handler(Troubled, bench, Frame(ACTOR, SENDER, bytes(32), 0), meter, handler="fine", payload=b"")

        assert (result.status, result.cycles) == (Status.OUT_OF_GAS, 199)

    @given(st.sampled_from(sorted(PROGRAMS)), st.data(), st.binary(max_size=60))
    def test_no_payload_breaks_a_built_in_program(self, name, data, payload):
        """Whatever bytes a call brings, a built-in program returns or reverts, unless it is made to end otherwise."""
        program = PROGRAMS[name]
        handler = data.draw(st.sampled_from([it for it in program.handlers if it not in ("crash", "spin")]))
        sender = data.draw(st.sampled_from((ACTOR, SENDER, OWNER)))

        assert call(Bench(), program, handler, payload, sender=sender).status in (Status.OK, Status.REVERTED)


class TestHeartbeat:
    def beating(self, interval=3):
        bench = Bench()
        bench.programs[ACTOR] = Heartbeat
        assert call(bench, Heartbeat, "start", msgspec.msgpack.encode(HeartbeatOrder(interval))).status is Status.OK
        return bench

    def beats(self, bench):
        return int.from_bytes(bench.storage.get((ACTOR, b"beats"), b""), "big")

    def test_it_beats_at_its_interval_and_counts(self):
        """Each beat schedules the next one from the present."""
        bench = self.beating()
        fired = [height for height in range(1, 14) if bench.run(height, bench.run_timer).fired]

        assert fired == [3, 6, 9, 12]
        assert self.beats(bench) == 4

    def test_after_an_outage_it_goes_on_from_the_present(self):
        """A late beat is one beat, and the next follows an interval later."""
        bench = self.beating()
        bench.run(100, bench.run_timer)

        assert [timer.due for timer in bench.tables.timers.values()] == [103]

    def test_starting_again_replaces_the_pending_beat(self):
        """There is never more than one beat pending, and a heart whose beat was lost can start again."""
        bench = self.beating()
        start = msgspec.msgpack.encode(HeartbeatOrder(7))
        call(bench, Heartbeat, "start", start)
        assert [timer.due for timer in bench.tables.timers.values()] == [7]

        bench.tables.timers.clear()
        assert call(bench, Heartbeat, "start", start).status is Status.OK
        assert len(bench.tables.timers) == 1

    def test_only_the_owner_stops_it_and_only_a_timer_makes_it_beat(self):
        """Strangers can neither stop the heart nor beat it."""
        bench = self.beating()

        assert call(bench, Heartbeat, "stop").status is Status.REVERTED
        assert call(bench, Heartbeat, "handle_timer").status is Status.REVERTED
        assert call(bench, Heartbeat, "stop", sender=OWNER).status is Status.OK
        assert not bench.tables.timers
        assert call(bench, Heartbeat, "stop", sender=OWNER).error == "does not beat"


class TestStormMaker:
    def make(self, **fields):
        bench = Bench()
        bench.programs[ACTOR] = StormMaker
        order = StormOrder(**({"count": 5, "delay": 2, "not_before": 0, "spread": 2, "ttl": 4} | fields))
        result = call(bench, StormMaker, "make", msgspec.msgpack.encode(order))
        return bench, result, list(bench.tables.timers.values())

    def test_the_timers_are_those_of_the_order(self):
        """Due heights go round the spread; each expires its time to live after it is due."""
        _, result, timers = self.make(gas_limit=900, payload_size=10)

        assert result.status is Status.OK
        assert [timer.due for timer in timers] == [2, 3, 2, 3, 2]
        assert [timer.expires_at - timer.due for timer in timers] == [4] * 5
        assert [timer.payload for timer in timers] == [bytes([0] * 7 + [index, 0, 0]) for index in range(5)]
        assert all(timer.gas_limit == 900 for timer in timers)

    def test_not_before_sets_the_first_due_height(self):
        """An order can aim at a height, wherever its transaction lands."""
        assert [timer.due for timer in self.make(not_before=50, spread=3)[2]] == [50, 51, 52, 50, 51]

    def test_an_offset_goes_on_round_the_same_spread(self):
        """An order can go on where another one ended, within the same times."""
        assert [timer.due for timer in self.make(not_before=50, spread=3, offset=5)[2]] == [52, 50, 51, 52, 50]

    @pytest.mark.parametrize(
        "change", [{"count": 0}, {"count": 10_001}, {"spread": 0}, {"delay": 0}, {"payload_size": 1_048_577}]
    )
    def test_an_order_out_of_bounds_reverts(self, change):
        """An invalid order is refused before anything is scheduled."""
        bench, result, _ = self.make(**change)

        assert (result.status, result.error) == (Status.REVERTED, "not a StormOrder")
        assert not bench.tables.timers

    def test_a_fire_writes_a_little(self):
        """Each fire counts and remembers the payload's first bytes."""
        bench, _, _ = self.make(payload_size=10)
        events = bench.run(3, bench.run_timer).events

        assert sum(isinstance(event, TimerFired) and event.ok for event in events) == 5
        assert bench.storage[ACTOR, b"fired"] == (5).to_bytes(8, "big")
        assert bench.storage[ACTOR, b"last"] == (3).to_bytes(8, "big")

    def test_only_the_owner_withdraws(self):
        """Withdrawing leaves the actor, and with it its timers, without funds."""
        bench, _, _ = self.make()
        bench.ledger.balances[ACTOR] = 70

        assert call(bench, StormMaker, "withdraw").status is Status.REVERTED
        assert call(bench, StormMaker, "handle_timer").status is Status.REVERTED
        assert call(bench, StormMaker, "withdraw", sender=OWNER).status is Status.OK
        assert bench.ledger.balances == {ACTOR: 0, OWNER: 70}


def test_an_emitted_event_names_its_actor():
    """An event cannot be emitted in another actor's name."""
    host, _ = make_host()
    host.emit("topic", b"data")

    assert host.events == [Emitted(ACTOR, "topic", b"data")]


class Peeking(Actor):
    """Reads, and tries to change what it may only read."""

    handlers = ("read", "write", "swallow")

    def read(self, payload: bytes) -> bytes:
        self.host.get(b"k")
        self.host.balance()
        self.host.compute(7)
        return payload

    def write(self, payload: bytes) -> None:
        VERBS[payload.decode()](self.host)

    def swallow(self, payload: bytes) -> bytes:
        with contextlib.suppress(Revert):
            self.write(payload)
        return b"answer"


VERBS = {
    "put": lambda host: host.put(b"k", b"v"),
    "delete": lambda host: host.delete(b"k"),
    "transfer": lambda host: host.transfer(OTHER, 0),
    "emit": lambda host: host.emit("topic"),
    "schedule": lambda host: host.schedule_timer(9, b""),
    "extend": lambda host: host.extend_timer(bytes(32), 9),
    "cancel": lambda host: host.cancel_timer(bytes(32)),
    "send": lambda host: host.send(OTHER, "h", b"", 300),
}


class TestReadOnlyCalls:
    def ask(self, handler, payload):
        frame = Frame(ACTOR, SENDER, bytes(32), 0, is_read_only=True)
        return call_handler(Peeking, Bench(), frame, Meter(1_000, 0), handler=handler, payload=payload)

    def test_one_that_only_reads_answers(self):
        """The handler's return value is the answer."""
        result = self.ask("read", b"bid")

        assert (result.status, result.answer, result.cycles) == (Status.OK, b"bid", 200 + 50 + 50 + 7)

    @pytest.mark.parametrize("verb", sorted(VERBS))
    @pytest.mark.parametrize("handler", ["write", "swallow"])
    def test_one_that_would_change_something_fails(self, handler, verb):
        """The call fails also if the program goes on, and at no further cost."""
        result = self.ask(handler, verb.encode())

        assert (result.status, result.error, result.answer) == (Status.REVERTED, "read-only", b"")
        assert result.cycles == 200
