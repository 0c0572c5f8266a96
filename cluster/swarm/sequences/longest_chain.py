"""Fault sequences about rules of the longest chain that nothing else comes to: early slots, heads after starts.

No other fault is at work in them but what a seed draws beside its sequence.
"""

from collections.abc import Callable
from typing import Final

from cluster.swarm.sequences.sequence import FaultSequence, away, crash
from faults.kinds.drawing import FAULTS_UNTIL_MS, Plain
from network.draw import Draw
from validators.consensus.quorum import faults_of


def _early_slots(draw: Draw, validators: int) -> FaultSequence:
    """The clocks of a minority are ahead by a slot or two: its blocks are of slots that the others are not in yet."""
    hit = draw.some_of("early-slots.validators", range(validators), draw.between("early-slots.count", 1, 2))
    offset_ms = draw.one_of("early-slots.offset_ms", (750, 1_490, 1_490, 2_010, 510))
    start_ms = draw.between("early-slots.start_ms", 2_000, 5_000)
    ahead: Plain = {"kind": "clock-offset", "validators": sorted(hit), "offset_ms": offset_ms}
    stop_ms = draw.between("early-slots.stop_ms", start_ms + 5_000, FAULTS_UNTIL_MS)
    # Others take what is ahead of their clocks by that much.
    skew_ms = draw.one_of("early-slots.max_skew_ms", (500, 2_500, 2_500))
    return FaultSequence(
        {"early-slots": {**ahead, "start_ms": start_ms, "stop_ms": stop_ms}}, {"chain": {"max_skew_ms": skew_ms}}
    )


def _heads_after_starts(draw: Draw, validators: int) -> FaultSequence:
    """Validators lose their power for a moment, one after the other, and lead soon after they are back."""
    faults: dict[str, Plain] = {}
    at_ms = 2_500
    for place, node in enumerate(draw.some_of("heads.order", range(validators), min(validators, 4))):
        at_ms += draw.between(f"heads.{place}.wait_ms", 300, 2_000)
        down_ms = draw.between(f"heads.{place}.down_ms", 100, 900)
        faults[f"start-{place}"] = crash(node, at_ms, down_ms)
        at_ms += down_ms
    return FaultSequence(faults)


def _two_branches(draw: Draw, validators: int) -> FaultSequence:
    """Halves build a branch each, twice, and some who come together restart with the branch that lost."""
    order = draw.some_of("branches.order", range(validators), validators)
    middle = draw.one_of("branches.middle", (validators // 2, validators // 2, faults_of(validators)))
    groups = [sorted(order[:middle]), sorted(order[middle:])]
    apart: Plain = {"kind": "partition", "groups": groups}
    first_ms = draw.between("branches.first_ms", 2_000, 3_500)
    first_end_ms = first_ms + draw.between("branches.first_for_ms", 2_000, 4_000)
    second_ms = first_end_ms + draw.between("branches.between_ms", 400, 2_000)
    faults: dict[str, Plain] = {
        "first-branches": {**apart, "start_ms": first_ms, "stop_ms": first_end_ms},
        "second-branches": {
            **away(order[-1], validators),
            "start_ms": second_ms,
            "stop_ms": second_ms + draw.between("branches.second_for_ms", 1_500, 3_500),
        },
    }
    for place in range(2):
        node = order[place * middle]
        at_ms = first_end_ms + draw.between(f"branches.{place}.at_ms", 0, 600)
        faults[f"restart-{place}"] = crash(node, at_ms, draw.between(f"branches.{place}.down_ms", 100, 700))
    return FaultSequence(faults)


LONGEST_CHAIN_SEQUENCES: Final[tuple[Callable[[Draw, int], FaultSequence], ...]] = (
    _early_slots,
    _heads_after_starts,
    _early_slots,
    _two_branches,
)
"""Every one of them in its turn; clocks ahead twice as often."""
