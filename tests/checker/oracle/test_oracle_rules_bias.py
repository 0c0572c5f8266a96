"""A rule of the bias auction that all validators break alike is named by the oracle, with what differs first."""

import msgspec
import pytest

from scheduler import TimerConfig
from scheduler.bias_selection import Walk
from scheduler.bias_waits import WaitClock
from scheduler.escrow import Escrow
from scheduler.policies import bias_auction
from tests.support.bias_plans import policies_of_bias, run_bias
from tests.support.chain_harness import BALANCE
from tests.support.lane_plans import NARROW, RACERS, race
from tests.support.racers import consult

BUSY, TIDY, POOR, LARGE = RACERS
CONFIG = {"max_fires_per_actor": 2, "max_fires_per_block": 3, "lambda_window_blocks": 3, "bias_lambda": 700_000}


def order(actor, bid, gas_limit, ttl):
    """Return an order of a timer that is due in the next slot."""
    payload = msgspec.msgpack.encode([bid, "ok", []])
    return race(actor, [[1, payload, {"gas_limit": gas_limit, "ttl": ttl}, {"bid": bid} if bid else {}]])


def crowded_plan():
    """Return blocks, some of which serve several slots, with runner-ups, capped actors and bids that expire."""
    blocks = []
    for height in range(9):
        wanted = [(0, order(BUSY, bid, 700, 9)) for bid in (200, 150, 120)]
        wanted += [(0, order(TIDY, 91 + height, 400, 2)), (1, order(POOR, 0, 1_000, 4))]
        wanted += [(1, order(LARGE, 190, 1_500, 4))]
        blocks.append((wanted, 3_000 if height % 2 else 1_000))
    return [*blocks, ([], 1_000), ([], 4_000)]


@pytest.fixture
def judge():
    def run():
        timers = TimerConfig(**NARROW | {"lane_timer_cycles": 2_200})
        chain = {"policies": policies_of_bias(CONFIG), "timer_config": timers, "timebase": "slot"}
        return consult(*run_bias(crowded_plan(), funds=(BALANCE,) * 4, **chain))

    return run


def test_the_oracle_agrees_with_the_chain_as_it_is(judge):
    assert judge().status == "passed"


def rounded_up(monkeypatch):
    def payment(winner, runner_up, *, rule, reserve):
        paid = pay(winner, runner_up, rule=rule, reserve=reserve)
        return min(winner.bid, paid + (paid > reserve))

    pay = bias_auction.payment
    monkeypatch.setattr(bias_auction, "payment", payment)


def priced_by_the_capped(monkeypatch):
    visit = Walk.visit

    def visit_all(walk, one, can_pay):
        if walk.is_capped(one.timer.actor):
            walk.runner_up = walk.runner_up or one
        visit(walk, one, can_pay)

    monkeypatch.setattr(Walk, "visit", visit_all)


def waited_in_slots(monkeypatch):
    def first_slot(clock, timer):
        return clock._moment.height - clock._moment.now + timer.due

    monkeypatch.setattr(WaitClock, "first_height", first_slot)


def kept_bids(monkeypatch):
    monkeypatch.setattr(Escrow, "give_back", lambda _escrow, _timer: None)


def late_windows(monkeypatch):
    close = bias_auction.close_books
    monkeypatch.setattr(
        bias_auction, "close_books", lambda *about, height, **rest: close(*about, height=height - 1, **rest)
    )


def uncapped(monkeypatch):
    monkeypatch.setattr(Walk, "is_capped", lambda _walk, _actor: False)


BREAKS = {
    rounded_up: ("receipts", "TimerFired"),
    priced_by_the_capped: ("receipts", "TimerFired"),
    waited_in_slots: ("receipts", "TimerFired"),
    kept_bids: ("changes", "account"),
    late_windows: ("receipts", "BiasWindowClosed"),
    uncapped: ("receipts", "TimerFired"),
}


@pytest.mark.parametrize("break_rule", BREAKS)
def test_a_broken_rule_is_named(break_rule, judge, monkeypatch):
    break_rule(monkeypatch)
    result = judge()
    what, word = BREAKS[break_rule]

    assert result.status == "failed"
    assert dict(result.evidence)["what"] == what, result.summary
    assert word in result.summary
