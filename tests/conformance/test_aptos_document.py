"""The tests of AIP-125's own code, each by its number in our list of them: Move unit tests, then end-to-end ones.

Time starts at 1,000 ms, a slot lasts a millisecond. What the code calls ready is what a paused lane leaves waiting.
"""

import sys

import pytest

from scheduler import TimerConfig, TimerFired
from scheduler.aptos_keys import map_key
from scheduler.aptos_records import DEPOSITS, QUEUE_ENTRY, ServiceState, Token
from scheduler.aptos_rules import Insertion, check_insertion, settle_deposit
from scheduler.errors import (
    EAUTH_NUM_MISMATCH,
    EAUTH_NUM_NOT_FOUND,
    EAUTH_TOKEN_EXPIRED,
    EAUTH_TOKEN_INSUFFICIENT_DURATION,
    ECANCEL_TOO_LATE,
    EINVALID_PAUSE_ATTEMPT,
    EINVALID_SIGNER,
    EINVALID_TIME,
    EINVALID_UNPAUSE_ATTEMPT,
    EUNAVAILABLE,
    UnknownTimer,
)
from tests.support.chain_harness import ALICE, advance, do, make_engine, make_genesis, policies_of
from tests.support.queue_bench import QueueBench, config_of, failed, fired

A, B, OWNER = (bytes([byte]) * 20 for byte in (0xAA, 0xBB, 0x99))
FUNDS = 10**8
CASES = range(1, 29)

OPEN, PAUSED = TimerConfig(max_cells_per_fire=0), TimerConfig(max_cells_per_fire=0, execution_lane_paused=True)


def queue(profile="latest", **own):
    """Return a chain of a profile at 1,000 ms, and an actor with the funds of the code's tests."""
    bench = QueueBench({"profile": profile, **own}, slot_ms=1, config=OPEN)
    bench.ledger.balances.update({A: FUNDS, B: FUNDS})
    bench.at_ms(1_000)
    return bench


def ready(bench, now_ms, **own):
    """Return how many entries are ready at a time, with none run, and the exits of that block."""
    before = bench.own, bench.config
    bench.own, bench.config = config_of({"profile": bench.own.profile, **own}), PAUSED
    result = bench.run(now_ms)
    bench.own, bench.config = before
    return result.waiting_live, failed(result)


def shut_down(bench):
    """Shut the queue down in batches, and return how many entries each found."""
    bench.opened.control("start_shutdown", 0)
    found = []
    while bench.opened.status is ServiceState.SHUTDOWN_IN_PROGRESS:
        found.append(len(failed(bench.opened.control("continue_shutdown", 0))))
    return found


@pytest.mark.parametrize("profile", ["latest", "early"])
def test_case_01_basic(profile):
    bench = queue(profile)
    first = {price: bench.insert(A, 2_000, price=price, gas=100) for price in (200, 300, 100)}
    for gas in (1_000, 100, 200):
        bench.insert(A, 4_000, price=200, gas=gas)
    last = [bench.insert(A, 8_000, price=200, gas=gas) for gas in (100, 200)]
    assert (bench.keys, ready(bench, 1_000)[0], ready(bench, 3_000)[0]) == (8, 0, 3)
    assert fired(bench.run(3_000)) == [first[300], first[200], first[100]]
    assert ready(bench, 5_000)[0] == 3
    assert bench.keys == 5
    bench.own = config_of({"profile": profile, "ready_limit": 2})
    assert bench.run(5_000).fired == 2
    assert ready(bench, 5_001)[0] == 1
    assert bench.keys == 3
    for entry in last:
        bench.opened.cancel_by_governance(entry)
    assert bench.keys == 1

    waiting, expired = ready(bench, 4_000 + 10_000 + 1_000)
    # In `latest` an entry is found expired when it runs; in `early` the prologue removes it.
    assert (waiting, list(expired.values())) == ((1, []) if profile == "latest" else (0, ["Expired"]))
    assert shut_down(bench) == [1 if profile == "latest" else 0]
    assert (bench.keys, bench.held) == (0, 0)


def test_case_02_insert_past_time():
    with pytest.raises(EINVALID_TIME) as error:
        queue().insert(A, 900)
    assert error.value.code == 65538


def test_case_03_insert_wrong_user():
    with pytest.raises(EINVALID_SIGNER) as error:
        queue().insert(A, 2_000, fee_payer=B)
    assert error.value.code == 327681


def test_case_04_cancel_wrong_user():
    bench = queue()
    entry = bench.insert(A, 100_000)
    with pytest.raises(EINVALID_SIGNER) as error:
        bench.cancel(B, entry)
    assert error.value.code == 327681


def test_case_05_insert_when_stopped():
    bench = queue()
    bench.opened.control("start_shutdown", 0)
    with pytest.raises(EUNAVAILABLE) as error:
        bench.insert(A, 2_000)
    assert error.value.code == 851971


