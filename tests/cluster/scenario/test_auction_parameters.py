"""The GBA auction in a scenario: parameters by name, pairs that cannot follow each other, its agent in genesis."""

import msgspec
import pytest

from cluster.cli import main
from cluster.runtime.genesis import genesis_of, keys_of
from cluster.scenario.defaults import without_defaults
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from scheduler import POLICIES
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


@pytest.mark.parametrize(("policy", "switch"), [("gba-auction", "effective_tip"), ("eip1559", "settlement")])
def test_the_profile_of_the_page_sets_the_switches_that_are_not_named(policy, switch):
    genesis = genesis_with(f'chain.policy="{policy}"', 'chain.profile="intro"')
    own = msgspec.msgpack.decode(genesis.policies[0].config, type=POLICIES[policy].config_type)

    assert (getattr(own, switch), own.tie_break) == ("intro", "append")
    assert genesis.calendar.ring_size == 256


def test_a_switch_against_the_profile_is_kept_where_defaults_are_left_out():
    """Else a shrunk scenario would be another one."""
    scenario = load_scenario("calm", (CHAIN, 'chain.profile="intro"', 'chain.policy_parameters={tie_break="id"}'))
    kept = without_defaults(msgspec.json.decode(encode_scenario(scenario)))

    assert kept["chain"] == {
        "policy": "gba-auction",
        "profile": "intro",
        "policy_parameters": {"tie_break": "id"},
    }


def test_a_switch_that_is_named_stands_against_the_profile():
    genesis = genesis_with(CHAIN, 'chain.profile="intro"', 'chain.policy_parameters={tie_break="id"}')
    own = msgspec.msgpack.decode(genesis.policies[0].config, type=AuctionConfig)

    assert (own.effective_tip, own.tie_break) == ("intro", "id")


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


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (['chain.policy="gba-auktion"'], "did you mean gba-auction?"),
        ([CHAIN, "chain.policy_parameters.budget=7"], "chain.policy_parameters"),
        (['chain.policy="fifo"', 'chain.activation={height=3, previous="gba-auction"}'], "fifo cannot follow"),
        ([CHAIN, 'chain.profile="page"'], "chain.profile"),
    ],
)
def test_a_command_refuses_it_in_one_line_with_exit_code_2(settings, told, capsys):
    code = main.main(["check", "calm", *(part for setting in settings for part in ("--set", setting))])
    said = capsys.readouterr().err.strip()

    assert (code, len(said.splitlines())) == (2, 1), said
    assert told in said


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
