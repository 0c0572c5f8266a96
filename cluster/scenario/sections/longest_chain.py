"""`[consensus.longest_chain]` of a scenario: slots, and the depth of finality that its faults need."""

from collections.abc import Mapping
from typing import Annotated, Final, Literal, TypeAlias

from cluster.scenario.fields import NotNegative, PartsPerMillion, Positive, Section, means
from faults import Fault

MARGIN_BLOCKS: Final = 6
"""Depth that is needed without a fault: blocks under way, leaders that are down, an adversary's successive turns."""

EMPTY_SHARE_MAX_PPM: Final = 900_000
"""At most nine slots of ten may have no leader: otherwise finality would take too many slots."""

LOTTERY_MARGIN_BLOCKS: Final = 18
"""Additional depth where an adversary may be drawn many times in a row: of four validators one is ahead by this
number of blocks once in some hundred million slots."""

Leaders: TypeAlias = Literal["lottery", "turns"]

DEPTH_MAX: Final = 1_024
"""The greatest depth, in blocks: a proof has as many headers."""


class LongestChainSection(Section, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the longest chain alone."""

    slot_ms: Annotated[Positive, means("The length of a slot by the wall clock.")] = 1_000
    leaders: Annotated[
        Leaders,
        means("The leader of a slot: validators in turn, or a validator drawn for each slot, or none."),
    ] = "turns"
    lottery_key: Annotated[
        NotNegative, means("The key of the lottery; it belongs to the chain and not to the seed.")
    ] = 0
    empty_slot_share_ppm: Annotated[PartsPerMillion, means("Slots of the lottery without a leader.")] = 0
    finality_depth: Annotated[
        NotNegative,
        means(
            "A block is final with this many descendants; 0: as many as the plan needs. Fewer are refused, unless "
            "`agreement` is among the expected failures."
        ),
    ] = 0

    def least_depth(self, faults: Mapping[str, Fault], validators: int) -> int:
        """Return the least depth at which no plan of faults makes two branches final.

        The depth exceeds all slots of the longest disturbance, which each side of a partition can fill. It adds the
        adversaries' share of these slots again, because they can fill them on both sides. A lottery can draw
        adversaries for all of these slots.
        """
        enabled = [fault for fault in faults.values() if fault.enabled]
        longest_ms = _longest_ms([fault for fault in enabled if not fault.is_byzantine])
        adversaries = dict.fromkeys(node for fault in enabled if fault.is_byzantine for node in fault.targets())
        slots = -(-longest_ms // self.slot_ms)
        if self.leaders == "lottery" and adversaries:
            return 2 * slots + len(adversaries) + MARGIN_BLOCKS + LOTTERY_MARGIN_BLOCKS
        return slots + -(-slots * len(adversaries) // validators) + len(adversaries) + MARGIN_BLOCKS

    def depth(self, faults: Mapping[str, Fault], validators: int) -> int:
        """Return the stated depth, or the depth that the plan needs."""
        return self.finality_depth or self.least_depth(faults, validators)


def _longest_ms(faults: list[Fault]) -> int:
    """Return the longest time in which faults are at work without a break.

    A fault that is anchored can come at any time, so that it prolongs every other time.
    """
    longest_ms = begun_ms = until_ms = 0
    for start_ms, stop_ms in sorted(fault.span() for fault in faults if fault.anchor is None):
        if start_ms > until_ms:
            begun_ms = start_ms
        until_ms = max(until_ms, stop_ms)
        longest_ms = max(longest_ms, until_ms - begun_ms)
    spans = (fault.span() for fault in faults if fault.anchor is not None)
    return longest_ms + sum(stop_ms - start_ms for start_ms, stop_ms in spans)
