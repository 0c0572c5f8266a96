"""The coverage points that events show: disks, catching up, and branches that a validator drops or rewinds."""

from collections.abc import Mapping
from typing import Final

from faults.events import Crashed
from network.events import Event, Handlers, OfLabels, Sent, TimerElapsed
from network.types import NodeId
from scheduler import CoveragePoint, Reach
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    BlockRolledBack,
    BlockUndone,
    Booted,
    DamageFound,
    DamageRepaired,
    Halted,
    MessageRefused,
    PeerAdmitted,
    PeerBlocked,
    SnapshotJoined,
    StoppedVoting,
)
from validators.state.rules import StateRule
from validators.stats import DISK
from validators.storage.rules import DiskRule
from validators.sync.rules import SyncRule

_OF_LABEL: Final[Mapping[str, CoveragePoint]] = {
    "BlockRequest": SyncRule.BLOCK_REQUESTED,
    "BlockResponse": SyncRule.BLOCK_SERVED,
    "SnapshotRequest": SyncRule.SNAPSHOT_REQUESTED,
}

PIECE_REQUEST: Final = "SnapshotChunkRequest"

_OF_REFUSAL: Final[Mapping[str, CoveragePoint]] = {
    "TooManyAnswers": SyncRule.ANSWERS_LIMITED,
    "AnswerUnderWay": SyncRule.ANSWER_UNDER_WAY,
    "lies on a branch that lost to a finalized block": SyncRule.BLOCK_OF_LOST_BRANCH,
}

_OF_SNAPSHOT: Final = (
    (": unanswered", SyncRule.SNAPSHOT_UNANSWERED),
    (": header: height", SyncRule.SNAPSHOT_TOO_OLD),
    ("of validator", SyncRule.SNAPSHOT_FORGED),
)
"""The point of a refused snapshot, by a part of its reason; the first match counts."""

_OF_REPAIR: Final = (
    ("from the other copy", DiskRule.JOURNAL_REPAIRED),
    ("cut off", DiskRule.LOG_CUT_OFF),
    ("from a peer", DiskRule.BLOCK_RESTORED),
)
"""The point of a repair by the beginning of its description."""

_OF_DISK_FAILURE: Final[Mapping[str, CoveragePoint]] = {
    "read": DiskRule.READ_FAILED,
    "sync": DiskRule.SYNC_FAILED,
    "journal": DiskRule.JOURNAL_WRITE_FAILED,
    "blocks": DiskRule.BLOCK_WRITE_FAILED,
    "operations": DiskRule.LOG_WRITE_FAILED,
    "snapshot": DiskRule.SNAPSHOT_WRITE_FAILED,
}
"""The point of a failed read or sync, and of a failed write by the group of its file."""

_THIRD: Final = 3

FETCHES_KEPT: Final = 4_096
"""Requested blocks that are remembered; when there are more, all are forgotten, so that long runs stay small."""


