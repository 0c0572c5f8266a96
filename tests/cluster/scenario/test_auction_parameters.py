"""The GBA auction in a scenario: parameters by name, pairs that cannot follow each other, its agent in genesis."""

import msgspec
import pytest

from cluster.runtime.genesis import genesis_of, keys_of
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from scheduler.gba_records import DEFAULT_AGENT, AuctionConfig

CHAIN = 'chain.policy="gba-auction"'


def genesis_with(*settings):
    scenario = load_scenario("calm", settings)
    return genesis_of(scenario, keys_of(scenario))


def test_parameters_stand_in_genesis():
    genesis = genesis_with(CHAIN, 'chain.policy_parameters={timer_phase="before", ema_lambda=[1,3]}')
    (entry,) = genesis.policies

    assert msgspec.msgpack.decode(entry.config, type=AuctionConfig) == AuctionConfig(
        timer_phase="before", ema_lambda=(1, 3)
    )


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("{weight_min=[3,1]}", r"weight_min: \(3, 1\) must be at most weight_max, which is \(2, 1\)"),
        ('{timer_phase="now"}', "it can be after or before"),
        ("{max_gba_calls_per_block=-1}", r"max_gba_calls_per_block: -1 must be within 0\.\.2\^63-1"),
        ("{lambda=[1,5]}", "did you mean ema_lambda"),
    ],
)
def test_a_bad_parameter_is_one_line_that_names_what_is_allowed(setting, told):
    with pytest.raises(ScenarioError, match=told):
        load_scenario("calm", (CHAIN, f"chain.policy_parameters={setting}"))


@pytest.mark.parametrize("after", ["fifo", "fifo-free"])
def test_a_policy_that_cannot_follow_the_auction_is_refused_with_a_reason(after):
    with pytest.raises(ScenarioError, match=f"{after} cannot follow gba-auction: "):
        load_scenario("calm", (f'chain.policy="{after}"', 'chain.activation={height=3, previous="gba-auction"}'))


@pytest.mark.parametrize(
    ("settings", "count"),
    [
        (('chain.policy="fifo"',), 0),
        ((CHAIN,), 1),
        (('chain.policy="eip1559"', 'chain.activation={height=3, previous="gba-auction"}'), 1),
    ],
)
def test_genesis_has_the_default_agent_where_a_policy_asks_it(settings, count):
    agents = [actor.program for actor in genesis_with(*settings).actors if actor.address == DEFAULT_AGENT]

    assert agents == ["default-agent"] * count
