"""State-triggered timers on a chain: what counts as a change, forks, restarts, and chains without them."""

import msgspec
import pytest

from scheduler import LaneConfig, TimerConfig, TimerFired, TimerTriggered
from scheduler.bias_records import BiasConfig
from scheduler.watch_records import TriggerConfig
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    BOB,
    advance,
    make_engine,
    make_genesis,
    pay,
    policies_of,
    propose,
    receipt,
    transaction,
)
from validators.execution import ExecuteActor, GenesisActor, PolicyEntry
from validators.execution.block_tree import ApplyMode
from validators.execution.schema import account_key, long_storage_key, storage_key

FEED, WATCHER = b"\xfe" * 20, b"\xfd" * 20
LONG = b"a key of some length"


def lane(*, is_on):
    """Return the lane as policies of a chain, with the switch of state triggers on or off."""
    own = msgspec.msgpack.encode(LaneConfig())
    both = msgspec.msgpack.encode([own, msgspec.msgpack.encode(TriggerConfig())])
    return (PolicyEntry(1, "eip1559", both if is_on else own),)


def chain(policies=None, **mode):
    """Return an engine with a feed that holds a value, and an actor whose timers watch."""
    actors = (
        GenesisActor(FEED, "script-actor", ALICE, BALANCE, ((b"price", b"1"), (LONG, b"1"))),
        GenesisActor(WATCHER, "script-actor", BOB, BALANCE),
    )
    own = policies or policies_of("bias-auction", lane=BiasConfig())
    config = TimerConfig(max_cells_per_fire=2_000)
    return make_engine(make_genesis(policies=own, actors=actors, timer_config=config), apply_mode=ApplyMode(**mode))


def run(sender, nonce, actor, *steps, patience=0):
    payload = msgspec.msgpack.encode([steps, patience])
    return transaction(sender, nonce, ExecuteActor(actor, "run", payload))


def watch(nonce, *watched, payload=b"", ttl=50):
    return run(1, nonce, WATCHER, ("watch", b"w", watched, payload, None, 5_000, ttl))


def script(*steps):
    """Return steps as what a fire or a message runs."""
    return msgspec.msgpack.encode([steps, 0])


def triggered(executed):
    return [event.key for event in executed.events if isinstance(event, TimerTriggered)]


def fires(executed):
    return sum(isinstance(event, TimerFired) for event in executed.events)


class TestChanges:
    @pytest.mark.parametrize(
        ("watched", "step", "key"),
        [
            ([FEED, b"price"], ("put", b"price", b"2"), storage_key(FEED, b"price")),
            ([FEED, LONG], ("put", LONG, b"2"), long_storage_key(FEED, LONG)),
            ([FEED, b"price"], ("delete", b"price"), storage_key(FEED, b"price")),
            ([FEED, b"new"], ("put", b"new", b""), storage_key(FEED, b"new")),
            ([FEED, None], ("pay", BOB, 5), account_key(FEED)),
            ([b"\x55" * 20, None], ("pay", b"\x55" * 20, 5), account_key(b"\x55" * 20)),
        ],
    )
    def test_a_value_that_differs_triggers(self, watched, step, key):
        engine = chain()
        advance(engine, [watch(0, watched)])
        hit = advance(engine, [run(0, 0, FEED, step)])

        assert (triggered(hit), fires(hit), fires(advance(engine))) == ([key], 0, 1)

    @pytest.mark.parametrize(
        "steps",
        [
            [("put", b"price", b"1")],
            [("put", b"price", b"2"), ("put", b"price", b"1")],
            [("delete", b"price"), ("put", b"price", b"1")],
            [("put", b"other", b"2")],
        ],
    )
    def test_a_value_that_is_as_before_triggers_nobody(self, steps):
        engine = chain()
        advance(engine, [watch(0, [FEED, b"price"])])

        assert triggered(advance(engine, [run(0, 0, FEED, *steps)])) == []

    def test_a_call_that_reverts_changes_nothing(self):
        engine = chain()
        advance(engine, [watch(0, [FEED, b"price"])])

        assert triggered(advance(engine, [run(0, 0, FEED, ("put", b"price", b"2"), ("fail", "no"))])) == []


