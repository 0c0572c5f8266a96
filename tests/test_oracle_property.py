"""Random chains of hostile programs: engine and oracle come to the same receipts, changes and roots in every block.

The programs of the chain are tame, so the puppet of the other tests is restated for the oracle: it does whatever its
payload says, in a transaction or when a timer fires.
"""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.oracle import blocks as oracle_blocks
from checker.oracle import programs as oracle_programs
from checker.oracle.calls import OutOfGasError, RevertedError
from cluster.judge import consult_oracle
from scheduler import TimerConfig
from tests.chain_harness import (
    ALICE,
    BOB,
    CAROL,
    DAVE,
    HEART,
    POOR,
    PUPPET,
    STORM,
    advance,
    do,
    make_engine,
    make_genesis,
    pay,
    propose,
)
from tests.chain_harness import order as call_with
from validators.actors import HeartbeatOrder, StormOrder

TIGHT = TimerConfig(
    max_ttl_blocks=6,
    max_cycles_per_fire=1_500,
    max_cells_per_fire=60,
    max_timers_per_actor=5,
    gc_cycles_per_block=400,
    lane_timer_cycles=2_500,
)


def play(call, payload):
    """Do what a payload says: the oracle's puppet."""
    for verb, *arguments in msgspec.msgpack.decode(payload)[0]:
        VERBS[verb](call, *arguments)


def swallow(call, cycles):
    try:
        call.gas.use(cycles)
    except OutOfGasError:
        call.events.clear()


def revert(call, reason):
    raise RevertedError(reason)


def schedule(call, delay, steps, gas_limit=None, ttl=None, payer=None):
    expires_at = None if ttl is None else call.now + delay + ttl
    payload = msgspec.msgpack.encode([steps])
    timer_id = call.schedule(call.now + delay, payload, gas_limit=gas_limit, expires_at=expires_at, fee_payer=payer)
    call.put(b"last", timer_id)


def cancel_last(call):
    try:
        call.cancel(call.get(b"last") or bytes(32))
    except RevertedError as error:
        call.emit(str(error), b"")


VERBS = {
    "put": lambda call, key, value: call.put(key, value),
    "delete": lambda call, key: call.delete(key),
    "pay": lambda call, to, amount: call.transfer(to, amount),
    "emit": lambda call, topic: call.emit(topic, b"data"),
    "compute": lambda call, cycles: call.gas.use(cycles),
    "revert": revert,
    "swallow": swallow,
    "timer": schedule,
    "cancel_last": cancel_last,
    "extend_last": lambda call, expires_at: call.extend(call.get(b"last") or bytes(32), expires_at),
}

addresses = st.sampled_from([ALICE, BOB, CAROL, DAVE, HEART, STORM, PUPPET, POOR, bytes(20), bytes(19) + b"\x0f"])
keys = st.sampled_from([b"", b"k", b"0123456789", b"a key that is longer than ten bytes"])
plain_steps = st.one_of(
    st.tuples(st.just("put"), keys, st.binary(max_size=12)),
    st.tuples(st.just("delete"), keys),
    st.tuples(st.just("pay"), addresses, st.sampled_from([0, 1, 10**6, 10**13, 2**63 - 1])),
    st.tuples(st.just("emit"), st.sampled_from(["", "topic", "\u00e9"])),
    st.tuples(st.just("compute"), st.sampled_from([0, 1, 300, 900, 10**6])),
    st.tuples(st.just("revert"), st.sampled_from(["", "no", "x" * 200])),
    st.tuples(st.just("swallow"), st.sampled_from([100, 10**6])),
    st.tuples(st.just("cancel_last")),
    st.tuples(st.just("extend_last"), st.integers(0, 30)),
)


def timers_of(steps):
    return st.tuples(
        st.just("timer"),
        st.sampled_from([1, 2, 1, 3, 0]),
        st.lists(steps, max_size=3),
        st.sampled_from([1_200, None, 700, 1_500, 0, 1_501]),
        st.sampled_from([None, 1, 0, 3, 9]),
        st.sampled_from([None, None, ALICE, PUPPET, POOR, bytes(19) + b"\x0f"]),
    )


