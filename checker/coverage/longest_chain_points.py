"""The coverage points of the longest chain, read off the events of a run."""

from typing import Final

from network.events import Event, Handlers, Sent
from scheduler import Reach
from validators.consensus.longest_chain.rules import LongestChainRule
from validators.events import Booted, Entered, HeadAdopted, Reported

DEEP_BLOCKS: Final = 8
"""A switch that abandons at least this many blocks is deep."""

_OF_REPORT: Final = {
    "ConflictingBlocks": LongestChainRule.CONFLICTING_BLOCKS,
    "TrustedOnFirstSight": LongestChainRule.TRUSTED_ON_FIRST_SIGHT,
}


class LongestChainPoints:
    """Reads the points of one run."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._slots: dict[int, int] = {}
        self._leaders: dict[int, int] = {}
        self._heights: dict[int, int] = {}
        self.handlers: Final[Handlers] = {
            HeadAdopted: self._adopt,
            Reported: self._report,
            Entered: self._enter,
            Booted: self._boot,
            Sent: self._send,
        }

    def _adopt(self, event: Event, head: HeadAdopted) -> None:
        height = self._heights.get(event.node, 0)
        if head.abandoned:
            self._reach(LongestChainRule.HEAD_SWITCHED)
            if head.abandoned >= DEEP_BLOCKS:
                self._reach(LongestChainRule.HEAD_SWITCHED_DEEP)
            if head.height == height:
                self._reach(LongestChainRule.TIE_BY_DIGEST)
        if height and head.height > height + 1 and not head.abandoned:
            self._reach(LongestChainRule.SEVERAL_FOLLOWED_AT_ONCE)
        if head.view > self._slots.get(event.node, 0):
            self._reach(LongestChainRule.BLOCK_OF_NEXT_SLOT)
        self._heights[event.node] = head.height

    def _report(self, _event: Event, reported: Reported) -> None:
        point = _OF_REPORT.get(reported.activity)
        if point is not None:
            self._reach(point)

    def _enter(self, event: Event, entered: Entered) -> None:
        before = self._slots.get(event.node)
        if before is not None and entered.view > before + 1:
            self._reach(LongestChainRule.SLOTS_SLEPT_THROUGH)
        if entered.leader < 0:
            self._reach(LongestChainRule.SLOT_WITHOUT_LEADER)
        elif before == entered.view - 1 and self._leaders.get(event.node) == entered.leader:
            self._reach(LongestChainRule.LED_TWICE_RUNNING)
        self._slots[event.node] = entered.view
        self._leaders[event.node] = entered.leader

    def _boot(self, event: Event, _booted: Booted) -> None:
        self._heights.pop(event.node, None)
        self._slots.pop(event.node, None)

    def _send(self, _event: Event, sent: Sent) -> None:
        if sent.label == "HeadResponse":
            self._reach(LongestChainRule.HEAD_NAMED)
