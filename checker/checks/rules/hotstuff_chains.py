"""Chains of certified blocks below the highest one, for `counted-votes`: what they make final is final in time.

A block that comes late can end such a chain when a view above it was skipped: the highest certificate makes no block
final then, and one below it does. Parents are those of executed blocks, which the run's record has.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from network.types import Micros, NodeId


@dataclass(slots=True)
class CertifiedTip:
    """A replica has executed its highest certified block: when, which, what is final, and when its life ends."""

    at_us: Micros
    node: NodeId
    digest: bytes
    final_view: int
    passed_over: Mapping[int, None]
    end_us: Micros = 0


@dataclass(slots=True)
class CertifiedChains:
    """The knowledge of replicas over time; `length` blocks of views on end make the first of them final."""

    length: int
    _moments: list[CertifiedTip] = field(default_factory=list)
    _views: dict[bytes, int] = field(default_factory=dict)
    _finals: dict[NodeId, list[tuple[Micros, int]]] = field(default_factory=dict)

    def executed(self, digest: bytes, view: int) -> None:
        """Note the view of a block."""
        self._views[digest] = view

    def made_final(self, node: NodeId, at_us: Micros, view: int) -> None:
        """Note that a replica holds the proof of a final block."""
        self._finals.setdefault(node, []).append((at_us, view))

    def note(self, moment: CertifiedTip) -> None:
        """Note that a replica has executed its highest certified block, the first time in a life."""
        known = ((each.node, each.digest, each.final_view) for each in self._moments if not each.end_us)
        if (moment.node, moment.digest, moment.final_view) not in known:
            self._moments.append(moment)

    def end(self, node: NodeId, at_us: Micros) -> None:
        """End a life of a replica, or what it knew."""
        for moment in self._moments:
            if moment.node == node and not moment.end_us:
                moment.end_us = at_us

    def find_due(self, parents: Mapping[bytes, bytes]) -> Iterator[tuple[CertifiedTip, int, Micros]]:
        """Yield each moment in which a chain made a block final, the block's view, and when that was known."""
        for moment in self._moments:
            view = self._find_final(moment, parents)
            if view:
                made = (at_us for at_us, final in self._finals.get(moment.node, ()) if final >= view)
                # A life that ends before it has nothing to answer for.
                yield moment, view, min([moment.end_us, *(at_us for at_us in made if at_us >= moment.at_us)])

    def _find_final(self, moment: CertifiedTip, parents: Mapping[bytes, bytes]) -> int:
        """Return the view of the highest block that the certified ones make final, 0 where there is none."""
        digest = moment.digest
        chain: list[int] = []
        while (view := self._views.get(digest, 0)) > moment.final_view and view not in moment.passed_over:
            chain = [view, *chain] if chain and chain[0] == view + 1 else [view]
            if len(chain) == self.length:
                return view
            digest = parents.get(digest, b"")
        return 0
