"""Simplex' rounds: what each lets its validator vote for, and what a journal leads back to.

In a run one of a round's guards nearly always stands behind another, and a block that failed certification is rarely
in the journal of a restart. Here a round has any votes and certificates that a life may have left, and what it allows
and what is restored is worked out from docs/simplex.md.
"""

from typing import Final, NamedTuple

from tests.properties.draws import Asked, Draw
from tests.properties.engines.simplex import proposal_of
from validators.consensus.simplex import (
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
)
from validators.consensus.simplex.artifacts import Artifact, Certification
from validators.consensus.simplex.recovery import own_votes, restore
from validators.consensus.simplex.rounds import Certified, ProposalState, Round
from validators.consensus.simplex.views import Views

_VALIDATORS: Final = 4
_VIEWS: Final = 7
_LIVES: Final = 4
_ROUNDS: Final = 20


def check_guards(draw: Draw) -> Asked:
    """Yield whether a round allows a vote just where no vote, certificate or doubt of it stands in the way."""
    proposal = proposal_of(1)
    for _ in range(_ROUNDS):
        notarized, nullified, finalized, is_doubtful, holds, gives_up = (draw(4) == 0 for _ in range(6))
        slot, certified = [*ProposalState][draw(len(ProposalState))], [*Certified][draw(len(Certified))]
        one = Round(
            1,
            0,
            proposal=None if slot is ProposalState.EMPTY else proposal,
            proposal_state=slot,
            is_equivocated=is_doubtful,
            own_notarize=Notarize(0, proposal, b"") if notarized else None,
            own_nullify=Nullify(0, 1, b"") if nullified else None,
            own_finalize=Finalize(0, proposal, b"") if finalized else None,
            notarization=Notarization(proposal, b"", ()) if holds else None,
            nullification=Nullification(1, b"", ()) if gives_up else None,
            certified=certified,
        )
        is_silent = not (notarized or nullified or finalized)
        is_first = is_silent and slot is ProposalState.EMPTY and not holds
        yield "a second block is proposed in a view, or none", one.may_propose() == is_first
        is_sound = slot is ProposalState.VERIFIED and not is_doubtful
        may_notarize = is_sound and not (holds or notarized or nullified)
        yield "a block gets a notarize that it must not have, or none", one.may_notarize() == may_notarize
        yield "a nullify stands beside another or a finalize", one.may_nullify() == (not nullified and not finalized)
        is_open = not (finalized or nullified or gives_up or is_doubtful)
        may_finalize = is_open and certified is Certified.PASSED
        yield "a block gets a finalize that it must not have, or none", one.may_finalize() == may_finalize


class _Kept(NamedTuple):
    """Records of one view in a journal, and the certification that they lead to."""

    view: int
    records: tuple[Artifact, ...]
    certified: Certified

    def has(self, *kinds: type[Artifact]) -> bool:
        """Return whether there is a record of one of these kinds."""
        return any(isinstance(record, kinds) for record in self.records)


def check_restored_rounds(draw: Draw) -> Asked:
    """Yield whether a start has the votes, the certifications and the view that its journal leads to."""
    for _ in range(_LIVES):
        me, final_view = draw(_VALIDATORS), draw(4)
        journal = [_draw_kept(view, me, draw) for view in range(1, _VIEWS)]
        records = [record for kept in journal for record in kept.records]
        # A floor and entries, in any order: the highest of them counts.
        finals = [Finalization(proposal_of(view), b"", ()) for view in (final_view, draw(final_view + 1)) if view]
        floor = finals.pop(draw(len(finals))) if finals and draw(2) else None
        views = Views(validators=_VALIDATORS, genesis=bytes(32), view_retention=10)
        restore(views, [*records, *finals], me, floor)
        above = [kept for kept in journal if kept.view > final_view]
        yield "a start has another final view than its journal", views.finalized_view == final_view
        entered = [final_view + 1]
        entered += [kept.view for kept in above if kept.has(Notarize, Nullify, Finalize)]
        entered += [kept.view + 1 for kept in above if kept.has(Nullification) or kept.certified is Certified.PASSED]
        yield "a start enters another view than its journal leads into", views.current == max(entered)
        votes = [
            record for kept in above for record in kept.records if isinstance(record, Notarize | Nullify | Finalize)
        ]
        yield "a start has other votes of its own than its journal", own_votes(views) == votes
        for kept in above:
            known = views.get(kept.view)
            yield (
                "a start takes a certification for another one",
                (Certified.UNASKED if known is None else known.certified) is kept.certified,
            )


def _draw_kept(view: int, me: int, draw: Draw) -> _Kept:
    """Return what a life may have left of a view: each vote once, a certification where there was what to certify."""
    proposal, records, certified = proposal_of(view), list[Artifact](), Certified.UNASKED
    if draw(2):
        records.append(Notarize(me, proposal, b""))
    if draw(3) == 0:
        records.append(Nullify(me, view, b""))
    is_nullified = bool(records) and isinstance(records[-1], Nullify)
    if draw(2):
        records.append(Notarization(proposal, b"", ()))
        certified = (Certified.UNASKED, Certified.PASSED, Certified.FAILED)[draw(3)]
    if certified is not Certified.UNASKED:
        records.append(Certification(view, ok=certified is Certified.PASSED))
    if certified is Certified.PASSED and not is_nullified and draw(2):
        records.append(Finalize(me, proposal, b""))
    if draw(4) == 0:
        records.append(Nullification(view, b"", ()))
    return _Kept(view, tuple(records), certified)