changes_of_last = st.one_of(
    st.tuples(st.just("cancel_last")), st.tuples(st.just("extend_last"), st.integers(2, 30)), st.just(("revert", "no"))
)
steps = st.one_of(plain_steps, timers_of(plain_steps), timers_of(st.one_of(plain_steps, timers_of(plain_steps))))
limits = st.sampled_from([{}, {"cycles_limit": 1_500}, {"cells_limit": 400}, {"max_fee_per_cycle": 801}])
calls = st.one_of(
    st.builds(
        lambda wanted, actor, changes: lambda sender, nonce: do(sender, nonce, *wanted, actor=actor, **changes),
        st.one_of(
            st.lists(steps, min_size=1, max_size=4),
            st.tuples(timers_of(changes_of_last), changes_of_last).map(list),
            st.lists(timers_of(changes_of_last), min_size=1, max_size=3),
        ),
        st.sampled_from([PUPPET, POOR, HEART, b"\x77" * 20]),
        limits,
    ),
    st.builds(
        lambda to, amount, changes: lambda sender, nonce: pay(sender, nonce, to, amount, **changes),
        addresses,
        st.sampled_from([0, 5, 10**12, 10**13]),
        limits,
    ),
    st.builds(
        lambda interval, gas: (
            lambda sender, nonce: call_with(sender, nonce, HEART, "start", HeartbeatOrder(interval, gas))
        ),
        st.integers(0, 2),
        st.sampled_from([0, 700, 1_400]),
    ),
    st.builds(
        lambda count, spread, ttl: (
            lambda sender, nonce: call_with(sender, nonce, STORM, "make", StormOrder(count, 1, 0, spread, ttl, 600, 4))
        ),
        st.integers(1, 6),
        st.integers(1, 2),
        st.integers(0, 7),
    ),
    st.sampled_from(["stop", "withdraw", "none"]).map(
        lambda handler: (
            lambda sender, nonce: call_with(sender, nonce, HEART if handler == "stop" else STORM, handler, None)
        )
    ),
)
plans = st.lists(
    st.tuples(st.lists(st.tuples(st.integers(0, 3), calls), max_size=4), st.sampled_from([1_000, 1_500, 4_000])),
    min_size=3,
    max_size=9,
)


def run_engine(plan, timebase):
    """Run a plan and return genesis and the finalized blocks."""
    genesis = make_genesis(timer_config=TIGHT, timebase=timebase, block_cycles=900_000)
    engine = make_engine(genesis)
    nonces = [0, 0, 0, 0]
    chain = []
    for index, (wanted, after_ms) in enumerate(plan):
        transactions = []
        for sender, make in wanted:
            transactions.append(make(sender, nonces[sender]))
            nonces[sender] += 1
        executed = propose(engine, transactions, after_ms=after_ms, proposer=index % 2)
        engine.finalize(executed.digest)
        chain.append(executed)
        if len(executed.block.transactions) < len(transactions):
            # One did not fit; those after it of the same sender would not either.
            break
    return genesis, chain


def consult(genesis, chain):
    """Ask an oracle that knows the puppet and takes every signature for valid, as the harness's engine does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(oracle_programs.PROGRAMS, "puppet", {"do": play, "handle_timer": play})
        patch.setattr(oracle_blocks, "_is_signed", lambda _transaction: True)
        return consult_oracle(genesis, chain)


@settings(max_examples=60, deadline=None)
@given(plans, st.sampled_from(["slot", "height"]))
def test_engine_and_oracle_agree_on_random_chains(plan, timebase):
    """Every status, most errors of the scheduler, both exits for the dead, both timebases."""
    result = consult(*run_engine(plan, timebase))

    assert result.status == "passed", result.summary


def agree_on(*blocks):
    """Run blocks of transactions by the engine, let the oracle agree, and return all receipts as text."""
    genesis = make_genesis(timer_config=TIGHT)
    engine = make_engine(genesis)
    chain = [advance(engine, transactions) for transactions in blocks]
    result = consult(genesis, chain)
    assert result.status == "passed", result.summary
    return str([msgspec.msgpack.decode(receipt) for executed in chain for receipt in executed.receipts])


def test_they_agree_on_a_timer_that_is_too_late_to_cancel():
    """It is collected in the block in which another fire asks for it."""
    told = agree_on([do(0, 0, ("timer", 1, [["cancel_last"]]), ("timer", 1, []))], [])

    assert "AlreadyCollected" in told


def test_they_agree_on_an_extension_that_is_clamped():
    """Six blocks from now is the longest time to live."""
    told = agree_on([do(0, 0, ("timer", 1, [], 1_200, 0), ("extend_last", 100))], [], [])

    assert "[7, b" in told
    assert ", 7]]" in told


def test_they_agree_on_payers_that_a_fire_before_them_made_insolvent():
    """The first fire gives away what the others need: two of them are removed, the last one waits for the GC lane."""
    give = [["pay", CAROL, 1_900_000 - 1_008_000]]
    timers = [("timer", 1, give, 1_200)] + [("timer", 1, [], 1_200)] * 3
    told = agree_on([pay(0, 0, POOR, 1_900_000), do(1, 0, *timers, actor=POOR)], [], [])

    assert told.count("[1, [4, b") == 3
    assert told.count("[1, [1, b") == 1


def test_they_agree_on_a_program_that_goes_on_after_its_limit():
    """Swallowing the exception gains nothing."""
    told = agree_on([do(0, 0, ("swallow", 10**6)), do(0, 1, ("timer", 1, [["swallow", 10**6]]))], [])

    assert told.count("OutOfGas") == 1
