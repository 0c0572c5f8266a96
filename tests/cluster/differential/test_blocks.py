"""Differential blocks: sound code does on them what the oracle does, and a mistake is told with its place."""

import re

import pytest

from cluster.differential.block_draws import DifferentialBlocks
from cluster.differential.draws import draws_of
from cluster.runtime.genesis import genesis_of, keys_of
from cluster.scenario.load import convert_scenario
from cluster.workloads.planned import transactions_of
from network.chance import Chance
from scheduler import POLICIES, settlement
from scheduler.auction import Auction
from scheduler.bias_selection import Walk
from scheduler.fairness import Weights
from scheduler.policies import gba_auction
from validators.execution.blocks import decode_transaction

BLOCKS = 40
BUILT_IN = ("fifo", "fifo-free", "eip1559", "gba-auction", "bias-auction", "aptos")
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
    blocks, draw, more = blocks_of(policy, **chain), draws_of(Chance(1), "blocks"), draws_of(Chance(1), "more")
    judged = (blocks.judge(blocks.draw(draw, more)) for _ in range(BLOCKS))
    return [each.difference for each in judged if each.difference]


PLACES = [(policy, timebase) for policy in BUILT_IN for timebase in POLICIES[policy].timebases]


@pytest.mark.parametrize(("policy", "timebase"), PLACES)
def test_sound_code_is_right(policy, timebase):
    assert differences(policy, timebase=timebase) == []


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
