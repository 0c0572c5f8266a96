"""In which phase of consensus, or of its recovery, each validator is: read from the run's events and nothing else.

A validator does one thing at a time in its current view, and says aloud when it goes on to the next: it enters the
view, votes, holds a certificate. What it does for older views meanwhile (finality comes a view late) has a phase of its
own only while nothing of the new view has begun. The phases are those of the specification of Simplex, section 1.2, and
of a restart; a log gives the same phases again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from faults.events import Crashed, Restarted
from network.events import Delivered, Event, Handlers, Sent
from validators.events import (
    BlockExecuted,
    Booted,
    CertificateHeld,
    Entered,
    Halted,
    SnapshotJoined,
    StoppedVoting,
    Voted,
)

Role: TypeAlias = Literal["leader", "voter", "observer"]
"""The role of a validator in its current view; an observer votes for nothing and leads no view."""

ROLES: Final[tuple[Role, ...]] = ("leader", "voter", "observer")

Phase: TypeAlias = Literal[
    "proposing",
    "awaiting-proposal",
    "verifying",
    "notarized",
    "certifying",
    "finalizing",
    "nullified",
    "fetching",
    "joining",
    "recovering",
    "halted",
    "down",
]

PHASES: Final[Mapping[Phase, str]] = {
    "proposing": "leads the view and has not voted for its block yet",
    "awaiting-proposal": "waits for the leader",
    "verifying": "has the leader's vote and executes the block",
    "notarized": "has voted for the block and waits for a quorum",
    "certifying": "holds a notarization and executes, or stores, its block",
    "finalizing": "has voted for finality and waits for a quorum; nothing of the next view is there",
    "nullified": "has given the view up and waits for a quorum",
    "fetching": "asks for a block or a certificate that it lacks",
    "joining": "asks for a snapshot",
    "recovering": "has power and reads its disk",
    "halted": "has stopped with a reason",
    "down": "has no power",
}
"""Every phase, in the order in which they are shown, with what it means."""

_WAITING: Final = ("awaiting-proposal", "finalizing", "fetching")
"""Phases that the leader's vote for a block ends."""

_FETCHING: Final = ("BlockRequest", "CertificateRequest")


@dataclass(slots=True)
class PhaseStatus:
    """Where one validator is."""

    phase: Phase = "recovering"
    role: Role = "voter"
    view: int = 0
    leader: int = -1
    finalizing_view: int = field(default=0)


class Phases:
    """The status of every validator, kept up to date by the events of the run.

    Args:
        validators: How many there are; they are numbered from 0.
        on_leave: Is called with a validator's number before its status changes.
    """

    def __init__(self, validators: int, on_leave: Callable[[int], None]) -> None:
        self._statuses = [PhaseStatus() for _ in range(validators)]
        self._on_leave = on_leave
        self.handlers: Final[Handlers] = {
            Crashed: self._crash,
            Restarted: self._restart,
            Entered: self._enter,
            Voted: self._vote,
            CertificateHeld: self._certify,
            Delivered: self._deliver,
            Sent: self._send,
            BlockExecuted: self._execute,
            Booted: self._boot,
            StoppedVoting: self._observe_only,
            SnapshotJoined: self._join,
            Halted: self._halt,
        }

    def of(self, node: int) -> PhaseStatus:
        """Return where a validator is."""
        return self._statuses[node]

    def restart(self, node: int) -> None:
        """Note that a validator is about to get power: it reads its disk before the event of that is shown."""
        self._go(node, "recovering")

    def _go(self, node: int, phase: Phase) -> None:
        status = self._statuses[node]
        if status.phase != phase:
            self._on_leave(node)
            status.phase = phase

    def _crash(self, _event: Event, crashed: Crashed) -> None:
        self._go(crashed.machine, "down")

    def _restart(self, _event: Event, restarted: Restarted) -> None:
        self._go(restarted.machine, "recovering")

    def _enter(self, event: Event, entered: Entered) -> None:
        status = self._statuses[event.node]
        self._on_leave(event.node)
        status.view, status.leader = entered.view, entered.leader
        if status.role != "observer":
            status.role = "leader" if entered.leader == event.node else "voter"
        if status.phase != "joining":
            status.phase = _first_phase(status)

    def _vote(self, event: Event, voted: Voted) -> None:
        status = self._statuses[event.node]
        if voted.vote == "finalize":
            # Said behind the sync, when the next view has been entered: what has begun there is the newer phase.
            if status.phase == "awaiting-proposal":
                self._go(event.node, "finalizing")
                status.finalizing_view = voted.view
        elif voted.view == status.view and status.phase != "joining":
            self._go(event.node, "notarized" if voted.vote == "notarize" else "nullified")

    def _certify(self, event: Event, held: CertificateHeld) -> None:
        kind, view, status = held.certificate, held.view, self._statuses[event.node]
        if kind == "notarization" and view == status.view and status.phase != "joining":
            self._go(event.node, "certifying")
        elif kind == "finalization" and status.phase == "finalizing" and view >= status.finalizing_view:
            self._go(event.node, "awaiting-proposal")

    def _deliver(self, event: Event, delivered: Delivered) -> None:
        status = self._statuses[event.node]
        is_vote_of_leader = delivered.label == "Notarize" and delivered.source == status.leader
        if is_vote_of_leader and status.phase in _WAITING:
            self._go(event.node, "verifying")

    def _send(self, event: Event, sent: Sent) -> None:
        if sent.label == "SnapshotRequest":
            self._go(event.node, "joining")
        elif sent.label in _FETCHING and self._statuses[event.node].phase not in {"joining", "proposing"}:
            self._go(event.node, "fetching")

    def _execute(self, event: Event, _executed: BlockExecuted) -> None:
        status = self._statuses[event.node]
        if status.phase in {"fetching", "joining"}:
            # What was lacking has come; a joiner that executes has been told to go by blocks.
            self._go(event.node, _first_phase(status))

    def _boot(self, event: Event, _booted: Booted) -> None:
        status = self._statuses[event.node]
        self._on_leave(event.node)
        status.role = "voter"
        self._go(event.node, _first_phase(status))

    def _join(self, event: Event, _joined: SnapshotJoined) -> None:
        self._go(event.node, _first_phase(self._statuses[event.node]))

    def _observe_only(self, event: Event, _stopped: StoppedVoting) -> None:
        self._on_leave(event.node)
        self._statuses[event.node].role = "observer"
        self._go(event.node, "awaiting-proposal")

    def _halt(self, event: Event, _halted: Halted) -> None:
        self._go(event.node, "halted")


def _first_phase(status: PhaseStatus) -> Phase:
    return "proposing" if status.role == "leader" else "awaiting-proposal"
