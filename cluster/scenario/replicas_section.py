"""`[validators.N]` and `[observers.NAME]` of a scenario: by which road each replica comes to its state.

An observer is a replica that is no validator: it has no key and no vote, counts for no quorum, and follows by
certificates and blocks over the same bus. Its number is the first one after those of the validators and of the
observers named before it.
"""

from typing import Annotated, Final, Literal

import msgspec

from cluster.scenario.fields import NotNegative, Positive, Section, means
from scheduler import MAX_U63
from validators.execution.block_tree import ApplyAt, Reapply, StateRoad
from validators.stats import ValidatorCounts

OBSERVERS_MAX: Final = 20
"""Most observers of one cluster."""

CHUNK_BYTES_MAX: Final = 8 * 1024 * 1024

_ROAD = StateRoad()


class ReplicaSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every replica can be told; see validators.execution.StateRoad, and `[sync]` for the last two."""

    apply: Annotated[
        ApplyAt, means("When the writes of a block are applied: when it is final, or already when it is certified.")
    ] = _ROAD.apply
    retain_blocks: Annotated[NotNegative, means("Applied blocks that can be taken back.")] = _ROAD.retain_blocks
    prune_every: Annotated[
        NotNegative, means("After so many final heights old operations are forgotten; 0 is never.")
    ] = _ROAD.prune_every
    rebuild_indexes_every: Annotated[
        NotNegative, means("After so many final heights everything derived is rebuilt; 0 is never.")
    ] = _ROAD.rebuild_indexes_every
    reapply: Annotated[
        Reapply, means("How a block that was taken back returns: from memory, or executed once more.")
    ] = _ROAD.reapply
    snapshot_gap_blocks: Annotated[
        Positive | None, means("This replica's own value of `sync.snapshot_gap_blocks`.")
    ] = None
    chunk_bytes: Annotated[
        Annotated[int, msgspec.Meta(ge=1, le=CHUNK_BYTES_MAX)] | None,
        means("This replica's own value of `sync.chunk_bytes`."),
    ] = None
    may_be_idle: Annotated[
        bool, means("Whether the run shows something although the replica does nothing of what its mode is about.")
    ] = False

    def road(self) -> StateRoad:
        """Return what the replica's engine is told."""
        return StateRoad(
            apply=self.apply,
            retain_blocks=self.retain_blocks,
            prune_every=self.prune_every,
            rebuild_indexes_every=self.rebuild_indexes_every,
            reapply=self.reapply,
        )


class ValidatorSection(ReplicaSection, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The road of one validator, by its number."""


class _Observer(ReplicaSection, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """A replica without a vote."""


class FinalizedOnly(_Observer, tag="finalized-only", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Executes a block when it is final and never before: it sees no fork."""


class ApplyEarly(_Observer, tag="apply-early", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Applies a block when it is certified, and takes it back when another one becomes final."""

    apply: ApplyAt = "certified"


class RebuildIndexes(_Observer, tag="rebuild-indexes", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Makes everything derived anew from its log after every block."""

    rebuild_indexes_every: NotNegative = 1


class OwnCadence(_Observer, tag="own-cadence", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Forgets its log, and joins from snapshots, in a rhythm of its own."""

    retain_blocks: NotNegative = 2
    prune_every: NotNegative = 1
    snapshot_gap_blocks: Positive | None = 4


class Rounds(_Observer, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Is switched off each time it has gone on for so many blocks, and on again ``down_ms`` later.

    ``times`` is how often at most; 0 is without end.
    """

    every_blocks: Annotated[Positive, means("It is switched off each time it has gone on for so many blocks.")] = 4
    times: Annotated[NotNegative, means("How often at most; 0 is without end.")] = 0
    down_ms: Annotated[Positive, means("How long it is off.")] = 300


class Restart(Rounds, tag="restart", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Comes back from its disk."""


class SnapshotJoinMode(Rounds, tag="snapshot-join", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Comes back with an empty disk, and joins from a peer's snapshot."""

    every_blocks: Positive = 8
    snapshot_gap_blocks: Positive | None = 2


class ColdReplayMode(Rounds, tag="cold-replay", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Comes back without a state, and executes the whole chain from genesis: its own blocks, or those of its peers."""

    every_blocks: Positive = 8
    snapshot_gap_blocks: Positive | None = MAX_U63
    blocks: Annotated[Literal["own", "peers"], means("Whether it executes its own blocks, or those of its peers.")] = (
        "own"
    )


Observer = FinalizedOnly | ApplyEarly | RebuildIndexes | OwnCadence | Restart | SnapshotJoinMode | ColdReplayMode


def loses_its_state(observer: ReplicaSection) -> bool:
    """Whether its road takes from the observer's disk what was synced."""
    return isinstance(observer, SnapshotJoinMode | ColdReplayMode)


def kind_of_observer(observer: ReplicaSection) -> str:
    """Return what a scenario file calls the observer's kind."""
    return str(type(observer).__struct_config__.tag)


def deeds_of_road(replica: ReplicaSection, counts: ValidatorCounts, rounds: int) -> dict[str, int]:
    """Return what a replica has to have done by its road at least once, and how often it did."""
    deeds = {"applied early": counts.applied_early} if replica.apply == "certified" else {}
    if replica.rebuild_indexes_every:
        deeds["rebuilt"] = counts.rebuilt
    if replica.reapply == "execute":
        deeds["executed again"] = counts.reexecuted
    if isinstance(replica, FinalizedOnly | OwnCadence | Restart | SnapshotJoinMode | ColdReplayMode):
        what, count = count_of_road(replica, counts, rounds)
        deeds[what] = count
    return deeds


def count_of_road(observer: Observer, counts: ValidatorCounts, rounds: int) -> tuple[str, int]:
    """Return what shows that an observer went by its road: the name of the count, and how often.

    Args:
        observer: Its section.
        counts: What it has done.
        rounds: How often it was off, came back by its road, and went on.
    """
    shown = {
        FinalizedOnly: ("finalized", counts.finalized),
        ApplyEarly: ("undone", counts.undone),
        RebuildIndexes: ("rebuilt", counts.rebuilt),
        OwnCadence: ("pruned", counts.pruned),
        Restart: ("restarted", rounds),
        SnapshotJoinMode: ("joined", counts.snapshots_joined),
        ColdReplayMode: ("replayed", rounds),
    }
    return shown[type(observer)]
