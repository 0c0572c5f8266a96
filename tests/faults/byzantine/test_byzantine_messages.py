"""What each lie makes of a message, one at a time: signed with the true key, told to the right ones, and counted."""

from types import SimpleNamespace

import pytest

from cluster.runtime.genesis import keys_of
from cluster.scenario.load import load_scenario
from faults import LIES, Dishonest, Liar
from faults.byzantine.adversary import Post
from faults.byzantine.answers import padded, strayed, thinned
from faults.byzantine.catalogue import FORMS
from faults.byzantine.votes import label_of
from network.chance import Chance
from validators.consensus.simplex import (
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    certificate_signers,
)
from validators.consensus.simplex.certificates import assemble, find_certificate_fault, verify_certificate
from validators.consensus.simplex.signing import verify_vote
from validators.messages import BlockRelay, BlockRequest
from validators.settings import make_scheme

ME, OTHERS = 1, (0, 2, 3)
KEYS = keys_of(load_scenario("calm"))
PROPOSAL = Proposal(7, 6, b"p" * 32)


def scheme_of(node):
    return make_scheme(KEYS.seeds[node], KEYS.validator_keys)


class Wire:
    """Notes what a liar does besides."""

    wall_us = 5_000_000

    def __init__(self):
        self.posts, self.notes, self.given = [], [], []

    def post(self, posts):
        self.posts += posts

    def give(self, message):
        self.given.append(message)

    def note(self, name, kind, to):
        self.notes.append((kind, tuple(to)))


def liar_with(behaviour, **fields):
    liar = Liar(ME, validators=4, replicas=4, dishonest=(ME,), scheme=scheme_of(ME), chance=Chance(0), max_skew_ms=500)
    liar.wire = Wire()
    fault = Dishonest(validator=ME, behaviour=behaviour, start_ms=0, stop_ms=9, **fields)
    liar.begin(LIES[behaviour](liar, "it", fault))
    return liar


def post_of(message):
    return Post(OTHERS, message, label_of(message))


def told(liar, message):
    """Return what is sent in the place of a message, as (receivers, message)."""
    return [(post.to, post.message) for post in liar.tell(post_of(message)) if post.to]


def test_a_double_vote_shows_each_half_another_block():
    liar = liar_with("double-vote")

    (first, true), (second, invented) = told(liar, liar.finalize(PROPOSAL))

    assert (first, true.proposal) == ((0,), PROPOSAL)
    assert second == (2, 3)
    assert invented.proposal.payload != PROPOSAL.payload
    assert verify_vote(scheme_of(0), invented)
    assert liar.count("it") == 2


def test_two_blocks_of_a_leader_get_both_votes_at_once():
    """As soon as the second is heard of; the lower digest is for the first half."""
    liar = liar_with("double-vote")
    low, high = Proposal(4, 3, b"a" * 32), Proposal(4, 3, b"b" * 32)
    leader = scheme_of(0)
    for proposal in (high, low):
        liar.hear(0, Notarize(0, proposal, leader.sign(b"", b"")))

    assert [(post.to, type(post.message), post.message.proposal) for post in liar.wire.posts] == [
        ((0,), Notarize, low),
        ((0,), Finalize, low),
        ((2, 3), Notarize, high),
        ((2, 3), Finalize, high),
    ]


def test_conflicting_votes_show_everybody_both_blocks():
    liar = liar_with("conflicting-votes")

    (first, invented), (second, true) = told(liar, liar.notarize(PROPOSAL))

    assert first == second == OTHERS
    assert true.proposal == PROPOSAL
    assert invented.proposal.payload != PROPOSAL.payload
    assert verify_vote(scheme_of(0), invented)


def test_a_blind_voter_votes_as_soon_as_it_hears_and_says_nothing_else_of_the_view():
    """Its own validator counts the votes as well; it neither votes again nor to leave what it finalizes."""
    liar = liar_with("blind-vote")
    liar.hear(3, Notarize(3, PROPOSAL, b""))
    liar.hear(0, Notarization(PROPOSAL, b"\x0d", ()))

    votes = [liar.notarize(PROPOSAL), liar.finalize(PROPOSAL)]
    assert [(post.to, post.message) for post in liar.wire.posts] == [(OTHERS, vote) for vote in votes]
    assert liar.wire.given == votes
    assert [told(liar, message) for message in (*votes, liar.nullify(PROPOSAL.view))] == [[], [], []]
    assert told(liar, liar.nullify(8)) == [(OTHERS, liar.nullify(8))]


@pytest.mark.parametrize(("what", "kinds"), [("notarize", [Notarize]), ("finalize", [Finalize])])
def test_a_blind_voter_may_be_blind_to_one_kind_only(what, kinds):
    liar = liar_with("blind-vote", what=what)
    liar.hear(3, Notarize(3, PROPOSAL, b""))
    liar.hear(0, Notarization(PROPOSAL, b"\x0d", ()))

    assert [type(post.message) for post in liar.wire.posts] == kinds


