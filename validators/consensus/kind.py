"""The kind of a consensus engine: all that its validator, its peers and the checks know without a running engine."""

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
            me: The replica's index; an observer may be no validator.
            validators: The number of validators.
            scheme: Signs our votes and verifies the votes of peers.
            config: The engine's own configuration.
            genesis: The digest of the block of view 0, which is final from the start.
            is_observer: Whether the replica only follows, without votes or proposals, as its key or journal is missing.
        """


class SealCheck(Protocol):
    """A check of a block's seal from outside."""

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
    """An engine as its validator, its peers and the checks know it.

    Args:
        name: Its name in a scenario.
        messages: Its messages on the wire, each a frozen struct with a tag below 16.
        records: The records of its journal.
        configure: Makes its configuration of times in microseconds, by name; raises ConfigError.
        make: Makes the engine of one life.
        verify_finality: Whether a finality from outside is proved, among a number of validators, by a configuration.
        label: The subject of a message.
        events_per_view: The approximate events of a view for each pair of replicas, for the estimate of a run's cost.
        check_seal: Whether the seal of a block from outside is sound, among a number of validators, by a
            configuration. None where the engine seals no blocks: then a block with a seal is refused, and no block is
            reported to the engine.
        seal: The record that a seal is, None where it is no record.
        stores_voted: Whether a block is on the disk before a vote for it leaves. An engine needs this if its
            certificates are never skipped: after a power loss of all, nothing could follow a certificate without its
            block.
        faults: The reasons of refusals of messages that no honest validator sends.
        view_word: The engine's own word for a view in results and on pages: a view of a chain of slots is a slot.
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
    seal: type[Any] | None = None
    stores_voted: bool = False
    faults: tuple[str, ...] = ()
    view_word: str = "view"

    def names_of(self, role: MessageRole) -> tuple[str, ...]:
        """Return the traced names of the messages in a role."""
        return tuple(each.traced_name for each, info in self.messages.items() if info.role == role)
