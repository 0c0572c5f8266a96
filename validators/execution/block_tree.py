"""The executed blocks above the finalized block, and the block among them at which the database stands.

The database stands at the finalized block or, in apply mode `certified`, at a block above it that was applied early. To
read the state of a block on another branch, the tree first rewinds the database to the last common block. A rewound
batch and all batches on it are dead, but their blocks keep their results. When the branch comes back the same writes go
into a new batch, which must lead to the same root. With `reapply = "execute"` the block is executed once more instead,
on the rewound state, and must give the same receipts and operations.

Invariants: the blocks applied early are a path from the finalized block. There are never more of them than the database
retains, so no rewind can fail. Heights and waiting timers belong to each block and do not depend on where the database
stands. Executing again takes no virtual time: both apply modes must behave alike, so a validator that applies early
must be ready at the same times as every other validator.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from scheduler import CoveragePoint, Reach, TimerTriggered, WatchRule, unheard
from validators.costs import Costs
from validators.execution.blocks import Block, Header
from validators.execution.errors import UnknownBlockError
from validators.execution.heights import BranchHeights
from validators.execution.phases import PhaseEntry
from validators.execution.schema import BUCKETS
from validators.execution.summary import BlockSummary
from validators.execution.timers import NOTHING_READ, Waiting
from validators.state import Batch, Database
from validators.state.rules import StateRule

ApplyAt: TypeAlias = Literal["finalized", "certified"]
"""The moment at which a block's batch is applied to the database."""