def test_case_06_exceeding_limits():
    bench = queue()
    for number in range(500):
        bench.insert(A, 2_000 + number, gas=100)
    assert ready(bench, 2_500)[0] == 500
    dues = {timer.timer_id: timer.due for timer in bench.tables.timers.values()}
    taken = [dues[entry] for entry in fired(bench.run(2_500))]
    assert (len(taken), taken) == (100, sorted(taken))

    other = queue()
    for number in range(500):
        other.insert(A, 2_000 + number, gas=100)
    assert shut_down(other) == [200, 200, 100]
    other.opened.control("re_initialize", 0)
    assert other.insert(A, 3_000)


def test_case_06_exceeding_limits_early():
    bench = queue("early")
    for number in range(5_000):
        bench.insert(A, 2_000 + number % 3, gas=100)
    assert shut_down(bench)[:2] == [2_000, 2_000]

    bench.opened.control("re_initialize", 0)
    for _ in range(1_001):
        bench.insert(A, 2_000, gas=100)
    assert bench.run(2_000).fired == 1_000


def test_case_07_pause_unpause_flow():
    bench = queue()
    entry = bench.insert(A, 2_000)
    states = [bench.opened.status]
    for action in ("pause", "unpause"):
        bench.opened.control(action, 0)
        states.append(bench.opened.status)

    assert states == [ServiceState.ACTIVE, ServiceState.PAUSED, ServiceState.ACTIVE]
    assert fired(bench.run(2_000)) == [entry]


def test_case_08_pause_twice():
    bench = queue()
    bench.opened.control("pause", 0)
    with pytest.raises(EINVALID_PAUSE_ATTEMPT) as error:
        bench.opened.control("pause", 0)
    assert error.value.code == 196619


def test_case_09_unpause_when_active():
    with pytest.raises(EINVALID_UNPAUSE_ATTEMPT) as error:
        queue().opened.control("unpause", 0)
    assert error.value.code == 196620


def test_case_10_insert_while_paused():
    bench = queue()
    bench.opened.control("pause", 0)
    with pytest.raises(EUNAVAILABLE) as error:
        bench.insert(A, 2_000)
    assert error.value.code == 851971


def test_case_11_insert_with_a_token_that_is_reused():
    bench = queue(token_lifetime_ms=11_000)
    for _ in range(2):
        bench.insert(A, 2_000)
    entries = bench.state.of(QUEUE_ENTRY)

    assert [entry.token for entry in entries] == [Token(True, 12_000, 1)] * 2
    assert {int.from_bytes(entry.key[:8], "big") for entry in entries} == {2_000}


def test_case_12_cancel_by_key():
    bench = queue()
    bench.insert(A, 21_000, price=300)
    (queued,) = bench.state.of(QUEUE_ENTRY)

    assert bench.opened.cancel(A, bench.key).key == queued.key == bench.key
    assert bench.keys == 0


def test_case_13_cancel_by_parts():
    """A key that is made of time, price and identifier is the one that the insertion returned."""
    bench = queue()
    entry = bench.insert(A, 21_000, price=300)

    assert bench.opened.cancel(A, map_key(21_000, 300, entry)).txn_id == entry
    assert bench.keys == 0


def insertion(token, scheduled_ms=2_000):
    return Insertion(ServiceState.ACTIVE, True, scheduled_ms, 1_000, 200, 100, token, 1)


def test_case_14_token_has_expired():
    with pytest.raises(EAUTH_TOKEN_EXPIRED) as error:
        check_insertion(insertion(Token(True, 0, 1)), config_of({"profile": "latest"}))
    assert error.value.code == 65551


def test_case_15_token_expires_before_the_time():
    with pytest.raises(EAUTH_TOKEN_INSUFFICIENT_DURATION) as error:
        queue(token_lifetime_ms=999).insert(A, 2_000)
    assert error.value.code == 65551


def test_case_16_token_with_another_number():
    with pytest.raises(EAUTH_NUM_MISMATCH) as error:
        check_insertion(insertion(Token(True, 9_000, 1 + 5)), config_of({"profile": "latest"}))
    assert error.value.code == 65552


def test_case_17_cancel_all_of_a_sender_without_a_number():
    with pytest.raises(EAUTH_NUM_NOT_FOUND) as error:
        queue().opened.cancel_all(OWNER, A, OWNER)
    assert error.value.code == 196609


def test_case_18_reschedule_with_a_token_that_allows_it():
    bench = queue()
    bench.insert(A, 2_000, b"first")
    bench.inside[b"first"] = lambda: bench.insert(A, 3_000, b"second")
    bench.run(2_100)

    assert (bench.keys, bench.marked) == (2, 1)


def test_case_19_reschedule_with_a_token_that_forbids_it():
    bench, refused = queue(token_reschedules=False), []
    bench.insert(A, 2_000, b"first")

    def reschedule():
        with pytest.raises(EAUTH_NUM_MISMATCH) as error:
            bench.insert(A, 3_000)
        refused.append(error.value.code)

    bench.inside[b"first"] = reschedule
    bench.run(2_100)
    assert refused == [65552]


