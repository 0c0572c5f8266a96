"""Snapshots: when a replica seeks one, and whom it asks how often.

A replica that learns that the final block is `snapshot_gap_blocks` above its own, and has not executed it, seeks a
snapshot before it executes anything for it. So where so many blocks are applied at once, and the last of them was
executed after its finality was held and after the block before them was applied, a snapshot was sought since then.
Executed blocks need no snapshot, however many there are.

While a snapshot is sought no block is applied: the snapshot would be written over it, or it over the snapshot. A
replica that has joined from a snapshot, or has asked every peer in vain, asks for no other before it has applied a
block.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import short
from checker.checks.rules.registry import RULES
from checker.results import CheckResult, CheckTally, ExitClass
from faults.events import Crashed
from network.events import Event, Handlers, OfLabels, Sent
from network.types import Micros, NodeId
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    Booted,
    CertificateHeld,
    Halted,
    MessageRefused,
    SnapshotJoined,
)

REQUEST: Final = "SnapshotRequest"

ATTEMPTS: Final = 3
"""Requests for a snapshot that one peer gets at most, until the replica that asks applies a block."""

SUBJECT: Final = "snapshot"
"""The subject of a refusal by which a joiner gives up one peer's snapshot."""

OF_A_PEER: Final = "of validator"
"""So its reason begins then; other ones refuse what was not asked for."""


