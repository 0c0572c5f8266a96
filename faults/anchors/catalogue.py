"""The moments that an anchor may name: a closed list, each with its trace event and its sentence."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, Self

from faults.events import Crashed, DiskSynced, Restarted
from network.events import Delivered, Event, Sent, TraceEvent
from scheduler import EpochPromoted
from validators.events import (
    BlockExecuted,
    BlockFinalized,
    BlockRolledBack,
    BlockUndone,
    Booted,
    DamageFound,
    Entered,
    Reported,
    SnapshotJoined,
    Voted,
)
from validators.execution import BlockSummary
from validators.messages import SnapshotChunk, SnapshotRequest


class BlockFacts(NamedTuple):
    """The dead timers of a finalized block, and the number of epochs with heights to promote that it began."""

    dead_removed: int
    dead_waiting: int
    epochs: int

    @classmethod
    def of(cls, summary: BlockSummary, events: Iterable[object]) -> Self:
        """Return the facts of an executed block."""
        epochs = sum(isinstance(event, EpochPromoted) for event in events)
        return cls(summary.expired + summary.insolvent, summary.waiting_dead, epochs)


class ChainSoFar(NamedTuple):
    """The chain before a block: whether its parent removed dead timers, how many wait, and the peak since none did."""

    is_removing: bool = False
    dead_waiting: int = 0
    dead_peak: int = 0

    def then(self, facts: BlockFacts) -> "ChainSoFar":
        """Return the chain after the block with these facts."""
        peak = max(self.dead_peak if self.dead_waiting else 0, facts.dead_waiting)
        return ChainSoFar(facts.dead_removed > 0, facts.dead_waiting, peak)


def _writer(event: Event, _body: TraceEvent) -> int | None:
    return event.node


def _machine(_event: Event, body: Crashed | Restarted) -> int | None:
    return body.machine


def _if_timed_out(event: Event, body: Reported) -> int | None:
    return event.node if body.activity == "TimedOut" else None


def _if_snapshot_asked(event: Event, body: Sent) -> int | None:
    return event.node if body.label == SnapshotRequest.traced_name else None


def _if_snapshot_part(event: Event, body: Delivered) -> int | None:
    return event.node if body.label == SnapshotChunk.traced_name else None


class AnchorMoment(NamedTuple):
    """A moment that an anchor may name.

    Attributes:
        event: The type of its trace event.
        meaning: The clause for its time; `{who}` stands for the validator.
        subject: Returns the validator of an event, None for an event of this type that is not this moment.
        in_block: For a moment of the chain: whether a block brings it, by its facts and the chain before it.
        is_several: Whether a single occurrence writes several events in an instant.
    """

    event: type[TraceEvent]
    meaning: str
    subject: Callable[[Event, Any], int | None] = _writer
    in_block: Callable[[BlockFacts, ChainSoFar], bool] | None = None
    is_several: bool = False

    def clause(self, who: str) -> str:
        """Return the clause for its time, with the validator named."""
        if self.in_block is None:
            return self.meaning.format(who=who)
        return f"{who} finalizes a block{self.meaning}"


def _of_chain(meaning: str, in_block: Callable[[BlockFacts, ChainSoFar], bool]) -> AnchorMoment:
    return AnchorMoment(BlockFinalized, meaning, in_block=in_block)


MOMENTS: Final[Mapping[str, AnchorMoment]] = {
    "view": AnchorMoment(Entered, "{who} enters a view"),
    "vote": AnchorMoment(Voted, "{who} sends a vote"),
    "timeout": AnchorMoment(Reported, "{who} gives up a view", _if_timed_out),
    "executed": AnchorMoment(BlockExecuted, "{who} executes a block"),
    "rolled-back": AnchorMoment(BlockRolledBack, "{who} drops executed blocks for another branch", is_several=True),
    "rewind": AnchorMoment(BlockUndone, "{who} rewinds blocks that it had applied early", is_several=True),
    "crash": AnchorMoment(Crashed, "{who} loses its power", _machine),
    "restart": AnchorMoment(Restarted, "{who} gets its power back", _machine),
    "boot": AnchorMoment(Booted, "{who} has read its disk and serves"),
    "damage": AnchorMoment(DamageFound, "{who} finds damage on its disk"),
    "synced": AnchorMoment(DiskSynced, "a sync changes the disk of {who}"),
    "snapshot-asked": AnchorMoment(Sent, "{who} asks a peer for a snapshot", _if_snapshot_asked),
    "snapshot-part": AnchorMoment(Delivered, "{who} gets a piece of a snapshot", _if_snapshot_part),
    "joined": AnchorMoment(SnapshotJoined, "{who} has joined from a snapshot"),
    "finalized": _of_chain("", lambda _facts, _before: True),
    "epoch": _of_chain(" that begins an epoch with heights to promote", lambda facts, _before: facts.epochs > 0),
    "storm": _of_chain(
        " that removes dead timers, after a block that removed none",
        lambda facts, before: facts.dead_removed > 0 and not before.is_removing,
    ),
    "half-drained": _of_chain(
        " that leaves at most half as many dead timers waiting as waited at the peak",
        lambda facts, before: 2 * facts.dead_waiting <= before.dead_peak < 2 * before.dead_waiting,
    ),
    "drained": _of_chain(
        " that leaves no dead timer waiting, after a block that left some",
        lambda facts, before: not facts.dead_waiting and before.dead_waiting > 0,
    ),
}
"""Every moment by its name, in the order of the page."""
