"""Differential blocks: sound code does on them what the oracle does, and a mistake is told with its place."""

import re

import pytest

from cluster.differential.blocks import STATED_TABLES, DifferentialBlocks
from cluster.differential.draws import draws_of
from cluster.runtime.genesis import genesis_of, keys_of
from cluster.scenario.load import convert_scenario
from cluster.workloads.planned import transactions_of
from network.chance import Chance
from scheduler import settlement
from scheduler.auction import Auction
from scheduler.bias_selection import Walk
from scheduler.fairness import Weights
from scheduler.policies import gba_auction
from validators.execution.blocks import decode_transaction

BLOCKS = 40
OWN = {"eip1559": {"lane": {"classification": "cursor"}}}


def blocks_of(policy, **chain):
    raw = {
        "name": "blocks",
        "title": "a genesis",
        "chain": {"policy": policy, **chain},
        "workload": {"scribbles": {"kind": "random-scripts", "scripts": 30}},
        "run": {"until_height": 3},
    }
    scenario = convert_scenario(raw, "differential blocks")
    scripts = [decode_transaction(timed.encoded).call.payload for timed in transactions_of(scenario)]
    return DifferentialBlocks(genesis_of(scenario, keys_of(scenario)), scripts)


def differences(policy, **chain):
    blocks, draw = blocks_of(policy, **chain), draws_of(Chance(1), "blocks")
    return [found for found in (blocks.judge(draw) for _ in range(BLOCKS)) if found]


@pytest.mark.parametrize("timebase", ["slot", "height"])
@pytest.mark.parametrize("policy", STATED_TABLES)
def test_sound_code_is_right(policy, timebase):
    assert differences(policy, timebase=timebase) == []


def test_a_policy_whose_tables_cannot_be_written_has_none(monkeypatch):
    monkeypatch.setattr("cluster.differential.blocks._Stage", None)

    assert differences("aptos") == []


def forget_the_start(self):
    self.balances = dict.fromkeys(self.pool.payers, 2**62)


def pass_over_answers(self, find=Auction._find_insolvent):
    answers, self.answers = self.answers, {}
    find(self)
    self.answers = answers


def cost_a_unit_more(*about):
    return settlement.max_cost(*about) + 1


MISTAKES = {
    "what payers had at the start": ("eip1559", Auction, "open_balances", forget_the_start, OWN["eip1559"]),
    "answers of agents": ("eip1559", Auction, "_find_insolvent", pass_over_answers, {}),
    "weights of actors": ("eip1559", Weights, "numerator", lambda weights, _subject: weights.high, {}),
    "an exact balance": ("gba-auction", gba_auction, "max_cost", cost_a_unit_more, {}),
    "caps of actors": (
        "bias-auction",
        Walk,
        "is_capped",
        lambda _walk, _actor: False,
        {"policy_parameters": {"max_fires_per_actor": 1}},
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_its_place(name, monkeypatch):
    policy, owner, attribute, mistake, chain = MISTAKES[name]
    monkeypatch.setattr(owner, attribute, mistake)

    found = differences(policy, **chain)
    assert re.search(r"^receipt \d+, |^(account|timer|market|fires|actor|bucket|basefees|burned) ", found[0]), found[0]
