"""The rules of engines that checks beside `consensus` ask for, by the sentences of the engines' documents."""

import pytest

from checker.checks.planned import NOT_PLANNED
from checker.checks.rules.hotstuff import HOTSTUFF_RULES
from checker.checks.rules.longest_chain import LONGEST_CHAIN_RULES
from checker.checks.rules.simplex import SIMPLEX_RULES
from validators.consensus.hotstuff.kind import HOTSTUFF
from validators.consensus.hotstuff.messages import BlockVote
from validators.consensus.simplex import Nullify
from validators.consensus.simplex.kind import SIMPLEX
from validators.events import Voted
from validators.messages import message_codec


@pytest.mark.parametrize(
    ("rules", "leaders"),
    [(SIMPLEX_RULES, [1, 2, 3, 0, 1]), (HOTSTUFF_RULES, [0, 1, 1, 2, 2]), (LONGEST_CHAIN_RULES, [1, 2, 3, 0, 1])],
    ids=lambda value: getattr(value, "name", ""),
)
def test_views_are_led_in_turn(rules, leaders):
    """With HotStuff a leader has two views in a row."""
    assert [rules.leader_of(view, 4, NOT_PLANNED) for view in range(1, 6)] == leaders


@pytest.mark.parametrize(
    ("rules", "kinds"),
    [(SIMPLEX_RULES, ["finalize"]), (HOTSTUFF_RULES, ["vote"]), (LONGEST_CHAIN_RULES, [])],
    ids=lambda value: getattr(value, "name", ""),
)
def test_votes_that_can_make_a_block_final(rules, kinds):
    votes = ("notarize", "nullify", "finalize", "vote", "timeout", "propose")

    assert [kind for kind in votes if rules.makes_final(Voted(kind, 1, b""))] == kinds


def test_votes_of_evidence_are_told_in_few_words():
    vote = message_codec(HOTSTUFF).encode(BlockVote(0, 1, bytes([7]) * 32, bytes(64)))
    nullify = message_codec(SIMPLEX).encode(Nullify(0, 1, bytes(64)))

    assert HOTSTUFF_RULES.describe_vote(vote) == f"vote {'07' * 6}"
    assert SIMPLEX_RULES.describe_vote(nullify) == "nullify"
