"""The detector of anchors in the events of a run, in the order of its log."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from faults.anchors.anchor import Anchor
from faults.anchors.catalogue import MOMENTS, BlockFacts, ChainSoFar
from network.events import Event, Handlers, TraceEvent
from network.types import MILLISECOND_US
from validators.events import BlockFinalized


class AnchorWatch:
    """The awaited anchors of a run; calls `reach` with the name of each anchor that comes.

    The caller gives the facts of a height (`see_block`) before the event of its finalization. Events that no anchor
    names are not read.
    """

    def __init__(self, anchors: Mapping[str, Anchor], reach: Callable[[str], None]) -> None:
        self._anchors = dict(anchors)
        self._reach = reach
        self._counts = dict.fromkeys(anchors, 0)
        self._open = {name: anchor.after is None for name, anchor in anchors.items()}
        self._chain = ChainSoFar()
        self._moments_by_height: dict[int, tuple[str, ...]] = {}
        self._known_height = 0
        self._final_height = 0
        self._instants: dict[tuple[str, int], int] = {}
        used = {name: None for anchor in anchors.values() for name in (anchor.event, anchor.after) if name}
        self._on_machines = {name: MOMENTS[name] for name in used if MOMENTS[name].in_block is None}
        self._on_chain = {name: MOMENTS[name] for name in used if MOMENTS[name].in_block is not None}
        kinds = [moment.event for moment in self._on_machines.values()]
        handlers: dict[type[TraceEvent], Callable[[Event, Any], None]] = dict.fromkeys(kinds, self._see)
        if self._on_chain:
            handlers[BlockFinalized] = self._see_final
        self.handlers: Final[Handlers] = handlers

    @property
    def awaits_blocks(self) -> bool:
        """Whether an anchor is a moment of the chain."""
        return bool(self._on_chain)

    @property
    def awaited(self) -> Mapping[str, Anchor]:
        """The anchors that have not come."""
        return self._anchors

    def give_up(self, name: str) -> bool:
        """Await an anchor no longer; return whether it was awaited."""
        return self._anchors.pop(name, None) is not None

    def see_block(self, height: int, facts: BlockFacts) -> None:
        """Take the facts of a final block; only the first block of a height counts, and heights ascend."""
        if height > self._known_height:
            found = [
                name
                for name, moment in self._on_chain.items()
                if moment.in_block is not None and moment.in_block(facts, self._chain)
            ]
            self._moments_by_height[height] = tuple(found)
            self._known_height = height
            self._chain = self._chain.then(facts)

    def _see_final(self, event: Event, block: BlockFinalized) -> None:
        is_first = block.height > self._final_height
        self._final_height = max(self._final_height, block.height)
        for name in self._moments_by_height.get(block.height, ()):
            self._come(name, event, event.node, is_first=is_first)

    def _see(self, event: Event, body: TraceEvent) -> None:
        for name, moment in self._on_machines.items():
            subject = moment.subject(event, body) if moment.event is type(body) else None
            if subject is None:
                continue
            if moment.is_several and self._instants.get((name, subject)) == event.at_us:
                continue
            self._instants[name, subject] = event.at_us
            self._come(name, event, subject, is_first=True)

    def _come(self, moment: str, event: Event, subject: int, *, is_first: bool) -> None:
        """Count a moment for its anchors; with ``is_first`` no other validator has brought it before."""
        for name, anchor in list(self._anchors.items()):
            if not anchor.from_ms * MILLISECOND_US <= event.at_us < anchor.by_ms * MILLISECOND_US:
                continue
            if not self._open[name]:
                self._open[name] = moment == anchor.after
                continue
            if moment == anchor.event and (is_first if anchor.of is None else subject == anchor.of):
                self._counts[name] += 1
                if self._counts[name] == anchor.nth:
                    del self._anchors[name]
                    self._reach(name)