class Snapshots(Check):
    """A replica that fell behind seeks a snapshot in time, asks no peer too often, and for no second one."""

    name = "snapshots"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._joined: dict[NodeId, None] = {}
        self._attempts: dict[NodeId, dict[NodeId, int]] = {}
        self._sought = SoughtSnapshots(self.tally, RULES[run.engine].finality, run.plan.snapshot_gaps)

    @property
    def handlers(self) -> Handlers:
        """Heights, finality, and requests for snapshots."""
        return {
            Booted: self.booted,
            BlockFinalized: self.finalized,
            SnapshotJoined: self.joined,
            Crashed: self.crashed,
            Halted: self.halted,
            CertificateHeld: self._sought.hold,
            BlockExecuted: self._sought.execute,
            Sent: OfLabels(REQUEST.__eq__, self.sent),
            MessageRefused: self._sought.refuse,
        }

    def not_asked(self) -> str:
        """Return a reason where no replica asked for a snapshot, or had to."""
        return "" if self.tally.compared or self.tally.has_failed else "no replica asked for a snapshot"

    def booted(self, event: Event, _booted: Booted) -> None:
        """Begin a life, or go on in one with the disk read again."""
        self._sought.boot(event.node)
        self._attempts.pop(event.node, None)

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Let a replica that applies a block ask again."""
        self._sought.finalize(event, block)
        self._joined.pop(event.node, None)
        self._attempts.pop(event.node, None)

    def joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """Note that a replica has a snapshot."""
        self._sought.join(event.node)
        self._joined[event.node] = None

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """End a life."""
        self._sought.forget(crashed.machine)
        self._joined.pop(crashed.machine, None)

    def halted(self, event: Event, _halted: Halted) -> None:
        """Expect nothing of a replica that has stopped."""
        self._sought.forget(event.node)

    def sent(self, event: Event, sent: Sent) -> None:
        """Compare a request for a snapshot with those before it."""
        node, peer = event.node, sent.destination
        self.tally.require(
            node not in self._joined,
            f"replica {node} joined from a snapshot, and asked for another one before it applied a block",
            validator=node,
        )
        attempts = self._attempts.setdefault(node, {})
        attempts[peer] = attempts.get(peer, 0) + 1
        self.tally.require(
            attempts[peer] <= ATTEMPTS,
            f"replica {node} asked validator {peer} for a snapshot {attempts[peer]} times before it applied a block, "
            f"expected at most {ATTEMPTS}",
            validator=node,
        )
        self._sought.ask(node)

    def finish(self) -> CheckResult:
        """Return the result."""
        self._sought.finish()
        return self.tally.result(
            f"{self.tally.compared // 2:,} requests for snapshots were due, and went to the right peers"
        )


@dataclass(slots=True)
class _Batch:
    """Blocks that were applied in one instant: when, the height below them, and the last of them.

    `is_late` says that the last one was executed after its finality was held, `was_sought` that a snapshot was sought.
    """

    at_us: Micros
    base: int
    height: int
    digest: bytes
    is_late: bool
    was_sought: bool


@dataclass(slots=True)
class _Life:
    """One life of a replica, since it last applied a block."""

    is_seeking: bool = False
    was_sought: bool = False
    final: dict[bytes, None] = field(default_factory=dict)
    late: dict[bytes, None] = field(default_factory=dict)
    """The final blocks that were executed after their finality was held."""
    batch: _Batch | None = None


class SoughtSnapshots:
    """Judges by the trace when replicas seek snapshots.

    Args:
        tally: Gets the failures.
        finality: The kind of the certificates that make a block final.
        gaps: By replica, the distance from which on a snapshot is sought.
    """

    def __init__(self, tally: CheckTally, finality: str, gaps: Sequence[int]) -> None:
        self._tally = tally
        self._finality = finality
        self._gaps = gaps
        self._lives: dict[NodeId, _Life] = {}

    def ask(self, node: NodeId) -> None:
        """A replica asks a peer for a snapshot."""
        life = self._life(node)
        # What it applied in this very instant came first.
        self._judge(node)
        life.is_seeking = life.was_sought = True

    def refuse(self, event: Event, refused: MessageRefused) -> None:
        """It gives up a peer's snapshot; if there is another peer it asks that one at once."""
        if refused.message == SUBJECT and refused.reason.startswith(OF_A_PEER):
            self._life(event.node).is_seeking = False

    def join(self, node: NodeId) -> None:
        """It has a snapshot; until it applies a block it seeks no other one."""
        self._life(node).is_seeking = False

    def hold(self, event: Event, held: CertificateHeld) -> None:
        """It knows that a block is final."""
        if held.certificate == self._finality:
            self._life_at(event).final[held.payload] = None

    def execute(self, event: Event, block: BlockExecuted) -> None:
        """It has executed a block."""
        life = self._life_at(event)
        if block.mode == "verify" and block.digest in life.final:
            life.late[block.digest] = None

    def finalize(self, event: Event, block: BlockFinalized) -> None:
        """It applies a block."""
        life = self._life_at(event)
        if life.is_seeking:
            self._fail(
                f"validator {event.node} applied block {short(block.digest)} of height {block.height} while it sought "
                "a snapshot",
                validator=event.node,
                height=block.height,
            )
            life.is_seeking = False
        life.final.pop(block.digest, None)
        base = block.height - 1 if life.batch is None else life.batch.base
        is_late = block.digest in life.late
        life.batch = _Batch(event.at_us, base, block.height, block.digest, is_late, life.was_sought)

    def boot(self, node: NodeId) -> None:
        """It starts, with the finality of its journal; in the midst of a life, without the snapshot that it wrote."""
        self._judge(node)
        life = self._life(node)
        life.is_seeking = life.was_sought = False
        life.late.clear()

    def forget(self, node: NodeId) -> None:
        """Its life is over."""
        self._judge(node)
        self._lives.pop(node, None)

    def finish(self) -> None:
        """Judge what is left."""
        for node in list(self._lives):
            self._judge(node)

    def _fail(self, text: str, *, validator: NodeId, height: int) -> None:
        self._tally.fail(text, validator=validator, height=height)

    def _life(self, node: NodeId) -> _Life:
        return self._lives.setdefault(node, _Life())

    def _life_at(self, event: Event) -> _Life:
        """Return a life, of which a batch of an earlier instant is over."""
        life = self._life(event.node)
        if life.batch is not None and life.batch.at_us < event.at_us:
            self._judge(event.node)
        return life

    def _judge(self, node: NodeId) -> None:
        life = self._life(node)
        batch, life.batch = life.batch, None
        if batch is None:
            return
        count = batch.height - batch.base
        if batch.is_late and not batch.was_sought and count >= (gap := self._gaps[node]):
            self._fail(
                f"validator {node} executed {count} blocks up to height {batch.height}, which it knew to be final, "
                f"and sought no snapshot, {gap} blocks behind or more",
                validator=node,
                height=batch.height,
            )
        life.late.clear()
        life.was_sought = life.is_seeking
