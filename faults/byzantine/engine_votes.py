"""The interface between general behaviours and what an adversary can say in one consensus engine.

General behaviours ask for what engines with votes have in common: a vote for another block, a finality with a signer
less, messages that make no sense. A behaviour that only one engine has stands in that engine's module.
"""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Protocol

from validators.consensus.interface import EngineMessage, Finality
from validators.execution.blocks import Header


class Junk(Protocol):
    """The chance of a behaviour that makes up messages."""

    def draw(self, bound: int) -> int:
        """Return the next draw, below `bound`."""

    def junk(self, length: int) -> bytes:
        """Return `length` bytes."""


class EngineVotes(Protocol):
    """The votes of one validator, signed with its key as a behaviour wants them, and other messages of its engine."""

    def observe(self, message: object) -> None:
        """Remember what a message that was sent or heard makes known; anything may come."""

    def remember(self, vote: EngineMessage) -> None:
        """Remember a vote of this validator for a block that it proposes, whatever the leader."""

    def proposes(self, message: object) -> bool:
        """Whether this validator proposes its block by a message of the engine."""

    def block_of(self, message: object) -> bytes | None:
        """Return the digest of the block that a message is a vote for, None for another message."""

    def vote_for(self, vote: EngineMessage, digest: bytes) -> EngineMessage:
        """Return the same vote for another block, signed."""

    def seal_for(self, header: Header, seal: bytes) -> bytes:
        """Return the seal of a block that is proposed in the place of one with this seal; empty where none has one."""

    FINALITY_FORMS: ClassVar[tuple[str, ...]]
    """The ways in which a finality of the engine can be broken."""

    def broken_finality(self, form: str, finality: Finality) -> Finality | None:
        """Return a finality of the same block that breaks one rule; None where what that takes is not known."""

    def thinned(self, finality: Finality) -> Finality:
        """Return a finality without its last signer."""

    def old_requests(self, junk: Junk, until_view: int) -> Iterable[EngineMessage]:
        """Return a request for what everybody has, of a view that is drawn."""

    def old_votes(self, junk: Junk, until_view: int) -> Iterable[EngineMessage]:
        """Return a signed vote for a view that was left, which is drawn."""

    def unsigned_finalities(self, junk: Junk, views: Iterable[int]) -> Iterator[EngineMessage]:
        """Yield a finality of the right form for each view; its block and signatures are made up."""

    def senseless_requests(self) -> Iterable[EngineMessage]:
        """Return requests that no correct validator sends."""

    def senseless_finality(self, junk: Junk) -> Finality:
        """Return a finality that cannot be."""

    def senseless_answers(self) -> Iterable[EngineMessage]:
        """Return answers to no request."""

    def senseless_votes(self, junk: Junk) -> Iterable[EngineMessage]:
        """Return votes of others and of itself, none of them signed."""
