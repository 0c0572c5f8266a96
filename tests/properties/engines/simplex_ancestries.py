"""Simplex' views: what may be built on, what a proposal needs below it, and which messages are of use.

In a run nearly every view is notarized or nullified, and a proposal that leaves one out is a Byzantine leader's. Here
views have any certificates, several of them at once, and what follows is worked out from docs/simplex.md.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

from tests.properties.draws import Asked, Draw
from tests.properties.engines.keyed_scheme import KeyedScheme
from tests.properties.engines.simplex import proposal_of
from validators.consensus.interface import BlockRef
from validators.consensus.simplex import (
    Certificate,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
)
from validators.consensus.simplex.election import LeaderActivity
from validators.consensus.simplex.messages import Vote
from validators.consensus.simplex.rounds import Certified
from validators.consensus.simplex.screening import Screen
from validators.consensus.simplex.views import (
    PARENT_BEFORE_FINALIZED,
    PARENT_FAILED_CERTIFICATION,
    PARENT_NOT_BEFORE_PROPOSAL,
    Ancestry,
    Certifying,
    Invalid,
    Missing,
    Ready,
    Views,
)

_VALIDATORS: Final = 4
_VIEWS: Final = 7
_LIVES: Final = 3
_ASKED: Final = 8


class _Known(NamedTuple):
    """A validator's views, and the same in plain numbers: the final one, what is held of the others, which votes."""

    views: Views
    final: int
    notarized: dict[int, Certified]
    nullified: dict[int, None]
    voted: dict[tuple[type[Vote], int, int], None]

    def ref(self, view: int) -> BlockRef:
        """Return the block of a view; that of the final one may be genesis."""
        return BlockRef(view, self.views.finalized_payload if view == self.final else proposal_of(view).payload)


def check_ancestries(draw: Draw) -> Asked:
    """Yield whether leaders build on the block that they have to, and ask for what a proposal misses below it."""
    for _ in range(_LIVES):
        known = _draw_known(draw)
        for view in range(known.final + 1, _VIEWS + 1):
            yield "another block is built on than has to be", known.views.select_parent(view) == _parent(known, view)
        for _ in range(_ASKED):
            view = known.final + 1 + draw(_VIEWS)
            proposal = Proposal(view, max(view - draw(4), 0), proposal_of(view).payload)
            found = known.views.check_ancestry(proposal)
            yield "a proposal's ancestry is judged otherwise than it is", found == _ancestry(known, proposal)


def _parent(known: _Known, view: int) -> Ready | Missing:
    """Return the highest certified block below a view, or the view above it that may not be left out."""
    certified = [each for each, how in known.notarized.items() if each < view and how is Certified.PASSED]
    highest = max([known.final, *certified])
    left_out = max((each for each in range(highest + 1, view) if each not in known.nullified), default=0)
    return Missing(left_out) if left_out else Ready(known.ref(highest))


def _ancestry(known: _Known, proposal: Proposal) -> Ancestry:
    parent = proposal.parent_view
    if parent >= proposal.view:
        return Invalid(PARENT_NOT_BEFORE_PROPOSAL)
    if parent < known.final:
        return Invalid(PARENT_BEFORE_FINALIZED)
    if parent > known.final and known.notarized.get(parent) is not Certified.PASSED:
        how = known.notarized.get(parent)
        failed = Invalid(PARENT_FAILED_CERTIFICATION) if how is Certified.FAILED else Certifying(parent)
        return Missing(parent) if how is None else failed
    left_out = [each for each in range(parent + 1, proposal.view) if each not in known.nullified]
    return Missing(min(left_out)) if left_out else Ready(known.ref(parent))


def check_uses(draw: Draw) -> Asked:
    """Yield whether a vote or a certificate is of use just where it is news and its view is not over."""
    for _ in range(_LIVES):
        known = _draw_known(draw)
        known.views.current = known.final + 1 + draw(4)
        screen = Screen(
            validators=_VALIDATORS,
            scheme=KeyedScheme(0),
            views=known.views,
            activity=LeaderActivity(_VALIDATORS),
            helper=cast("Any", None),
        )
        for view in range(1, _VIEWS + 1):
            for certificate in _certificates(view):
                yield (
                    "a certificate is of use, or not, otherwise than by its view and what is held",
                    screen.is_wanted(certificate) == _is_certificate_wanted(known, certificate, view),
                )
            signer = draw(_VALIDATORS)
            for vote in _votes(signer, view):
                yield (
                    "a vote is of use, or not, otherwise than by its view and what is held",
                    screen.is_wanted(vote) == _is_vote_wanted(known, vote, view),
                )


def _is_certificate_wanted(known: _Known, certificate: Certificate, view: int) -> bool:
    held = view in (known.notarized if isinstance(certificate, Notarization) else known.nullified)
    return view > known.final and (isinstance(certificate, Finalization) or not held)


def _is_vote_wanted(known: _Known, vote: Vote, view: int) -> bool:
    is_decided = (isinstance(vote, Notarize) and view in known.notarized) or (
        isinstance(vote, Nullify) and view in known.nullified
    )
    is_news = (type(vote), vote.signer, view) not in known.voted
    return known.final < view <= known.views.current + 1 and not is_decided and is_news


def _draw_known(draw: Draw) -> _Known:
    """Return views of which each may have a notarization, a nullification, both or neither, and some votes."""
    views = Views(validators=_VALIDATORS, genesis=bytes(32), view_retention=10)
    final = draw(3)
    if final:
        views.finalize(Finalization(proposal_of(final), b"", ()))
    known = _Known(views, final, {}, {}, {})
    for view in range(1, _VIEWS):
        if draw(3):
            known.notarized[view] = (*[Certified.PASSED] * 3, *Certified)[draw(3 + len(Certified))]
            views.round(view).notarization = Notarization(proposal_of(view), b"", ())
            views.round(view).certified = known.notarized[view]
        if draw(3):
            known.nullified[view] = None
            views.round(view).nullification = Nullification(view, b"", ())
        for vote in _votes(draw(_VALIDATORS), view):
            if draw(3) == 0:
                known.voted[type(vote), vote.signer, view] = None
                views.round(view).votes.add(vote)
    return known


def _certificates(view: int) -> Sequence[Certificate]:
    proposal = proposal_of(view)
    return Notarization(proposal, b"", ()), Nullification(view, b"", ()), Finalization(proposal, b"", ())


def _votes(signer: int, view: int) -> Sequence[Vote]:
    proposal = proposal_of(view)
    return Notarize(signer, proposal, b""), Nullify(signer, view, b""), Finalize(signer, proposal, b"")
