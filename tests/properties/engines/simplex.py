"""Simplex: leaders that are silent or not, and a life that goes on with the votes of its journal.

After a power loss of all validators no other one holds what a replica has voted; a run in which just that vote is
missing in a quorum is rare. So is one in which a leader is silent and exactly a quorum is not, or in which a
certificate is asked for while its block is being certified.
"""

from typing import Final

from tests.properties.draws import Asked, Draw
from tests.properties.engines.keyed_scheme import KeyedScheme
from validators.consensus.interface import (
    Append,
    AskAgain,
    CancelTimer,
    Effect,
    Judge,
    Judged,
    Question,
    Received,
    Record,
    Send,
    SetTimer,
    Started,
)
from validators.consensus.simplex import (
    Certificate,
    CertificateRequest,
    CertificateResponse,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    Simplex,
    SimplexConfig,
)
from validators.consensus.simplex.artifacts import Certification
from validators.consensus.simplex.election import LeaderActivity
from validators.consensus.simplex.resolver import FETCH_TIMER, Resolver, serve
from validators.consensus.simplex.rounds import Certified
from validators.consensus.simplex.views import Views

_TICKS_PER_SKIP: Final = 4
_ROUNDS: Final = 4
_VIEWS: Final = 8
_SECOND_US: Final = 1_000_000
_CONFIG: Final = SimplexConfig(
    leader_timeout_us=_SECOND_US,
    certification_timeout_us=2 * _SECOND_US,
    timeout_retry_us=10 * _SECOND_US,
    fetch_timeout_us=_SECOND_US,
    skip_timeout_us=12 * _SECOND_US,
    view_retention=10,
)
_GENESIS: Final = bytes(32)


def _quorum(validators: int) -> int:
    return validators - (validators - 1) // 3


def check_silence(draw: Draw) -> Asked:
    """Yield what is asked of the silence of leaders, and whether it is so."""
    for _ in range(_ROUNDS):
        validators = 4 + draw(4)
        activity = LeaderActivity(validators)
        heard = [0] * validators
        for now in range(2 * _TICKS_PER_SKIP):
            for node in range(validators):
                # Some are heard often, some seldom and the first never.
                if draw(validators) < node // 2:
                    activity.hear(node)
                    heard[node] = now
            awake = [now - last <= _TICKS_PER_SKIP for last in heard]
            leader, me = draw(validators), draw(validators)
            others = sum(awake[node] for node in range(validators) if node not in {leader, me})
            # Oneself counts as awake.
            is_skipped = leader != me and not awake[leader] and others + 1 >= _quorum(validators)
            yield (
                "a leader is waited for that is silent, or is not although it may be there",
                activity.is_skippable(leader, me, _quorum(validators)) == is_skipped,
            )
            yield (
                "a validator counts as silent too soon or too late",
                [activity.is_active(node) for node in range(validators)] == awake,
            )
            activity.advance()


def check_kept_votes(draw: Draw) -> Asked:
    """Yield what is asked of a life with a journal, and whether it is so."""
    for _ in range(_ROUNDS):
        validators = 4 + draw(4)
        me = draw(validators)
        others = [node for node in range(validators) if node != me]
        first = draw(len(others))
        # From anyone on, so that the leader is among those that vote in some and not in others.
        voters = [*others[first:], *others[:first]][: _quorum(validators) - 1]
        proposal = Proposal(1, 0, bytes([1 + draw(255)] * 32))
        votes = {node: Notarize(node, proposal, b"") for node in range(validators)}
        notarization = Notarization(proposal, b"", ())
        finals = {node: Finalize(node, proposal, b"") for node in range(validators)}
        for what, kept, cast, certificate in (
            ("notarize", (votes[me],), votes, Notarization),
            ("nullify", (Nullify(me, 1, b""),), {node: Nullify(node, 1, b"") for node in votes}, Nullification),
            ("finalize", (votes[me], notarization, Certification(1, ok=True), finals[me]), finals, Finalization),
        ):
            engine = _engine(validators, me, kept)
            effects = [effect for node in voters[:-1] for effect in engine.step(Received(node, cast[node]))]
            yield f"a quorum of {what} votes is one vote too few", not _makes(effects, certificate)
            last = engine.step(Received(voters[-1], cast[voters[-1]]))
            yield f"an own {what} vote of an earlier life does not count", _makes(last, certificate)


def check_kept_certificates(draw: Draw) -> Asked:
    """Yield whether a life gives away the certificates of its journal."""
    for _ in range(_ROUNDS):
        validators = 4 + draw(4)
        me, view = draw(validators), 1 + draw(3)
        peer = (me + 1 + draw(validators - 1)) % validators
        proposal = proposal_of(view)
        for kept in (
            (Nullification(view, b"", ()),),
            (Notarization(proposal, b"", ()), Certification(view, ok=True)),
            (Finalization(proposal, b"", ()),),
        ):
            answers = _engine(validators, me, kept).step(Received(peer, CertificateRequest(view)))
            yield (
                "a certificate of an earlier life is not given to who asks for it",
                Send(peer, CertificateResponse(view, kept[0])) in answers,
            )


