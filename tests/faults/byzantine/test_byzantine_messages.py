"""Each behaviour tampers with a message, one at a time: signed with the true key, for the right ones, and counted."""

from types import SimpleNamespace

import pytest

from faults import Byzantine
from faults.byzantine.adversary import Outgoing
from faults.byzantine.catalogue import behaviours_of, forms_of
from faults.byzantine.registry import ADVERSARIES
from faults.byzantine.simplex_votes import padded, strayed, thinned
from network.chance import Chance
from network.types import Label
from tests.support.adversaries import ME, OTHERS, adversary_with, scheme_of
from tests.support.simplex_bench import CONFIG
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
from validators.consensus.simplex.kind import SIMPLEX
from validators.consensus.simplex.signing import verify_vote
from validators.messages import BlockRelay, BlockRequest, SnapshotOffer, SnapshotRequest
from validators.state import Snapshot

PROPOSAL = Proposal(7, 6, b"p" * 32)


def post_of(message):
    return Outgoing(OTHERS, message, Label(*SIMPLEX.label(message)[:2]))


def tampered(adversary, message):
    """Return what is sent in the place of a message, as (receivers, message)."""
    return [(outgoing.to, outgoing.message) for outgoing in adversary.tamper(post_of(message)) if outgoing.to]


def test_a_double_vote_shows_each_half_another_block():
    adversary = adversary_with("double-vote")

    (first, true), (second, invented) = tampered(adversary, adversary.votes.finalize(PROPOSAL))

    assert (first, true.proposal) == ((0,), PROPOSAL)
    assert second == (2, 3)
    assert invented.proposal.payload != PROPOSAL.payload
    assert verify_vote(scheme_of(0), invented)
    assert adversary.count("it") == 2


def test_two_blocks_of_a_leader_get_both_votes_at_once():
    """As soon as the second is heard of; the lower digest is for the first half."""
    adversary = adversary_with("double-vote")
    low, high = Proposal(4, 3, b"a" * 32), Proposal(4, 3, b"b" * 32)
    leader = scheme_of(0)
    for proposal in (high, low):
        adversary.hear(0, Notarize(0, proposal, leader.sign(b"", b"")))

    assert [(outgoing.to, type(outgoing.message), outgoing.message.proposal) for outgoing in adversary.wire.sent] == [
        ((0,), Notarize, low),
        ((0,), Finalize, low),
        ((2, 3), Notarize, high),
        ((2, 3), Finalize, high),
    ]


def test_conflicting_votes_show_everybody_both_blocks():
    adversary = adversary_with("conflicting-votes")

    (first, invented), (second, true) = tampered(adversary, adversary.votes.notarize(PROPOSAL))

    assert first == second == OTHERS
    assert true.proposal == PROPOSAL
    assert invented.proposal.payload != PROPOSAL.payload
    assert verify_vote(scheme_of(0), invented)


def test_an_impersonator_votes_as_each_of_the_others_in_turn():
    adversary = adversary_with("impersonate")
    true = adversary.votes.notarize(PROPOSAL)

    said = [tampered(adversary, true) for _ in range(3)]

    assert [len(each) for each in said] == [1, 1, 1]
    assert {each[0][1].signer for each in said} == {*OTHERS}
    assert {(each[0][0], each[0][1].proposal, each[0][1].signature) for each in said} == {
        (OTHERS, PROPOSAL, true.signature)
    }
    assert not any(verify_vote(scheme_of(0), each[0][1]) for each in said)


