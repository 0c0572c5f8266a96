"""The phase of consensus or recovery of each validator, read from the run's events alone.

A validator goes through its current view step by step, and its events show each step: it enters the view, votes, holds
a certificate. Work for older views (finality comes a view late) is a phase only until the new view's work begins.
Phases of votes and certificates belong to the engine (`EnginePhases`). Waiting, catching up and recovery are phases of
every engine. The same log gives the same phases.
"""

from collections.abc import Callable
from typing import Final

from faults.coverage.engine_phases import EnginePhases, Phase, PhaseStatus
from faults.events import Crashed, Restarted
from network.events import Delivered, Event, Handlers, OfLabels, Sent
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
from validators.messages import BlockRequest, SnapshotRequest


class Phases:
    """The status of every validator, kept up to date by the events of the run.

    Args:
        validators: The number of validators, which are numbered from 0.
        on_leave: Called with a validator's number before its status changes.
        engine: The phases of the consensus engine.
    """

    def __init__(self, validators: int, on_leave: Callable[[int], None], engine: EnginePhases) -> None:
        self._engine = engine
        self._waiting = ("awaiting-proposal", *engine.waiting, "fetching")
        """Phases that a leader's proposal ends."""
        asking = (SnapshotRequest.traced_name, BlockRequest.traced_name, *engine.requests)
        self._statuses = [PhaseStatus() for _ in range(validators)]
        self._on_leave = on_leave
        self.handlers: Final[Handlers] = {
            Crashed: self._crash,
            Restarted: self._restart,
            Entered: self._enter,
            Voted: self._vote,
            CertificateHeld: self._certify,
            Delivered: OfLabels(lambda label: label == engine.proposal, self._deliver),
            Sent: OfLabels(lambda label: label in asking, self._send),
            BlockExecuted: self._execute,
            Booted: self._boot,
            StoppedVoting: self._observe_only,
            SnapshotJoined: self._join,
            Halted: self._halt,
        }

    def of(self, node: int) -> PhaseStatus:
        """Return the status of a validator."""
        return self._statuses[node]

    def restart(self, node: int) -> None:
        """Note that a validator is about to get power, because it reads its disk before the event of its restart."""
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
        phase = self._engine.voted(status, voted)
        if phase is not None:
            self._go(event.node, phase)
            status.voted_view = voted.view

    def _certify(self, event: Event, held: CertificateHeld) -> None:
        phase = self._engine.held(self._statuses[event.node], held)
        if phase is not None:
            self._go(event.node, phase)

    def _deliver(self, event: Event, delivered: Delivered) -> None:
        status = self._statuses[event.node]
        if delivered.source == status.leader and status.phase in self._waiting:
            self._go(event.node, "verifying")

    def _send(self, event: Event, sent: Sent) -> None:
        if sent.label == SnapshotRequest.traced_name:
            self._go(event.node, "joining")
        elif self._statuses[event.node].phase not in {"joining", "proposing"}:
            self._go(event.node, "fetching")

    def _execute(self, event: Event, _executed: BlockExecuted) -> None:
        status = self._statuses[event.node]
        if status.phase in {"fetching", "joining"}:
            # The missing block has come; a joiner that executes catches up by blocks.
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
