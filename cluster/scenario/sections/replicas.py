"""`[validators.N]` and `[observers.NAME]` of a scenario: how each replica applies blocks and gets its state.

An observer is a replica that is no validator: it has no key and no vote, and counts for no quorum. It follows by
certificates and blocks over the same bus. Observers are numbered after the validators, in the order of the file.
"""

from typing import Annotated, ClassVar, Final, Literal

import msgspec

from cluster.scenario.fields import NotNegative, Positive, Section, means
from cluster.scenario.sections.application import ReplicaBuild
from scheduler import MAX_U63
from validators.execution.block_tree import ApplyAt, ApplyMode, Reapply
from validators.stats import ValidatorCounts

OBSERVERS_MAX: Final = 20
"""The most observers of a cluster."""

CHUNK_BYTES_MAX: Final = 8 * 1024 * 1024

_APPLY_MODE = ApplyMode()


class ReplicaSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The modes of a replica; see validators.execution.ApplyMode, and `[sync]` for the last two numbers."""

    apply: Annotated[
        ApplyAt, means("When the writes of a block are applied: when it is final, or when it is certified.")
    ] = _APPLY_MODE.apply
    retain_blocks: Annotated[NotNegative, means("Applied blocks that can be rewound.")] = _APPLY_MODE.retain_blocks
    prune_every: Annotated[
        NotNegative, means("Finalized heights between two prunings of old operations; 0 is never.")
    ] = _APPLY_MODE.prune_every
    rebuild_indexes_every: Annotated[
        NotNegative, means("Finalized heights between two rebuilds of all derived state; 0 is never.")
    ] = _APPLY_MODE.rebuild_indexes_every
    reapply: Annotated[Reapply, means("How a rewound block returns: from memory, or executed once more.")] = (
        _APPLY_MODE.reapply
    )
    snapshot_gap_blocks: Annotated[
        Positive | None, means("The key of `[sync]`, for this replica alone.", left_out="the value of `[sync]`")
    ] = None
    chunk_bytes: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=CHUNK_BYTES_MAX)] | None,
        means("The key of `[sync]`, for this replica alone.", left_out="the value of `[sync]`"),
    ] = None
    may_be_idle: Annotated[bool, means("Whether the replica need not do any work of its mode.")] = False
    application: Annotated[
        ReplicaBuild | None, means("The build of the application that it runs.", left_out="that of `[application]`")
    ] = None

    def apply_mode(self) -> ApplyMode:
        """Return the mode of the replica's execution engine."""
        return ApplyMode(
            apply=self.apply,
            retain_blocks=self.retain_blocks,
            prune_every=self.prune_every,
            rebuild_indexes_every=self.rebuild_indexes_every,
            reapply=self.reapply,
        )

    def work(self, counts: ValidatorCounts, rounds: int) -> dict[str, int]:
        """Return the work that the replica has to do at least once by its modes, and how often it did each.

        Args:
            counts: The counts of the replica.
            rounds: How often it was off, came back by its mode, and continued.
        """
        del rounds
        found = {"applied early": counts.applied_early} if self.apply == "certified" else {}
        if self.rebuild_indexes_every:
            found["rebuilt"] = counts.rebuilt
        if self.reapply == "execute":
            found["executed again"] = counts.reexecuted
        return found


class ValidatorSection(ReplicaSection, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The modes of a validator, by its number."""


class _Observer(ReplicaSection, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """A replica without a vote; a subclass is a replica mode."""

    loses_state: ClassVar[bool] = False
    """Whether the mode removes synced data from the observer's disk."""

    has_to_show: ClassVar[bool] = True
    """Whether the observer has to perform the action of `shown` at least once."""

    def shown(self, counts: ValidatorCounts, rounds: int) -> tuple[str, int]:
        """Return the name of the count that shows the mode's work, and the count."""
        raise NotImplementedError

    def work(self, counts: ValidatorCounts, rounds: int) -> dict[str, int]:
        """Return the work of every replica, and the count of the mode."""
        own = [self.shown(counts, rounds)] if self.has_to_show else []
        return {**super().work(counts, rounds), **dict(own)}


class FinalizedOnly(_Observer, tag="finalized-only", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Executes a block when it is final and never before: it sees no fork."""

    def shown(self, counts: ValidatorCounts, rounds: int) -> tuple[str, int]:
        """Return the mode's count."""
        del rounds
        return "finalized", counts.finalized


class ApplyEarly(_Observer, tag="apply-early", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Applies a block when it is certified, and rewinds it when another block becomes final."""

    apply: ApplyAt = "certified"

    has_to_show: ClassVar[bool] = False

    def shown(self, counts: ValidatorCounts, rounds: int) -> tuple[str, int]:
        """Return the mode's count."""
        del rounds
        return "undone", counts.undone


class RebuildIndexes(_Observer, tag="rebuild-indexes", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Rebuilds all derived state from its log after every block."""

    rebuild_indexes_every: NotNegative = 1

    has_to_show: ClassVar[bool] = False

    def shown(self, counts: ValidatorCounts, rounds: int) -> tuple[str, int]:
        """Return the mode's count."""
        del rounds
        return "rebuilt", counts.rebuilt


class OwnCadence(_Observer, tag="own-cadence", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Prunes its log, and joins from snapshots, at intervals of its own."""

    retain_blocks: NotNegative = 2
    prune_every: NotNegative = 1
    snapshot_gap_blocks: Positive | None = 4

    def shown(self, counts: ValidatorCounts, rounds: int) -> tuple[str, int]:
        """Return the mode's count."""
        del rounds
        return "pruned", counts.pruned


class Rounds(_Observer, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Is switched off each time it has continued for `every_blocks` blocks, and on again ``down_ms`` later.

    ``times`` is the most rounds; 0 is no limit.
    """

    every_blocks: Annotated[Positive, means("Blocks after which it is switched off again.")] = 4
    times: Annotated[NotNegative, means("How often at most; 0 is without end.")] = 0
    down_ms: Annotated[Positive, means("How long it is off.")] = 300


class Restart(Rounds, tag="restart", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Comes back from its disk."""

    def shown(self, counts: ValidatorCounts, rounds: int) -> tuple[str, int]:
        """Return the mode's count."""
        del counts
        return "restarted", rounds


class SnapshotJoinMode(Rounds, tag="snapshot-join", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Comes back with an empty disk, and joins from a peer's snapshot."""

    every_blocks: Positive = 8
    snapshot_gap_blocks: Positive | None = 2

    loses_state: ClassVar[bool] = True

    def shown(self, counts: ValidatorCounts, rounds: int) -> tuple[str, int]:
        """Return the mode's count."""
        del rounds
        return "joined", counts.snapshots_joined


class ColdReplayMode(Rounds, tag="cold-replay", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Comes back without a state, and executes the whole chain from genesis, by its own or its peers' blocks."""

    every_blocks: Positive = 8
    snapshot_gap_blocks: Positive | None = MAX_U63
    blocks: Annotated[Literal["own", "peers"], means("Whether it executes its own blocks, or its peers' blocks.")] = (
        "own"
    )

    loses_state: ClassVar[bool] = True

    def shown(self, counts: ValidatorCounts, rounds: int) -> tuple[str, int]:
        """Return the mode's count."""
        del counts
        return "replayed", rounds


Observer = FinalizedOnly | ApplyEarly | RebuildIndexes | OwnCadence | Restart | SnapshotJoinMode | ColdReplayMode
