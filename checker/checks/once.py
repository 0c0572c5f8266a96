"""Once: a life of a replica executes no block twice, and its disk holds no block twice.

Work that is done again costs time and room, and its result is the same. A block may be executed again after a start, in
place of a state that a peer's snapshot has replaced, and as its branch is applied again, which has a word of its own.
"""

from typing import ClassVar, Final

import msgspec

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.observations import short
from checker.results import CheckResult, ExitClass
from faults.events import Restarted
from network.events import Event, Handlers
from network.types import NodeId
from validators.events import BlockExecuted, SnapshotJoined
from validators.storage import RecordFile

FOR_THE_FIRST_TIME: Final = ("propose", "verify")
"""Modes of executions of a block that was not executed in this life."""


class _Kept(msgspec.Struct, array_like=True, frozen=True):
    """The first fields of a block in the block file."""

    height: int
    digest: bytes


class DoneOnce(Check):
    """No block is executed twice in one life of a replica, and none is twice on its disk."""

    name = "once"
    exit_class: ClassVar[ExitClass] = "liveness"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._executed: dict[NodeId, dict[bytes, None]] = {}

    @property
    def handlers(self) -> Handlers:
        """Executions, and what makes them needed again."""
        return {BlockExecuted: self.executed, Restarted: self.restarted, SnapshotJoined: self.joined}

    @property
    def is_asked(self) -> bool:
        """Return whether any block was executed or stored."""
        return self.tally.compared > 0 or bool(self.run.chain)

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

    def restarted(self, _event: Event, restarted: Restarted) -> None:
        """A new life knows no execution."""
        self._executed.pop(restarted.machine, None)

    def joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """Another state is built upon."""
        self._executed.pop(event.node, None)

    def finish(self) -> CheckResult:
        """Return the result."""
        for node in self.run.honest if self.run.disks else ():
            # What a bad disk shows as damaged is fetched and stored again.
            if node not in self.run.disk_faults.touched:
                self._compare_disk(node)
        return self.tally.result(f"{self.tally.compared:,} blocks were executed and stored once")

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
