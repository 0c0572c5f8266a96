"""Reorganizations: executed blocks that validators dropped or took back because of another branch.

Judged from the events of the run. A block that was rolled back is final nowhere. A block that was undone, that is
applied early and then taken back, was not final where that happened; it may become final later, which is a return to
its branch. A run that promised such blocks, a branch of some length at once, or a return, and had less is inconclusive.
"""

from typing import NamedTuple, final

from checker.checks.observations import read_event
from checker.results import CheckResult, Tally
from network.events import Event
from validators.events import BlockExecuted, BlockFinalized, BlockRolledBack, BlockUndone

NAME = "reorg"

REAPPLY = "reapply"
"""The mode of an execution that was made because a branch came back."""


@final
class ReorgPromise(NamedTuple):
    """What a run promises at least.

    Attributes:
        rolled_back: Executed blocks dropped for another, over all validators.
        rolled_back_depth: Heights that one validator dropped at once.
        undone: Blocks applied early and taken back, over all validators.
        undone_depth: Heights that one validator took back at once.
        returned: Blocks of one validator that were taken back at once and are final there in the end.
        reexecuted: Blocks that were executed again when their branch came back, over all validators.
        audited: How often what a validator derives from its state was compared after it dropped or took back blocks.
        crossed: Validators that dropped heights on both sides of an activation at once.
    """

    rolled_back: int = 0
    rolled_back_depth: int = 0
    undone: int = 0
    undone_depth: int = 0
    returned: int = 0
    reexecuted: int = 0
    audited: int = 0
    crossed: int = 0


@final
class _Node:
    """What one validator did."""

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
        """One rewind takes back height after height, downwards and in one instant."""
        if self.last_undone != (at_us, height + 1):
            self.rewinds.append([])
        self.rewinds[-1].append(digest)
        self.last_undone = (at_us, height)

    def count_returned(self) -> int:
        """Return the most blocks of one rewind that became final."""
        return max((sum(digest in self.final for digest in rewind) for rewind in self.rewinds), default=0)


@final
class ReorgWatch:
    """Counts what each validator rolled back and undid, and how many heights of it at once."""

    def __init__(self, promise: ReorgPromise, activation: int = 0) -> None:
        """Begin to watch; `activation` is the height at which the chain changes its policy, 0 for none."""
        self._promise = promise
        self._activation = activation
        self._tally = Tally(NAME, "safety")
        self._dropped: list[tuple[int, BlockRolledBack]] = []
        self._final: dict[int, bytes] = {}
        self._nodes: dict[int, _Node] = {}
        self._reexecuted = 0
        self.audited = 0

    def observe(self, event: Event) -> None:
        """See one event of the run, in the order of the log."""
        if event.kind == "finalized":
            block = read_event(event, BlockFinalized)
            self._final.setdefault(block.height, block.digest)
            node = self._node(event.node)
            node.final[block.digest] = None
            # What a finalization drops comes after all that it makes final.
            node.dropped_heights = {}
        elif event.kind == "rolled-back":
            dropped = read_event(event, BlockRolledBack)
            self._dropped.append((event.node, dropped))
            self._node(event.node).drop(dropped.height)
        elif event.kind == "executed":
            self._reexecuted += read_event(event, BlockExecuted).mode == REAPPLY
        elif event.kind == "undone":
            self._undo(event, read_event(event, BlockUndone))

    def result(self) -> CheckResult:
        """Judge; less than promised is inconclusive."""
        tally = self._tally
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
            for name, count, least in zip(found._fields, found, self._promise, strict=True)
            if count < least
        ]
        if lacking:
            return tally.inconclusive(f"the promised reorganization did not come: {', '.join(lacking)}")
        nodes = sum(1 for node in self._nodes.values() if node.dropped_depth or node.rewinds)
        summary = (
            f"{found.rolled_back} executed blocks rolled back, up to {found.rolled_back_depth} heights at once, "
            f"none of them final; {found.undone} undone, up to {found.undone_depth} at once, {found.returned} of these "
            f"final in the end, {found.reexecuted} executed again; {nodes} validators"
        )
        return tally.result(summary, **found._asdict(), validators=nodes)

    def _node(self, node: int) -> _Node:
        return self._nodes.setdefault(node, _Node(self._activation))

    def _found(self) -> ReorgPromise:
        nodes = list(self._nodes.values())
        rewinds = [rewind for node in nodes for rewind in node.rewinds]
        return ReorgPromise(
            rolled_back=len(self._dropped),
            rolled_back_depth=max((node.dropped_depth for node in nodes), default=0),
            undone=sum(map(len, rewinds)),
            undone_depth=max(map(len, rewinds), default=0),
            returned=max((node.count_returned() for node in nodes), default=0),
            reexecuted=self._reexecuted,
            audited=self.audited,
            crossed=sum(node.has_crossed for node in nodes),
        )

    def _undo(self, event: Event, undone: BlockUndone) -> None:
        node = self._node(event.node)
        self._tally.require(
            undone.digest not in node.final,
            f"validator {event.node} undid block {undone.digest.hex()[:16]}, which it had made final "
            f"at height {undone.height}",
            validator=event.node,
            height=undone.height,
        )
        node.undo(event.at_us, undone.height, undone.digest)
