"""Insolvent timers of the lane, at the exact boundary, and the events that report them."""

from scheduler import (
    LaneConfig,
    PoolRules,
    RunOutcome,
    TimerCancelledInsufficientFunds,
    TimerFired,
    WaitingPool,
)
from scheduler.types import Quote, Timer
from tests.support.lane_doubles import LaneBench, free

PAYER, GIVER = b"\x01" * 20, b"\x02" * 20


def offer(bench, gas_limit, *, tip=0, nonce=0):
    """Schedule a timer that is due in block 1."""
    return bench.bid(PAYER, 1, fee=1_600, tip=tip, gas_limit=gas_limit, nonce=nonce)[0].timer_id


def exits(result):
    return [(type(event), event.timer_id) for event in result.events]


def test_a_payer_with_exactly_the_cost_fires_beside_a_dearer_timer():
    """The dearer one makes the lane look at each timer of the payer by itself; what costs all it has is covered."""
    bench = LaneBench(free(), basefee=800)
    bench.ledger.balances[PAYER] = 1_000 * (800 + 7)
    exact, dearer = offer(bench, 1_000, tip=7), offer(bench, 1_001, tip=7, nonce=1)
    result = bench.run(1)

    assert exits(result) == [(TimerCancelledInsufficientFunds, dearer), (TimerFired, exact)]


def test_the_dearest_timer_of_a_payer_decides_whether_each_is_looked_at():
    """It is removed before anything fires, although the cheapest one is covered and goes first in the auction."""
    bench = LaneBench(free(), basefee=800)
    bench.ledger.balances[PAYER] = 100_000 * 800
    cheap, dear = offer(bench, 1_000, tip=5), offer(bench, 200_000, nonce=1)
    result = bench.run(1)

    assert exits(result) == [(TimerCancelledInsufficientFunds, dear), (TimerFired, cheap)]


def test_a_pool_taken_back_to_the_expiry_itself_holds_the_timer_as_live():
    """At `expires_at` a timer is live still, whichever way the present came there."""
    pool = WaitingPool(PoolRules(gas_limit_cap=9, default_gas_limit=9, legacy_max_fee=9, is_by_age=False))
    pool.add(Timer(bytes(32), PAYER, 1, 0, b"", "tick", PAYER, 5, False, 10, Quote(1, 0)))
    pool.advance(11)
    assert list(pool.expired) == [bytes(32)]
    pool.advance(10)

    assert (list(pool.expired), list(pool.payers)) == ([], [PAYER])


def test_an_insolvency_states_the_balance_that_decided():
    """Short at the start of the phase, given units before its turn: it does not fire, and the event says why."""
    bench = LaneBench(free(), LaneConfig(classification="cursor", gc_scan_per_block=0), basefee=800)
    bench.ledger.balances = {PAYER: 10, GIVER: 10**9}
    bench.bid(GIVER, 1, fee=1_600, tip=9, gas_limit=1_000)
    poor = offer(bench, 1_000)

    def give(timer):
        bench.ledger.credit(PAYER, 10**12)
        return RunOutcome(True, 0, 0, ())

    assert bench.run(1, give).events[-1] == TimerCancelledInsufficientFunds(poor, PAYER, 800_000, 10)
