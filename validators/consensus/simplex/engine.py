"""The Simplex state machine of one validator (specification of Simplex, section 1), term length 1.

It has no clock, no storage and no network: each event is a call, and the answer is the list of effects that the shell
is to perform. Nothing here waits; what takes time (building, judging, syncing, travelling) comes back as a later event.

What it must never do, whatever comes in which order and however often it is restarted:

- send two different notarizes, or two different finalizes, in one view;
- send both a nullify and a finalize in one view;
- send any vote that was not appended to the journal in the same step or earlier.

How a step goes: the event changes rounds, which may mark the machine *dirty*; `_finish` then asks, until nothing is
dirty, what the current view can do now (propose, verify, fetch what is missing). Asking after each such event instead
of waking the one waiter that it unblocks costs a few flags and leaves no wake-up to forget: the public
implementation's known stall was a waiter latched to an unavailable leader.

Files of their own have: what a view is (`rounds`), what may be built on what (`views`), own votes (`casting`), timers
(`timeouts`), which messages are worth their verification (`screening`), fetching and serving (`resolver`), and what a
journal means (`recovery`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import final

from network.types import Digest, NodeId
from validators.consensus.simplex.artifacts import Artifact, Certification
from validators.consensus.simplex.casting import Caster
from validators.consensus.simplex.certificates import assemble, quorum_of
from validators.consensus.simplex.config import SimplexConfig
from validators.consensus.simplex.effects import (
    ACTIVITY_TIMER,
    CERTIFICATION_TIMER,
    FETCH_TIMER,
    LEADER_TIMER,
    RETRY_TIMER,
    Append,
    Broadcast,
    CancelTimer,
    Certify,
    Effect,
    Entered,
    Finalized,
    Propose,
    RelayPayload,
    Report,
    Send,
    Verdict,
    Verify,
)
from validators.consensus.simplex.election import Activity, leader_of
from validators.consensus.simplex.messages import (
    Certificate,
    CertificateRequest,
    CertificateResponse,
    ConsensusMessage,
    Finalization,
    Finalize,
    Notarization,
    Notarize,
    Nullification,
    Nullify,
    Proposal,
    Vote,
    view_of,
)
from validators.consensus.simplex.recovery import own_votes, restore
from validators.consensus.simplex.resolver import Helper, Resolver, serve
from validators.consensus.simplex.rounds import Certified, Round, Standing
from validators.consensus.simplex.screening import Screen
from validators.consensus.simplex.signing import Scheme
from validators.consensus.simplex.statistics import Counts, SimplexStatistics
from validators.consensus.simplex.timeouts import (
    TimeoutReason,
    arm_timers,
    cancel_waits,
    find_reason_to_leave,
    give_up,
    say_again,
    tick_timer,
)
from validators.consensus.simplex.views import Invalid, Missing, Ready, Views


@final
class Simplex:
    """One validator's consensus.

    Args:
        me: this validator's index; an observer may be none of the validators.
        validators: how many validators there are.
        scheme: signs our votes and verifies the others'.
        config: timeouts and retention.
        genesis: the payload of view 0, which is final from the start.
    """

    def __init__(self, *, me: NodeId, validators: int, scheme: Scheme, config: SimplexConfig, genesis: Digest) -> None:
        assert 0 <= me < validators or config.is_observer, f"validator {me} of {validators}"
        self._me = me
        self._validators = validators
        self._quorum = quorum_of(validators)
        self._config = config
        self._views = Views(validators=validators, genesis=genesis, view_retention=config.view_retention)
        self._activity = Activity(validators)
        self._helper = Helper()
        self._resolver = Resolver(me=me, validators=validators, fetch_timeout_us=config.fetch_timeout_us)
        self._caster = Caster(None if config.is_observer else me, scheme)
        self._screen = Screen(
            validators=validators, scheme=scheme, views=self._views, activity=self._activity, helper=self._helper
        )
        self._counts = Counts()
        self._is_restarted = False
        self._is_dirty = False
        self._effects: list[Effect] = []

    @property
    def view(self) -> int:
        """The current view."""
        return self._views.current

    @property
    def finalized_view(self) -> int:
        """The highest finalized view; 0 is genesis."""
        return self._views.finalized_view

    @property
    def finalization(self) -> Finalization | None:
        """The certificate of the highest finalized view; None while that is genesis."""
        return self._views.finalization

    def leader(self, view: int) -> NodeId:
        """Return who leads `view`, which is 1 or more."""
        return leader_of(view, self._validators)

    def statistics(self) -> SimplexStatistics:
        """Return figures of this life."""
        return SimplexStatistics(
            view=self.view,
            finalized_view=self.finalized_view,
            rounds_kept=len(self._views),
            votes_cast=self._caster.votes_cast,
            fetches=self._resolver.requests,
            **asdict(self._counts),
        )

    def replay(self, artifacts: Iterable[Artifact], floor: Finalization | None = None) -> None:
        """Take up the journal of an earlier life, oldest artifact first; called before `start`.

        `floor` is the finality below which the journal was pruned.

        Raises:
            CorruptArtifactError: the journal cannot be this validator's.
        """
        journal = list(artifacts)
        self._is_restarted = bool(journal)
        restore(self._views, journal, self._me, floor)

    def start(self) -> list[Effect]:
        """Enter the first view, or the one that the journal leads to."""
        current = self._current()
        self._emit(Entered(self.view, current.leader))
        self._emit(tick_timer(self._activity, self._config))
        for kept in self._views.unfinalized():
            self._request_certification(kept)
        if current.own_notarize is not None:
            # It may never have left: the crash can have come between the sync and the sending.
            self._emit(Broadcast(current.own_notarize))
        self._begin_view(current)
        if self._is_restarted and current.leader == self._me and current.own_notarize is None:
            # An earlier life may have relayed a payload of this view; a second one would be equivocation.
            self._time_out(TimeoutReason.MISSING_PROPOSAL)
        for vote in own_votes(self._views):
            self._complete(vote)
        self._is_dirty = True
        return self._finish()

    def check(self, sender: NodeId, message: ConsensusMessage) -> Verdict:
        """Return whether `message` may be given to `receive`; verifies only what would be of use."""
        return self._screen.check(sender, message)

    def receive(self, sender: NodeId, message: ConsensusMessage) -> list[Effect]:
        """Take a message that `check` has approved; it may have become useless in the meantime."""
        if isinstance(message, CertificateRequest):
            held = serve(self._views, message.view)
            self._emit(*(Send(sender, CertificateResponse(message.view, certificate)) for certificate in held))
        elif isinstance(message, Notarize | Nullify | Finalize):
            self._receive_vote(sender, message)
        else:
            self._receive_certificate(message.certificate if isinstance(message, CertificateResponse) else message)
        return self._finish()

    def _receive_vote(self, sender: NodeId, vote: Vote) -> None:
        if isinstance(vote, Nullify) and self._helper.is_due(sender, vote.view, self._views):
            held = self._helper.help(sender, vote.view, self._views)
            self._emit(*(Send(sender, certificate) for certificate in held))
        if self._screen.is_wanted(vote):
            self._count(vote)

    def _receive_certificate(self, certificate: Certificate) -> None:
        """Keep a certificate; it is not sent on, because whoever assembled it has told everybody."""
        if self._screen.is_wanted(certificate):
            self._counts.certificates_received += 1
            self._emit(Append(certificate))
            self._apply(certificate)

    def proposed(self, view: int, payload: Digest | None) -> list[Effect]:
        """Take the payload that `Propose` asked for; None means that there will be none."""
        current = self._current()
        if view == current.view and current.requested_parent is not None and current.may_propose():
            if payload is None:
                self._time_out(TimeoutReason.MISSING_PROPOSAL)
            else:
                current.fill_own(Proposal(view, current.requested_parent, payload))
                self._emit(CancelTimer(LEADER_TIMER, view), RelayPayload(payload))
                self._cast(self._caster.notarize(current))
        return self._finish()

    def verified(self, proposal: Proposal, ok: bool | None) -> list[Effect]:  # noqa: FBT001 - the answer to a question
        """Take the judgement that `Verify` asked for; None means that there will be none."""
        current = self._current()
        if current.standing is Standing.VERIFYING and current.proposal == proposal:
            if ok:
                current.standing = Standing.VERIFIED
                self._cast(self._caster.notarize(current))
            else:
                self._time_out(TimeoutReason.IGNORED_PROPOSAL if ok is None else TimeoutReason.INVALID_PROPOSAL)
        return self._finish()

    def certified(self, proposal: Proposal, ok: bool) -> list[Effect]:  # noqa: FBT001 - the answer to a question
        """Take the judgement that `Certify` asked for."""
        found = self._views.get(proposal.view)
        if found is not None and found.view > self.finalized_view and found.is_certifying(proposal):
            self._emit(Append(Certification(found.view, ok)))
            found.certified = Certified.PASSED if ok else Certified.FAILED
            self._is_dirty = True
            if ok:
                self._cast(self._caster.finalize(found))
                self._enter(found.view + 1)
            elif found.view == self.view:
                self._time_out(TimeoutReason.FAILED_CERTIFICATION)
        return self._finish()

    def adopt_floor(self, finality: Finalization) -> list[Effect]:
        """Take a verified finalization from outside of consensus, such as that of a snapshot; an old one is ignored."""
        self._receive_certificate(finality)
        return self._finish()

    def ask_again(self) -> list[Effect]:
        """Ask anew for what the application has not answered: there is a new one, of another state."""
        for kept in self._views.unfinalized():
            if kept.certified is Certified.PENDING:
                kept.certified = Certified.UNASKED
                self._request_certification(kept)
        return self._finish()

    def timer(self, name: str, view: int) -> list[Effect]:
        """Take a timer that has fired; one that has been cancelled or overtaken is ignored."""
        if name == FETCH_TIMER:
            self._emit(*self._resolver.retry(view))
        elif name == ACTIVITY_TIMER:
            if view == self._activity.tick + 1:
                self._activity.advance()
                self._emit(tick_timer(self._activity, self._config))
        elif view == self.view:
            self._time_current_view(name)
        return self._finish()

    def _time_current_view(self, name: str) -> None:
        if name == LEADER_TIMER and self._current().proposal is None:
            self._time_out(TimeoutReason.LEADER_TIMEOUT)
        elif name == CERTIFICATION_TIMER:
            self._time_out(TimeoutReason.CERTIFICATION_TIMEOUT)
        elif name == RETRY_TIMER and self._current().own_nullify is not None:
            self._retry()

    def _retry(self) -> None:
        self._counts.retries += 1
        self._emit(*say_again(self._views, self._config))

    def _time_out(self, reason: TimeoutReason) -> None:
        """Give the current view up; the first reason stands."""
        current = self._current()
        if not current.may_nullify() or current.timeout_reason:
            return
        self._counts.timeouts += 1
        self._emit(*give_up(current, reason, self._config))
        self._cast(self._caster.nullify(current))

    def _current(self) -> Round:
        return self._views.round(self._views.current)

    def _enter(self, view: int) -> None:
        """Go on to `view` unless we are there or beyond."""
        if view <= self.view:
            return
        self._emit(*cancel_waits(self.view), CancelTimer(RETRY_TIMER, self.view))
        self._views.current = view
        self._is_dirty = True
        entered = self._current()
        self._emit(Entered(view, entered.leader))
        self._begin_view(entered)

    def _begin_view(self, entered: Round) -> None:
        """Arm the timers of the view that has become current, or give it up at once."""
        if entered.own_nullify is not None:
            self._retry()
            return
        self._emit(*arm_timers(entered, self._config))
        is_silent = self._activity.is_skippable(entered.leader, self._me, self._quorum)
        reason = find_reason_to_leave(entered, is_leader_silent=is_silent)
        if reason is not None:
            self._time_out(reason)

    def _finish(self) -> list[Effect]:
        """Do what the current view can do now, and hand out the step's effects."""
        while self._is_dirty:
            self._is_dirty = False
            self._advance()
        effects, self._effects = self._effects, []
        return effects

    def _advance(self) -> None:
        current = self._current()
        selected = self._views.select_parent(current.view)
        gap = selected.view if isinstance(selected, Missing) else None
        if isinstance(selected, Ready):
            self._request_proposal(current, selected)
        if current.standing is Standing.UNVERIFIED:
            gap = self._request_verification(current) or gap
        if not self._is_dirty:
            self._emit(*self._resolver.aim(gap, current.leader))

    def _request_proposal(self, current: Round, selected: Ready) -> None:
        is_ours = current.leader == self._me and not self._config.is_observer
        if is_ours and current.may_propose() and current.requested_parent is None:
            current.requested_parent = selected.parent.view
            self._emit(Propose(current.view, selected.parent))

    def _request_verification(self, current: Round) -> int | None:
        """Have the proposal judged if its ancestry is in order; return the view whose certificate is missing."""
        assert current.proposal is not None, "an unverified slot has a proposal"
        if current.own_nullify is not None or current.is_equivocated:
            return None
        ancestry = self._views.check_ancestry(current.proposal)
        if isinstance(ancestry, Missing):
            return ancestry.view
        if isinstance(ancestry, Invalid):
            self._time_out(TimeoutReason.INVALID_PROPOSAL)
        elif isinstance(ancestry, Ready) and current.leader != self._me:
            current.standing = Standing.VERIFYING
            self._emit(Verify(current.proposal, ancestry.parent))
        return None

    def _cast(self, vote: Vote | None) -> None:
        if vote is not None:
            self._emit(Append(vote), Broadcast(vote))
            self._count(vote)

    def _count(self, vote: Vote) -> None:
        """Count a verified vote, ours or another's."""
        found = self._views.round(view_of(vote))
        for activity in found.votes.add(vote):
            self._emit(Report(activity, vote.signer, found.view, "", found.votes.evidence[activity, vote.signer]))
        if isinstance(vote, Notarize) and vote.signer == found.leader:
            self._see_proposal(found, vote.proposal)
        if isinstance(vote, Nullify) and vote.signer == found.leader and found.view == self.view:
            self._time_out(TimeoutReason.LEADER_NULLIFY)
        self._complete(vote)

    def _complete(self, vote: Vote) -> None:
        """Assemble the certificate that a counted vote completes, unless it is held or not needed any more."""
        found = self._views.round(view_of(vote))
        if isinstance(vote, Notarize):
            if found.notarization is None:
                self._assemble(found.votes.matching_notarizes(vote.proposal))
        elif isinstance(vote, Nullify):
            if found.nullification is None:
                self._assemble(dict(found.votes.nullifies))
        elif found.view > self.finalized_view:
            self._assemble(found.votes.matching_finalizes(vote.proposal))

    def _see_proposal(self, found: Round, proposal: Proposal) -> None:
        if found.see_proposal(proposal) and found.view == self.view:
            self._emit(CancelTimer(LEADER_TIMER, found.view))
            self._is_dirty = True

    def _assemble(self, votes: dict[NodeId, Vote]) -> None:
        if len(votes) < self._quorum:
            return
        self._counts.certificates_assembled += 1
        certificate = assemble(votes, self._validators)
        self._emit(Append(certificate), Broadcast(certificate))
        self._apply(certificate)

    def _apply(self, certificate: Certificate) -> None:
        self._is_dirty = True
        view = view_of(certificate)
        if isinstance(certificate, Notarization):
            found = self._views.round(view)
            found.hold_notarization(certificate)
            if view == self.view:
                self._emit(CancelTimer(LEADER_TIMER, view))
            self._request_certification(found)
        elif isinstance(certificate, Nullification):
            self._views.round(view).nullification = certificate
            self._enter(view + 1)
        else:
            self._views.finalize(certificate)
            self._emit(Finalized(certificate.proposal, certificate))
            self._enter(view + 1)

    def _request_certification(self, found: Round) -> None:
        """Have a notarized payload judged, also one of a view that is nullified or was never entered."""
        if found.notarization is not None and found.certified is Certified.UNASKED:
            found.certified = Certified.PENDING
            self._emit(Certify(found.notarization.proposal))

    def _emit(self, *effects: Effect) -> None:
        self._effects.extend(effects)
