"""In which phase of consensus, or of its recovery, each validator is: read from the run's events and nothing else.

A validator does one thing at a time in its current view, and says aloud when it goes on to the next: it enters the
view, votes, holds a certificate. What it does for older views meanwhile (finality comes a view late) has a phase of its
own only while nothing of the new view has begun. The phases are those of the specification of Simplex, section 1.2, and
of a restart; a log gives the same phases again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, final

from network.trace import Event
from network.types import SUPERVISOR

Role: TypeAlias = Literal["leader", "voter", "observer"]
"""What a validator is in its current view; an observer votes for nothing and leads no view."""

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


@final
@dataclass(slots=True)
class Standing:
    """Where one validator is."""

    phase: Phase = "recovering"
    role: Role = "voter"
    view: int = 0
    leader: int = -1
    finalizing_view: int = field(default=0)


@final
class Phases:
    """The standing of every validator, kept up to date by the events of the run.

    Args:
        validators: How many there are; they are numbered from 0.
        on_leave: Is called with a validator's number before its standing changes.
    """

    def __init__(self, validators: int, on_leave: Callable[[int], None]) -> None:
        self._standings = [Standing() for _ in range(validators)]
        self._on_leave = on_leave
        self._readers: Final[Mapping[str, Callable[[Event, Standing], None]]] = {
            "enter": self._enter,
            "vote": self._vote,
            "certificate": self._certify,
            "deliver": self._deliver,
            "send": self._send,
            "executed": self._execute,
            "boot": self._boot,
            "observer": self._observe_only,
            "snapshot-joined": self._boot,
            "halted": self._halt,
        }

    def of(self, node: int) -> Standing:
        """Return where a validator is."""
        return self._standings[node]

    def observe(self, event: Event) -> None:
        """See an event of the run, in the order of the log."""
        if event.node == SUPERVISOR:
            if event.kind in {"crash", "restart"}:
                node = event.values[0]
                assert isinstance(node, int), f"a validator is a number; got {node!r}"
                self._go(node, self._standings[node], "down" if event.kind == "crash" else "recovering")
            return
        reader = self._readers.get(event.kind)
        if reader is not None:
            reader(event, self._standings[event.node])

    def restart(self, node: int) -> None:
        """Note that a validator is about to get power: it reads its disk before the event of that is shown."""
        self._go(node, self._standings[node], "recovering")

    def _go(self, node: int, standing: Standing, phase: Phase) -> None:
        if standing.phase != phase:
            self._on_leave(node)
            standing.phase = phase

    def _enter(self, event: Event, standing: Standing) -> None:
        view, leader = event.values
        assert isinstance(view, int), f"a view is a number; got {view!r}"
        assert isinstance(leader, int), f"a leader is a validator's number; got {leader!r}"
        self._on_leave(event.node)
        standing.view, standing.leader = view, leader
        if standing.role != "observer":
            standing.role = "leader" if leader == event.node else "voter"
        if standing.phase != "joining":
            standing.phase = _first_phase(standing)

    def _vote(self, event: Event, standing: Standing) -> None:
        kind, view, _ = event.values
        if kind == "finalize":
            # Said behind the sync, when the next view has been entered: what has begun there is the newer phase.
            if standing.phase == "awaiting-proposal":
                assert isinstance(view, int), f"a view is a number; got {view!r}"
                self._go(event.node, standing, "finalizing")
                standing.finalizing_view = view
        elif view == standing.view and standing.phase != "joining":
            self._go(event.node, standing, "notarized" if kind == "notarize" else "nullified")

    def _certify(self, event: Event, standing: Standing) -> None:
        kind, view, *_ = event.values
        assert isinstance(view, int), f"a view is a number; got {view!r}"
        if kind == "notarization" and view == standing.view and standing.phase != "joining":
            self._go(event.node, standing, "certifying")
        elif kind == "finalization" and standing.phase == "finalizing" and view >= standing.finalizing_view:
            self._go(event.node, standing, "awaiting-proposal")

    def _deliver(self, event: Event, standing: Standing) -> None:
        if standing.phase in _WAITING and event.values[2] == "Notarize" and event.values[0] == standing.leader:
            self._go(event.node, standing, "verifying")

    def _send(self, event: Event, standing: Standing) -> None:
        kind = event.values[2]
        if kind == "SnapshotRequest":
            self._go(event.node, standing, "joining")
        elif kind in _FETCHING and standing.phase not in {"joining", "proposing"}:
            self._go(event.node, standing, "fetching")

    def _execute(self, event: Event, standing: Standing) -> None:
        if standing.phase in {"fetching", "joining"}:
            # What was lacking has come; a joiner that executes has been told to go by blocks.
            self._go(event.node, standing, _first_phase(standing))

    def _boot(self, event: Event, standing: Standing) -> None:
        if event.kind == "boot":
            self._on_leave(event.node)
            standing.role = "voter"
        self._go(event.node, standing, _first_phase(standing))

    def _observe_only(self, event: Event, standing: Standing) -> None:
        self._on_leave(event.node)
        standing.role = "observer"
        self._go(event.node, standing, "awaiting-proposal")

    def _halt(self, event: Event, standing: Standing) -> None:
        self._go(event.node, standing, "halted")


def _first_phase(standing: Standing) -> Phase:
    return "proposing" if standing.role == "leader" else "awaiting-proposal"
