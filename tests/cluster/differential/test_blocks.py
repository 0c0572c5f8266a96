"""Differential blocks: sound code does on them what the oracle does, and a mistake is told with its place."""

import re

import pytest

from cluster.differential.block_draws import DifferentialBlocks
from cluster.differential.draws import draws_of
from cluster.runtime.genesis import genesis_of, keys_of
from cluster.scenario.load import convert_scenario
from cluster.workloads.planned import transactions_of
from network.chance import Chance
from scheduler import POLICIES, BlockPhase, settlement
from scheduler.auction import Auction
from scheduler.bias_selection import Walk
from scheduler.fairness import Weights
from scheduler.policies import aptos, gba_auction
from scheduler.policies.aptos import AptosInBlock as Aptos
from tests.support.keystones import third_of
from validators.execution.blocks import decode_transaction
from validators.execution.run import BlockRun

BLOCKS = 40
BLOCKS_UNTIL_FOUND = 120
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


def differences(policy, blocks_max=BLOCKS, **chain):
    """Yield the differences of so many blocks."""
    blocks, draw, more = blocks_of(policy, **chain), draws_of(Chance(1), "blocks"), draws_of(Chance(1), "more")
    judged = (blocks.judge(blocks.draw(draw, more)) for _ in range(blocks_max))
    return (each.difference for each in judged if each.difference)


PLACES = [(policy, timebase) for policy in BUILT_IN for timebase in POLICIES[policy].timebases]


@pytest.mark.parametrize(("policy", "timebase"), third_of(PLACES))
def test_sound_code_is_right(policy, timebase):
    assert list(differences(policy, timebase=timebase)) == []


def forget_the_start(self):
    self.balances = dict.fromkeys(self.pool.payers, 2**62)


def pass_over_answers(self, find=Auction._find_insolvent):
    answers, self.answers = self.answers, {}
    find(self)
    self.answers = answers


def cost_a_unit_more(*about):
    return settlement.max_cost(*about) + 1


def pay_a_unit_less(cycles, cells, cycle_basefee, cell_basefee):
    return cycles - -cells * cell_basefee // cycle_basefee - (cycles > 0)


def transactions_first(self, take, run=BlockRun._run_phases):
    """Run transactions on the state before the timers, wherever the policy has them."""
    self._phases = tuple(sorted(self._phases, key=lambda phase: phase is not BlockPhase.TRANSACTIONS))
    run(self, take)


def leave_no_room(self, timer, tally, reserved, fits=Aptos._fits):
    return fits(self, timer, tally, (0, 0))


MISTAKES = {
    "the fee of an entry": ("aptos", aptos, "gas_of", pay_a_unit_less, {}),
    "the room of a transaction": ("aptos", Aptos, "_fits", leave_no_room, {}),
    "the price among transactions": (
        "aptos",
        aptos,
        "highest_others",
        lambda prices, places: [None for _ in places],
        {},
    ),
    "transactions behind the timers": (
        "gba-auction",
        BlockRun,
        "_run_phases",
        transactions_first,
        {},
    ),
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

    found = next(differences(policy, BLOCKS_UNTIL_FOUND, **chain))
    assert re.search(r"^receipt \d+, |^(account|timer|market|fires|actor|bucket|basefees|burned) ", found), found
