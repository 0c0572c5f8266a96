"""Edges, adversaries and votes on which the injection of faults is tried before a run is believed.

A run that goes on with a data directory begins in the midst of its faults, and is not among the drawn ones; whom an
adversary tells what no behaviour has touched shows where observers follow it, which honest validators make up for.
Of a vote that is tampered with a run says only that it was.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final, NamedTuple, cast

from faults.byzantine.adversary import Adversary, Behaviour, Outgoing, Wire
from faults.byzantine.engine_votes import EngineVotes
from faults.byzantine.votes import Replay, StaleVotes, Withhold
from faults.injection.edges import Edge, window
from network.chance import Chance
from network.types import Label, NodeId
from validators.consensus.interface import MessageRole
from validators.consensus.registry import ENGINES
from validators.messages import Message, SnapshotRequest

_TIMES_MS: Final = (0, 3, 5, 8)
_US: Final = 1_000
_VIEWS: Final = range(1, 6)
_RECEIVERS: Final = (0, 2, 3)


def try_edges(_chance: Chance) -> Iterator[tuple[str, bool]]:
    """Yield what is asked of the edges of a fault, and whether it is so."""
    for at_ms, length_ms, origin_ms, begin_ms in product(_TIMES_MS, _TIMES_MS, _TIMES_MS[:2], _TIMES_MS):
        until_ms = at_ms + length_ms
        found = Edge(at_ms, until_ms, "", _nothing).at_us(begin_ms * _US, origin_ms * _US)
        is_past = origin_ms + until_ms < begin_ms
        expected = None if is_past else max(origin_ms + at_ms, begin_ms) * _US
        yield "of a run that begins in the midst of a fault an edge is left out, or not", found == expected
        edges = [edge.at_us(begin_ms * _US) for edge in window(at_ms, until_ms, _nothing, _nothing)]
        is_over = until_ms < begin_ms
        times = [None, None] if is_over else [max(at_ms, begin_ms) * _US, until_ms * _US]
        yield "a window that a run begins in is not begun with it, or ended then", edges == times


def _nothing() -> None:
    """Do nothing at an edge."""


def try_adversaries(chance: Chance) -> Iterator[tuple[str, bool]]:
    """Yield what is asked of whom an adversary knows, and whether it is so."""
    for validators, observers, byzantine in ((4, 0, (1,)), (4, 2, (0,)), (7, 1, (2, 6)), (4, 1, (0, 2, 3))):
        nodes = range(validators + observers)
        honest = [node for node in nodes if node not in byzantine]
        for node in byzantine:
            adversary = _adversary(node, chance, validators=validators, replicas=len(nodes), byzantine=byzantine)
            others = tuple(other for other in nodes if other != node)
            yield "an adversary tells others than all", adversary.everybody() == others
            first, second = adversary.halves
            yield "an adversary cuts others than the honest replicas in two", sorted([*first, *second]) == honest
            yield "both halves of an adversary are one", bool(second) and (bool(first) or not observers)
            colluders = tuple(other for other in byzantine if other != node)
            yield "an adversary colludes with others than its like", adversary.colluders == colluders


class _Orders(NamedTuple):
    """A fault as it orders a behaviour about."""

    every: int = 1
    what: str = ""
    kinds: tuple[str, ...] = ()
    to: tuple[int, ...] = ()


class _Wire:
    """The wire of an adversary that only counts."""

    def note(self, _name: str, _kind: str, _to: Sequence[NodeId]) -> None:
        """Leave no trace."""


class _Voter(Adversary):
    """An adversary to which every message is a vote."""

    def role_of(self, _message: Message | bytes) -> MessageRole:
        """Return the role of a vote."""
        return "vote"


def try_votes(chance: Chance) -> Iterator[tuple[str, bool]]:
    """Yield what is asked of behaviours that tamper with votes, and whether it is so."""
    stale, count = _views_said(StaleVotes, _Orders(every=2), chance)
    yield "a stale vote is not the one before, or stands in the place of another", stale == [[1], [2], [2], [4], [4]]
    yield "stale votes are counted otherwise than once for each receiver", count == 2 * len(_RECEIVERS)
    said, count = _views_said(Replay, _Orders(), chance)
    yield "a replay leaves the new vote out", [views[0] for views in said] == list(_VIEWS)
    yield "what is replayed is no earlier vote", all(each < views[0] for views in said for each in views[1:])
    repeated = sum(len(views) - 1 for views in said)
    yield "a replay repeats nothing, or is counted otherwise", 0 < repeated * len(_RECEIVERS) == count
    withheld = _replaced(Withhold(_told_of(chance), "specimen", _Orders(to=(2,))))
    left = [each.to for tampered in withheld for each in tampered]
    yield "a vote is kept from others than is ordered", left == [(0, 3)] * len(_VIEWS)


def _views_said(behaviour: type[Behaviour], orders: _Orders, chance: Chance) -> tuple[list[list[int]], int]:
    """Return the views of the votes that a behaviour makes of each vote, and its count."""
    acting = behaviour(_told_of(chance), "specimen", orders)
    said = [[cast("SnapshotRequest", each.message).above_height for each in made] for made in _replaced(acting)]
    return said, acting.count


def _replaced(acting: Behaviour) -> list[list[Outgoing]]:
    """Return what becomes of votes of views that follow one another; any message with a number can be a vote here."""
    votes = [Outgoing(_RECEIVERS, SnapshotRequest(view), Label("vote", view)) for view in _VIEWS]
    return [list(acting.tamper(vote)) for vote in votes]


def _told_of(chance: Chance) -> Adversary:
    """Return the second of four validators as an adversary."""
    adversary = _adversary(1, chance, replicas=4, validators=4, byzantine=(1,))
    adversary.wire = cast("Wire", _Wire())
    return adversary


def _adversary(
    node: NodeId, chance: Chance, *, validators: int, replicas: int, byzantine: Sequence[NodeId]
) -> Adversary:
    return _Voter(
        node,
        validators=validators,
        replicas=replicas,
        byzantine=byzantine,
        kind=next(iter(ENGINES.values())),
        votes=cast("EngineVotes", None),
        chance=chance,
        max_skew_ms=0,
    )