Reapply: TypeAlias = Literal["write", "execute"]
"""The way in which a rewound block returns with its branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyMode:
    """The apply mode of a validator with its upkeep: each mode leads to the same roots by different work.

    Attributes:
        apply: The time at which a block's batch is applied: once it is final, or already when it is certified.
        retain_blocks: Applied blocks that the database can rewind, hence also the most that are applied early.
        prune_every: Finalized heights between two prunings of the log below all retained states; 0 for never.
        rebuild_indexes_every: Finalized heights between two rebuilds of all derived data from the log; 0 for never.
        reapply: Whether a block whose branch returns is written again from memory, or executed again.
    """

    apply: ApplyAt = "finalized"
    retain_blocks: int = 8
    prune_every: int = 4
    rebuild_indexes_every: int = 0
    reapply: Reapply = "write"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Executed:
    """A block with the result of its execution.

    `receipts` and `operations` are encoded; `changes` maps each key whose value differs from the parent's to the new
    value, None where it was deleted. `batch` is the batch it was executed in, which may be dead. `phases` is the ledger
    of the block's phases, `reached` the coverage points that it reached. `insolvent_left` are the identifiers of the
    timers that it kept although their payers cannot pay for them.
    """

    block: Block
    digest: bytes
    header: Header
    receipts: tuple[bytes, ...]
    events: tuple[msgspec.Struct, ...]
    summary: BlockSummary
    batch: Batch
    operations: tuple[bytes, ...]
    changes: dict[bytes, bytes | None]
    phases: tuple[PhaseEntry, ...] = ()
    reached: tuple[CoveragePoint, ...] = ()
    insolvent_left: tuple[bytes, ...] = ()

    @property
    def root(self) -> bytes:
        """The state root after the execution."""
        return self.batch.canonical_root

    @property
    def log_entry(self) -> tuple[bytes, ...]:
        """The operations from the parent's state to the block's."""
        return self.operations

    def cost_us(self, costs: Costs, signatures: int) -> int:
        """Return the virtual microseconds of the execution: its cycles, its writes, and the signatures verified."""
        summary = self.summary
        cycles = summary.cycles_used + summary.lane_cycles + summary.mailbox_cycles + summary.gc_cycles
        return costs.of_execution(cycles, len(self.changes), signatures)


class BrokenOff(NamedTuple):
    """An execution that did not finish or never started: the error, and the part done.

    `changes` are the values written so far, None for deleted keys; `read` reads the state at its start.
    """

    block: Block
    error: Exception
    receipts: tuple[bytes, ...] = ()
    changes: Mapping[bytes, bytes | None] = {}
    read: Callable[[bytes], bytes | None] | None = None


@dataclass(slots=True, kw_only=True, eq=False)
class Branch:
    """A block that another block can extend, with the derived data of its state.

    `batch` is the batch that holds the block's changes now, None where it has to be made again. The finalized block has
    neither `batch` nor `executed`.
    """

    digest: bytes
    header: Header
    executed: Executed | None
    batch: Batch | None
    waiting: Waiting
    heights: BranchHeights


class BlockTree:
    """One validator's unfinalized blocks over its database."""

    def __init__(
        self,
        database: Database,
        finalized: Branch,
        apply_mode: ApplyMode,
        execute_again: Callable[[Branch, Branch], Batch],
    ) -> None:
        """Start with one block; `execute_again` executes a block on its parent and returns the batch that it filled."""
        self.database = database
        self.finalized = finalized
        self._apply_mode = apply_mode
        self._execute_again = execute_again
        self.reach: Reach = unheard
        self._branches: dict[bytes, Branch] = {}
        self._early: list[Branch] = []
        self._undone: list[Executed] = []
        self._reexecuted: list[Executed] = []

    @property
    def applied(self) -> Branch:
        """The block whose state the database holds: the finalized block, or the last block that was applied early."""
        return self._early[-1] if self._early else self.finalized

    @property
    def retain_blocks(self) -> int:
        """The number of applied blocks that the database can rewind."""
        return self._apply_mode.retain_blocks

    def get(self, digest: bytes) -> Branch | None:
        """Return the finalized block or a block above it."""
        return self.finalized if digest == self.finalized.digest else self._branches.get(digest)

    def add(self, branch: Branch) -> None:
        """Add an executed block."""
        self._branches[branch.digest] = branch

    def path_to(self, digest: bytes) -> list[Branch]:
        """Return the unfinalized blocks up to and including a block, oldest first; empty if it is final.

        Raises:
            UnknownBlockError: The block was not executed here, or lies below the finalized block.
        """
        path: list[Branch] = []
        while digest != self.finalized.digest:
            branch = self._branches.get(digest)
            if branch is None:
                raise UnknownBlockError(digest)
            path.append(branch)
            digest = branch.header.parent
        # Parents first: batches are applied and rebuilt from the finalized block upwards.
        path.reverse()
        return path

    def open_batch(self, parent: Branch) -> Batch:
        """Open a batch on a block's state."""
        # The database must be rewound first where another branch was applied early.
        self._stand_below(self.path_to(parent.digest))
        return self.database.batch(parent.batch)

    def apply_certified(self, digest: bytes) -> int:
        """Apply a certified block and its ancestors early, as many as can be rewound; return the number applied.

        In apply mode `finalized` nothing is applied.
        """
        if self._apply_mode.apply != "certified" or digest not in self._branches:
            return 0
        # No more than can be rewound: finality may still choose another branch.
        path = self.path_to(digest)[: self._apply_mode.retain_blocks]
        if len(path) == self._apply_mode.retain_blocks > 0:
            self.reach(StateRule.APPLIED_TO_LIMIT)
        applied = len(path) - self._count_shared(path)
        self._apply(path)
        return applied

    def take_undone(self) -> tuple[Executed, ...]:
        """Return the blocks that were applied and rewound since the last call, in that order."""
        undone, self._undone = tuple(self._undone), []
        return undone

    def take_reexecuted(self) -> tuple[Executed, ...]:
        """Return the blocks that were executed again since the last call, in that order."""
        reexecuted, self._reexecuted = tuple(self._reexecuted), []
        return reexecuted

    def unfinalized(self) -> list[Branch]:
        """Return the executed blocks above the finalized block."""
        return list(self._branches.values())

    def early(self) -> list[Block]:
        """Return the blocks above the finalized block that the database holds."""
        return [branch.executed.block for branch in self._early if branch.executed is not None]

    @property
    def unreported(self) -> int:
        """The number of undone or re-executed blocks that nobody has taken yet."""
        return len(self._undone) + len(self._reexecuted)

    def rewind_to_finalized(self) -> None:
        """Rewind all blocks applied early; they do not count as undone, since no other branch replaces them."""
        self._take_back(len(self._early))

    def finalize(self, digest: bytes) -> bool:
        """Apply an unfinalized block and its ancestors, unless they are applied, and make it the finalized block.

        Return whether the log was pruned, as it is every `prune_every` heights.
        """
        path = self.path_to(digest)
        before = self.finalized.header.height
        self._apply(path)
        # Blocks above the winner stay applied: they are its children.
        del self._early[: len(path)]
        for branch in path:
            del self._branches[branch.digest]
        winner = path[-1]
        # Without a batch: children of the finalized block extend the database itself.
        self.finalized = replace(winner, executed=None, batch=None)
        is_pruned = is_due(self._apply_mode.prune_every, before, winner.header.height)
        if is_pruned:
            self.database.prune()
        return is_pruned

    def drop_losers(self) -> list[Executed]:
        """Forget every branch that no longer starts at the finalized block; return it, parents before children."""
        kept = {self.finalized.digest: self.finalized}
        lost: list[Executed] = []
        # In the order of execution, so that parents come before children; a list, because entries are deleted.
        for digest, branch in list(self._branches.items()):
            if branch.header.parent in kept:
                kept[digest] = branch
                continue
            del self._branches[digest]
            if branch.batch is not None:
                branch.batch.drop()
            assert branch.executed is not None, "only the finalized block was not executed"
            lost.append(branch.executed)
            if any(isinstance(event, TimerTriggered) for event in branch.executed.events):
                self.reach(WatchRule.TRIGGER_DROPPED)
        return lost

    def forget_derived(
        self, heights: BranchHeights, buckets: Mapping[int, bytes], present_of: Callable[[Header], int]
    ) -> None:
        """Rebuild every branch's heights, and make its next block read the waiting timers from the state.

        Args:
            heights: Heights of the finalized block.
            buckets: Its encoded buckets by height.
            present_of: Returns the present of a block.
        """
        self.finalized.heights, self.finalized.waiting = heights, NOTHING_READ
        known = {self.finalized.digest: buckets}
        for digest, branch in self._branches.items():
            assert branch.executed is not None, "only the finalized block was not executed"
            # A copy for each branch: siblings must not see each other's buckets.
            own = dict(known[branch.header.parent])
            for key, value in branch.executed.changes.items():
                if key[0] == BUCKETS.code:
                    height = int.from_bytes(key[1:9], "big")
                    own.pop(height, None)
                    own |= {} if value is None else {height: value}
            known[digest] = own
            branch.heights = BranchHeights(branch.heights.profile, present_of(branch.header), own.items())
            branch.waiting = NOTHING_READ

    def _apply(self, path: Sequence[Branch]) -> None:
        """Apply every block of a path; blocks applied above it stay."""
        if self._count_shared(path) == len(path):
            return
        self._stand_below(path)
        winner = path[-1]
        assert winner.batch is not None, "every block of a path that is stood below has a batch"
        self.database.apply(winner.batch)
        # Looks redundant, but finds a wrongly rebuilt batch before it becomes final.
        assert self.database.canonical_root == winner.header.state_root, "what was applied is what was executed"
        self._early = list(path)

    def _stand_below(self, path: Sequence[Branch]) -> None:
        """Rewind the database to the last applied block of a path, and give every later block a live batch."""
        shared = self._count_shared(path)
        if len(self._early) - shared == self._apply_mode.retain_blocks > 0:
            self.reach(StateRule.REWOUND_TO_LIMIT)
        self._undone += self._take_back(len(self._early) - shared)
        parent = path[shared - 1] if shared else self.finalized
        for branch in path[shared:]:
            # A child of a rewound block stands on a dead batch although the child itself was never rewound.
            if branch.batch is None or not branch.batch.is_alive():
                branch.batch = self._make_again(branch, parent)
            parent = branch

    def _count_shared(self, path: Sequence[Branch]) -> int:
        """Return the number of a path's blocks, from its start on, that are applied."""
        # Compared by identity: one digest has one branch here, and comparing headers would cost more.
        pairs = zip(path, self._early, strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))

    def _take_back(self, count: int) -> list[Executed]:
        """Rewind the blocks applied last and return them, latest first."""
        self.database.rewind(count)
        taken: list[Executed] = []
        for _ in range(count):
            branch = self._early.pop()
            # A batch cannot be applied twice.
            branch.batch = None
            assert branch.executed is not None, "only the finalized block was not executed"
            taken.append(branch.executed)
        return taken

    def _make_again(self, branch: Branch, parent: Branch) -> Batch:
        """Return a new batch for a block whose own batch is dead."""
        assert branch.executed is not None, "only the finalized block was not executed"
        if self._apply_mode.reapply == "execute":
            batch = self._execute_again(branch, parent)
            self._reexecuted.append(branch.executed)
            return batch
        self.reach(StateRule.WRITTEN_AGAIN)
        batch = self.database.batch(parent.batch)
        for key, value in branch.executed.changes.items():
            batch.write(key, value)
        batch.merkleize()
        assert batch.canonical_root == branch.header.state_root, "the same writes lead to the same root"
        return batch


def is_due(every: int, before: int, after: int) -> bool:
    """Return whether a multiple of `every` lies above `before` and not above `after`; never for 0."""
    # Not `after % every`: several heights can become final at once and skip the multiple.
    return every > 0 and after // every > before // every
