"""A rule of the timer lane that the oracle reads otherwise is a difference: each of them is felt by what is compared.

The chains are the engine's; the oracle is the one that errs, which is the same to the judge.
"""

import msgspec
import pytest

from checker.oracle import blocks, lane, market, quotes, records, tiers
from checker.oracle.calls import Present
from checker.oracle.lane import CursorPhase, LanePhase
from checker.oracle.market import Bid
from checker.oracle.policies import eip1559
from checker.oracle.selection import fee_of
from checker.oracle.timers import TimerPhase
from scheduler import TimerConfig
from tests.support.lane_plans import AGENT, RACERS, drain, lane_config, on_known, race, run_lane, tell
from tests.support.racers import consult
from validators.execution import SystemCancelTimer


def pick(index, salt, *values):
    """Return one of some values: always the same one, in no order that shows."""
    mixed = (index * 40_503 + salt * 30_011 + 12_345) * 2_654_435_761
    return values[(mixed >> 13) % len(values)]


def order(index, *, is_early=False):
    """Return one of the orders of a race, with limits, fees, hints and agents of all kinds."""
    stated = {"gas_limit": pick(index, 1, 1_000, 700, None, 400, 1_001 if is_early else 1_000)}
    if pick(index, 2, *range(5)) == 0:
        stated["ttl"] = pick(index, 3, 0, 1, 2)
    fees = {
        "max_fee_per_cycle": pick(index, 4, None, None, 900, 1_300, 3_000, 9_000, 10**6),
        "max_priority_fee_per_cycle": pick(index, 5, None, None, 0, 100, 110, 120, 130, 150, 5_000),
        "gba": pick(index, 6, None, None, None, AGENT, RACERS[0]),
        "priority_tier_hint": pick(index, 7, None, None, None, "fast", "urgent"),
        "bid": pick(index, 8, None, None, None, None, None, 5),
    }
    uses, ending = pick(index, 9, 600, 300, 0, 700, 900), pick(index, 10, "ok", "ok", "ok", "revert")
    payload = msgspec.msgpack.encode([uses, ending, []])
    return [pick(index, 11, 1, 1, 1, 2, 2, 3, 9, 25), payload, stated, fees]


