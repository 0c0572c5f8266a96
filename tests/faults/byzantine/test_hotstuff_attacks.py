"""Attacks on single guards of HotStuff: each is refused by every honest validator that meets it, for its own reason."""

import pytest

from checker.record.streams import iterate_events
from faults.byzantine.hotstuff_ballots import ForgeVote
from faults.byzantine.hotstuff_seals import ForgeSeal
from network.events import events_of_type
from tests.support.cluster_runs import result_of
from tests.support.keystones import first_of
from validators.consensus.hotstuff.casting import Voter
from validators.consensus.hotstuff.refusals import HotStuffRefusal
from validators.consensus.hotstuff.tree import BLOCKS_PER_VIEW_MAX, SealedTree
from validators.events import MessageRefused

ATTACKER = 1


def attacked(behaviour, what):
    """Return a short run in which a validator attacks; it leads in silence for a while where views have to time out."""
    attack, silence = (
        f'kind="byzantine", validator={ATTACKER}, behaviour="{name}", start_ms={start_ms}, stop_ms=14_000'
        for name, start_ms in ((behaviour, 500), ("silent-leader", 3_000))
    )
    needs_timeouts = what.startswith("entry")
    return result_of(
        "calm",
        'consensus.engine="hotstuff"',
        *("run.until_height=11", "run.time_limit_ms=60_000", 'requires=["attack"]'),
        f'faults.attack={{{attack}, what="{what}"}}',
        *([f"faults.silence={{{silence}}}"] if needs_timeouts else []),
    )


def assert_refused(behaviour, what, reason):
    result = attacked(behaviour, what)

    refused = events_of_type(iterate_events(bytes(result.log)), MessageRefused)
    assert result.verdict == "passed", result.headline
    assert {each.reason for event, each in refused if event.node != ATTACKER} == ({reason} if reason else set())
    cells = {hit.point for hit in result.rules}
    assert reason is None or HotStuffRefusal.named(reason).label in cells


SEALS = (
    *("invalid signature", "bitmap length", "stray bits", "no quorum", "signature count", "invalid certificate"),
    *("not of the parent", "not of the parent", "not of the parent", "view out of range", "not the leader's"),
    *("timeout of another view", "timeout of another view", "signature count"),
    *("bitmap length", "stray bits", "no quorum", "signature count", "invalid certificate"),
)


@pytest.mark.parametrize(("what", "reason"), first_of(zip(ForgeSeal.FORMS, SEALS, strict=True)))
def test_a_seal_that_justifies_no_block_is_refused_for_that(what, reason):
    assert_refused("forge-seal", what, f"seal: {reason}")


VOTES = (
    *("signer is not the sender", "view out of range", "invalid signature", None, "invalid signature"),
    *("view out of range", "view out of range"),
    *("bitmap length", "stray bits", "no quorum", "signature count", "invalid certificate"),
    *("timeout of another view", "timeout of another view", "signature count"),
    *("bitmap length", "stray bits", "no quorum", "signature count", "invalid certificate"),
)


@pytest.mark.parametrize(("what", "reason"), first_of(zip(ForgeVote.FORMS, VOTES, strict=True)))
def test_a_forged_vote_or_timeout_is_refused_for_its_fault(what, reason):
    """Votes far ahead are stale, which is no refusal; kept all the same, they would exceed what may be remembered."""
    assert_refused("forge-vote", what, reason)


@pytest.mark.soak
def test_a_lock_alone_is_in_the_way_of_a_block_below_two_hidden_ones(monkeypatch):
    sound = attacked("hide-certificate", "")
    monkeypatch.setattr(Voter, "may_vote_for", lambda voter, memory, block: voter.may_vote(memory, block.facts.view))
    unlocked = attacked("hide-certificate", "")

    assert sound.verdict == "passed", sound.headline
    assert unlocked.headline.startswith("consensus/")
    assert "HS-53" in unlocked.headline


def test_of_many_blocks_of_a_view_four_are_kept(monkeypatch):
    kept = []
    add = SealedTree.add

    def spied(tree, block):
        is_added = add(tree, block)
        kept.append(len(tree.of_view(block.facts.view)))
        return is_added

    monkeypatch.setattr(SealedTree, "add", spied)
    result = attacked("many-blocks", "")

    assert result.verdict == "passed", result.headline
    assert max(kept) == BLOCKS_PER_VIEW_MAX
    assert kept.count(BLOCKS_PER_VIEW_MAX) > 1