class DiskPoints:
    """Reads the points of disks and restarts."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._boots: dict[NodeId, int] = {}
        self._joined: dict[NodeId, None] = {}
        self.handlers: Final[Handlers] = {
            Crashed: self._crash,
            Booted: self._boot,
            SnapshotJoined: self._join,
            BlockExecuted: self._execute,
            DamageFound: self._find,
            DamageRepaired: self._repair,
            StoppedVoting: self._stop_voting,
            Halted: self._halt,
        }

    def _crash(self, _event: Event, crashed: Crashed) -> None:
        self._reach(DiskRule.CRASH_LOST_BYTES if crashed.lost_bytes else DiskRule.CRASH_LOST_NOTHING)

    def _boot(self, event: Event, booted: Booted) -> None:
        boots = self._boots[event.node] = self._boots.get(event.node, 0) + 1
        if booted.incarnation and not booted.finalized_height:
            self._reach(DiskRule.RESTARTED_FROM_NOTHING)
        if booted.incarnation and booted.finalized_height and event.node in self._joined:
            self._reach(DiskRule.RESTARTED_ON_SNAPSHOT)
        if boots >= _THIRD:
            self._reach(DiskRule.RESTARTED_TWICE)

    def _join(self, event: Event, _joined: SnapshotJoined) -> None:
        self._joined[event.node] = None

    def _execute(self, _event: Event, executed: BlockExecuted) -> None:
        if executed.mode == "recover":
            self._reach(DiskRule.CERTIFIED_BLOCKS_KEPT)

    def _find(self, _event: Event, found: DamageFound) -> None:
        if found.file == "blocks":
            self._reach(DiskRule.BLOCK_DAMAGED)

    def _repair(self, _event: Event, repaired: DamageRepaired) -> None:
        for words, point in _OF_REPAIR:
            if repaired.how.startswith(words):
                self._reach(point)

    def _stop_voting(self, _event: Event, stopped: StoppedVoting) -> None:
        if "holds none" in stopped.reason:
            self._reach(DiskRule.JOURNAL_LOST)

    def _halt(self, _event: Event, halted: Halted) -> None:
        if halted.reason.startswith(DISK):
            self._reach(_failure_of(halted.reason))


def _failure_of(reason: str) -> CoveragePoint:
    """Return the point of a halt caused by a disk; its reason names the operation and its file."""
    if "no room" in reason:
        return DiskRule.DISK_FULL
    operation, _, file = reason.removeprefix(f"{DISK}: ").partition(" of ")
    group = file.partition(":")[0].partition("-")[0]
    return _OF_DISK_FAILURE[operation if operation in _OF_DISK_FAILURE else group]


class SyncPoints:
    """Reads the points of catching up."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._fetches: dict[tuple[NodeId, bytes], int] = {}
        self._pieces: dict[NodeId, int] = {}
        self._joins: dict[NodeId, int] = {}
        self._asked: dict[NodeId, NodeId] = {}
        self._last_final: dict[NodeId, tuple[int, int]] = {}
        self.handlers: Final[Handlers] = {
            Sent: OfLabels(lambda label: label in _OF_LABEL or label == PIECE_REQUEST, self._send),
            TimerElapsed: self._elapse,
            MessageRefused: self._refuse,
            SnapshotJoined: self._join,
            BlockFinalized: self._finalize,
            PeerBlocked: lambda _event, _blocked: reach(SyncRule.PEER_BLOCKED),
            PeerAdmitted: lambda _event, _admitted: reach(SyncRule.PEER_ADMITTED),
        }

    def _send(self, event: Event, sent: Sent) -> None:
        point = _OF_LABEL.get(sent.label)
        if point is not None:
            self._reach(point)
            self._pieces[event.node] = 0
            if point is SyncRule.SNAPSHOT_REQUESTED:
                self._asked[event.node] = sent.destination
        else:
            pieces = self._pieces[event.node] = self._pieces.get(event.node, 0) + 1
            if pieces > 1:
                self._reach(SyncRule.SNAPSHOT_IN_PIECES)

    def _elapse(self, event: Event, elapsed: TimerElapsed) -> None:
        if elapsed.key[0] == "fetch" and isinstance(elapsed.key[1], bytes):
            if len(self._fetches) > FETCHES_KEPT:
                self._fetches.clear()
            key = event.node, elapsed.key[1]
            self._fetches[key] = self._fetches.get(key, 0) + 1
            # The first timer ends the grace period in which the block may come unrequested.
            if self._fetches[key] > 1:
                self._reach(SyncRule.BLOCK_REQUESTED_AGAIN)

    def _refuse(self, _event: Event, refused: MessageRefused) -> None:
        point = _OF_REFUSAL.get(refused.reason)
        if point is not None:
            self._reach(point)
        elif refused.message == "snapshot":
            point = next((point for words, point in _OF_SNAPSHOT if words in refused.reason), None)
            if point is not None:
                self._reach(point)
        elif refused.reason.startswith("time "):
            self._reach(SyncRule.PROPOSAL_TOO_EARLY)

    def _join(self, event: Event, _joined: SnapshotJoined) -> None:
        joins = self._joins[event.node] = self._joins.get(event.node, 0) + 1
        self._reach(SyncRule.SNAPSHOT_JOINED)
        if self._asked.get(event.node) in self._joins:
            self._reach(SyncRule.SNAPSHOT_OF_JOINER)
        if joins >= _THIRD:
            self._reach(SyncRule.SNAPSHOT_JOINED_THRICE)

    def _finalize(self, event: Event, _final: BlockFinalized) -> None:
        at_us, count = self._last_final.get(event.node, (-1, 0))
        count = count + 1 if at_us == event.at_us else 1
        self._last_final[event.node] = event.at_us, count
        if count > _THIRD:
            self._reach(SyncRule.FINAL_BY_BLOCKS)


class StatePoints:
    """Reads the points of branches that were dropped or rewound."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._dropped: dict[NodeId, tuple[int, int]] = {}
        self.handlers: Final[Handlers] = {
            BlockRolledBack: self._drop,
            BlockUndone: self._rewind,
            BlockExecuted: self._execute,
        }

    def _drop(self, event: Event, dropped: BlockRolledBack) -> None:
        self._reach(StateRule.BRANCH_DROPPED)
        at_us, height = self._dropped.get(event.node, (-1, 0))
        if at_us == event.at_us and height != dropped.height:
            self._reach(StateRule.BRANCH_DROPPED_DEEP)
        self._dropped[event.node] = event.at_us, dropped.height

    def _rewind(self, _event: Event, _undone: BlockUndone) -> None:
        self._reach(StateRule.REWOUND)

    def _execute(self, _event: Event, executed: BlockExecuted) -> None:
        if executed.mode == "reapply":
            self._reach(StateRule.EXECUTED_AGAIN)
