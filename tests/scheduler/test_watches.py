"""State-triggered timers: watches, hits and triggers, by the scheduler alone (D-11, Q-52)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import InvalidInput, RunOutcome, TimerFired, TimerTriggered, TooManyWatches, WatchRule
from scheduler.watch_records import HIT, WATCH, WATCH_BOOKS, WATCH_COUNT, WATCH_TABLES, WATCHED_KEY, WATCHER
from tests.support.auction_bench import deferred, fired, held
from tests.support.bias_bench import bias_bench

A, B = (bytes([byte]) * 20 for byte in (0xAA, 0xBB))
X, Y, Z = (bytes([1, byte]) + bytes(30) for byte in (1, 2, 3))
RICH = 10**12


def chain(**own):
    """Return a chain in which two actors are rich and nothing costs anything."""
    bench = bias_bench(own=own)
    bench.ledger.balances.update({A: RICH, B: RICH})
    return bench


def run(bench, height, *changed):
    """Run a block whose transactions have changed these keys; return the identifiers triggered, and the result."""
    bench.changed = changed
    result = bench.run(height)
    bench.changed = ()
    return [event.timer_id for event in result.events if isinstance(event, TimerTriggered)], result


def tables(bench):
    """Return how many entries there are in the tables of watches."""
    return sum(len(bench.state.of(table)) for table in WATCH_TABLES)


class TestHits:
    def test_d11_a_hit_competes_from_the_next_block_on(self):
        bench = chain()
        timer_id = bench.watching(A, X)
        triggered, result = run(bench, 3, X)

        assert (triggered, fired(result), deferred(result)) == ([timer_id], [], {})
        assert (held(result), result.waiting_live) == ({}, 0)
        assert fired(run(bench, 4)[1]) == [timer_id]

    def test_k41_what_a_fire_changes_is_a_hit_of_its_block(self):
        bench = chain()
        timer_id = bench.watching(A, X)
        bench.timer(B, 3)
        bench.changed = ()
        result = bench.run(3, lambda _timer: setattr(bench, "changed", (X,)) or RunOutcome(True, 0, 0, ()))

        assert [type(event) for event in result.events] == [TimerFired, TimerTriggered]
        assert (result.events[1].timer_id, bench.tables.timer(timer_id).due) == (timer_id, 3)

    def test_d11_it_waits_at_the_end_of_the_present_with_its_bid_and_expiry(self):
        bench = chain()
        bench.timer(B, 3)
        timer_id = bench.watching(A, X, bid=70)
        run(bench, 3, X)
        moved = bench.tables.timer(timer_id)

        assert (moved.due, moved.sequence, moved.expires_at) == (3, 1, 100)
        assert bench.escrow.bid(moved) == 70
        assert (tables(bench), bench.escrowed) == (0, (70, 70))

    def test_q52_one_change_triggers_once_whatever_the_timer_watches(self):
        bench = chain()
        timer_id = bench.watching(A, X, Y, Z)

        assert run(bench, 3, X, Y, Z)[0] == [timer_id]
        assert run(bench, 4, X, Y)[0] == []

    def test_q52_a_key_that_did_not_change_triggers_nobody(self):
        bench = chain()
        bench.watching(A, X)

        assert run(bench, 3, Y)[0] == run(bench, 4)[0] == []

    def test_hits_are_worked_off_by_key_and_by_place(self):
        bench = chain()
        first, second, third = bench.watching(A, Y), bench.watching(B, X), bench.watching(A, Y)

        assert run(bench, 3, Y, X)[0] == [second, first, third]

    def test_a_paused_lane_triggers_as_any_other(self):
        bench = bias_bench(config={"execution_lane_paused": True})
        timer_id = bench.watching(A, X)
        triggered, result = run(bench, 3, X)

        assert triggered == [timer_id]
        assert WatchRule.TRIGGERED_WHILE_PAUSED in result.reached
        assert held(run(bench, 4)[1]) == {"lane_full": 1}

    @pytest.mark.parametrize(("height", "is_hit"), [(4, True), (5, False), (6, False)])
    def test_k42_a_hit_that_the_timer_would_not_outlive_triggers_nothing(self, height, is_hit):
        """It would have expired by the next block, which is the first in which it could fire."""
        bench = chain()
        timer_id = bench.watching(A, X, expires_at=5)
        triggered, result = run(bench, height, X)

        assert (triggered, WatchRule.HIT_TOO_LATE in result.reached) == ([timer_id] * is_hit, height == 5)
        assert (len(bench.state.of(WATCH)), bench.state.of(HIT)) == (int(height == 5), [])

    def test_k42_such_a_hit_counts_against_the_limit(self):
        bench = chain(max_triggers_per_block=1)
        bench.watching(A, X, expires_at=3)
        timer_id = bench.watching(A, X)

        assert [run(bench, 3, X)[0], run(bench, 4)[0]] == [[], [timer_id]]


class TestStorms:
    def test_a_block_looks_at_no_more_places_than_it_may(self):
        bench = chain(max_triggers_per_block=2)
        watching = [bench.watching(A, X) for _ in range(5)]

        assert [run(bench, height, *keys)[0] for height, keys in ((3, (X,)), (4, ()), (5, ()), (6, ()))] == [
            watching[:2],
            watching[2:4],
            watching[4:],
            [],
        ]
        assert tables(bench) == 0

    def test_a_place_without_a_timer_counts_as_well(self):
        bench = chain(max_triggers_per_block=1)
        gone, other = bench.watching(A, X), bench.watching(A, X)
        last = bench.watching(A, X)
        run(bench, 3, X)
        bench.policy.cancel(A, other)

        assert [run(bench, height)[0] for height in (4, 5)] == [[], [last]]
        assert gone not in bench.tables.timers

    def test_a_change_while_a_hit_waits_widens_it(self):
        bench = chain(max_triggers_per_block=1)
        bench.watching(A, X)
        old = bench.watching(A, X)
        run(bench, 3, X)
        new = bench.watching(B, X)
        triggered, result = run(bench, 4, X)

        assert (triggered, len(bench.state.of(HIT))) == ([old], 1)
        assert WatchRule.HIT_WIDENED in result.reached
        assert run(bench, 5)[0] == [new]

    def test_who_watches_after_a_hit_is_not_hit_by_it(self):
        """Also where all places before it are free: they are not given anew while a hit looks for them."""
        bench = chain(max_triggers_per_block=1)
        timers = [bench.watching(A, X) for _ in range(3)]
        run(bench, 3, X)
        for timer_id in timers[1:]:
            bench.policy.cancel(A, timer_id)
        late = bench.watching(B, X)

        assert [run(bench, height)[0] for height in (4, 5, 6)] == [[], [], []]
        assert run(bench, 7, X)[0] == [late]

    def test_without_a_limit_above_zero_hits_wait_for_ever(self):
        bench = chain(max_triggers_per_block=0)
        bench.watching(A, X)
        for height in (3, 4, 5):
            assert run(bench, height, X)[0] == []
        assert len(bench.state.of(HIT)) == 1


class TestExits:
    @pytest.mark.parametrize("by", ["owner", "governance", "expiry"])
    def test_every_exit_ends_the_watch(self, by):
        bench = chain()
        timer_id = bench.watching(A, X, Y, expires_at=5, bid=40)
        if by == "owner":
            bench.policy.cancel(A, timer_id)
        elif by == "governance":
            bench.policy.cancel_by_governance(timer_id)
        else:
            assert run(bench, 6)[1].expired == 1

        assert (tables(bench), bench.escrowed, bench.ledger.balance(A)) == (0, (0, 0), RICH)

    def test_the_expired_are_not_revived_by_a_change(self):
        bench = bias_bench(config={"gc_lane_paused": True})
        timer_id = bench.watching(A, X, expires_at=5)
        triggered, result = run(bench, 6, X)

        assert (triggered, result.waiting_dead) == ([], 1)
        assert WatchRule.HIT_TOO_LATE in result.reached
        assert bench.tables.timer(timer_id).due == 6

    def test_a_timer_that_watches_keeps_its_expiry(self):
        bench = chain()
        timer_id = bench.watching(A, X)
        with pytest.raises(InvalidInput, match="while the timer watches"):
            bench.policy.extend(A, timer_id, 50)
        run(bench, 3, X)

        assert bench.policy.extend(A, timer_id, 50).expires_at == 50


class TestCalls:
    @pytest.mark.parametrize(
        ("keys", "words"), [((), "0 keys, 1 to 2"), ((X, Y, Z), "3 keys, 1 to 2"), ((X, X), "stands there twice")]
    )
    def test_keys_that_no_timer_can_watch_are_refused(self, keys, words):
        with pytest.raises(InvalidInput, match=words):
            chain(max_keys_per_watch=2).watching(A, *keys)

    def test_an_actor_watches_with_no_more_timers_than_it_may(self):
        bench = chain(max_watches_per_actor=1)
        bench.watching(A, X)
        bench.watching(B, X)
        with pytest.raises(TooManyWatches, match="1 timers watch, the cap is 1"):
            bench.watching(A, Y)
        run(bench, 3, X)
        bench.watching(A, Y)

    def test_each_key_costs_cells(self):
        bench = chain()
        one, three = (bench.admission_of(A, *keys).index_cells for keys in ((X,), (X, Y, Z)))

        assert three - one == 2 * 64


@given(st.lists(st.tuples(st.integers(0, 5), st.sets(st.sampled_from([X, Y, Z]), min_size=1)), max_size=25))
def test_tables_of_watches_are_those_of_the_timers_that_watch(acts):
    """Invariants of docs/state.md, after whatever was made, cancelled and changed."""
    bench = chain(max_triggers_per_block=3)
    for height, (act, keys) in enumerate(acts, 2):
        watching = [watch.timer_id for watch in bench.state.of(WATCH)]
        if act < 3:
            bench.watching(A if act else B, *sorted(keys), expires_at=height + 9)
        elif act == 3 and watching:
            bench.policy.cancel_by_governance(watching[0])
        run(bench, height, *(keys if act > 2 else ()))
        records = bench.state.of(WATCH)
        places = {(key, at): one.timer_id for one in records for key, at in zip(one.keys, one.sequences, strict=True)}
        books = bench.state.of(WATCH_BOOKS)

        assert {one.timer_id for one in records} <= set(bench.tables.timers)
        assert {(one.key, one.sequence): one.timer_id for one in bench.state.of(WATCHER)} == places
        for watched in bench.state.of(WATCHED_KEY):
            mine = sorted(at for key, at in places if key == watched.key)
            assert (watched.count, watched.head) == (len(mine), mine[0] if mine else watched.tail)
        assert sum(one.watching for one in bench.state.of(WATCH_COUNT)) == len(records)
        assert sum(one.watching for one in books) == len(records)
        assert sum(one.tail - one.head for one in books) == len(bench.state.of(HIT))
