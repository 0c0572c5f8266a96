"""The Simplex state machine of one validator (docs/simplex.md), with terms of one view.

Three things never happen, whatever the order of events and however often the validator restarts:

- two different notarizes, or two different finalizes, are sent in one view;
- both a nullify and a finalize are sent in one view;
- a vote is sent that was not appended to the journal in the same step or earlier.

In a step the event changes rounds, which may mark the machine *dirty*. `step` then asks, until nothing is dirty, what
the current view can do now (propose, verify, fetch missing certificates). The alternative, to wake only the waiter that
an event unblocks, can forget a waiter: the public implementation once stalled on a forgotten waiter.
"""

from collections.abc import Sequence
from typing import assert_never

from network.types import Digest, NodeId
from validators.consensus.interface import (
    Append,
    AskAgain,
    BlockArrived,
    BlockRef,
    Build,
    Built,
    CancelTimer,
    Effect,
    Event,
    Finality,
    Finalized,
    FloorAdopted,
    Judge,
    Judged,
    MessageCheck,
    Position,
    Question,
    Received,
    Relay,
    Send,
    Started,
    TimeoutReached,
)
from validators.consensus.quorum import quorum_of
from validators.consensus.signing import Scheme
from validators.consensus.simplex import timeouts
from validators.consensus.simplex.artifacts import Artifact, Certification
from validators.consensus.simplex.casting import Caster
from validators.consensus.simplex.certificates import assemble
from validators.consensus.simplex.config import SimplexConfig
from validators.consensus.simplex.derived import derive_rounds
from validators.consensus.simplex.election import LeaderActivity, leader_of
from validators.consensus.simplex.messages import (
    VOTES,
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
from validators.consensus.simplex.resolver import FETCH_TIMER, Helper, Resolver, serve
from validators.consensus.simplex.rounds import Certified, ProposalState, Round
from validators.consensus.simplex.screening import Screen
from validators.consensus.simplex.timeouts import TimeoutReason, arm_timers, find_reason_to_leave, repeat_nullify
from validators.consensus.simplex.views import Invalid, Missing, Ready, Views
from validators.derived import Derived
from validators.events import Entered


class Simplex:
    """One validator's consensus; see `EngineMaker` for the arguments."""

    def __init__(
        self,
        *,
        me: NodeId,
        validators: int,
        scheme: Scheme,
        config: SimplexConfig,
        genesis: Digest,
        is_observer: bool = False,
    ) -> None:
        assert 0 <= me < validators or is_observer, f"validator {me} of {validators}"
        self._me = me
        self._validators = validators
        self._quorum = quorum_of(validators)
        self._config = config
        self._is_observer = is_observer
        self._views = Views(validators=validators, genesis=genesis, view_retention=config.view_retention)
        self._activity = LeaderActivity(validators)
        self._helper = Helper()
        self._resolver = Resolver(me=me, validators=validators, fetch_timeout_us=config.fetch_timeout_us)
        self._caster = Caster(None if is_observer else me, scheme)
        self._screen = Screen(
            validators=validators, scheme=scheme, views=self._views, activity=self._activity, helper=self._helper
        )
        self._counts = dict.fromkeys(("certificates_assembled", "certificates_received", "timeouts", "retries"), 0)
        self._is_restarted = False
        self._is_dirty = False
        self._effects: list[Effect] = []

    @property
    def position(self) -> Position:
        """The current view and its leader."""
        return Position(self._views.current, self.leader(self._views.current))

    @property
    def finality(self) -> Finalization | None:
        """The certificate of the highest finalized view; None while that is genesis."""
        return self._views.finalization

    def derived(self, records: Sequence[Artifact], floor: Finality | None) -> Derived:
        """Return the rounds beside those of the journal."""
        return derive_rounds(self._views, self._helper, self._resolver, records=records, floor=floor, me=self._me)

    def leader(self, view: int) -> NodeId:
        """Return who leads `view`, which is 1 or more."""
        return leader_of(view, self._validators)

    def statistics(self) -> dict[str, int]:
        """Return figures of this life, by name."""
        kept, cast = len(self._views), self._caster.votes_cast
        return {**self._counts, "rounds_kept": kept, "votes_cast": cast, "fetches": self._resolver.requests}

    def replay(self, records: Sequence[Artifact], floor: Finality | None = None) -> None:
        """Restore from the journal of an earlier life, pruned below `floor`; raises CorruptRecordError."""
        assert floor is None or isinstance(floor, Finalization), f"{floor!r} is no finality of Simplex"
        self._is_restarted = bool(records)
        restore(self._views, records, self._me, floor)

    def check(self, sender: NodeId, message: ConsensusMessage) -> MessageCheck:
        """Return whether a message is sound and of use; verifies only signatures of useful messages."""
        return self._screen.check(sender, message)

    def step(self, event: Event) -> list[Effect]:  # noqa: C901 - one flat line per kind of event
        """Process an event, do what the current view can do now, and return the step's effects."""
        match event:
            case Received(sender, message):
                self._receive(sender, message)
            case TimeoutReached(name, number):
                self._expire(name, number)
            case Judged(Question.VERIFY, ref, ok):
                self._take_verification(ref, ok)
            case Judged(_, ref, bool(ok)):
                self._take_certification(ref, ok)
            case Built(view, digest):
                self._propose(view, digest)
            case Started():
                self._start()
            case FloorAdopted(finality):
                self._adopt_floor(finality)
            case AskAgain():
                self._ask_again()
            case Judged() | BlockArrived():
                pass  # A block that cannot be certified yet is asked about again, and a block counts by its proposal.
            case _:
                raise TypeError(f"Simplex takes no such event: {event!r}")
        while self._is_dirty:
            self._is_dirty = False
            self._advance()
        # A new list, not a cleared one: the caller performs its effects later and keeps the list.
        effects, self._effects = self._effects, []
        return effects

    def _start(self) -> None:
        """Enter the first view, or the view that the journal leads to."""
        current = self._current()
        self._emit(Entered(current.view, current.leader), timeouts.tick_timer(self._activity, self._config))
        for kept in self._views.unfinalized():
            self._request_certification(kept)
        if current.own_notarize is not None:
            # It may never have left: the crash may have come between the sync and the sending.
            self._emit(Send(None, current.own_notarize))
        self._begin_view(current)
        if self._is_restarted and current.leader == self._me and current.own_notarize is None:
            # An earlier life may have relayed a payload of this view; a second payload would be equivocation.
            self._time_out(TimeoutReason.MISSING_PROPOSAL)
        for vote in own_votes(self._views):
            self._complete(vote)
        self._is_dirty = True

    def _receive(self, sender: NodeId, message: ConsensusMessage) -> None:
        if isinstance(message, CertificateRequest):
            self._emit(*serve(self._views, sender, message.view))
        elif isinstance(message, VOTES):
            self._receive_vote(sender, message)
        else:
            self._receive_certificate(message.certificate if isinstance(message, CertificateResponse) else message)

    def _receive_vote(self, sender: NodeId, vote: Vote) -> None:
        if isinstance(vote, Nullify) and self._helper.is_due(sender, vote.view, self._views):
            self._emit(*self._helper.help(sender, vote.view, self._views))
        if self._screen.is_wanted(vote):
            self._count(vote)

    def _receive_certificate(self, certificate: Certificate) -> None:
        """Keep a certificate; it is not forwarded, because its assembler has sent it to everybody."""
        if self._screen.is_wanted(certificate):
            self._counts["certificates_received"] += 1
            self._emit(Append(certificate))
            self._apply(certificate)

    def _propose(self, view: int, payload: Digest | None) -> None:
        current = self._current()
        if view == current.view and current.requested_parent is not None and current.may_propose():
            if payload is None:
                self._time_out(TimeoutReason.MISSING_PROPOSAL)
            else:
                current.fill_own(Proposal(view, current.requested_parent, payload))
                # The relay before the vote: peers that get the notarize first would request a block already on its way.
                self._emit(CancelTimer(timeouts.LEADER_TIMER, view), Relay(payload))
                self._cast(self._caster.notarize(current))

    def _take_verification(self, ref: BlockRef, ok: bool | None) -> None:  # noqa: FBT001 - the answer to a question
        current = self._current()
        if current.proposal_state is ProposalState.VERIFYING and current.proposal and current.proposal.ref == ref:
            if ok:
                current.proposal_state = ProposalState.VERIFIED
                self._cast(self._caster.notarize(current))
            else:
                self._time_out(TimeoutReason.IGNORED_PROPOSAL if ok is None else TimeoutReason.INVALID_PROPOSAL)

    def _take_certification(self, ref: BlockRef, ok: bool) -> None:  # noqa: FBT001 - the answer to a question
        found = self._views.get(ref.view)
        if found is not None and found.view > self._views.finalized_view and found.is_certifying(ref):
            # On the disk before the finalize vote that relies on it: a restart could otherwise certify differently.
            self._emit(Append(Certification(found.view, ok)))
            found.certified = Certified.PASSED if ok else Certified.FAILED
            self._is_dirty = True
            if ok:
                self._cast(self._caster.finalize(found))
                self._enter(found.view + 1)
            elif found.view == self._views.current:
                self._time_out(TimeoutReason.FAILED_CERTIFICATION)

    def _adopt_floor(self, finality: Finality) -> None:
        assert isinstance(finality, Finalization), f"{finality!r} is no finality of Simplex"
        self._receive_certificate(finality)

    def _ask_again(self) -> None:
        for kept in self._views.unfinalized():
            if kept.certified is Certified.PENDING:
                kept.certified = Certified.UNASKED
                self._request_certification(kept)

    def _expire(self, name: str, number: int) -> None:
        if name == FETCH_TIMER:
            self._emit(*self._resolver.retry(number))
        elif name == timeouts.ACTIVITY_TIMER:
            self._emit(*timeouts.count_tick(self._activity, number, self._config))
        elif name not in timeouts.VIEW_TIMERS:
            raise ValueError(f"a timer of an unknown name is due: {name!r}")
        # A timer of a view that was left since says nothing about the current view.
        elif number != self._views.current:
            return
        elif name == timeouts.LEADER_TIMER and self._current().proposal is None:
            self._time_out(TimeoutReason.LEADER_TIMEOUT)
        elif name == timeouts.CERTIFICATION_TIMER:
            self._time_out(TimeoutReason.CERTIFICATION_TIMEOUT)
        elif name == timeouts.RETRY_TIMER and self._current().own_nullify is not None:
            self._retry()

    def _retry(self) -> None:
        self._counts["retries"] += 1
        self._emit(*repeat_nullify(self._views, self._config))

    def _time_out(self, reason: TimeoutReason) -> None:
        """Give the current view up; the first reason counts."""
        current = self._current()
        if not current.may_nullify() or current.timeout_reason:
            return
        self._counts["timeouts"] += 1
        self._emit(*timeouts.give_up(current, reason, self._config))
        self._cast(self._caster.nullify(current))

    def _current(self) -> Round:
        return self._views.round(self._views.current)

    def _enter(self, view: int) -> None:
        """Move to `view` unless the current view is as high."""
        if view <= self._views.current:
            return
        self._emit(*timeouts.cancel_waits(self._views.current), CancelTimer(timeouts.RETRY_TIMER, self._views.current))
        self._views.current = view
        self._is_dirty = True
        entered = self._current()
        self._emit(Entered(view, entered.leader))
        self._begin_view(entered)

    def _begin_view(self, entered: Round) -> None:
        """Arm the timers of the new current view, or give it up at once."""
        if entered.own_nullify is not None:
            self._retry()
            return
        self._emit(*arm_timers(entered, self._config))
        is_silent = self._activity.is_skippable(entered.leader, self._me, self._quorum)
        reason = find_reason_to_leave(entered, is_leader_silent=is_silent)
        if reason is not None:
            self._time_out(reason)

    def _advance(self) -> None:
        current = self._current()
        selected = self._views.select_parent(current.view)
        gap = selected.view if isinstance(selected, Missing) else None
        if isinstance(selected, Ready):
            self._request_proposal(current, selected)
        if current.proposal_state is ProposalState.UNVERIFIED:
            gap = self._request_verification(current) or gap
        # Only when this step has no more work: a gap that the next round closes must not cost a request.
        if not self._is_dirty:
            self._emit(*self._resolver.aim(gap, current.leader))

    def _request_proposal(self, current: Round, selected: Ready) -> None:
        is_ours = current.leader == self._me and not self._is_observer
        if is_ours and current.may_propose() and current.requested_parent is None:
            current.requested_parent = selected.parent.view
            self._emit(Build(current.view, selected.parent))

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
            current.proposal_state = ProposalState.VERIFYING
            self._emit(Judge(Question.VERIFY, current.proposal.ref, ancestry.parent))
        return None

    def _cast(self, vote: Vote | None) -> None:
        if vote is not None:
            # Appended in the step that sends it: the shell syncs every append of a step before its first send.
            self._emit(Append(vote), Send(None, vote))
            self._count(vote)

    def _count(self, vote: Vote) -> None:
        """Count a verified vote, our own or a peer's."""
        found = self._views.round(view_of(vote))
        self._emit(*found.count(vote))
        is_proposal = isinstance(vote, Notarize) and vote.signer == found.leader and found.see_proposal(vote.proposal)
        if is_proposal and found.view == self._views.current:
            self._emit(CancelTimer(timeouts.LEADER_TIMER, found.view))
            self._is_dirty = True
        if isinstance(vote, Nullify) and vote.signer == found.leader and found.view == self._views.current:
            self._time_out(TimeoutReason.LEADER_NULLIFY)
        self._complete(vote)

    def _complete(self, vote: Vote) -> None:
        """Assemble the certificate that a counted vote completes, unless it is held or not needed any more."""
        found = self._views.round(view_of(vote))
        # Below the finalized view it would move finality back; above, a finalization may always come.
        is_past = isinstance(vote, Finalize) and found.view <= self._views.finalized_view
        votes = {} if is_past or found.is_decided(vote) else found.votes.like(vote, self._quorum)
        if len(votes) >= self._quorum:
            self._counts["certificates_assembled"] += 1
            certificate = assemble(votes, self._validators)
            self._emit(Append(certificate), Send(None, certificate))
            self._apply(certificate)

    def _apply(self, certificate: Certificate) -> None:
        self._is_dirty = True
        view = view_of(certificate)
        if isinstance(certificate, Notarization):
            found = self._views.round(view)
            found.hold_notarization(certificate)
            if view == self._views.current:
                self._emit(CancelTimer(timeouts.LEADER_TIMER, view))
            self._request_certification(found)
        elif isinstance(certificate, Nullification):
            self._views.round(view).nullification = certificate
            self._enter(view + 1)
        elif isinstance(certificate, Finalization):
            # Before the effect: its performer may ask at once for the final view.
            self._views.finalize(certificate)
            self._emit(Finalized(certificate))
            self._enter(view + 1)
        else:
            assert_never(certificate)

    def _request_certification(self, found: Round) -> None:
        """Have a notarized payload judged, even of a view that is nullified or was never entered."""
        if found.notarization is not None and found.certified is Certified.UNASKED:
            found.certified = Certified.PENDING
            self._emit(Judge(Question.CERTIFY, found.notarization.proposal.ref))

    def _emit(self, *effects: Effect) -> None:
        self._effects.extend(effects)