def check_served_certificates(draw: Draw) -> Asked:
    """Yield what is asked of the answers to requests for certificates, and whether it is so."""
    views = Views(validators=4, genesis=_GENESIS, view_retention=_CONFIG.view_retention)
    final_view = draw(3)
    floor: list[Finalization] = []
    if final_view:
        floor = [Finalization(proposal_of(final_view), b"", ())]
        views.finalize(floor[0])
    for view in range(1, _VIEWS):
        held: list[Certificate] = []
        if draw(4):
            known = views.round(view)
            known.certified = tuple(Certified)[draw(len(Certified))]
            if known.certified is not Certified.UNASKED or draw(2):
                known.notarization = Notarization(proposal_of(view), b"", ())
            if draw(2):
                known.nullification = Nullification(view, b"", ())
            is_certified = known.certified is Certified.PASSED
            held = [each for each in (known.notarization if is_certified else None, known.nullification) if each]
        # Below the final view nothing else helps, and where nothing may be given away that may.
        expected = floor if view <= final_view or not held else held
        yield (
            "a certificate is asked for, and others are given than are held and certified",
            serve(views, 2, view) == [Send(2, CertificateResponse(view, each)) for each in expected],
        )


def check_certifications(draw: Draw) -> Asked:
    """Yield what is asked of a life with notarizations that nobody has judged yet, and whether it is so."""
    for _ in range(_ROUNDS):
        records: list[Record] = []
        unjudged: list[int] = []
        for view in range(1, _VIEWS):
            records += [Nullification(view, b"", ())] * (draw(2))
            if draw(3):
                records.append(Notarization(proposal_of(view), b"", ()))
                is_judged = draw(2) == 0
                records += [Certification(view, ok=draw(2) == 0)] * is_judged
                unjudged += [view] * (not is_judged)
        engine = Simplex(me=0, validators=4, scheme=KeyedScheme(0), config=_CONFIG, genesis=_GENESIS)
        engine.replay(records)
        asked = _asked(engine.step(Started()))
        yield "after a start other blocks are judged than those that are notarized and were not", asked == unjudged
        answered = unjudged[: draw(2)]
        for view in answered:
            engine.step(Judged(Question.CERTIFY, proposal_of(view).ref, ok=False))
        asked = _asked(engine.step(AskAgain()))
        yield "what is being judged is not asked for again, or more is", asked == unjudged[len(answered) :]


def check_requests(draw: Draw) -> Asked:
    """Yield whether a certificate is asked of one validator after the other, and nobody for what is not missing."""
    validators, timeout_us, view = 4 + draw(4), 1 + draw(1_000), 1 + draw(100)
    me, first = draw(validators), draw(validators)
    resolver = Resolver(me=me, validators=validators, fetch_timeout_us=timeout_us)
    turns = [node % validators for node in range(first, first + 3 * validators) if node % validators != me]
    asked = resolver.aim(view, first)
    for peer in turns:
        expected = [Send(peer, CertificateRequest(view)), SetTimer(FETCH_TIMER, view, timeout_us)]
        yield "a certificate is asked of another than the next one", asked == expected
        yield (
            "a request is repeated that is under way, or that is over",
            not [
                *resolver.aim(view, draw(validators)),
                *resolver.retry(view + 1),
            ],
        )
        asked = resolver.retry(view)
    yield "a request goes on though nothing is missing", resolver.aim(None, 0) == [CancelTimer(FETCH_TIMER, view)]
    yield "an old request is repeated", not resolver.retry(view)


def _asked(effects: list[Effect]) -> list[int]:
    """Return the views of the blocks that shall be judged for a certification."""
    asked = [effect for effect in effects if isinstance(effect, Judge) and effect.question is Question.CERTIFY]
    return sorted(effect.ref.view for effect in asked)


def proposal_of(view: int) -> Proposal:
    """Return the one proposal that a view has."""
    return Proposal(view, 0, bytes([view] * 32))


def _engine(validators: int, me: int, records: tuple[Record, ...]) -> Simplex:
    engine = Simplex(me=me, validators=validators, scheme=KeyedScheme(me), config=_CONFIG, genesis=_GENESIS)
    engine.replay(records)
    engine.step(Started())
    return engine


def _makes(effects: list[Effect], certificate: type[Record]) -> bool:
    return any(isinstance(effect, Append) and isinstance(effect.record, certificate) for effect in effects)