def test_a_finalize_goes_with_its_contrary():
    liar = liar_with("nullify-and-finalize")

    assert [type(message) for _, message in told(liar, liar.finalize(PROPOSAL))] == [Finalize, Nullify]


def test_what_is_withheld_does_not_leave_for_whom_it_is_withheld_from():
    liar = liar_with("withhold", kinds=("Notarize",), to=(2,))

    assert told(liar, liar.notarize(PROPOSAL)) == [((0, 3), liar.notarize(PROPOSAL))]
    assert told(liar, liar.finalize(PROPOSAL)) == [(OTHERS, liar.finalize(PROPOSAL))]
    assert liar.count("it") == 1


def test_every_second_occasion_is_every_second_message():
    liar = liar_with("withhold", every=2)

    assert [len(told(liar, liar.nullify(view))) for view in range(1, 5)] == [1, 0, 1, 0]


def test_a_silent_leader_holds_its_block_and_its_vote_for_it_and_nothing_else():
    liar = liar_with("silent-leader")
    own, others = Proposal(5, 4, b"p" * 32), Proposal(6, 5, b"p" * 32)

    assert told(liar, liar.notarize(own)) == []
    assert [post.to for post in liar.tell(Post(OTHERS, BlockRelay(b""), SimpleNamespace(kind="BlockRelay")))] == []
    assert len(told(liar, liar.notarize(others))) == 1


def test_a_stale_vote_stands_in_the_place_of_the_new_one():
    liar = liar_with("stale-votes")

    assert [told(liar, liar.nullify(view))[0][1].view for view in (3, 4, 5)] == [3, 3, 4]


@pytest.mark.parametrize("what", FORMS["mutate-votes"])
def test_a_mutated_vote_differs_in_one_thing_and_is_signed(what):
    liar = liar_with("mutate-votes", what=what)

    ((_, mutated),) = told(liar, liar.notarize(PROPOSAL))

    changed = [
        name for name in PROPOSAL.__struct_fields__ if getattr(mutated.proposal, name) != getattr(PROPOSAL, name)
    ]
    assert changed == [{"view": "view", "parent": "parent_view", "digest": "payload"}[what]]
    assert verify_vote(scheme_of(0), mutated)


def test_old_messages_go_along_with_a_vote():
    liar = liar_with("replay")
    told(liar, liar.nullify(1))

    assert len(told(liar, liar.nullify(2))) > 1


@pytest.mark.parametrize("forge", [thinned, padded, strayed])
def test_a_forged_certificate_is_none(forge):
    votes = {node: Nullify(node, 3, b"") for node in range(3)}
    for node in votes:
        liar = Liar(
            node, validators=4, replicas=4, dishonest=(), scheme=scheme_of(node), chance=Chance(0), max_skew_ms=0
        )
        votes[node] = liar.nullify(3)
    true = assemble(votes, 4)

    assert verify_certificate(scheme_of(3), true, 4)
    assert not verify_certificate(scheme_of(3), forge(true, 4), 4)


def test_a_padded_certificate_fails_by_its_signatures_alone():
    """Its form is that of a certificate of all: only who looks at every signature finds it out."""
    true = Nullification(3, b"\x07", (b"a", b"b", b"c"))

    assert find_certificate_fault(padded(true, 4), 4) == ""
    assert certificate_signers(padded(true, 4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(12))
def test_garbage_can_be_sent(seed):
    """Whatever is drawn is either raw bytes or has an encoding; nothing of it is a vote with a valid signature."""
    liar = liar_with("garbage")
    liar.draw("it", 1 << 20)
    for _ in range(seed):
        liar.draw("it", 2)

    posts = liar.tell(post_of(liar.nullify(9)))[1:]

    assert posts
    for post in posts:
        message = post.message
        assert isinstance(message, bytes) or liar.codec.encode(message)
        if isinstance(message, Notarize | Nullify | Finalize):
            assert not verify_vote(scheme_of(0), message)


def test_a_block_that_its_validator_does_not_know_is_handed_out_by_the_liar():
    liar = liar_with("equivocate")
    block = LIES["flood"](liar, "other", Dishonest(validator=ME, behaviour="flood", start_ms=0, stop_ms=9)).junk_block()
    digest = liar.keep(block)

    liar.hear(2, BlockRequest(digest, 0))

    assert [post.to for post in liar.wire.posts] == [(2,)]


def test_every_behaviour_is_explained():
    behaviours = [*LIES, "amnesia"]
    for behaviour in behaviours:
        for what in ("", *FORMS.get(behaviour, ())):
            fault = Dishonest(validator=ME, behaviour=behaviour, what=what, start_ms=0, stop_ms=9, every=3)
            assert len(fault.describe()) > 60