def test_a_blind_voter_votes_at_once_and_sends_nothing_else_of_the_view():
    """Its own validator counts the votes as well; it neither votes again nor to leave what it finalizes."""
    adversary = adversary_with("blind-vote")
    adversary.hear(3, Notarize(3, PROPOSAL, b""))
    adversary.hear(0, Notarization(PROPOSAL, b"\x0d", ()))

    votes = [adversary.votes.notarize(PROPOSAL), adversary.votes.finalize(PROPOSAL)]
    assert [(outgoing.to, outgoing.message) for outgoing in adversary.wire.sent] == [(OTHERS, vote) for vote in votes]
    assert adversary.wire.given == votes
    assert [tampered(adversary, message) for message in (*votes, adversary.votes.nullify(PROPOSAL.view))] == [
        [],
        [],
        [],
    ]
    assert tampered(adversary, adversary.votes.nullify(8)) == [(OTHERS, adversary.votes.nullify(8))]


@pytest.mark.parametrize(("what", "kinds"), [("notarize", [Notarize]), ("finalize", [Finalize])])
def test_a_blind_voter_may_be_blind_to_one_kind_only(what, kinds):
    adversary = adversary_with("blind-vote", what=what)
    adversary.hear(3, Notarize(3, PROPOSAL, b""))
    adversary.hear(0, Notarization(PROPOSAL, b"\x0d", ()))

    assert [type(outgoing.message) for outgoing in adversary.wire.sent] == kinds


def test_a_finalize_goes_with_its_contrary():
    adversary = adversary_with("nullify-and-finalize")

    assert [type(message) for _, message in tampered(adversary, adversary.votes.finalize(PROPOSAL))] == [
        Finalize,
        Nullify,
    ]


def test_what_is_withheld_does_not_leave_for_whom_it_is_withheld_from():
    adversary = adversary_with("withhold", kinds=("Notarize",), to=(2,))

    assert tampered(adversary, adversary.votes.notarize(PROPOSAL)) == [((0, 3), adversary.votes.notarize(PROPOSAL))]
    assert tampered(adversary, adversary.votes.finalize(PROPOSAL)) == [(OTHERS, adversary.votes.finalize(PROPOSAL))]
    assert adversary.count("it") == 1


def test_every_second_occasion_is_every_second_message():
    adversary = adversary_with("withhold", every=2)

    assert [len(tampered(adversary, adversary.votes.nullify(view))) for view in range(1, 5)] == [1, 0, 1, 0]


def test_a_silent_leader_holds_back_its_block_and_its_vote_for_it_alone():
    adversary = adversary_with("silent-leader")
    own, others = Proposal(5, 4, b"p" * 32), Proposal(6, 5, b"p" * 32)

    assert tampered(adversary, adversary.votes.notarize(own)) == []
    assert [
        outgoing.to
        for outgoing in adversary.tamper(Outgoing(OTHERS, BlockRelay(b""), SimpleNamespace(kind="BlockRelay")))
    ] == []
    assert len(tampered(adversary, adversary.votes.notarize(others))) == 1


@pytest.mark.parametrize(("every", "views"), [(1, [1, 1, 2, 3, 4]), (2, [1, 2, 2, 4, 4])])
def test_a_stale_vote_stands_in_the_place_of_the_new_one(every, views):
    """Each stale vote counts once a receiver."""
    adversary = adversary_with("stale-votes", every=every)
    said = [tampered(adversary, adversary.votes.nullify(view)) for view in range(1, 6)]

    assert [[vote.view for _, vote in each] for each in said] == [[view] for view in views]
    stale = sum(view != told for told, view in enumerate(views, start=1))
    assert adversary.count("it") == stale * len(OTHERS)


@pytest.mark.parametrize("what", forms_of(SIMPLEX.name, "mutate-votes"))
def test_a_mutated_vote_differs_in_one_thing_and_is_signed(what):
    adversary = adversary_with("mutate-votes", what=what)

    ((_, mutated),) = tampered(adversary, adversary.votes.notarize(PROPOSAL))

    changed = [
        name for name in PROPOSAL.__struct_fields__ if getattr(mutated.proposal, name) != getattr(PROPOSAL, name)
    ]
    assert changed == [{"view": "view", "parent": "parent_view", "digest": "payload"}[what]]
    assert verify_vote(scheme_of(0), mutated)


