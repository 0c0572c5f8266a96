"""Differential chains: sound code passes, and a mistake in the rules or in memory is told with its place."""

import re

import pytest

from checker.mutants.mutant import Swaps
from cluster.differential.chain_draws import FIRST_SEED, judge_chain
from cluster.swarm.generator import draw_scenario
from tests.support.keystones import first_of, rest_in_soak
from tools.mutation.catalogue import CATALOGUE
from validators.execution.block_tree import BlockTree

CHAINS = range(15)
"""The first differential chains."""

MISTAKES = {
    "refund-rounded-down": r"height \d+: account [0-9a-f]{40}, balance is",
    "budget-exceeded-by-the-last": r"receipt \d+, TimerFired of timer [0-9a-f]{64}",
    "heights-without-timers-stay": r"height \d+ in the index of heights",
}


def faults_of(number):
    """The faults that are found in one chain."""
    return [difference for difference in judge_chain(number) if difference]


class TestDifferentialChain:
    @pytest.mark.parametrize("number", rest_in_soak(CHAINS, [*CHAINS][:2]))
    def test_sound_code_is_right(self, number):
        assert faults_of(number) == []

    @pytest.mark.soak
    def test_twenty_seeds_have_every_policy(self):
        """The differential chains of eighty seeds of the swarm."""
        policies = [draw_scenario(FIRST_SEED + number).chain.policy for number in range(20)]

        assert sorted(dict.fromkeys(policies)) == sorted(
            dict.fromkeys(draw_scenario(n).chain.policy for n in range(60))
        )

    @pytest.mark.parametrize(("mutant", "told"), first_of(MISTAKES.items()))
    def test_a_mistake_is_told_with_its_place(self, mutant, told):
        with Swaps(CATALOGUE[mutant].swaps()):
            found = next(filter(None, map(faults_of, CHAINS)))

        assert found[0].startswith("differential chain "), found
        assert re.search(told, found[0]), found

    @pytest.mark.soak
    def test_a_nonce_of_a_block_that_is_not_final_is_told(self, monkeypatch):
        monkeypatch.setattr(BlockTree, "early", lambda _tree: [])

        assert "the next nonce of" in next(filter(None, map(faults_of, CHAINS)))[0]

    def test_a_losing_block_that_stays_in_memory_is_told(self, monkeypatch):
        monkeypatch.setattr(BlockTree, "drop_losers", lambda _tree: [])

        assert "is kept as it is not" in next(filter(None, map(faults_of, CHAINS)))[0]
