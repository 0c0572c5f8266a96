"""One engine of a bare stage, the disk below it, and what watches it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from tests.properties.engines.stub_agenda import Action
from tests.properties.engines.stub_chain import GENESIS, StubBlock
from validators.consensus.interface import (
    ConsensusEngine,
    EngineMessage,
    Finality,
    HeaderFacts,
    Record,
    ReportActivity,
)
from validators.events import Entered


class WantedBlock(NamedTuple):
    """A block that has to be there, with all below it, and what is done then."""

    digest: bytes
    act: Action


@dataclass(slots=True, eq=False)
class StubNode:
    """One validator: its life, and the disk that outlasts it.

    Attributes:
        place: Its place on the stage.
        number: Its index among the validators, which it shares with its twin if it has one.
        engine: The engine of this life.
        watch: Sees what it does.
        records: The journal, above its floor.
        floor: The finality below which the journal was pruned.
        appended: The number of records that were ever appended, `durable` of those that are synced.
        history: All records that were ever durable, oldest first.
        waiting: What is sent once so many records are durable.
        synced_us: When the last sync under way is over.
        timers: By name and number what tells a timer from one that it has replaced.
        blocks: Blocks that are here; `stored` of them are on the disk.
        done: Blocks that are executed, or final.
        goals: Blocks that are waited for.
        fetching: Blocks that are asked for.
        is_on: Whether it has power.
        life: The number of losses of power.
        view: The view that it has entered last.
        final: The last final block, by digest.
    """

    place: int
    number: int
    engine: ConsensusEngine
    watch: "StageWatch"
    records: list[Record] = field(default_factory=list)
    floor: Finality | None = None
    appended: int = 0
    durable: int = 0
    history: list[Record] = field(default_factory=list)
    waiting: list[tuple[int, Action]] = field(default_factory=list)
    synced_us: int = 0
    timers: dict[tuple[str, int], int] = field(default_factory=dict)
    blocks: dict[bytes, StubBlock] = field(default_factory=dict)
    stored: dict[bytes, None] = field(default_factory=dict)
    done: dict[bytes, None] = field(default_factory=lambda: {GENESIS: None})
    goals: list[WantedBlock] = field(default_factory=list)
    fetching: dict[bytes, None] = field(default_factory=dict)
    is_on: bool = True
    life: int = 0
    view: int = 0
    final: bytes = GENESIS


class StageWatch:
    """Sees what the engines do; `StubStage` calls it, and here nothing is asked."""

    def appended(self, node: StubNode, record: Record) -> None:
        """A record was appended."""

    def lost(self, node: StubNode) -> None:
        """Power went, and records that were not durable with it."""

    def booted(self, node: StubNode) -> None:
        """A journal has been replayed."""

    def entered(self, node: StubNode, entered: Entered) -> None:
        """A view was entered."""

    def built(self, node: StubNode, facts: HeaderFacts) -> None:
        """A block was built."""

    def relayed(self, node: StubNode, facts: HeaderFacts) -> None:
        """A block of its own left."""

    def sent(self, node: StubNode, message: EngineMessage) -> None:
        """A message left."""

    def refused(self, node: StubNode, sender: int, what: str, reason: str) -> None:
        """A message, or the seal of a block, was refused."""

    def finalized(self, node: StubNode, finality: Finality) -> None:
        """A block is final here."""

    def reported(self, node: StubNode, report: ReportActivity) -> None:
        """Something was said of a validator."""