def test_old_messages_go_along_with_a_vote():
    """The new vote leaves first; each old vote that goes along counts once a receiver."""
    adversary = adversary_with("replay")
    said = [[vote.view for _, vote in tampered(adversary, adversary.votes.nullify(view))] for view in range(1, 6)]

    assert [views[0] for views in said] == [1, 2, 3, 4, 5]
    assert all(view < views[0] for views in said for view in views[1:])
    assert 0 < sum(len(views) - 1 for views in said) * len(OTHERS) == adversary.count("it")


@pytest.mark.parametrize(
    "forge",
    [lambda true: thinned(true, 4), lambda true: padded(true, 4), strayed],
    ids=["thinned", "padded", "strayed"],
)
def test_a_forged_certificate_is_none(forge):
    votes = {node: Nullify(node, 3, b"") for node in range(3)}
    for node in votes:
        adversary = ADVERSARIES[SIMPLEX.name].make(
            node,
            validators=4,
            replicas=4,
            byzantine=(),
            scheme=scheme_of(node),
            config=CONFIG,
            chance=Chance(0),
            max_skew_ms=0,
        )
        votes[node] = adversary.votes.nullify(3)
    true = assemble(votes, 4)

    assert verify_certificate(scheme_of(3), true, 4)
    assert not verify_certificate(scheme_of(3), forge(true), 4)


def test_a_padded_certificate_fails_by_its_signatures_alone():
    """Its form is that of a certificate of all: only who looks at every signature finds it out."""
    true = Nullification(3, b"\x07", (b"a", b"b", b"c"))

    assert find_certificate_fault(padded(true, 4), 4) == ""
    assert certificate_signers(padded(true, 4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(12))
def test_garbage_can_be_sent(seed):
    """Whatever is drawn is either raw bytes or has an encoding; nothing of it is a vote with a valid signature."""
    adversary = adversary_with("garbage")
    adversary.draw("it", 1 << 20)
    for _ in range(seed):
        adversary.draw("it", 2)

    replaced = adversary.tamper(post_of(adversary.votes.nullify(9)))[1:]

    assert replaced
    for outgoing in replaced:
        message = outgoing.message
        assert isinstance(message, bytes) or adversary.codec.encode(message)
        if isinstance(message, Notarize | Nullify | Finalize):
            assert not verify_vote(scheme_of(0), message)


def test_the_adversary_serves_a_block_that_its_validator_does_not_know():
    adversary = adversary_with("equivocate")
    block = behaviours_of(SIMPLEX.name)["flood"](
        adversary, "other", Byzantine(validator=ME, behaviour="flood", start_ms=0, stop_ms=9)
    ).junk_block()
    digest = adversary.keep(block)

    adversary.hear(2, BlockRequest(digest, 0))

    assert [outgoing.to for outgoing in adversary.wire.sent] == [(2,)]


@pytest.mark.parametrize("behaviour", ["forge-snapshot", "probe-snapshots"])
def test_an_offer_that_another_forger_cut_short_is_left(behaviour):
    adversary = adversary_with(behaviour)
    outline = Snapshot(size=1, start=0, floor=0, root=b"r", witness=(), peaks=(), operations=())

    cut = SnapshotOffer(b"\x91", PROPOSAL, outline, 1)
    adversary.hear(2, cut)
    adversary.hear(0, SnapshotRequest(0))

    assert adversary.wire.sent == []
    answer = Outgoing((0,), cut, Label(SnapshotOffer.traced_name))
    assert adversary.tamper(answer) == [answer]


def test_every_behaviour_is_explained():
    behaviours = [*behaviours_of(SIMPLEX.name), "amnesia"]
    for behaviour in behaviours:
        for what in ("", *forms_of(SIMPLEX.name, behaviour)):
            fault = Byzantine(validator=ME, behaviour=behaviour, what=what, start_ms=0, stop_ms=9, every=3)
            assert len(fault.describe()) > 60
