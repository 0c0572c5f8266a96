"""The order of links and the uplink that all links of a replica share: refused keys, and their effect on a cluster."""

from itertools import pairwise

import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.verdict.facts import finality_gap_max_us
from network.events import Delivered, events_of_type
from validators.events import BlockFinalized
from validators.messages import MESSAGE_KINDS, TRAFFIC

WIDE = "network.uplink_bytes_per_second=1_000"
ONE_QUEUE = ("network.uplink_shares={}", "run.time_limit_ms=14_000")


def events_of(name, *settings):
    """Run a scenario without its checks; return the run and its events."""
    events = []
    run = Cluster(load_scenario(name, settings), 0, hooks=RunHooks(on_event=events.append)).run()
    return run, events


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (["network.uplink_shares={consensus=60, gossip=40}", WIDE], "uplink_shares: must give consensus, sync, gossip"),
        (["network.uplink_shares={consensus=60, sync=20, gossip=19}", WIDE], "uplink_shares: must give consensus"),
        (["network.uplink_shares={consensus=60, sync=40, gossip=0}", WIDE], "uplink_shares"),
        (["network.uplink_shares={consensus=60, sync=20, gossip=20}"], "uplink_bytes_per_second: must be at least 100"),
        (["network.uplink_shares={votes=100}", WIDE], "uplink_shares"),
        (["network.order=lifo"], "order"),
    ],
)
def test_shares_that_are_not_whole_are_refused(settings, line):
    with pytest.raises(ScenarioError, match=rf"network\.{line}"):
        load_scenario("calm", settings)


def test_every_kind_of_message_is_in_one_class():
    """A kind in no class would travel with gossip; a kind in two would take the later one."""
    assert sorted(kind for kinds in TRAFFIC.values() for kind in kinds) == sorted(MESSAGE_KINDS)
    assert "BlockRelay" in TRAFFIC["consensus"]
    assert "BlockResponse" in TRAFFIC["sync"]


def test_no_gap_between_final_blocks_is_promised_behind_an_uplink():
    """Messages may wait in it for any time."""
    crash = 'faults.it={kind="crash", validator=1, at_ms=1_000, restart_ms=3_000}'

    assert finality_gap_max_us(load_scenario("calm", [crash])) is not None
    assert finality_gap_max_us(load_scenario("calm", [crash, WIDE])) is None


def test_gossip_delays_no_block_with_shares_and_stops_the_chain_without():
    """Incident: validators filled their bandwidth with gossip about transactions, and polls starved."""
    calm, flooded, starved = (
        events_of("consensus-beside-gossip", *settings)
        for settings in (["network.uplink_bytes_per_second=0", "network.uplink_shares={}"], [], ONE_QUEUE)
    )
    gaps_us = []
    for _, events in (calm, flooded):
        final_us = [event.at_us for event, _ in events_of_type(events, BlockFinalized) if event.node == 0]
        gaps_us.append(max(later - earlier for earlier, later in pairwise(final_us)))

    assert (calm[0].bus.waited, flooded[0].outcome.reason) == (0, "stopped")
    assert flooded[0].bus.waited > 1_000
    assert gaps_us[1] <= 2 * gaps_us[0]
    assert starved[0].outcome.reason == "time-limit"
    assert max(body.height for _, body in events_of_type(starved[1], BlockFinalized)) <= 4


@pytest.mark.parametrize("order", ["fifo", "none"])
def test_links_keep_their_order_only_where_asked_to(order):
    run, events = events_of("ordered-links", f"network.order={order}", "run.until_height=8")
    last, overtaken = {}, 0
    for event, body in events_of_type(events, Delivered):
        overtaken += body.ordinal < last.get((body.source, event.node), -1)
        last[body.source, event.node] = body.ordinal

    assert run.outcome.reason == "stopped"
    assert (overtaken == 0) == (order == "fifo")
