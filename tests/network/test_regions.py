"""The table of cloud regions: complete, whole numbers, and used by scenarios that name regions."""

import itertools

import pytest

from cluster.runtime.replicas import topology_of
from cluster.scenario.load import convert_scenario
from cluster.scenario.messages import ScenarioError
from network.regions import REGIONS, ROUND_TRIPS_MS, one_way_us

BASE = {"name": "regions", "title": "regions"}


def test_every_pair_of_regions_has_a_distance():
    """Half a round trip, the same in both directions, and never zero."""
    assert [len(row) for row in ROUND_TRIPS_MS] == list(range(1, len(REGIONS) + 1))
    for first, second in itertools.product(REGIONS, repeat=2):
        assert one_way_us(first, second) == one_way_us(second, first) >= 1_000
    assert one_way_us("london", "frankfurt") == 6_000
    assert one_way_us("sydney", "sao-paulo") == 164_500


def test_no_way_round_is_much_shorter():
    """The table measures one network: a third region on the way saves less than a fifth."""
    for first, second, third in itertools.permutations(REGIONS, 3):
        assert one_way_us(first, second) * 4 <= 5 * (one_way_us(first, third) + one_way_us(third, second))


def test_links_between_regions_have_their_latency():
    """By the validators' places; jitter and losses are those of the network section."""
    network = {"regions": ["tokyo", "osaka", "london", "tokyo"], "jitter_ms": 3, "loss_ppm": 7}
    topology = topology_of(convert_scenario({**BASE, "network": network}, "here"))

    links = {pair: topology.edges[pair]["link"] for pair in topology.edges}
    assert links[0, 1].latency.mean_us == links[1, 0].latency.mean_us == 4_500
    assert links[0, 3].latency.mean_us == 1_000
    assert links[1, 2].latency.mean_us == 126_500
    assert {(link.latency.jitter_us, link.loss_ppm) for link in links.values()} == {(3_000, 7)}


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        ({"regions": ["tokyo"]}, "network.regions: names 1 region for 4 validators"),
        ({"regions": ["tokyo", "moon", "london", "tokyo"]}, "network.regions"),
        ({"latency_ms": 0}, "network.latency_ms: Expected `int` >= 1"),
        ({"distribution": "fixed"}, "network: fixed latency has no jitter; got jitter_us=10000"),
        ({"reorder_ppm": 5}, "network.reorder_ppm"),
    ],
)
def test_an_impossible_network_is_refused_with_its_key(network, expected):
    """Before anything runs."""
    with pytest.raises(ScenarioError) as caught:
        convert_scenario({**BASE, "network": network}, "here")
    assert expected in str(caught.value)
