"""The seam between a validator and its consensus engine: events go in, effects come out.

An engine is a state machine without clock, storage or network. The validator gives it one `Event` after the other
(`step`) and performs the `Effect`s of each step in their order, with one exception that carries the whole safety of a
restart: every `Append` of a step is appended and synced before any `Send` of that step leaves. A `Relay` does not wait,
because a block is not a promise. Nothing in an engine waits: what takes time (building, judging, syncing, travelling)
comes back as a later event.

Everything around engines (validator, sync, snapshots, faults, checks) knows this file and the registry, and no engine.
Messages, journal records and finality are an engine's own types and opaque here; what others need of them, the
`EngineKind` and its `RecordCodec` say.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from network.types import Digest, Micros, NodeId
from validators.consensus.signing import Scheme
from validators.derived import Derived
from validators.events import CertificateHeld, Entered, Voted

EngineMessage: TypeAlias = Any
"""A message between engines of one kind."""

Record: TypeAlias = Any
"""An entry of an engine's journal."""

STALE: Final = "stale"
"""The reason of a refusal that blames no sender: late, already known, or too far ahead to be of use."""

MessageRole: TypeAlias = Literal["vote", "certificate", "request", "answer", "relay"]
"""The purpose of a message; a replica beyond the validators keeps certificates to itself."""


class ConfigError(ValueError):
    """The times of an engine's configuration contradict each other."""


class CorruptRecordError(Exception):
    """A journal record that is whole but not of this engine, or contradicts the others."""


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
    """May a block that a quorum stands behind, maybe never verified here, be built on?"""


class Finality(Protocol):
    """An engine's own proof that a block and all its ancestors are final; one of its records and on the wire."""

    @property
    def view(self) -> int:
        """The view of the final block."""

    @property
    def digest(self) -> Digest:
        """The digest of the final block."""


class Position(NamedTuple):
    """The current view and its leader."""

    view: int
    leader: NodeId


class MessageCheck(NamedTuple):
    """Whether a message may be given to `step`, why not, and how many signatures were really verified."""

    ok: bool
    reason: str
    signatures_verified: int


class MessageInfo(NamedTuple):
    """A kind of message as the validator knows it: its longest encoding, the others that it travels with, its role.

    The message's class has a `traced_name`: the word that logs and digests have for it, whatever the class is called.
    """

    size_limit_bytes: int
    channel: str
    role: MessageRole


class MessageLabel(NamedTuple):
    """The subject of a message, as rules of faults match it; the digest, of a block, leads to its height."""

    kind: str
    view: int
    digest: Digest | None


# -- events ----------------------------------------------------------------------------------------


class Started(NamedTuple):
    """The journal has been replayed: enter the first view, or the one that the journal leads to."""


class Received(NamedTuple):
    """A message that `check` has approved; it may have become useless in the meantime."""

    sender: NodeId
    message: EngineMessage


class Built(NamedTuple):
    """The block that `Build` asked for; None means that there will be none."""

    view: int
    digest: Digest | None


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


class FloorAdopted(NamedTuple):
    """A verified finality from outside of consensus, such as that of a snapshot; an old one changes nothing."""

    finality: Finality


class AskAgain(NamedTuple):
    """There is a new application, of another state: repeat every question that is not answered."""


Event: TypeAlias = Started | Received | Built | Judged | BlockArrived | TimeoutReached | FloorAdopted | AskAgain


# -- effects ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Append:
    """Append the record to the journal; the step's messages wait for the sync."""

    record: Record


@dataclass(frozen=True, slots=True)
class Send:
    """Send the message to one validator, or to all others where `to` is None, once the step's records are durable."""

    to: NodeId | None
    message: EngineMessage


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Give `TimeoutReached` in `after_us` virtual microseconds; replaces a pending timer of that name and number."""

    name: str
    number: int
    after_us: Micros


@dataclass(frozen=True, slots=True)
class CancelTimer:
    """The timer is not needed any more; it may have fired."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class Build:
    """Build a block on `parent` and answer with `Built`."""

    view: int
    parent: BlockRef


@dataclass(frozen=True, slots=True)
class Judge:
    """Execute a block and answer with `Judged`; `parent` is the one that it has to stand on, None for any."""

    question: Question
    ref: BlockRef
    parent: BlockRef | None = None