def test_case_20_gas_calculations():
    bench = queue(base_gas=0)
    bench.insert(A, 2_000, b"one", price=200, gas=100)
    assert bench.ledger.balance(A) == FUNDS - 20_000
    bench.insert(A, 2_000, b"two", price=300, gas=100)
    assert bench.ledger.balance(A) == FUNDS - 50_000
    first, second = settle_deposit(20_000, 200, 50, 10), settle_deposit(30_000, 290, 50, 2_000)
    assert (first.returned + first.minted, second.returned + second.minted) == (10_000 + 10, 15_500 + 2_000)
    early = settle_deposit(3_000, 20, 50, 2_000)
    assert (early.returned, early.minted) == (3_000, 1_000)

    bench.used = {b"one": 50, b"two": 50}
    assert bench.run(2_000).burned == 50 * 200 + 50 * 300
    assert bench.ledger.balance(A) == FUNDS - 25_000
    ready(bench, 2_001)
    assert (bench.keys, shut_down(bench), bench.held) == (0, [0], 0)


def test_case_20_self_rescheduling_in_early():
    bench = queue("early")
    bench.insert(A, 2_000, b"again", price=200, gas=100)
    bench.inside[b"again"] = lambda: bench.insert(A, 4_000, b"once", price=200, gas=100)
    bench.run(2_000)
    assert (ready(bench, 2_001)[0], bench.keys, ready(bench, 4_000)[0]) == (0, 1, 1)
    assert (shut_down(bench), bench.held) == ([1], 0)


def test_case_21_cancel_all():
    bench = queue()
    entries = [bench.insert(A, 2_000 + number) for number in range(3)]
    assert (bench.number(A), bench.opened.cancel_all(OWNER, A, OWNER).number, bench.keys) == (1, 2, 3)
    result = bench.run(2_000)

    assert (fired(result), failed(result)) == ([], {entries[0]: "AuthExpired"})


def test_case_22_basic_execute():
    """All pay the gas that they used; scheduling itself is paid by the transactions."""
    bench = queue("early")
    entries = [bench.insert(A, 2_000, bytes([price // 100]), price=price, gas=10_000) for price in (300, 300, 200)]
    assert bench.ledger.balance(A) == FUNDS - 10_000 * (300 + 300 + 200)
    bench.used = {b"\x03": 40, b"\x02": 70}
    result = bench.run(2_000)

    assert sorted(fired(result)) == sorted(entries)
    assert bench.ledger.balance(A) == FUNDS - 40 * 300 - 40 * 300 - 70 * 200


def test_case_23_user_func_abort():
    bench = queue()
    entry = bench.insert(A, 2_000, b"x")
    bench.fails = [b"x"]
    result = bench.run(2_000)

    assert (fired(result), failed(result), bench.held) == ([entry], {entry: "Failed"}, 0)


def test_case_24_run_then_cancel():
    """Just before it runs it is too late in `latest`; afterwards there is nothing to cancel, in any profile."""
    bench = queue()
    entry = bench.insert(A, 2_000)
    with pytest.raises(ECANCEL_TOO_LATE) as error:
        bench.cancel(A, entry)
    assert error.value.code == 65549
    bench.run(2_000)
    with pytest.raises(UnknownTimer):
        bench.cancel(A, entry)


def test_case_25_cancel_then_run():
    bench = queue()
    entry = bench.insert(A, 21_000)
    bench.cancel(A, entry)
    result = bench.run(21_000)

    assert (fired(result), failed(result), bench.ran) == ([], {}, [])


def test_case_26_cancel_without_execution():
    bench = queue()
    entry = bench.insert(A, 21_000, price=300, gas=10_000)
    held = bench.held
    bench.cancel(A, entry)

    assert (held, bench.held, bench.ledger.balance(A)) == (3_000_000, 0, FUNDS)


def test_case_27_what_an_entry_may_not_do_aborts_it():
    """There a module is published; here, where programs are not published, units go to the reserved address."""
    genesis = make_genesis(
        timebase="slot",
        policies=policies_of("aptos", lane=config_of({"profile": "latest"})),
        timer_config=TimerConfig(max_cells_per_fire=2_000),
        system_deployers=(ALICE,),
    )
    engine = make_engine(genesis)
    advance(engine, [do(0, 0, ["timer", 1, [["pay", DEPOSITS, 5]], 20_000])])
    ran = advance(engine)

    (event,) = [event for event in ran.events if isinstance(event, TimerFired)]
    assert (event.ok, list(failed(ran.events).values())) == (False, ["Failed"])


def test_case_28_reschedule_from_inside():
    """And a queue drains as many at a time as a block takes."""
    bench = queue("aip")
    bench.insert(A, 2_000, b"first")
    bench.inside[b"first"] = lambda: bench.insert(A, 2_001, b"second")
    assert [bench.run(now).fired for now in (2_000, 2_001)] == [1, 1]
    for _ in range(250):
        bench.insert(A, 3_000)
    assert [bench.run(3_000 + block).fired for block in range(4)] == [100, 100, 50, 0]


def test_every_case_has_a_test():
    names = [name for name in vars(sys.modules[__name__]) if name.startswith("test_case_")]

    assert sorted({int(name.split("_")[2]) for name in names}) == list(CASES)
