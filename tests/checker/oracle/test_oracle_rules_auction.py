"""A rule of the GBA auction that all validators break alike is named by the oracle, with what differs first."""

import msgspec
import pytest

from scheduler import CalendarProfile, TimerConfig, gba_weights
from scheduler.policies import gba_auction
from tests.support.auction_plans import policies_of_auction, run_auction
from tests.support.chain_harness import BALANCE
from tests.support.lane_plans import AGENT, NARROW, RACERS, race, tell
from tests.support.racers import consult

BUSY, TIDY, POOR, IDLE = RACERS
CONFIG = {"max_gba_calls_per_block": 7, "starvation_deferrals": 4, "starvation_floor": [9, 10], "ema_lambda": [2, 3]}


def order(actor, number, gas_limit):
    """Return an order of a timer that is due in the next block and uses nearly all of its limit."""
    payload = msgspec.msgpack.encode([gas_limit - 210 - number, "ok", []])
    return race(actor, [[1, payload, {"gas_limit": gas_limit, "ttl": 3}, {"gba": AGENT}]])


def crowded_plan():
    """Return blocks in which tips are equal, the lane is too narrow, agents are too many, and one actor rests.

    With equal weights a quarter of the lane is 749 and 3/4 cycles: only a remainder gives the first actor its 750.
    """
    blocks = [([(0, tell(AGENT, msgspec.msgpack.encode([2_000, 7, 0, 0])))], 1_000)]
    for height in range(12):
        wanted = [(0, order(BUSY, number, 750)) for number in range(4)]
        wanted += [(0, order(TIDY, number, 400)) for number in range(2)]
        wanted += [(1, order(POOR, 0, 1_001 if height % 2 else 1_000))]
        wanted += [(1, order(IDLE, 0, 500 + 10 * height))] if height < 2 or height > 9 else []
        blocks.append((wanted, 1_000))
    return [*blocks, ([], 1_000), ([], 1_000)]


@pytest.fixture
def judge():
    def run():
        timers = TimerConfig(**NARROW | {"lane_timer_cycles": 2_999})
        policies = policies_of_auction(CONFIG)
        made = run_auction(
            crowded_plan(),
            policies=policies,
            timer_config=timers,
            calendar=CalendarProfile(epoch_length=3),
            funds=(BALANCE,) * 4,
        )
        return consult(*made)

    return run


def test_the_oracle_agrees_with_the_chain_as_it_is(judge):
    assert judge().status == "passed"


def unfloored(monkeypatch):
    step = gba_weights.step_weight
    monkeypatch.setattr(gba_weights, "step_weight", lambda *about, **_starved: step(*about))


def undecayed(monkeypatch):
    decay = gba_weights.decay
    monkeypatch.setattr(gba_weights, "decay", lambda weight, _steps, config: decay(weight, 0, config))


def by_the_greatest_identifier(monkeypatch):
    rank = gba_auction.rank_of

    def reversed_ties(contender, tie_break="id"):
        *before, timer_id = rank(contender, tie_break)
        return *before, bytes(255 - byte for byte in timer_id)

    monkeypatch.setattr(gba_auction, "rank_of", reversed_ties)


def without_remainders(monkeypatch):
    def rounded_down(budget, weights):
        return {actor: budget * weight // sum(weights.values()) for actor, weight in weights.items()}

    monkeypatch.setattr(gba_auction, "share_out", rounded_down)


def from_the_first_on(monkeypatch):
    ask = gba_auction.next_to_ask
    monkeypatch.setattr(
        gba_auction, "next_to_ask", lambda live, _cursor, *about, **rest: ask(live, None, *about, **rest)
    )


def without_slices(monkeypatch):
    monkeypatch.setattr(gba_auction, "share_out", lambda _budget, weights: dict.fromkeys(weights, 0))


BREAKS = (unfloored, undecayed, by_the_greatest_identifier, without_remainders, from_the_first_on, without_slices)


@pytest.mark.parametrize("break_rule", BREAKS)
def test_a_broken_rule_is_named(break_rule, judge, monkeypatch):
    """All of them let another timer fire, and the oracle names the first one; a weight decides in its own block."""
    break_rule(monkeypatch)
    result = judge()

    assert result.status == "failed"
    assert dict(result.evidence)["what"] == "receipts"
    assert "TimerFired of timer" in result.summary