@dataclass(frozen=True, slots=True)
class Finalized:
    """A block and all its ancestors are final; it may never have been judged here."""

    finality: Finality


@dataclass(frozen=True, slots=True)
class Relay:
    """Send the bytes of our own block to everybody.

    A block without a seal leaves at once. One with a seal, which stays beside it wherever it goes, waits for the step's
    records: the seal is signed, and so a promise.
    """

    digest: Digest
    seal: bytes = b""


@dataclass(frozen=True, slots=True)
class ReportActivity:
    """Something to know of a validator; `evidence` is signed messages of it that exclude each other."""

    activity: str
    node: NodeId
    view: int
    detail: str
    evidence: tuple[EngineMessage, ...] = ()


Effect: TypeAlias = (
    Append | Send | SetTimer | CancelTimer | Build | Judge | Finalized | Entered | Relay | ReportActivity
)
"""`Entered` is the trace event: answers about earlier views' proposals are not needed any more."""


# -- engines ---------------------------------------------------------------------------------------


class EngineConfig(Protocol):
    """The part of an engine's configuration that the validator itself has to know."""

    @property
    def view_retention(self) -> int:
        """Views below the finalized one that journal and engine keep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCodec:
    """The entries of a journal, and what others may know of them.

    Args:
        finality: The type of the records that are the engine's finality.
        encode: Returns the one encoding of a record.
        decode: Returns the record of an encoding; raises CorruptRecordError.
        view_of: Returns the view that a record belongs to.
        vote_of: Returns the vote that a record or message is, None for another one.
        certificate_of: Returns the certificate that a record is, None for another one.
    """

    finality: type[Any]
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
        """Take up the journal of an earlier life, oldest record first; called once, before `Started`.

        Args:
            records: All that the journal holds.
            floor: The finality below which it was pruned.

        Raises:
            CorruptRecordError: The journal cannot be this validator's.
        """

    def check(self, sender: NodeId, message: EngineMessage) -> MessageCheck:
        """Return whether a message is sound and of use; verifies only what would be of use."""

    def step(self, event: Event) -> list[Effect]:
        """Take an event and return what is to be done, in this order."""

    def leader(self, view: int) -> NodeId | None:
        """Return who leads a view, which is 1 or more; None where it has no leader."""

    def derived(self, records: Sequence[Record], floor: Finality | None) -> Derived:
        """Return what it keeps beside what `replay` of its journal, with these arguments, would lead to."""

    def statistics(self) -> Mapping[str, int]:
        """Return figures of this life, by name."""


class EngineMaker(Protocol):
    """Makes the engine of one life of one replica."""

    def __call__(
        self,
        *,
        me: NodeId,
        validators: int,
        scheme: Scheme,
        config: Any,  # noqa: ANN401 - the engine's own
        genesis: Digest,
        is_observer: bool,
    ) -> ConsensusEngine:
        """Return a fresh engine.

        Args:
            me: The replica's index; an observer may be none of the validators.
            validators: How many validators there are.
            scheme: Signs our votes and verifies the others'.
            config: The engine's own configuration.
            genesis: The digest of the block of view 0, which is final from the start.
            is_observer: Whether the replica only follows: no vote, no proposal, for want of a key or of its journal.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineKind:
    """An engine as its validator, its peers and those who watch them know it.

    Args:
        name: What a scenario calls it.
        messages: Its messages on the wire, each a frozen struct with a tag below 16.
        records: What its journal holds.
        configure: Makes its configuration of times in microseconds, by name; raises ConfigError.
        make: Makes the engine of one life.
        verify_finality: Whether a finality from outside is proved, among a number of validators.
        label: What a message is about.
        check_seal: Whether the seal of a block from outside is sound, among a number of validators. None where the
            engine seals no blocks: then a block with a seal is refused, and none is reported to the engine.
    """

    name: str
    messages: Mapping[type[Any], MessageInfo]
    records: RecordCodec
    configure: Callable[..., EngineConfig]
    make: EngineMaker
    verify_finality: Callable[[Scheme, Finality, int], bool]
    label: Callable[[EngineMessage], MessageLabel]
    check_seal: Callable[[Scheme, HeaderFacts, bytes, int], MessageCheck] | None = None

    def names_of(self, role: MessageRole) -> tuple[str, ...]:
        """Return the traced names of the messages in a role."""
        return tuple(each.traced_name for each, info in self.messages.items() if info.role == role)
