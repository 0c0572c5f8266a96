"""`[consensus.longest_chain]` of a scenario: slots, and the depth of finality that its faults ask for."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from cluster.scenario.fields import NotNegative, PartsPerMillion, Positive, Section, means
from faults import Fault

MARGIN_BLOCKS: Final = 6
"""Depth that no fault asks for: blocks under way, leaders that are down, an adversary's turns in a row."""

EMPTY_SHARE_MAX_PPM: Final = 900_000
"""At most nine slots of ten may have no leader: finality would take too many."""

LOTTERY_MARGIN_BLOCKS: Final = 18
"""Depth beside, where an adversary may be drawn many times in a row: of four validators one is ahead by so much once in
some hundred million slots."""

Leaders: TypeAlias = Literal["lottery", "turns"]

DEPTH_MAX: Final = 1_024
"""The greatest depth, in blocks: so many headers make a proof."""


class LongestChainSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the longest chain alone."""

    slot_ms: Annotated[Positive, means("The length of a slot by the wall clock.")] = 1_000
    leaders: Annotated[
        Leaders,
        means("Who leads a slot: validators in turn, or one of them drawn for each slot, or nobody."),
    ] = "turns"
    lottery_key: Annotated[
        NotNegative, means("The key of the lottery; it belongs to the chain and not to the seed.")
    ] = 0
    empty_slot_share_ppm: Annotated[
        PartsPerMillion, means("Of a million slots of the lottery so many have no leader.")
    ] = 0
    finality_depth: Annotated[
        NotNegative,
        means(
            "A block is final when so many stand on it; 0: as many as the plan asks for. Fewer are refused, unless "
            "`agreement` is among the expected failures."
        ),
    ] = 0

    def least_depth(self, faults: Mapping[str, Fault], validators: int) -> int:
        """Return the least depth at which no plan of faults makes two branches final.

        That is more than all slots of the longest disturbance, which each side of a partition can fill, and of these
        the adversaries' share once more, which they can fill on both sides. A lottery can draw them for all of these.
        """
        enabled = [fault for fault in faults.values() if fault.enabled]
        longest_ms = _longest_ms([fault for fault in enabled if not fault.is_byzantine])
        adversaries = dict.fromkeys(node for fault in enabled if fault.is_byzantine for node in fault.targets())
        slots = -(-longest_ms // self.slot_ms)
        if self.leaders == "lottery" and adversaries:
            return 2 * slots + len(adversaries) + MARGIN_BLOCKS + LOTTERY_MARGIN_BLOCKS
        return slots + -(-slots * len(adversaries) // validators) + len(adversaries) + MARGIN_BLOCKS

    def depth(self, faults: Mapping[str, Fault], validators: int) -> int:
        """Return the depth that is stated, or that the plan asks for."""
        return self.finality_depth or self.least_depth(faults, validators)


def _longest_ms(faults: list[Fault]) -> int:
    """Return the longest time in which faults are at work without a break.

    A fault that is anchored can come at any time, so that it makes every other time longer.
    """
    longest_ms = begun_ms = until_ms = 0
    for start_ms, stop_ms in sorted(fault.span() for fault in faults if fault.anchor is None):
        if start_ms > until_ms:
            begun_ms = start_ms
        until_ms = max(until_ms, stop_ms)
        longest_ms = max(longest_ms, until_ms - begun_ms)
    spans = (fault.span() for fault in faults if fault.anchor is not None)
    return longest_ms + sum(stop_ms - start_ms for start_ms, stop_ms in spans)
