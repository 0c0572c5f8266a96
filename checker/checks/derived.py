"""Derived state: each value that a validator caches equals the value rebuilt from its source, and sizes have bounds.

The parts of a validator offer cached values, rebuilt values and sizes with bounds as plain data (`validators.derived`).
A stale entry, or an entry that was never removed, changes no vote and no root, so no other check sees it. By the trace,
a replica drops an executed block in the instant in which another block of its height becomes final.
"""

from collections.abc import Mapping, Sequence

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.observations import short
from checker.results import CheckResult
from faults.events import Crashed
from network.events import Event, Handlers
from network.types import Micros, NodeId
from network.words import counted
from validators.derived import Derived, Plain
from validators.events import DIVERGED, BlockExecuted, BlockFinalized, BlockRolledBack, Halted, SnapshotJoined


class DerivedState(Check):
    """State that a replica derives from a disk or a chain is what its source gives, and within a stated bound.

    It is compared at the end and after each reorganization. Each part of a replica states its source and its bounds
    in `derived()`.
    """

    name = "derived"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._reorganizations = 0
        self._entries = 0
        self._executed: dict[NodeId, dict[bytes, int]] = {}
        self._final: dict[NodeId, tuple[Micros, int]] = {}

    @property
    def handlers(self) -> Handlers:
        """Blocks that a replica keeps, and the events after which it no longer keeps them."""
        return {
            BlockExecuted: self.executed,
            BlockFinalized: self.finalized,
            BlockRolledBack: self.rolled_back,
            SnapshotJoined: self.restarted,
            Halted: self.restarted,
            Crashed: self.crashed,
        }

    def executed(self, event: Event, block: BlockExecuted) -> None:
        """Note a block that the replica keeps from now on."""
        if block.mode != DIVERGED:
            self._executed.setdefault(event.node, {})[block.digest] = block.height

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Compare the blocks kept after the previous finality, and note this finality."""
        at_us, _ = self._final.get(event.node, (event.at_us, 0))
        if at_us < event.at_us:
            self._compare_lost(event.node)
        self._executed.get(event.node, {}).pop(block.digest, None)
        self._final[event.node] = event.at_us, block.height

    def rolled_back(self, event: Event, block: BlockRolledBack) -> None:
        """Note a block that was dropped."""
        self._executed.get(event.node, {}).pop(block.digest, None)

    def restarted(self, event: Event, _event: SnapshotJoined | Halted) -> None:
        """Forget the memory: a life ends, or goes on from another state."""
        self._forget(event.node)

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """Forget the memory: a life ends."""
        self._forget(crashed.machine)

    def rederived(self, node: int, parts: Sequence[Derived]) -> None:
        """Compare a replica in the middle of the run, after it dropped or rewound blocks."""
        self._reorganizations += 1
        self._compare(node, parts, " after a reorganization")

    def finish(self) -> CheckResult:
        """Return the result."""
        for node in self._final:
            self._compare_lost(node)
        for node, parts in self.run.end.derived.items():
            self._compare(node, parts, "")
        times = f", {counted(self._reorganizations, 'times')} after a reorganization" if self._reorganizations else ""
        replicas = len(self.run.end.derived)
        return self.tally.result(
            f"{counted(self._entries, 'cached values')} of {counted(replicas, 'replicas')} equal their sources, and "
            f"{counted(self.tally.compared - self._entries, 'sizes')} are within their bounds{times}"
        )

    def _forget(self, node: NodeId) -> None:
        self._executed.pop(node, None)
        self._final.pop(node, None)

    def _compare_lost(self, node: NodeId) -> None:
        """Require that every executed block that is kept is above the last final block."""
        _, final_height = self._final[node]
        executed = self._executed.get(node, {})
        for digest, height in list(executed.items()):
            if height <= final_height:
                del executed[digest]
                self.tally.compared += 1
                self.tally.fail(
                    f"validator {node} kept block {short(digest)} of height {height}, but height {final_height} is "
                    "final with another block",
                    validator=node,
                    height=height,
                )

    def _compare(self, node: int, parts: Sequence[Derived], moment: str) -> None:
        for part in parts:
            if not part.is_of_disk or node not in self.run.disk_faults.touched:
                self._compare_entries(node, part, moment)
            for size in part.sizes:
                self.tally.compared += 1
                if size.found > size.bound:
                    self.tally.fail(
                        f"validator {node}{moment}: {part.part} has {size.found:,} {size.what}; expected at most "
                        f"{size.bound:,} ({size.formula})",
                        validator=node,
                        part=part.part,
                        found=size.found,
                        expected=size.bound,
                    )

    def _compare_entries(self, node: int, part: Derived, moment: str) -> None:
        kept, rebuilt = part.kept, part.rebuilt
        count = max(len(kept), len(rebuilt))
        self._entries += count
        self.tally.compared += count
        if kept == rebuilt:
            return
        name = next(name for name in (*kept, *rebuilt) if _value(kept, name) != _value(rebuilt, name))
        found, expected = _value(kept, name), _value(rebuilt, name)
        self.tally.fail(
            f"validator {node}{moment}: {part.part}, {name}, is {found}; expected {expected}",
            validator=node,
            part=part.part,
            found=found,
            expected=expected,
        )


def _value(values: Mapping[str, Plain], name: str) -> str:
    if name not in values:
        return "absent"
    value = values[name]
    return value.hex() if isinstance(value, bytes) else str(value)
