"""Leaders that a keyed lottery draws: their shares, slots of nobody, what the checker reads of them, the settings."""

from dataclasses import replace

import pytest

from checker.checks.planned import PlannedRun
from checker.checks.rules.longest_chain import LONGEST_CHAIN_RULES
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from tests.support.longest_chain_bench import GENESIS, VALIDATORS, Lone, block_on, config_of, of_type, seal_of
from tests.support.simplex_bench import KeyedHashScheme
from validators.consensus.interface import BlockRef, Build
from validators.consensus.longest_chain.election import leader_of
from validators.consensus.longest_chain.sealing import check_seal
from validators.events import Entered

LOTTERY = replace(config_of(), lottery_key=7, empty_slot_share_ppm=300_000)


def test_a_lottery_draws_all_validators_and_its_share_of_empty_slots():
    drawn = [leader_of(view, VALIDATORS, LOTTERY) for view in range(1, 4_001)]
    empty, *led = (drawn.count(leader) for leader in (None, 0, 1, 2, 3))

    assert 1_100 <= empty <= 1_300
    assert all(630 <= count <= 770 for count in led)
    assert drawn != [leader_of(view, VALIDATORS, replace(LOTTERY, lottery_key=8)) for view in range(1, 4_001)]


def test_the_checker_draws_the_same_leaders_by_its_own_reading():
    plan = PlannedRun(lottery_key=7, empty_slot_share_ppm=300_000)
    restated = LONGEST_CHAIN_RULES.leader_of

    assert all(restated(view, 7, plan) == leader_of(view, 7, LOTTERY) for view in range(1, 2_000))


def test_nobody_builds_in_a_slot_without_a_leader_nor_seals_a_block_of_it():
    empty = next(view for view in range(1, 99) if leader_of(view, VALIDATORS, LOTTERY) is None)
    for me in range(VALIDATORS):
        lone = Lone(me=me, config=LOTTERY)
        found = lone.enter(empty)
        assert (of_type(found, Build), of_type(found, Entered)) == ([], [Entered(empty, -1)])
        facts = block_on(None, empty, proposer=me)
        assert (
            check_seal(KeyedHashScheme(0), facts, seal_of(facts), VALIDATORS, config=LOTTERY).reason == "wrong leader"
        )
    nobodys = block_on(None, empty, proposer=-1)
    assert check_seal(KeyedHashScheme(0), nobodys, b"", VALIDATORS, config=LOTTERY).reason == "wrong leader"


def test_a_drawn_leader_builds_in_its_slot():
    view = next(view for view in range(1, 99) if leader_of(view, VALIDATORS, LOTTERY) == 3)

    assert of_type(Lone(me=3, config=LOTTERY).enter(view), Build) == [Build(view, BlockRef(0, GENESIS))]


def test_settings_of_a_lottery_need_one():
    own = ("longest-chain-joiners", ("consensus.longest_chain.empty_slot_share_ppm=5",))
    with pytest.raises(ScenarioError, match=r'empty_slot_share_ppm: is of leaders = "lottery"'):
        load_scenario(*own)
    lottery = 'consensus.longest_chain={leaders="lottery", empty_slot_share_ppm=900_001}'
    with pytest.raises(ScenarioError, match=r"empty_slot_share_ppm: must be 900,000 or less"):
        load_scenario("longest-chain-joiners", (lottery,))


def test_a_lottery_with_an_adversary_asks_for_more_depth_than_turns():
    lottery = 'consensus.longest_chain={slot_ms=500, leaders="lottery"}'

    assert load_scenario("longest-chain-private-branch").finality_depth == 57
    assert load_scenario("longest-chain-private-branch", (lottery,)).finality_depth == 105
