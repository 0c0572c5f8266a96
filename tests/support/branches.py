"""Executed branches of a chain with hardly any room."""

from hypothesis import strategies as st

from scheduler import TimerConfig
from tests.support.chain_harness import (
    HEART,
    POOR,
    PUPPET,
    SENDERS,
    STORM,
    do,
    make_genesis,
    order,
    pay,
)
from validators.actors import HeartbeatOrder, StormOrder
from validators.execution import decode_entry

TIGHT = TimerConfig(
    max_cells_per_fire=50,
    max_timers_per_actor=12,
    gc_cycles_per_block=400,
    lane_timer_cycles=1_200,
    max_cycles_per_fire=900,
    max_ttl_blocks=20,
)


def tight_genesis(timebase="slot"):
    return make_genesis(timer_config=TIGHT, timebase=timebase)


def derived(engine):
    """Return what the engine derives: due heights, and the waiting set of the next block far ahead."""
    return engine.due_heights(10**9)


def assert_state(engine, supply):
    """Check every invariant of docs/state.md on the finalized state, from its entries alone."""
    entries = [decode_entry(key, value) for key, value in engine.database.items()]
    by_table = {}
    for entry in entries:
        by_table.setdefault(entry.table, []).append(entry)
    held = sum(entry.record.balance for entry in by_table["account"])
    assert held + by_table["burned"][0].record.total == supply

    timers = {entry.record.timer_id: entry.record for entry in by_table.get("timer", ())}
    places = {entry.identity: entry.record.timer_id for entry in by_table.get("bucket entry", ())}
    assert {(timer.due, timer.sequence): timer.timer_id for timer in timers.values()} == places
    buckets = {entry.identity[0]: entry.record for entry in by_table.get("bucket", ())}
    sequences = {}
    for due, sequence in places:
        sequences.setdefault(due, []).append(sequence)
    assert sorted(buckets) == sorted(sequences)
    for due, bucket in buckets.items():
        assert (bucket.head, bucket.count) == (min(sequences[due]), len(sequences[due]))
        assert max(sequences[due]) < bucket.tail
    owners = [timer.actor for timer in timers.values()]
    for entry in by_table.get("timer counts", ()):
        assert entry.record.live == owners.count(entry.identity[0]) <= entry.record.scheduled
        assert entry.record.live <= TIGHT.max_timers_per_actor
    assert all(timer.actor in {e.identity[0] for e in by_table["timer counts"]} for timer in timers.values())
    assert engine.due_heights(10**9) == sorted(buckets)


STEP = st.one_of(
    st.tuples(st.just("put"), st.binary(max_size=14), st.binary(max_size=20)),
    st.tuples(st.just("delete"), st.binary(max_size=14)),
    st.tuples(st.just("pay"), st.sampled_from((*SENDERS, POOR, HEART)), st.integers(0, 10**10)),
    st.tuples(st.just("emit"), st.text(max_size=5)),
    st.tuples(st.just("compute"), st.sampled_from((100, 500, 800, 2_000))),
    st.just(("revert", "no")),
    st.just(("crash",)),
    st.just(("cancel_last",)),
    st.tuples(st.just("extend_last"), st.integers(0, 60)),
)


TIMER = st.tuples(
    st.just("timer"),
    st.integers(1, 4),
    st.lists(STEP, max_size=2),
    st.integers(100, 900),
    st.integers(0, 4),
)


STEPS = st.lists(st.one_of(STEP, TIMER, TIMER), max_size=5)


ACTION = st.one_of(
    st.tuples(st.just("pay"), st.integers(0, 3), st.sampled_from((*SENDERS, POOR, PUPPET)), st.integers(0, 10**10)),
    st.tuples(st.just("do"), st.integers(0, 3), st.sampled_from((PUPPET, POOR)), STEPS),
    st.tuples(st.just("do"), st.integers(0, 3), st.sampled_from((PUPPET, POOR)), STEPS),
    st.tuples(st.just("storm"), st.integers(0, 3), st.integers(4, 12), st.integers(0, 2)),
    st.tuples(st.just("drain"), st.integers(0, 3)),
    st.tuples(st.just("beat"), st.integers(0, 3), st.integers(1, 3)),
)


BLOCK = st.tuples(st.lists(ACTION, max_size=4), st.sampled_from((1_000, 1, 2_000, 6_000)))


def build(actions, nonces):
    """Turn drawn actions into transactions that continue the nonces given."""
    transactions = []
    nonces = dict(nonces)
    for kind, sender, *arguments in actions:
        nonce = nonces.get(sender, 0)
        nonces[sender] = nonce + 1
        if kind == "pay":
            transactions.append(pay(sender, nonce, *arguments))
        elif kind == "do":
            actor, steps = arguments
            transactions.append(do(sender, nonce, *map(list, steps), actor=actor))
        elif kind == "storm":
            count, ttl = arguments
            storm = StormOrder(count=count, delay=1, not_before=0, spread=2, ttl=ttl, gas_limit=800, payload_size=4)
            transactions.append(order(sender, nonce, STORM, "make", storm))
        elif kind == "drain":
            transactions.append(order(sender, nonce, STORM, "withdraw", None))
        else:
            transactions.append(order(sender, nonce, HEART, "start", HeartbeatOrder(arguments[0], 900)))
    return transactions, nonces
