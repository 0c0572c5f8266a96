"""The records of the check `duties`: a validator's life, votes on their way to it, and acts that are due."""

from dataclasses import dataclass, field
from typing import NamedTuple

from network.types import Micros, NodeId


class VoteOnWay(NamedTuple):
    """A vote on its way: its kind, view and payload, and its checksum."""

    label: str
    view: int
    payload: bytes
    checksum: bytes


class Duty(NamedTuple):
    """Something that is due: since when, and what it is."""

    since_us: Micros
    what: str
    known_us: Micros = 0
    """The time for which the reason had been known as it became due; with enough of it, it is due at once."""


@dataclass(slots=True)
class ValidatorLife:
    """One life of a validator: its view, what is due, who voted for what, and whom it helped in which view."""

    view: int = 0
    final_view: int = 0
    due: dict[tuple[str, int], Duty] = field(default_factory=dict)
    signers: dict[tuple[str, int, bytes], dict[NodeId, None]] = field(default_factory=dict)
    leaders_out: dict[int, Micros] = field(default_factory=dict)
    helped: dict[NodeId, tuple[int, int]] = field(default_factory=dict)
    cried: dict[NodeId, int] = field(default_factory=dict)
    repeated: tuple[Micros, int, dict[NodeId, None]] = (-1, 0, {})
    held: dict[tuple[str, int], None] = field(default_factory=dict)
    given: dict[tuple[str, int], None] = field(default_factory=dict)
    made: dict[tuple[str, int], tuple[Micros, dict[NodeId, None]]] = field(default_factory=dict)
    entered_us: Micros = 0
    cries: dict[NodeId, dict[int, Micros]] = field(default_factory=dict)
    nullified_us: Micros = -1
    way: tuple[Micros, list[NodeId]] = (-1, [])
    ways: dict[NodeId, int] = field(default_factory=dict)
    finalizing_us: Micros = -1
    """When a finalization came whose blocks have not been applied since, -1 where all are."""
    shown: tuple[Micros, dict[NodeId, int]] = (-1, {})
    """Peers that were helped with a finalization in an instant, and its view, until more has gone to them."""

    def show(self, at_us: Micros, peer: NodeId, final_view: int) -> None:
        """Note that a peer was sent a finalization that does not lead into the view that it was helped in."""
        self.shown = at_us, {**(self.shown[1] if self.shown[0] == at_us else {}), peer: final_view}
