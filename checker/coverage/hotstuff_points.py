"""The coverage points of HotStuff, read off the events of a run."""

from collections import deque
from typing import Final

from faults.events import Crashed
from network.events import Event, Handlers
from network.types import NodeId
from scheduler import Reach
from validators.consensus.hotstuff.rules import HotStuffRule
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    BlockRolledBack,
    Booted,
    CertificateHeld,
    Reported,
    SnapshotJoined,
    Uncertified,
    Voted,
)

_OF_REASON: Final = {
    "ViewExpired": HotStuffRule.LEFT_BY_EXPIRY,
    "PeerTimeouts": HotStuffRule.LEFT_WITH_OTHERS,
}


VIEWS_KEPT: Final = 64
"""Abandoned views that are remembered, per validator."""


class HotStuffPoints:
    """Reads the points of one run."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._voted: dict[NodeId, int] = {}
        self._left: dict[NodeId, int] = {}
        self._final: dict[NodeId, tuple[int, int]] = {}
        self._is_up: dict[NodeId, None] = {}
        self._given_up: dict[NodeId, deque[int]] = {}
        self.handlers: Final[Handlers] = {
            Reported: self._report,
            BlockExecuted: self._execute,
            Voted: self._vote,
            CertificateHeld: self._hold,
            BlockFinalized: self._finalize,
            BlockRolledBack: self._roll_back,
            Uncertified: self._refuse,
            SnapshotJoined: self._join,
            Crashed: self._crash,
            Booted: self._boot,
        }

    def _report(self, event: Event, reported: Reported) -> None:
        is_left = reported.activity == "TimedOut"
        if is_left:
            self._given_up.setdefault(event.node, deque(maxlen=VIEWS_KEPT)).append(reported.view)
        point = _OF_REASON.get(reported.detail) if is_left else None
        if reported.activity == "ConflictingVotes":
            point = HotStuffRule.VOTES_CONFLICT
        if point is not None:
            self._reach(point)

    def _execute(self, event: Event, executed: BlockExecuted) -> None:
        # A block that is executed on the way to a final block was not verified for a vote.
        if executed.mode == "verify" and executed.view in self._given_up.get(event.node, ()):
            self._reach(HotStuffRule.VERIFIED_AFTER_EXPIRY)

    def _vote(self, event: Event, voted: Voted) -> None:
        node = event.node
        if node not in self._is_up:
            self._reach(HotStuffRule.VOTE_FOUND)
        if voted.vote == "vote":
            self._voted[node] = voted.view
            return
        if self._left.get(node) == voted.view:
            self._reach(HotStuffRule.TIMEOUT_REPEATED)
        self._left[node] = voted.view
        if self._voted.get(node) == voted.view:
            self._reach(HotStuffRule.GIVEN_UP_AFTER_VOTE)

    def _hold(self, _event: Event, held: CertificateHeld) -> None:
        if held.certificate == "timeout-certificate":
            self._reach(HotStuffRule.LEFT_BY_TIMEOUT_CERTIFICATE)

    def _finalize(self, event: Event, final: BlockFinalized) -> None:
        at_us, view = self._final.get(event.node, (-1, 0))
        if view and final.view > view + 1:
            self._reach(HotStuffRule.VIEWS_BETWEEN)
        if at_us == event.at_us:
            self._reach(HotStuffRule.SEVERAL_FINAL)
        self._final[event.node] = event.at_us, final.view

    def _roll_back(self, _event: Event, _dropped: BlockRolledBack) -> None:
        self._reach(HotStuffRule.ROLLED_BACK)

    def _refuse(self, _event: Event, _refused: Uncertified) -> None:
        self._reach(HotStuffRule.CERTIFICATION_REFUSED)

    def _join(self, event: Event, _joined: SnapshotJoined) -> None:
        # The blocks in between are in the snapshot.
        self._final.pop(event.node, None)
        self._reach(HotStuffRule.FLOOR_ADOPTED)

    def _crash(self, _event: Event, crashed: Crashed) -> None:
        self._is_up.pop(crashed.machine, None)
        self._given_up.pop(crashed.machine, None)

    def _boot(self, event: Event, _booted: Booted) -> None:
        self._is_up[event.node] = None
        self._final.pop(event.node, None)


def read_hotstuff_points(reach: Reach) -> Handlers:
    """Return the handlers that note the points of a run."""
    return HotStuffPoints(reach).handlers
