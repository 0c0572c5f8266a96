"""Reorg: executed blocks that validators dropped or rewound because of another branch.

The check reads the events of the run. A block that was rolled back is final nowhere. A validator undoes a block that it
applied early; the block was not final there, but may become final later, when the validator returns to its branch. A
run with fewer or shorter rollbacks, rewinds or returns than expected is inconclusive.
"""

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.expected import ReorgCounts
from checker.results import CheckResult
from network.events import Event, Handlers
from network.words import counted
from validators.events import BlockExecuted, BlockFinalized, BlockRolledBack, BlockUndone
from validators.execution.blocks import Header
from validators.state import StateAudit

REAPPLY = "reapply"
"""The apply mode of an execution made because a branch came back."""


class _Node:
    """The acts of one validator: blocks rolled back, undone, executed again."""

    def __init__(self, activation: int) -> None:
        self._activation = activation
        self.has_crossed = False
        self.final: dict[bytes, None] = {}
        self.dropped_heights: dict[int, None] = {}
        self.dropped_depth = 0
        self.rewinds: list[list[bytes]] = []
        self.last_undone: tuple[int, int] | None = None

    def drop(self, height: int) -> None:
        self.dropped_heights[height] = None
        self.dropped_depth = max(self.dropped_depth, len(self.dropped_heights))
        self.has_crossed |= min(self.dropped_heights) < self._activation <= max(self.dropped_heights)

    def undo(self, at_us: int, height: int, digest: bytes) -> None:
        """Note an undone block; a rewind undoes height after height, downwards and in one instant."""
        if self.last_undone != (at_us, height + 1):
            self.rewinds.append([])
        self.rewinds[-1].append(digest)
        self.last_undone = (at_us, height)

    def count_returned(self) -> int:
        """Return the greatest number of blocks of a rewind that became final."""
        return max((sum(digest in self.final for digest in rewind) for rewind in self.rewinds), default=0)


class Reorg(Check):
    """Blocks that were rolled back or undone are not final, and there are as many of them as the scenario expects.

    Fewer than expected make the run inconclusive.
    """

    name = "reorg"
    counts_one_process = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._dropped: list[tuple[int, BlockRolledBack]] = []
        self._final: dict[int, bytes] = {}
        self._nodes: dict[int, _Node] = {}
        self._reexecuted = 0
        self._audited = 0

    def not_asked(self) -> str:
        """Return a reason where the scenario expects no reorganization."""
        return "" if any(self.run.expect.reorg) else "no reorg expected"

    @property
    def handlers(self) -> Handlers:
        """Events of executed, final, dropped and undone blocks."""
        return {
            BlockFinalized: self.finalized,
            BlockRolledBack: self.rolled_back,
            BlockExecuted: self.executed,
            BlockUndone: self.undone,
        }

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Note a final block; blocks that it drops come after it."""
        self._final.setdefault(block.height, block.digest)
        node = self._node(event.node)
        node.final[block.digest] = None
        node.dropped_heights = {}

    def rolled_back(self, event: Event, dropped: BlockRolledBack) -> None:
        """Note an executed block that lost to another branch."""
        self._dropped.append((event.node, dropped))
        self._node(event.node).drop(dropped.height)

    def executed(self, _event: Event, block: BlockExecuted) -> None:
        """Note an execution made because a branch came back."""
        self._reexecuted += block.mode == REAPPLY

    def reorganized(self, _node: int, _header: Header, _audit: StateAudit) -> None:
        """Count a comparison of structures; `operation-log`, `bitmap` and `indexes` have its result."""
        self._audited += 1

    def finish(self) -> CheckResult:
        """Return the result; less than expected is inconclusive."""
        tally = self.tally
        for node, dropped in self._dropped:
            tally.require(
                self._final.get(dropped.height) != dropped.digest,
                f"validator {node} rolled back block {dropped.digest.hex()[:16]}, which is final "
                f"at height {dropped.height}",
                validator=node,
                height=dropped.height,
            )
        found = self._found()
        lacking = [
            f"{name.replace('_', ' ')} {count} (at least {least})"
            for name, count, least in zip(found._fields, found, self.run.expect.reorg, strict=True)
            if count < least
        ]
        if lacking:
            return tally.inconclusive(f"the expected reorganization did not come: {', '.join(lacking)}")
        nodes = sum(1 for node in self._nodes.values() if node.dropped_depth or node.rewinds)
        summary = (
            f"{counted(found.rolled_back, 'executed blocks')} rolled back (up to "
            f"{counted(found.rolled_back_depth, 'heights')} at once), none final; {found.undone} undone (up to "
            f"{found.undone_depth} at once, {found.returned} final later, {found.reexecuted} executed again); "
            f"{counted(nodes, 'validators')}"
        )
        return tally.result(summary, **found._asdict(), validators=nodes)

    def _node(self, node: int) -> _Node:
        return self._nodes.setdefault(node, _Node(self.run.rules.activation_height))

    def _found(self) -> ReorgCounts:
        nodes = list(self._nodes.values())
        rewinds = [rewind for node in nodes for rewind in node.rewinds]
        return ReorgCounts(
            rolled_back=len(self._dropped),
            rolled_back_depth=max((node.dropped_depth for node in nodes), default=0),
            undone=sum(map(len, rewinds)),
            undone_depth=max(map(len, rewinds), default=0),
            returned=max((node.count_returned() for node in nodes), default=0),
            reexecuted=self._reexecuted,
            audited=self._audited,
            crossed=sum(node.has_crossed for node in nodes),
        )

    def undone(self, event: Event, undone: BlockUndone) -> None:
        """Note that a validator undid a block that it had applied early."""
        node = self._node(event.node)
        self.tally.require(
            undone.digest not in node.final,
            f"validator {event.node} undid block {undone.digest.hex()[:16]}, which it had made final "
            f"at height {undone.height}",
            validator=event.node,
            height=undone.height,
        )
        node.undo(event.at_us, undone.height, undone.digest)
