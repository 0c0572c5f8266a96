"""The interface between general behaviours and the messages of an adversary in a consensus engine.

General behaviours use messages that all engines with votes have: a vote for another block, a finality without its last
signer, messages that make no sense. A behaviour of a single engine is in that engine's module.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Protocol

from network.types import NodeId
from validators.consensus.interface import EngineMessage, Finality
from validators.execution.blocks import Header


class Junk(Protocol):
    """The source of random values for invented messages."""

    def draw(self, bound: int) -> int:
        """Return the next draw, below `bound`."""

    def junk(self, length: int) -> bytes:
        """Return `length` bytes."""


class EngineVotes(Protocol):
    """The votes of a validator, signed with its key as a behaviour wants them, and other messages of its engine."""

    def observe(self, message: object) -> None:
        """Remember the contents of a message that was sent or heard; any object may come."""

    def remember(self, vote: EngineMessage) -> None:
        """Remember a vote of this validator for a block that it proposes, whatever the leader."""

    def proposes(self, message: object) -> bool:
        """Whether this validator proposes its block by this message of the engine."""

    def block_of(self, message: object) -> bytes | None:
        """Return the digest of the block that a message is a vote for, None for another message."""

    def vote_for(self, vote: EngineMessage, digest: bytes) -> EngineMessage:
        """Return the same vote for another block, signed."""

    def impersonated(self, vote: EngineMessage, victim: NodeId) -> EngineMessage | None:
        """Return a vote as if of another validator, with this validator's signature; None if that cannot be."""

    def seal_for(self, header: Header, seal: bytes) -> bytes:
        """Return the seal of a block that replaces a block with this seal; empty if the engine has no seals."""

    FINALITY_FORMS: ClassVar[tuple[str, ...]]
    """The ways in which a finality of the engine can be broken."""

    def broken_finality(self, form: str, finality: Finality) -> Finality | None:
        """Return a finality of the same block that breaks one rule; None if its parts are not known."""

    def thinned(self, finality: Finality) -> Finality:
        """Return a finality without its last signer."""

    def old_requests(self, junk: Junk, until_view: int) -> Iterable[EngineMessage]:
        """Return a request about a drawn old view, for a certificate or block that every validator has."""

    def old_votes(self, junk: Junk, until_view: int) -> Iterable[EngineMessage]:
        """Return a signed vote for a drawn view that was left."""

    def unsigned_finalities(self, junk: Junk, views: Iterable[int]) -> Iterator[EngineMessage]:
        """Yield a well-formed finality for each view, with an invented block and signatures."""

    def senseless_requests(self) -> Iterable[EngineMessage]:
        """Return requests that no correct validator sends."""

    def senseless_finality(self, junk: Junk) -> Finality:
        """Return an impossible finality."""

    def senseless_answers(self) -> Iterable[EngineMessage]:
        """Return answers without a request."""

    def senseless_votes(self, junk: Junk) -> Iterable[EngineMessage]:
        """Return unsigned votes of other validators and of itself."""
