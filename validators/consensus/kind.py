"""The kind of a consensus engine: what its validator, its peers and those who watch them know without a running one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from network.types import Digest, NodeId
from validators.consensus.interface import (
    ConsensusEngine,
    EngineConfig,
    EngineMessage,
    Finality,
    HeaderFacts,
    MessageCheck,
    MessageInfo,
    MessageLabel,
    MessageRole,
    RecordCodec,
)
from validators.consensus.signing import Scheme


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


class SealCheck(Protocol):
    """Judges the seal of a block from outside."""

    def __call__(
        self,
        scheme: Scheme,
        block: HeaderFacts,
        seal: bytes,
        validators: int,
        /,
        *,
        config: Any,  # noqa: ANN401 - the engine's own
    ) -> MessageCheck:
        """Return whether a seal is sound among a number of validators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineKind:
    """An engine as its validator, its peers and those who watch them know it.

    Args:
        name: What a scenario calls it.
        messages: Its messages on the wire, each a frozen struct with a tag below 16.
        records: What its journal holds.
        configure: Makes its configuration of times in microseconds, by name; raises ConfigError.
        make: Makes the engine of one life.
        verify_finality: Whether a finality from outside is proved, among a number of validators, by a configuration.
        label: What a message is about.
        events_per_view: The events of a view for each pair of replicas, about: what a run costs is estimated by it.
        check_seal: Whether the seal of a block from outside is sound, among a number of validators, by a
            configuration. None where the
            engine seals no blocks: then a block with a seal is refused, and none is reported to the engine.
        stores_voted: Whether a block is on the disk before a vote for it leaves, as a certificate needs that is never
            skipped: without its block nothing could follow it after a power loss of all.
        view_word: The engine's own word for a view, for those who read a run: a view of a chain of slots is a slot.
    """

    name: str
    messages: Mapping[type[Any], MessageInfo]
    records: RecordCodec
    configure: Callable[..., EngineConfig]
    make: EngineMaker
    verify_finality: Callable[[Scheme, Finality, int, Any], bool]
    label: Callable[[EngineMessage], MessageLabel]
    events_per_view: int
    check_seal: SealCheck | None = None
    stores_voted: bool = False
    view_word: str = "view"

    def names_of(self, role: MessageRole) -> tuple[str, ...]:
        """Return the traced names of the messages in a role."""
        return tuple(each.traced_name for each, info in self.messages.items() if info.role == role)
