"""The records of the check `followed-blocks`: a validator's life, and the blocks on their way to it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from network.types import Micros, NodeId


class Relayed(NamedTuple):
    """A block on its way from its leader: its slot and height, and the checksum of the message."""

    slot: int
    height: int
    checksum: bytes


class Came(NamedTuple):
    """A block that came to a validator: when, its height and digest, and what was executed and final by then."""

    at_us: Micros
    node: NodeId
    height: int
    digest: bytes
    executed: int = 0
    final: bytes = b""


@dataclass(slots=True)
class FollowerLife:
    """One life of a validator: its slot and head, the blocks that it has followed, and those that came and wait."""

    slot: int = 0
    height: int = 0
    digest: bytes = b""
    final: bytes = b""
    """The last block that became final in this life; empty before."""
    followed: dict[bytes, Micros] = field(default_factory=dict)
    waiting: list[Came] = field(default_factory=list)
    early: list[tuple[NodeId, Relayed]] = field(default_factory=list)
    """Blocks of slots beyond the next one, with their leaders."""
    named: list[Came] = field(default_factory=list)
    asked: dict[NodeId, Micros] = field(default_factory=dict)
    """Peers that have asked for a head and have no answer yet, and when."""
    rests_us: dict[NodeId, Micros] = field(default_factory=dict)
    """By peer the end of the second in which it has asked: a limit of answers may pass the next question over."""
    head_slot: int = 0
    executed: int = 0
    turn: tuple[Micros, int] | None = None
    """When a slot began that it leads, and that slot, until it has sealed a block of it."""

    @property
    def height_named(self) -> int:
        """The greatest height that was named and has not come."""
        return max((came.height for came in self.named), default=0)

    def is_better(self, height: int, digest: bytes) -> bool:
        """Return whether a block is to be followed rather than the head."""
        return height > self.height or (height == self.height and digest < self.digest)
