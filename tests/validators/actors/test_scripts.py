"""The script actor: engine and oracle agree on any script, in a call, a fire, a message and an agent's answer."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.workloads.boundary.scripts import script_of
from scheduler import MAX_U63, TimerConfig
from tests.support.chain_harness import (
    ALICE,
    BALANCE,
    BOB,
    in_lane,
    make_engine,
    make_genesis,
    policies_of,
    propose,
    stored,
    transaction,
)
from tests.support.properties import examples
from tests.support.puppets import consult
from validators.actors import Status
from validators.execution import ExecuteActor, GenesisActor, decode_receipt

CLERK, OTHER = b"\xc8" * 20, b"\xc9" * 20
CONFIG = TimerConfig(
    max_ttl_blocks=9,
    max_cycles_per_fire=5_000,
    max_cells_per_fire=300,
    max_timers_per_actor=4,
    lane_timer_cycles=8_000,
    gc_cycles_per_block=600,
)
LANE = in_lane(2, ring_size=2, epoch_length=3, epoch_horizon=1, fairness_window_blocks=2, gba_call_cycles=900)

addresses = st.sampled_from([CLERK, OTHER, ALICE, BOB, bytes(20), bytes(19) + b"\x0f", b"\x77" * 20, b"short", b""])
keys = st.sampled_from([b"", b"k", b"a", b"b", b"0123456789", b"0123456789-", b"script"])
numbers = st.sampled_from([-1, 0, 1, 2, 199, 200, 700, 3_000, 5_000, 5_001, BALANCE, MAX_U63, MAX_U63 + 1])
times = st.sampled_from([-1, 0, 1, 1, 2, 2, 3, 5, 9, 10, 40, MAX_U63])
texts = st.sampled_from(["", "run", "note", "handle_timer", "_run", "\u00e9" * 129, "x" * 256, "x" * 257])


def terms(agents):
    fees = st.sampled_from([None, None, 0, 799, 800, 900, 1_600, MAX_U63])
    tiers = st.sampled_from([None, None, None, "fast", "economy", "none"])
    bids = st.sampled_from([None, None, None, None, 3])
    return st.one_of(st.just([]), st.tuples(fees, fees), st.tuples(fees, fees, tiers, agents, bids))


def steps_of(payloads):
    agents = st.sampled_from([None, None, CLERK, OTHER, b"\x77" * 20])
    limits = st.sampled_from([None, 1_500, 3_000, 5_000, 5_001, -1])
    payers = st.sampled_from([None, None, None, ALICE, CLERK, b"\x77" * 20, b"short"])
    timers = st.tuples(keys, times, payloads, payers, limits, st.one_of(st.none(), times), terms(agents))
    return st.one_of(
        st.tuples(st.just("put"), keys, payloads),
        st.tuples(st.just("copy"), keys, keys),
        st.tuples(st.just("delete"), keys),
        st.tuples(st.just("weigh"), keys, st.one_of(st.none(), addresses)),
        st.tuples(st.just("read"), keys, st.one_of(st.none(), addresses)),
        st.tuples(st.just("pay"), addresses, numbers),
        st.tuples(st.just("tell"), texts, st.just(b"data")),
        st.tuples(st.just("compute"), numbers),
        st.tuples(st.just("fail"), texts),
        timers.map(lambda timer: ("schedule", *timer)),
        timers.map(lambda timer: ("schedule", *timer)),
        st.tuples(st.just("extend"), keys, times),
        st.tuples(st.just("cancel"), keys),
        st.tuples(st.just("hand"), keys, addresses, numbers),
        st.tuples(st.just("send"), addresses, texts, payloads, numbers),
    )


def scripts_of(steps):
    return st.builds(lambda steps, patience: script_of(*steps, patience=patience), steps, st.integers(0, 2))


plain = st.sampled_from([b"", b"data", b"\xc1", b'{"_handler":"note","_payload":"YWJj"}'])
inner = scripts_of(st.lists(steps_of(plain), max_size=3))
scripts = scripts_of(st.lists(steps_of(st.one_of(plain, inner)), max_size=8))
chains = st.fixed_dictionaries(
    {
        "timebase": st.sampled_from(["slot", "height"]),
        "policy": st.sampled_from(["fifo", "fifo-free", "eip1559", "eip1559"]),
    }
)
plans = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from([CLERK, CLERK, OTHER]), scripts), max_size=3),
        st.sampled_from([1_000, 3_000]),
    ),
    min_size=2,
    max_size=6,
)


def genesis_of(*, policy="fifo", **changes):
    actors = (GenesisActor(CLERK, "script-actor", ALICE, BALANCE), GenesisActor(OTHER, "script-actor", ALICE, 0))
    rules = LANE if policy == "eip1559" else {"policies": policies_of(policy)}
    limits = {"block_cycles": 900_000, "mailbox_cycles": 5_000, "timer_config": CONFIG}
    return make_genesis(actors=actors, **limits, **rules, **changes)


def run(plan, **changes):
    """Run blocks of (actor, script) and return genesis, engine and chain."""
    genesis = genesis_of(**changes)
    engine = make_engine(genesis)
    chain, nonce = [], 0
    for wanted, after_ms in plan:
        calls = [
            transaction(0, nonce + index, ExecuteActor(actor, "run", script), cycles_limit=60_000)
            for index, (actor, script) in enumerate(wanted)
        ]
        executed = propose(engine, calls, after_ms=after_ms)
        engine.finalize(executed.digest)
        chain.append(executed)
        nonce += len(executed.block.transactions)
    return genesis, engine, chain


@examples(60)
@given(plans, chains)
def test_engine_and_oracle_agree_on_random_scripts(plan, chain):
    genesis, _, blocks = run(plan, **chain)

    result = consult(genesis, blocks)

    assert result.status == "passed", result.summary


def receipts_of(*steps, patience, actor=CLERK):
    _, engine, chain = run([([(actor, script_of(*steps, patience=patience))], 1_000)])
    return engine, decode_receipt(chain[0].receipts[0])


def test_without_patience_the_first_refusal_ends_a_script():
    engine, receipt = receipts_of(("put", b"a", b"1"), ("cancel", b"none"), ("put", b"b", b"2"), patience=0)

    assert (Status(receipt.status), receipt.error) == (Status.REVERTED, "UnknownTimer")
    assert stored(engine, CLERK, b"a") is None


def test_with_patience_a_script_goes_on_behind_a_refusal():
    engine, receipt = receipts_of(("cancel", b"none"), ("fail", "no"), ("put", b"b", b"2"), patience=1)

    assert Status(receipt.status) is Status.OK
    assert stored(engine, CLERK, b"b") == b"2"


def test_no_patience_saves_a_call_that_passed_its_limit():
    engine, receipt = receipts_of(("compute", MAX_U63), ("put", b"b", b"2"), patience=2)

    assert (Status(receipt.status), receipt.cycles) == (Status.OUT_OF_GAS, 60_000)
    assert stored(engine, CLERK, b"b") is None


@pytest.mark.parametrize("payload", [b"", b"\xc1", b"\x90", b"\x91\x91\x91\xa3put", b"\x91\x91\x91\xa4none"])
def test_what_is_no_script_reverts(payload):
    _, _, chain = run([([(CLERK, payload)], 1_000)])

    assert decode_receipt(chain[0].receipts[0]).error == "not a Script"


def test_a_script_has_at_most_sixty_four_steps():
    steps = [("put", b"k", b"")] * 65

    assert receipts_of(*steps, patience=0)[1].error == "not a Script"
    assert receipts_of(*steps[1:], patience=0)[1].error == ""


def test_a_timer_runs_the_script_that_is_its_payload():
    order = ("schedule", b"t", 1, script_of(("put", b"k", b"fired")), None, 3_000)
    _, engine, _ = run([([(CLERK, script_of(order))], 1_000), ([], 1_000)])

    assert stored(engine, CLERK, b"k") == b"fired"
    assert msgspec.msgpack.decode(stored(engine, CLERK, b"fired"))[1] == 1


def test_a_timer_of_another_actor_is_out_of_reach():
    handing = script_of(("schedule", b"t", 5, b"", None, 3_000), ("hand", b"t", OTHER, 900))
    reaching = script_of(("cancel", b"noted"), patience=0)
    _, _, chain = run([([(CLERK, handing)], 1_000), ([(OTHER, reaching)], 1_000)])

    assert decode_receipt(chain[1].receipts[0]).error == "Unauthorized"
