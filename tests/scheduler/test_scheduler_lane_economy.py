"""The lane over many blocks: timers priced out, timers kept alive, an attack that works."""

from fractions import Fraction

import pytest

from scheduler import Bid, LaneConfig, TimerDeferred, TimerFired
from tests.support.lane_doubles import LaneBench, free

VICTIM = b"\x01" * 20
WHALE = tuple(bytes([0x10 + index]) * 20 for index in range(10))
CROWD = tuple(bytes([0x30 + index]) * 20 for index in range(10))
DEPLOYER = b"\xdd" * 20


class OwnedBench(LaneBench):
    """A chain in which one deployer owns every actor of the whale, and everybody else itself."""

    def owner(self, actor):
        return DEPLOYER if actor in WHALE else actor


def fired_of(result):
    return [event.actor for event in result.events if isinstance(event, TimerFired)]


def fill(bench, height, actors, *, tip, count=8):
    """Schedule timers that fill the lane of a block."""
    bench.moment = bench.at(height - 1)
    for number in range(count):
        actor = actors[number % len(actors)]
        bench.ledger.balances[actor] = 10**18
        bench.bid(actor, height, fee=10**9, tip=tip, gas_limit=250_000)


def test_a_zero_tip_fires_while_there_is_room():
    """It pays the basefees alone (A-23)."""
    bench = LaneBench(free(), basefee=1_000)
    bench.ledger.balances[VICTIM] = 10**12
    bench.bid(VICTIM, 1, tip=0, gas_limit=1_000)
    result = bench.run(1, bench.run_whole)

    assert (result.fired, result.tips, result.burned) == (1, 0, 1_000_000)


@pytest.mark.parametrize(("default_gba", "blocks"), [("schedule", 7), ("fire", None)])
def test_frozen_defaults_are_priced_out_and_requoted_ones_never(default_gba, blocks):
    """Six full blocks raise the basefee by more than the headroom of twice the price (Q-12)."""
    bench = LaneBench(free(), LaneConfig(default_gba=default_gba), basefee=1_000)
    bench.ledger.balances[VICTIM] = 10**18
    name = bench.bid(VICTIM, 1, gas_limit=250_000)[0].timer_id
    priced_out = None
    for height in range(1, 12):
        fill(bench, height, CROWD, tip=50)
        before = bench.lane.price
        result = bench.run(height, bench.run_whole)
        assert result.lane_cycles == 2_000_000
        counts = {reason.value: count for event in result.events[-1:] for reason, count in event.counts}
        if priced_out is None and "below_basefee" in counts:
            priced_out = height
            assert before > 2_000
    assert priced_out == blocks
    assert (name in bench.tables.timers) == (blocks is not None)


def test_the_basefee_falls_back_when_the_lane_is_idle():
    """An empty block counts as no use, down to the floor (Q-7)."""
    bench = LaneBench(free(), basefee=10_000)
    prices = []
    for height in range(1, 40):
        bench.run(height)
        prices.append(bench.lane.price)

    assert prices == sorted(prices, reverse=True)
    assert prices[-1] == 800


def share_of(bench, whale, crowd, *, tip, blocks=30):
    """Return which part of all fires a whale had, where it and a crowd with a tip of 50 want the whole lane each."""
    fired = []
    for height in range(1, blocks + 1):
        fill(bench, height, crowd, tip=50)
        fill(bench, height, whale, tip=tip)
        fired += fired_of(bench.run(height, bench.run_whole))
    return Fraction(sum(actor in whale for actor in fired), len(fired))


def test_the_weight_keeps_a_crowd_alive_beside_a_whale():
    """At 1.4 times the tip the whale would take every block; its weight falls to 1 and theirs are greater."""
    assert share_of(LaneBench(free(), basefee=1_000), WHALE[:1], CROWD, tip=70) < 1


def test_splitting_an_actor_raises_its_share():
    """The known attack: at equal tips ten actors pass for ten of thirteen; weights by deployer end that (A-24)."""
    by_deployer = LaneConfig(fairness_subject="deployer")
    whole, split, watched = (
        share_of(OwnedBench(free(), lane, basefee=1_000), whale, CROWD[:3], tip=50)
        for lane, whale in ((None, WHALE[:1]), (None, WHALE), (by_deployer, WHALE))
    )

    assert split > 2 * whole
    assert watched == whole


def test_a_deferral_is_told_once():
    """Later blocks count a timer in their summary and say nothing else of it."""
    bench = LaneBench(free(execution_lane_paused=True), basefee=1_000)
    bench.ledger.balances[VICTIM] = 10**18
    bench.bid(VICTIM, 1, gas_limit=1_000)
    reported = [[type(event) for event in bench.run(height).events].count(TimerDeferred) for height in (1, 2, 3)]

    assert reported == [1, 0, 0]


def test_hints_multiply_the_median_of_the_last_block():
    """A hint in one block is computed from the tips paid in the block before."""
    bench = LaneBench(free(), basefee=1_000)
    fill(bench, 1, CROWD, tip=60, count=3)
    bench.run(1, bench.run_whole)
    bench.moment = bench.at(1)
    timer = bench.tables.timers[bench.schedule(VICTIM, 5, fees=Bid(priority_tier_hint="fast"))]

    assert timer.quote.max_priority_fee_per_cycle == 90
