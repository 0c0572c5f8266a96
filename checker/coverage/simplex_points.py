"""The coverage points of Simplex, read off the events of a run."""

from collections import deque
from typing import Final

from faults.events import Crashed
from network.events import Event, Handlers, Sent, TimerElapsed
from network.types import NodeId
from scheduler import Reach
from validators.consensus.simplex.rules import SimplexRule
from validators.consensus.simplex.timeouts import TIMED_OUT, TimeoutReason
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    Booted,
    CertificateHeld,
    Entered,
    Reported,
    SnapshotJoined,
    Uncertified,
    Voted,
)

_OF_REASON: Final = {
    TimeoutReason.INACTIVITY.value: SimplexRule.LEFT_BY_INACTIVITY,
    TimeoutReason.LEADER_NULLIFY.value: SimplexRule.LEFT_BY_LEADER_NULLIFY,
    TimeoutReason.LEADER_TIMEOUT.value: SimplexRule.LEFT_BY_LEADER_TIMEOUT,
    TimeoutReason.CERTIFICATION_TIMEOUT.value: SimplexRule.LEFT_BY_CERTIFICATION_TIMEOUT,
    TimeoutReason.MISSING_PROPOSAL.value: SimplexRule.LEFT_BY_MISSING_PROPOSAL,
    TimeoutReason.IGNORED_PROPOSAL.value: SimplexRule.LEFT_BY_IGNORED_PROPOSAL,
    TimeoutReason.INVALID_PROPOSAL.value: SimplexRule.LEFT_BY_INVALID_PROPOSAL,
    TimeoutReason.FAILED_CERTIFICATION.value: SimplexRule.LEFT_BY_FAILED_CERTIFICATION,
}

_OF_EVIDENCE: Final = {
    "ConflictingNotarize": SimplexRule.CONFLICTING_NOTARIZE,
    "ConflictingFinalize": SimplexRule.CONFLICTING_FINALIZE,
    "NullifyFinalize": SimplexRule.NULLIFY_FINALIZE,
}

_OF_LABEL: Final = {
    "CertificateRequest": SimplexRule.CERTIFICATE_REQUESTED,
    "CertificateResponse": SimplexRule.CERTIFICATE_SERVED,
}


VIEWS_KEPT: Final = 64
"""Views whose certificates are compared, and abandoned views that are remembered, per validator."""


class SimplexPoints:
    """Reads the points of one run."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._notarized: dict[NodeId, int] = {}
        self._held: dict[NodeId, dict[int, str]] = {}
        self._final: dict[NodeId, tuple[int, int]] = {}
        self._is_up: dict[NodeId, None] = {}
        self._given_up: dict[NodeId, deque[int]] = {}
        self._is_new: dict[NodeId, None] = {}
        self._repeated: dict[NodeId, tuple[object, int]] = {}
        self.handlers: Final[Handlers] = {
            Reported: self._report,
            BlockExecuted: self._execute,
            Voted: self._vote,
            CertificateHeld: self._hold,
            BlockFinalized: self._finalize,
            Uncertified: self._refuse,
            TimerElapsed: self._elapse,
            Sent: self._send,
            Crashed: self._crash,
            Booted: self._boot,
            Entered: self._enter,
            SnapshotJoined: self._join,
        }

    def _report(self, event: Event, reported: Reported) -> None:
        is_left = reported.activity == TIMED_OUT
        if is_left:
            self._given_up.setdefault(event.node, deque(maxlen=VIEWS_KEPT)).append(reported.view)
        point = _OF_REASON.get(reported.detail) if is_left else _OF_EVIDENCE.get(reported.activity)
        if point is not None:
            self._reach(point)

    def _execute(self, event: Event, executed: BlockExecuted) -> None:
        # A block that is executed on the way to a final block was not verified for a vote.
        if executed.mode == "verify" and executed.view in self._given_up.get(event.node, ()):
            self._reach(SimplexRule.VERIFIED_TOO_LATE)

    def _vote(self, event: Event, voted: Voted) -> None:
        if voted.vote == "notarize":
            self._notarized[event.node] = voted.view
        elif voted.vote == "nullify" and self._notarized.get(event.node) == voted.view:
            self._reach(SimplexRule.NULLIFIED_AFTER_NOTARIZE)
        if event.node not in self._is_up:
            self._reach(SimplexRule.VOTE_KEPT)

    def _hold(self, event: Event, held: CertificateHeld) -> None:
        if held.certificate == "finalization":
            return
        views = self._held.setdefault(event.node, {})
        if views.setdefault(held.view, held.certificate) != held.certificate:
            self._reach(SimplexRule.TWO_CERTIFICATES)
        if len(views) > VIEWS_KEPT:
            del views[min(views)]

    def _finalize(self, event: Event, final: BlockFinalized) -> None:
        at_us, view = self._final.get(event.node, (-1, 0))
        if view and final.view > view + 1:
            self._reach(SimplexRule.VIEWS_SKIPPED)
        if at_us == event.at_us:
            self._reach(SimplexRule.SEVERAL_FINAL_AT_ONCE)
        self._final[event.node] = event.at_us, final.view

    def _refuse(self, _event: Event, _refused: Uncertified) -> None:
        self._reach(SimplexRule.UNCERTIFIED)

    def _elapse(self, event: Event, elapsed: TimerElapsed) -> None:
        if elapsed.key[:2] == ("consensus", "retry"):
            self._reach(SimplexRule.NULLIFY_REPEATED)
            # After a restart a validator's timer counts from the restart.
            view, count = self._repeated.get(event.node, (0, 0))
            count = count + 1 if view == elapsed.key[2] else 1
            self._repeated[event.node] = elapsed.key[2], count
            if count > 1:
                self._reach(SimplexRule.NULLIFY_REPEATED_TWICE)
        elif elapsed.key[:2] == ("consensus", "fetch"):
            self._reach(SimplexRule.CERTIFICATE_REQUESTED_AGAIN)

    def _send(self, _event: Event, sent: Sent) -> None:
        point = _OF_LABEL.get(sent.label)
        if point is not None:
            self._reach(point)

    def _crash(self, _event: Event, crashed: Crashed) -> None:
        self._is_up.pop(crashed.machine, None)
        self._given_up.pop(crashed.machine, None)
        self._repeated.pop(crashed.machine, None)

    def _boot(self, event: Event, booted: Booted) -> None:
        self._is_up[event.node] = None
        if booted.incarnation:
            self._is_new[event.node] = None

    def _enter(self, event: Event, entered: Entered) -> None:
        if event.node in self._is_new:
            del self._is_new[event.node]
            if entered.leader == event.node:
                self._reach(SimplexRule.RESTARTED_AS_LEADER)

    def _join(self, event: Event, _joined: SnapshotJoined) -> None:
        # The blocks in between are in the snapshot.
        self._final.pop(event.node, None)