class TestWriters:
    """K-41: one comparison of the block's end with its start, whoever wrote."""

    @pytest.mark.parametrize("policies", [None, lane(is_on=True)])
    @pytest.mark.parametrize(
        ("step", "delay"),
        [
            (("put", b"price", b"2"), 0),
            (("schedule", b"t", 1, script(("put", b"price", b"2")), None, 5_000), 1),
            (("send", FEED, "run", script(("put", b"price", b"2")), 5_000), 0),
        ],
        ids=["call", "fire", "message"],
    )
    def test_a_change_wakes_its_watchers_in_its_block_whoever_made_it(self, policies, step, delay):
        engine = chain(policies)
        advance(engine, [watch(0, [FEED, b"price"])])
        blocks = [advance(engine, [run(0, 0, FEED, step)]), *(advance(engine) for _ in range(delay + 1))]

        assert [triggered(block) for block in blocks] == [[]] * delay + [[storage_key(FEED, b"price")], []]
        assert fires(blocks[-1]) == 1

    @pytest.mark.parametrize("watched", [FEED, b"\xef" * 20], ids=["payer", "proposer"])
    def test_what_a_fire_pays_is_a_change_of_a_balance(self, watched):
        engine = chain()
        advance(engine, [run(0, 0, FEED, ("schedule", b"t", 2, b"", None, 5_000, None, [None] * 4 + [500]))])
        advance(engine, [watch(0, [watched, None])])

        assert triggered(advance(engine, proposer=1)) == [account_key(watched)]

    def test_a_value_that_a_fire_puts_back_is_no_change(self):
        engine = chain()
        back = script(("put", b"price", b"1"))
        advance(engine, [watch(0, [FEED, b"price"]), run(0, 0, FEED, ("schedule", b"t", 1, back, None, 5_000))])
        block = advance(engine, [run(0, 1, FEED, ("put", b"price", b"2"))])

        assert (fires(block), triggered(block)) == (1, [])

    def test_who_stops_watching_in_a_fire_is_not_triggered_in_its_block(self):
        engine = chain()
        stop = script(("cancel", b"w"))
        advance(engine, [watch(0, [FEED, b"price"]), run(1, 1, WATCHER, ("schedule", b"t", 1, stop, None, 5_000))])
        block = advance(engine, [run(0, 0, FEED, ("put", b"price", b"2"))])

        assert (fires(block), triggered(block)) == (1, [])


@pytest.mark.parametrize(("ttl", "outcome"), [(0, (0, 0, 1)), (1, (0, 0, 1)), (2, (1, 1, 0))])
def test_k42_a_change_as_a_watch_runs_out_comes_to_nothing(ttl, outcome):
    """The change comes a block after the watch has begun; who is too old for it expires, and never waits for a fire."""
    engine = chain()
    advance(engine, [watch(0, [FEED, b"price"], ttl=ttl)])
    blocks = [advance(engine, [run(0, 0, FEED, ("put", b"price", b"2"))]), advance(engine)]

    expired = sum(block.summary.expired for block in blocks)
    assert (sum(len(triggered(block)) for block in blocks), sum(map(fires, blocks)), expired) == outcome


class TestBranches:
    def test_a_hit_holds_on_its_own_branch_alone(self):
        """A bucket that the hit alone has made is found again by the block's children."""
        engine = chain()
        advance(engine, [watch(0, [FEED, b"price"])])
        hit = propose(engine, [run(0, 0, FEED, ("put", b"price", b"2"))])
        other = propose(engine, [pay(0, 0, BOB, 1)], skipped_views=1)

        assert fires(propose(engine, parent=hit.digest)) == 1
        assert fires(propose(engine, parent=other.digest)) == 0
        engine.finalize(other.digest)
        again = advance(engine, [run(0, 1, FEED, ("put", b"price", b"2"))])
        assert (triggered(again), fires(advance(engine))) == ([storage_key(FEED, b"price")], 1)

    def test_what_was_triggered_is_found_in_the_state_alone(self):
        kept, rebuilt = chain(), chain(rebuild_indexes_every=1)
        blocks = [watch(0, [FEED, b"price"])], [run(0, 0, FEED, ("put", b"price", b"2"))], []

        assert [fires(advance(rebuilt, block)) for block in blocks] == [0, 0, 1]
        assert [fires(advance(kept, block)) for block in blocks] == [0, 0, 1]
        assert kept.database.canonical_root == rebuilt.database.canonical_root

    @pytest.mark.parametrize("policies", [None, lane(is_on=True)])
    def test_derived_values_are_those_of_the_state_in_every_block(self, policies):
        """The bucket that the hit makes is due already: no height of the calendar announces it."""
        engine = chain(policies)
        advance(engine, [watch(0, [FEED, b"price"])])
        advance(engine, [run(0, 0, FEED, ("put", b"price", b"2"))])
        found = [engine.audit().deviations]
        advance(engine)

        assert [*found, engine.audit().deviations] == [(), ()]


class TestSwitch:
    def test_timers_of_the_lane_watch_where_it_is_on(self):
        engine = chain(lane(is_on=True))
        advance(engine, [watch(0, [FEED, b"price"])])
        hit = advance(engine, [run(0, 0, FEED, ("put", b"price", b"2"))])

        assert (len(triggered(hit)), fires(hit), fires(advance(engine))) == (1, 0, 1)

    @pytest.mark.parametrize("policies", [lane(is_on=False), policies_of("fifo")])
    def test_without_it_nothing_can_be_watched(self, policies):
        refused = advance(chain(policies), [watch(0, [FEED, b"price"])])

        assert receipt(refused).error == "InvalidInput"
