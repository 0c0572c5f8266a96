"""The seam between a validator and its consensus engine: events go in, effects come out.

An engine is a state machine without clock, storage or network. The validator gives it one `Event` after the other
(`step`) and performs the `Effect`s of each step in their order, with one exception that carries the whole safety of a
restart: every `Append` of a step is appended and synced before any `Send` of that step leaves. A `Relay` does not wait,
because a block is not a promise. Nothing in an engine waits: what takes time (building, judging, syncing, travelling)
comes back as a later event.

Everything around engines (validator, sync, snapshots, faults, checks) knows this file, `kind` and the registry, and no
engine. Messages, journal records and finality are an engine's own types and opaque here; what others need of them, the
`EngineKind` and its `RecordCodec` say.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from network.types import Digest, Micros, NodeId
from validators.derived import Derived
from validators.events import CertificateHeld, Entered, Voted

EngineMessage: TypeAlias = Any
"""A message between engines of one kind."""

Record: TypeAlias = Any
"""An entry of an engine's journal."""

STALE: Final = "stale"
"""The reason of a refusal that blames no sender: the message is late, already known, or too far ahead to be of use."""

MessageRole: TypeAlias = Literal["vote", "certificate", "request", "answer", "relay"]
"""The purpose of a message; a replica that is no validator keeps certificates to itself."""


class ConfigError(ValueError):
    """The times of an engine's configuration contradict each other."""


class CorruptRecordError(Exception):
    """A journal record that is intact but not of this engine, or contradicts the other records."""


class BlockRef(NamedTuple):
    """A block as consensus names it: the view that proposed it and its digest; genesis is of view 0."""

    view: int
    digest: Digest


class HeaderFacts(NamedTuple):
    """The part of a block that consensus reads; `header` is its encoding, whose hash is `digest`."""

    view: int
    digest: Digest
    parent: Digest
    height: int
    proposer: NodeId
    header: bytes


class Question(StrEnum):
    """The reason to have a block judged."""

    VERIFY = "verify"
    """May this validator vote for the leader's proposal?"""

    CERTIFY = "certify"
    """May a block that a quorum stands behind be built on? It may never have been verified here."""

    ADOPT = "adopt"
    """May a block be followed before it is final? None: this replica executes final blocks only, and cannot say."""


class Finality(Protocol):
    """An engine's own proof that a block and all its ancestors are final; a journal record, and part of messages."""

    @property
    def view(self) -> int:
        """The view of the final block."""

    @property
    def digest(self) -> Digest:
        """The digest of the final block."""

    @property
    def is_proved(self) -> bool:
        """Whether a peer can verify it as it is; a journal may keep it without its proof."""


class Position(NamedTuple):
    """The current view and its leader, -1 for none."""

    view: int
    leader: NodeId


class MessageCheck(NamedTuple):
    """Whether a message may be given to `step`, the reason if not, and the number of signatures really verified."""

    ok: bool
    reason: str
    signatures_verified: int


class MessageInfo(NamedTuple):
    """A kind of message as the validator knows it: its longest encoding, the kinds that it travels with, its role.

    The message's class has a `traced_name`: its name in logs and digests, whatever the class is called.
    """

    size_limit_bytes: int
    channel: str
    role: MessageRole


class MessageLabel(NamedTuple):
    """The subject of a message, as rules of faults match it; a block's digest leads to its height."""

    kind: str
    view: int
    digest: Digest | None


# -- events ----------------------------------------------------------------------------------------


class Started(NamedTuple):
    """The journal has been replayed: enter the first view, or the view that the journal leads to."""


class Received(NamedTuple):
    """A message that `check` has approved; it may have become useless in the meantime."""

    sender: NodeId
    message: EngineMessage


class Built(NamedTuple):
    """The block that `Build` asked for, with its header; None means that there will be none."""

    view: int
    digest: Digest | None
    block: HeaderFacts | None = None


class Judged(NamedTuple):
    """The answer to a `Judge`; None means that there will be none."""

    question: Question
    ref: BlockRef
    ok: bool | None


class BlockArrived(NamedTuple):
    """A block is here, by relay, by request or from the disk, whose seal `check_seal` has approved."""

    sender: NodeId
    block: HeaderFacts
    seal: bytes


class TimeoutReached(NamedTuple):
    """A timer has fired; it may have been cancelled or overtaken."""

    name: str
    number: int


class AlarmReached(NamedTuple):
    """An alarm has gone off, and the wall clock shows `wall_us`.

    `wall_us` is later than the set time after a pause, and earlier where the clock has been set back since.
    """

    name: str
    number: int
    wall_us: Micros


class FloorAdopted(NamedTuple):
    """A verified finality from outside consensus, for example from a snapshot; an old finality changes nothing."""

    finality: Finality


class AskAgain(NamedTuple):
    """A new application with another state: repeat every unanswered question."""


Event: TypeAlias = (
    Started | Received | Built | Judged | BlockArrived | TimeoutReached | AlarmReached | FloorAdopted | AskAgain
)


# -- effects ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Append:
    """Append the record to the journal; the step's messages wait for the sync."""

    record: Record


