"""Agents that bid by the value of an oracle feed (K-40): the bid follows what the feed has published."""

import pytest

from cluster.scenario.load import convert_scenario
from cluster.scenario.messages import ScenarioError
from cluster.workloads.planned import sites_of
from scheduler import BidLocked, TimerFired, TimerScheduled
from tests.support.cluster_runs import judge
from validators.actors import Emitted

GAS_LIMIT = 3_000
WATCHFUL = {"kind": "heartbeats", "actors": 2, "gas_limit": GAS_LIMIT, "feed": "prices"}
PRICES = {"kind": "oracle-feeds", "feeds": 2, "values": 8, "interval_slots": 1, "gas_limit": 3_000}
LIMIT = 1_050
"""The value below which the position of such an agent is past its limit (docs/workloads.md)."""

CONSULTED_CYCLES = 1_000
"""The cycles of an agent that a call pays for under the bias auction."""


def scenario_of(policy="eip1559", workload=None, **chain):
    raw = {"name": "it", "title": "it", "run": {"until_height": 13}}
    raw["chain"] = {"policy": policy, "timers": {"lane_timer_cycles": 60_000}, **chain}
    raw["workload"] = workload or {"prices": PRICES, "watchful": WATCHFUL}
    return convert_scenario(raw, "it.toml")


def run_of(policy, **chain):
    """Return the events of each block, the watchful, and their feed, once all checks have passed."""
    result = judge(scenario_of(policy, **chain))
    assert result.verdict == "passed", result.headline
    sites = {site.name: site for site, _ in sites_of(result.scenario)}
    watchful = [sites["watchful"].actor(index) for index in range(WATCHFUL["actors"])]
    return [executed.events for executed in result.chain], watchful, sites["prices"].actor(0)


def tip_at(value):
    """Return the tip, in units per cycle, of an agent that nobody has told a median."""
    if value is None:
        return 0
    return 8 if value < LIMIT else 2


def published(event, feed):
    is_value = isinstance(event, Emitted) and (event.actor, event.topic) == (feed, "value")
    return int.from_bytes(event.data, "big") if is_value else None


def test_in_the_gba_auction_the_tip_follows_the_value_of_the_block_start():
    blocks, watchful, feed = run_of("gba-auction")
    value, tips, expected = None, [], []
    for events in blocks:
        fires = [event for event in events if isinstance(event, TimerFired) and event.actor in watchful]
        tips += [fire.tip / fire.used_cycles for fire in fires]
        expected += [tip_at(value)] * len(fires)
        value = next((new for event in events if (new := published(event, feed)) is not None), value)

    assert tips == expected
    assert {*tips} == {0, 2, 8}


def test_in_the_bias_auction_the_bid_follows_the_value_at_scheduling():
    own = {"gba_call_cycles": CONSULTED_CYCLES, "reserve": 10}
    blocks, watchful, feed = run_of("bias-auction", policy_parameters=own)
    value, bids, expected = None, [], []
    for event in (event for events in blocks for event in events):
        new = published(event, feed)
        value = value if new is None else new
        if isinstance(event, TimerScheduled) and event.actor in watchful:
            expected.append(tip_at(value) * GAS_LIMIT)
            timers = [event.timer_id]
            bids.append(0)
        elif isinstance(event, BidLocked) and event.timer_id in timers:
            bids[-1] = event.bid

    assert bids == expected
    assert {*bids} == {0, 2 * GAS_LIMIT, 8 * GAS_LIMIT}


@pytest.mark.parametrize(
    ("feed", "reason"),
    [
        ("price", "feed: 'price' is no workload of oracle-feeds; there are prices"),
        ("crowd", "feed: 'crowd' is no workload of oracle-feeds; there are prices"),
        ("watchful", "feed: 'watchful' is no workload of oracle-feeds; there are prices"),
    ],
    ids=["unknown", "another kind", "itself"],
)
@pytest.mark.parametrize("kind", ["heartbeats", "storm"])
def test_a_feed_that_is_none_is_refused(kind, feed, reason):
    watchful = {"kind": kind, "actors": 2, "feed": feed}
    watchful |= {"timers_per_actor": 4, "first_slot": 6, "spread_slots": 1, "ttl_slots": 9} if kind == "storm" else {}
    workload = {"prices": PRICES, "crowd": {"kind": "heartbeats", "actors": 1}, "watchful": watchful}

    with pytest.raises(ScenarioError) as refused:
        scenario_of(workload=workload)
    assert f"workload.watchful: {reason}" in str(refused.value)


def test_without_any_feed_the_reason_says_that_there_is_none():
    with pytest.raises(ScenarioError, match="'prices' is no workload of oracle-feeds; there are none"):
        scenario_of(workload={"watchful": WATCHFUL})


def test_a_feed_and_an_agent_are_one_too_many():
    workload = {"prices": PRICES, "watchful": {**WATCHFUL, "agent": "calm"}}

    with pytest.raises(ScenarioError, match="feed and agent both name who bids; leave one of the two out"):
        scenario_of(workload=workload)