def plan_of(blocks_count):
    """Return a plan in which every rule has its say: full lanes, payers that run dry, agents of all kinds."""
    plan, modes = [], (b"late", b"all", b"revert", b"overrun", b"", b"late")
    for block in range(blocks_count):
        orders = [order(10 * block + place, is_early=block < 3) for place in range(10)]
        wanted = [(0, race(RACERS[block % 4], orders)), (1, race(RACERS[(block + 1) % 3], orders[:5]))]
        if 13 <= block < 17:
            # Time for the basefee to fall.
            wanted = []
        if block % 3 == 2:
            wanted.append((2, tell((AGENT, RACERS[0])[block % 2], modes[block % 6])))
        if block % 4 == 3:
            wanted.append((0, drain(RACERS[2 + block // 4 % 2], 2_000_000)))
        if block % 5 == 4:
            wanted.append((0, on_known(SystemCancelTimer, 5 * block)))
        plan.append((wanted, 4_000 if block == 9 else 1_000))
    return plan


NARROW = {"max_cycles_per_fire": 3_000, "max_cells_per_fire": 400, "lane_timer_cycles": 2_500}
CHAINS = {
    "usual": {"timebase": "slot", "activation_height": 4, "lane_config": {"bid_deprecation_blocks": 12}},
    "switched": {
        "timebase": "height",
        "activation_height": 1,
        "lane_config": {"classification": "cursor", "gc_scan_per_block": 2, "max_gba_calls_per_block": 1},
    },
}


@pytest.fixture(scope="module")
def recorded():
    """Return each chain with its genesis."""
    return {
        name: run_lane(
            plan_of(24), **(fields | {"lane_config": lane_config(fields["lane_config"]), "timer_config": CONFIG})
        )
        for name, fields in CHAINS.items()
    }


CONFIG = TimerConfig(**NARROW, gc_cycles_per_block=600)


def patch(target, name, make):
    """Return a break: a function or method is replaced by what `make` makes of it."""
    return lambda monkeypatch: monkeypatch.setattr(target, name, make(getattr(target, name)))


def with_config(**changes):
    """Return a replacement for a function whose last argument is the lane configuration."""
    return lambda function: lambda *arguments: function(*arguments[:-1], arguments[-1]._replace(**changes))


def constant(value):
    return lambda _function: lambda *_arguments: value


def floor_the_product(_function):
    def next_basefee(basefee, used, cycles, config):
        return max(int(basefee * (1 + market.change_of_basefee(used, cycles, config))), config.min_lane_basefee)

    return next_basefee


def in_lane_with(**changes):
    """Return a replacement for a function whose last argument is the lane."""

    def replace(it):
        return it._replace(config=it.config._replace(**changes))

    return lambda function: lambda *arguments: function(*arguments[:-1], replace(arguments[-1]))


def take_the_upper(median):
    return lambda tips, _kind: median(tips, "upper")


def packed(**reading):
    return lambda function: lambda *arguments, **switches: function(*arguments, **(switches | reading))


def tip_twice(_max_cost):
    def max_cost(self, timer):
        prices = self._prices(timer)
        most = fee_of(timer.gas_limit, self.present.config.max_cells_per_fire, prices)
        return most.total + most.tip

    return max_cost


def follow_the_basefee(bid_of):
    def bid(self, timer, asked):
        return bid_of(self, timer, asked) if timer.quote else Bid(2 * self.price, 0)

    return bid


def let_agents_overrule(bid_of):
    def bid(self, timer, asked):
        return asked if timer.quote and timer.quote.gba else bid_of(self, timer, asked)

    return bid


def judge_by_the_payer_first(_is_dead):
    def is_dead(self, timer):
        prices = self.priorities.setdefault(timer.timer_id, 0)
        return self._is_expired(timer) or self._is_insolvent(timer) or prices < 0

    return is_dead


def leave_records_out(function):
    return lambda leaves: function([(height, b"") for height, _ in leaves])


def count_only_fires(close):
    return lambda phase, _used_cycles: close(phase, phase.lane_cycles)


def forget_the_cursor(walk):
    def anew(self, waiting, dead):
        self.contents.gc_cursor.put(None, None)
        walk(self, waiting, dead)

    return anew


BREAKS = {
    "a classic slope": ("usual", patch(market, "change_of_basefee", with_config(slope="classic"))),
    "a product that is floored, and not the step": ("usual", patch(lane, "next_lane_basefee", floor_the_product)),
    "a median that is the upper one": (
        "usual",
        patch(lane, "median", lambda median: lambda tips, _: median(tips, "upper")),
    ),
    "a weight that everybody has": ("usual", patch(lane, "weights_of", constant({}))),
    "a weight without a bound": ("usual", patch(lane, "weights_of", with_config(weight_min=(0, 1)))),
    "a window that is a block longer": (
        "usual",
        patch(lane, "window_start_of", lambda function: lambda start, height, size: function(start, height, size + 1)),
    ),
    "fires of the owner": ("usual", patch(LanePhase, "_subject_of", constant(b"\1" * 20))),
    "ties that age decides": ("usual", patch(lane, "ranked", in_lane_with(tie_break="age"))),
    "a first that does not fit and stops all others": ("usual", patch(lane, "fill", packed(misfit="stop"))),
    "room that limits take": ("usual", patch(lane, "fill", packed(account="limit"))),
    "a lane price that is not charged": (
        "usual",
        patch(LanePhase, "_prices", lambda prices: lambda self, timer: prices(self, timer)._replace(lane=0)),
    ),
    "a maximum cost with the tip twice": ("usual", patch(TimerPhase, "_max_cost", tip_twice)),
    "a cap that does not hold": ("usual", patch(LanePhase, "_is_over_cap", constant(False))),
    "a default limit above the cap": (
        "usual",
        lambda monkeypatch: monkeypatch.setattr(LanePhase, "_waiting", TimerPhase._waiting),
    ),
    "an old timer's fees that follow the basefee": ("usual", patch(LanePhase, "_bid_of", follow_the_basefee)),
    "an answer that counts more than what is stated": ("usual", patch(LanePhase, "_bid_of", let_agents_overrule)),
    "defaults that are taken at the fire": (
        "usual",
        patch(
            eip1559,
            "quote_of",
            lambda quote_of: (
                lambda fees, it: quote_of(fees, it._replace(config=it.config._replace(default_gba="fire")))
            ),
        ),
    ),
    "a clamp that is not told": (
        "usual",
        patch(eip1559, "quote_of", lambda quote_of: lambda *arguments: quote_of(*arguments)._replace(stated=None)),
    ),
    "a hint of another size": (
        "usual",
        patch(quotes, "tier_tip", lambda tip: lambda p50, of: tip(p50, of + 1)),
    ),
    "a held timer that its payer can lose": ("usual", patch(LanePhase, "_is_dead", judge_by_the_payer_first)),
    "a bid that is never deprecated": ("usual", patch(eip1559, "is_deprecated", constant(False))),
    "an old ceiling for gas limits": (
        "usual",
        lambda monkeypatch: monkeypatch.setattr(
            Present, "gas_limit_ceiling", property(lambda present: present.config.max_cycles_per_fire)
        ),
    ),
    "a ring that is a place shorter": ("usual", patch(tiers, "tier_of", with_config(ring_size=3))),
    "heights that enter the ring before their epoch": (
        "usual",
        patch(
            tiers,
            "tier_of",
            lambda tier_of: lambda height, now, _queued, config: tier_of(height, now, queued=False, config=config),
        ),
    ),
    "a horizon one epoch nearer": ("usual", patch(tiers, "tier_of", with_config(epoch_horizon=1))),
    "a tree without buckets": ("usual", patch(tiers, "radix_root", leave_records_out)),
    "promotions that are not counted": ("usual", patch(blocks, "heights_promoted", constant(0))),
    "an activation that comes a block later": (
        "usual",
        patch(records.Genesis, "policy_at", lambda function: lambda self, height: function(self, max(height - 1, 1))),
    ),
    "a usage without transactions": ("usual", patch(LanePhase, "close", count_only_fires)),
    "agents that are asked from the youngest on": (
        "switched",
        patch(LanePhase, "_ask_agents", lambda function: lambda self, waiting: function(self, waiting[::-1])),
    ),
    "a cursor that forgets its place": ("switched", patch(CursorPhase, "_walk", forget_the_cursor)),
    "a malformed cursor": (
        "switched",
        patch(CursorPhase, "_clean_up_and_fire", lambda _: LanePhase._clean_up_and_fire),
    ),
    "a weight that is added": ("switched", patch(lane, "ranked", in_lane_with(weight="additive"))),
}


@pytest.mark.parametrize("name", CHAINS)
def test_the_oracle_agrees_with_the_chains_as_they_are(recorded, name):
    """Nothing is broken."""
    result = consult(*recorded[name])

    assert result.status == "passed", result.summary


@pytest.mark.parametrize("name", BREAKS)
def test_a_rule_that_is_read_otherwise_is_seen(monkeypatch, recorded, name):
    """By receipts, changed keys or budgets, at a height."""
    chain, break_rule = BREAKS[name]
    break_rule(monkeypatch)

    result = consult(*recorded[chain])

    assert result.status == "failed"
    assert dict(result.evidence)["what"] in {"receipts", "changes", "budgets"}
