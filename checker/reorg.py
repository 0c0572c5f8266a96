"""Reorganizations: executed blocks that validators dropped because another block became final.

Judged from the events of the run. A block that was rolled back is final nowhere. A run that promised
rolled-back blocks, or a branch of some length dropped at once, and had less is inconclusive.
"""

from typing import final

from checker.observations import FinalizedBlock, RolledBack, read_event
from checker.results import CheckResult, Tally
from network.trace import Event

NAME = "reorg"


@final
class ReorgWatch:
    """Counts what each validator rolled back, and how many heights of it at once."""

    def __init__(self, *, rolled_back_min: int, depth_min: int) -> None:
        self._rolled_back_min = rolled_back_min
        self._depth_min = depth_min
        self._dropped: list[tuple[int, RolledBack]] = []
        self._final: dict[int, bytes] = {}
        self._heights_at_once: dict[int, dict[int, None]] = {}
        self._depths: dict[int, int] = {}

    def observe(self, event: Event) -> None:
        """See one event of the run, in the order of the log."""
        if event.kind == "finalized":
            block = read_event(event, FinalizedBlock)
            self._final.setdefault(block.height, block.digest)
            # What a finalization drops comes after all that it makes final.
            self._heights_at_once[event.node] = {}
        elif event.kind == "rolled-back":
            dropped = read_event(event, RolledBack)
            self._dropped.append((event.node, dropped))
            heights = self._heights_at_once.setdefault(event.node, {})
            heights[dropped.height] = None
            self._depths[event.node] = max(self._depths.get(event.node, 0), len(heights))

    def result(self) -> CheckResult:
        """Judge; less than promised is inconclusive."""
        tally = Tally(NAME, "safety")
        for node, dropped in self._dropped:
            tally.require(
                self._final.get(dropped.height) != dropped.digest,
                f"validator {node} rolled back block {dropped.digest.hex()[:16]}, which is final "
                f"at height {dropped.height}",
                validator=node,
                height=dropped.height,
            )
        count, depth = len(self._dropped), max(self._depths.values(), default=0)
        if count < self._rolled_back_min or depth < self._depth_min:
            return tally.inconclusive(
                f"the promised reorganization did not come: {count} blocks rolled back (at least "
                f"{self._rolled_back_min}), at most {depth} heights at once (at least {self._depth_min})"
            )
        nodes = len(self._depths)
        return tally.result(
            f"{count} executed blocks rolled back by {nodes} validators, up to {depth} heights at once; none is final",
            rolled_back=count,
            depth=depth,
            validators=nodes,
        )
