"""Finality of blocks on one validator: written, synced, and only then applied; from far behind, by a snapshot."""

from collections.abc import Callable
from functools import partial

from validators.consensus.interface import Finality
from validators.execution import ExecutionLayer, FinalizationOutcome
from validators.execution.blocks import Block, encode_header
from validators.stats import REFUSED_FINAL
from validators.storage import Barrier, FinalizedEntry, FinalizedLog
from validators.sync.follower import Follower, Goal, Purpose, Settled


class Finalizer:
    """Applies final blocks as soon as they are executed here.

    Args:
        layer: Executes and applies.
        follower: Brings final blocks here.
        log: Gets the data that each final block's layer keeps of it.
        barrier: Calls back when the data are durable.
        snapshot_gap_blocks: The distance in blocks from which on a snapshot is sought.
        store: Stores the bytes of a block.
        seek_snapshot: Begins to join from a snapshot.
        applied: Gets the blocks that were applied and dropped.
        halt: Gets the reason to stop for good.
    """

    def __init__(
        self,
        layer: ExecutionLayer,
        follower: Follower,
        log: FinalizedLog,
        barrier: Barrier,
        *,
        snapshot_gap_blocks: int,
        store: Callable[[bytes, Block], None],
        seek_snapshot: Callable[[], None],
        applied: Callable[[FinalizationOutcome], None],
        halt: Callable[[str], None],
    ) -> None:
        self._layer = layer
        self._follower = follower
        self._log = log
        self._barrier = barrier
        self._snapshot_gap_blocks = snapshot_gap_blocks
        self._store = store
        self._seek_snapshot = seek_snapshot
        self._applied = applied
        self._halt = halt
        self._wanted: Finality | None = None
        """The highest known finality."""
        self._goal: Finality | None = None
        """The finality for which the follower works."""
        self._held: Finality | None = None
        self._is_finalizing = False
        self._is_by_blocks = False

    @property
    def finality(self) -> Finality | None:
        """The proof of the finalized block; None where only a later block's proof makes it final."""
        held = self._held
        return held if held is not None and held.digest == self._layer.finalized_digest else None

    def finalize(self, finality: Finality) -> None:
        """Apply a block and its ancestors as soon as all of them are here."""
        view = finality.view
        # Certificates arrive in any order; an older certificate adds nothing.
        if self._wanted is not None and view <= self._wanted.view:
            return
        self._wanted = finality
        # A fetch under way is finished first. If it were given up for the next block, every fetch would be, where
        # blocks become final faster than a fetch takes.
        kept = [Purpose.PROPOSE]
        if self._goal is not None and self._follower.lacks(self._goal.digest):
            kept.append(Purpose.FINALIZE)
        else:
            self._goal = None
        self._follower.abandon(lambda goal: goal.view <= view and goal.purpose not in kept)
        self._want_finalized()

    def go_by_blocks(self) -> None:
        """Seek no snapshot before the present final block is applied."""
        self._is_by_blocks = True

    def join_if_far_behind(self) -> None:
        """Seek a snapshot when the finalized block is far above and not executed here.

        Not while a snapshot is sought or on its way to the disk: a second would be written over the older base.
        """
        if self._wanted is None or self._is_by_blocks or self._is_finalizing or self._follower.is_paused:
            return
        if any(map(self._is_far, (self._goal or self._wanted, self._wanted))):
            self._seek_snapshot()

    def _is_far(self, finality: Finality) -> bool:
        block = self._follower.block(finality.digest)
        if block is None or self._follower.is_ready(finality.digest):
            return False
        return block.header.height - self._layer.finalized.height >= self._snapshot_gap_blocks

    def settle(self, goal: Goal, settled: Settled) -> None:
        """Write the blocks and their operations, sync, and only then apply."""
        if not settled.is_ready:
            self._halt(f"{REFUSED_FINAL} of view {goal.view} cannot be executed: {settled.reason}")
            return
        finality = self._goal
        assert finality is not None and finality.digest == goal.digest, "there is one goal at a time"  # noqa: PT018 - one claim
        self._is_finalizing = True
        for executed in self._layer.path_to(goal.digest):
            self._store(executed.digest, executed.block)
            header = executed.header
            entry = FinalizedEntry(header.height, executed.digest, encode_header(header), executed.log_entry)
            self._log.append(entry)
        self._barrier.then(partial(self._apply, finality))

    def _want_finalized(self) -> None:
        self.join_if_far_behind()
        if self._is_finalizing or self._wanted is None or self._goal is not None:
            return
        if self._wanted.view > self._layer.finalized.view:
            self._goal = self._wanted
            self._follower.want(Goal(Purpose.FINALIZE, self._wanted.view, self._wanted.digest))
        elif self._wanted.digest == self._layer.finalized_digest:
            self._held = self._wanted

    def _apply(self, finality: Finality) -> None:
        finalization = self._layer.finalize(finality.digest)
        self._held, self._goal = finality, None
        self._applied(finalization)
        self._is_finalizing = False
        self._is_by_blocks = False
        self._follower.prune()
        self._want_finalized()
