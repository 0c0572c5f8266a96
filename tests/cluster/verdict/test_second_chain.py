"""Second chains: sound code passes, and a mistake in the rules or in memory is told with its place."""

import re

import pytest

from checker.checks.parts.trial import draws_of
from checker.mutants import CATALOGUE
from checker.mutants.mutant import Swaps
from cluster.swarm.generator import draw_scenario
from cluster.verdict.second_chain import FIRST_SEED, second_chain
from network.chance import Chance
from validators.execution.block_tree import BlockTree
from validators.execution.view import DecodedCache

CHAINS = range(15)
"""The first second chains."""

MISTAKES = {
    "refund-rounded-down": r"height \d+: account [0-9a-f]{40}, balance is",
    "agent-may-write": r"receipt \d+, GbaFailed of timer [0-9a-f]{64}",
    "heights-without-timers-stay": r"height \d+ in the index of heights",
}


def faults_of(number):
    """The faults that are found in one second chain."""
    return [what for what, holds in second_chain(number)(draws_of(Chance(number), "chain")) if not holds]


class TestSecondChain:
    @pytest.mark.parametrize("number", CHAINS)
    def test_sound_code_is_right(self, number):
        assert faults_of(number) == []

    def test_twenty_seeds_have_every_policy(self):
        """The second chains of eighty seeds of the swarm."""
        policies = [draw_scenario(FIRST_SEED + number).chain.policy for number in range(20)]

        assert sorted(dict.fromkeys(policies)) == sorted(
            dict.fromkeys(draw_scenario(n).chain.policy for n in range(60))
        )

    @pytest.mark.parametrize(("mutant", "told"), MISTAKES.items())
    def test_a_mistake_is_told_with_its_place(self, mutant, told):
        with Swaps(CATALOGUE[mutant].swaps()):
            found = next(filter(None, map(faults_of, CHAINS)))

        assert found[0].startswith("in a second chain, of the swarm's seed 2000000"), found
        assert re.search(told, found[0]), found

    def test_a_nonce_of_a_block_that_is_not_final_is_told(self, monkeypatch):
        monkeypatch.setattr(BlockTree, "early", lambda _tree: [])

        assert "the next nonce of" in next(filter(None, map(faults_of, CHAINS)))[0]

    def test_a_record_that_stays_in_memory_is_told(self, monkeypatch):
        monkeypatch.setattr(DecodedCache, "forget", lambda *_: None)

        assert "is kept as it is not" in next(filter(None, map(faults_of, CHAINS)))[0]
