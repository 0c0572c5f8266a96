"""Once: a life of a replica executes no block twice, verifies no pooled transaction twice, and stores no block twice.

Work that is done again costs time and room, and its result is the same. A block may be executed again after a start, in
place of a state that a peer's snapshot has replaced, and as its branch is applied again, which has a word of its own.
It is taken back for another branch only (`checker.checks.taken_back`).
Of transactions only those are followed that come alone (`checker.checks.known_again`).
"""

from typing import ClassVar, Final

import msgspec

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.known_again import GOSSIP, KnownAgain
from checker.checks.mirror import SettledBlock
from checker.checks.observations import short
from checker.checks.taken_back import TakenBack
from checker.results import CheckResult, ExitClass
from faults.events import Crashed, Restarted, TransactionSubmitted
from network.events import AlarmElapsed, Delivered, Event, Handlers, TimerElapsed, WorkFinished
from network.types import NodeId
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    BlockRolledBack,
    BlockUndone,
    Booted,
    Halted,
    SnapshotJoined,
)
from validators.storage import RecordFile

FOR_THE_FIRST_TIME: Final = ("propose", "verify")
"""Modes of executions of a block that was not executed in this life."""


class _Kept(msgspec.Struct, array_like=True, frozen=True):
    """The first fields of a block in the block file."""

    height: int
    digest: bytes


class DoneOnce(Check):
    """No life of a replica executes a block or verifies a pooled transaction twice, and no disk has a block twice."""

    name = "once"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._executed: dict[NodeId, dict[bytes, None]] = {}
        self._known_again = KnownAgain(run, self.tally)
        self._taken_back = TakenBack(run, self.tally)

    @property
    def handlers(self) -> Handlers:
        """Executions, what makes them needed again, and all that may begin work."""
        return {
            BlockExecuted: self.executed,
            BlockFinalized: self.finalized,
            BlockRolledBack: self.rolled_back,
            BlockUndone: self.undone,
            Restarted: self.restarted,
            SnapshotJoined: self.joined,
            Booted: self.booted,
            Crashed: self.crashed,
            Halted: self.halted,
            Delivered: self.delivered,
            TimerElapsed: self.happened,
            AlarmElapsed: self.happened,
            WorkFinished: self.worked,
            TransactionSubmitted: self.submitted,
        }

    def not_asked(self) -> str:
        """Return a reason where no block was executed or stored."""
        return "" if self.tally.compared or self.run.chain else "no block was executed or stored"

    def executed(self, event: Event, block: BlockExecuted) -> None:
        """Compare an execution with those of this life."""
        if block.mode in FOR_THE_FIRST_TIME:
            known = self._executed.setdefault(event.node, {})
            self.tally.require(
                block.digest not in known,
                f"validator {event.node} executed block {short(block.digest)} of height {block.height} once more",
                validator=event.node,
                height=block.height,
            )
            known[block.digest] = None

    def rolled_back(self, event: Event, dropped: BlockRolledBack) -> None:
        """Note a block that lost."""
        self._taken_back.drop(event.node, dropped.height, dropped.digest)

    def undone(self, event: Event, undone: BlockUndone) -> None:
        """Note a block that was taken back."""
        self._taken_back.take_back(event.node, event.at_us, undone.height, undone.digest)

    def restarted(self, _event: Event, restarted: Restarted) -> None:
        """A new life knows no execution."""
        self._executed.pop(restarted.machine, None)

    def joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """Another state is built upon."""
        self._executed.pop(event.node, None)
        self._known_again.join(event.node)
        self._taken_back.end(event.node)

    def booted(self, event: Event, booted: Booted) -> None:
        """Begin a life with its height, and an empty mempool."""
        self._known_again.begin(event.node, event.at_us, booted.finalized_height)

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """End a life."""
        self._known_again.end(crashed.machine)
        self._taken_back.end(crashed.machine)

    def halted(self, event: Event, _halted: Halted) -> None:
        """End a life."""
        self._known_again.end(event.node)
        self._taken_back.end(event.node)

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Note a height."""
        self._known_again.rise(event.node, block.height)
        self._taken_back.finalize(event.node, event.at_us, block.height, block.digest)

    def delivered(self, event: Event, delivered: Delivered) -> None:
        """Note a message."""
        if delivered.label == GOSSIP:
            self._known_again.take(event.node, event.at_us, delivered.checksum, delivered.length)
        else:
            self._known_again.happen(event.node, event.at_us)

    def happened(self, event: Event, _timer: TimerElapsed | AlarmElapsed) -> None:
        """Note a timer that runs out."""
        self._known_again.happen(event.node, event.at_us)

    def worked(self, event: Event, work: WorkFinished) -> None:
        """Note the end of work."""
        self._known_again.work(event.node, event.at_us, work)

    def submitted(self, event: Event, submitted: TransactionSubmitted) -> None:
        """Note a transaction that a client hands in."""
        self._known_again.hand_in(submitted.validator, event.at_us)

    def settle(self, block: SettledBlock) -> None:
        """Note what is final from now on."""
        self._known_again.settle(block.height, block.transactions)

    def finish(self) -> CheckResult:
        """Return the result."""
        for node in self.run.honest if self.run.disks else ():
            # What a bad disk shows as damaged is fetched and stored again.
            if node not in self.run.disk_faults.touched:
                self._compare_disk(node)
        self._taken_back.finish(self.run.end.now_us)
        blocks = self.tally.compared - self._taken_back.compared
        self._known_again.finish()
        return self.tally.result(
            f"{blocks:,} blocks were executed and stored once; {self._known_again.known:,} messages of known "
            "transactions began no work"
        )

    def _compare_disk(self, node: NodeId) -> None:
        known: dict[bytes, None] = {}
        for record in RecordFile(self.run.disks[node].written(), "blocks").read().records:
            kept = msgspec.msgpack.decode(record.payload, type=_Kept)
            self.tally.require(
                kept.digest not in known,
                f"the disk of validator {node} holds block {short(kept.digest)} of height {kept.height} twice",
                validator=node,
                height=kept.height,
            )
            known[kept.digest] = None