@dataclass(frozen=True, slots=True)
class Send:
    """Send the message to one validator, or to all peers where `to` is None, once the step's records are durable."""

    to: NodeId | None
    message: EngineMessage


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Give `TimeoutReached` in `after_us` virtual microseconds; replaces a pending timer of that name and number."""

    name: str
    number: int
    after_us: Micros


@dataclass(frozen=True, slots=True)
class SetAlarm:
    """Give `AlarmReached` when the wall clock, right or wrong, shows `at_wall_us`; at once if it is past that.

    Replaces a pending alarm of that name and number.
    """

    name: str
    number: int
    at_wall_us: Micros


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """Stop a timer that is not needed any more; it may have fired."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class Build:
    """Build a block on `parent` and answer with `Built`."""

    view: int
    parent: BlockRef


@dataclass(frozen=True, slots=True)
class Judge:
    """Execute a block and answer with `Judged`; `parent` is the parent that it must have, None for any."""

    question: Question
    ref: BlockRef
    parent: BlockRef | None = None


@dataclass(frozen=True, slots=True)
class Adopt:
    """Follow a block before it is final: store it with its ancestors, and apply it where blocks are applied early.

    It is above the final block, and `height` is its own. `abandoned` is the number of blocks of the old head's branch
    that are left. Applied blocks are undone down to the common ancestor, and the new branch is applied instead.
    """

    ref: BlockRef
    height: int
    abandoned: int


@dataclass(frozen=True, slots=True)
class Finalized:
    """A block and all its ancestors are final; it may never have been judged here."""

    finality: Finality


@dataclass(frozen=True, slots=True)
class Relay:
    """Send the bytes of our own block to everybody.

    A block without a seal leaves at once. A seal stays with its block wherever the block goes, and its block waits for
    the step's records: the seal is signed, and so a promise.
    """

    digest: Digest
    seal: bytes = b""


@dataclass(frozen=True, slots=True)
class ReportActivity:
    """A fact about a validator; `evidence` is signed messages of it that exclude each other."""

    activity: str
    node: NodeId
    view: int
    detail: str
    evidence: tuple[EngineMessage, ...] = ()


Effect: TypeAlias = (
    Append
    | Send
    | SetTimer
    | SetAlarm
    | CancelTimer
    | Build
    | Judge
    | Adopt
    | Finalized
    | Entered
    | Relay
    | ReportActivity
)
"""`Entered` is the trace event: answers about proposals of earlier views are not needed any more."""


# -- engines ---------------------------------------------------------------------------------------


class EngineConfig(Protocol):
    """The part of an engine's configuration that the validator itself has to know."""

    @property
    def view_retention(self) -> int:
        """Views below the finalized view that journal and engine keep."""

    def times_of(self, view: int) -> range | None:
        """Return the times in milliseconds that a block of a view can have; None where views have no times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCodec:
    """The entries of a journal, and the facts about them that the validator may know.

    Args:
        finality: The type of the records that are the engine's finality.
        prefixes: By the type of a record, the bytes before its array.
        encode: Returns the one encoding of a record.
        decode: Returns the record of an encoding; raises CorruptRecordError.
        view_of: Returns the view that a record belongs to.
        vote_of: Returns the vote that a record or message is, None where it is no vote.
        certificate_of: Returns the certificate that a record is, None where it is no certificate.
    """

    finality: type[Any]
    prefixes: Mapping[type[Any], bytes]
    encode: Callable[[Record], bytes]
    decode: Callable[[bytes], Record]
    view_of: Callable[[Record], int]
    vote_of: Callable[[Record | EngineMessage], Voted | None]
    certificate_of: Callable[[Record], CertificateHeld | None]

    def decode_finality(self, encoded: bytes) -> Finality:
        """Return the finality of an encoding; raises CorruptRecordError."""
        found = self.decode(encoded)
        if not isinstance(found, self.finality):
            raise CorruptRecordError(f"the floor of the journal is a {found.traced_name}")
        finality: Finality = found
        return finality


class ConsensusEngine(Protocol):
    """One validator's consensus in one life."""

    @property
    def position(self) -> Position:
        """The current view and its leader."""

    @property
    def finality(self) -> Finality | None:
        """The proof of the highest final block; None while that is genesis."""

    def replay(self, records: Sequence[Record], floor: Finality | None) -> None:
        """Restore from the journal of an earlier life, oldest record first; called once, before `Started`.

        Args:
            records: All that the journal holds.
            floor: The finality below which it was pruned.

        Raises:
            CorruptRecordError: The journal cannot be this validator's.
        """

    def check(self, sender: NodeId, message: EngineMessage) -> MessageCheck:
        """Return whether a message is sound and of use; verifies only signatures of useful messages."""

    def step(self, event: Event) -> list[Effect]:
        """Process an event and return the effects to perform, in this order."""

    def leader(self, view: int) -> NodeId | None:
        """Return the leader of a view, which is 1 or more; None where the view has no leader."""

    def derived(self, records: Sequence[Record], floor: Finality | None) -> Derived:
        """Return the engine's data, beside the data that `replay` of its journal with these arguments leads to."""

    def statistics(self) -> Mapping[str, int]:
        """Return figures of this life, by name."""
