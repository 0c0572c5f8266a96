"""Fault sequences about rules of the longest chain that no other draw reaches: early slots, joiners' heads, branches.

No other fault is at work in them except the additional faults of a seed.
"""

from collections.abc import Callable
from typing import Final

from cluster.swarm.sequences.sequence import FaultSequence, away, crash, drop, renamed
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS, Plain
from network.draw import Draw
from validators.consensus.longest_chain.messages import Announcement
from validators.consensus.quorum import faults_of
from validators.messages import BlockRelay, BlockResponse

SLOTS_MS: Final = (500, 500, 500, 1_200)
"""Lengths of slots, short ones more often: blocks are final before the run is over."""

_LATER_MS: Final = 8_700
"""The beginning of the second of two sequences."""


def _early_slots(draw: Draw, validators: int, from_ms: int = FAULTS_FROM_MS) -> FaultSequence:
    """Clocks of successive leaders are ahead: their blocks are for slots one or more slots in the peers' future.

    One of the leaders sleeps as its clock is set right, and then reads that its slot has not come.
    """
    first = draw.between("early-slots.first", 0, validators - 1)
    hit = sorted((first + place) % validators for place in range(draw.between("early-slots.count", 1, 2)))
    slot_ms = draw.one_of("early-slots.slot_ms", SLOTS_MS)
    # By more than one slot and a message's latency, so that blocks wait; by more than two, so that several wait.
    part_ms = draw.between("early-slots.part_ms", 260, slot_ms - 20)
    offset_ms = draw.one_of("early-slots.slots", (1, 1, 2, 1, 0)) * slot_ms + part_ms
    start_ms = from_ms + draw.between("early-slots.start_ms", 0, 1_000)
    stop_ms = start_ms + draw.between("early-slots.for_ms", 5_000, 6_500)
    ahead: Plain = {"kind": "clock-offset", "validators": hit, "offset_ms": offset_ms}
    faults: dict[str, Plain] = {"early-slots": {**ahead, "start_ms": start_ms, "stop_ms": stop_ms}}
    if draw.chance("early-slots.is_alone", 60):
        # Without the leader before them no validator builds beside a block that waits.
        down_ms = draw.between("early-slots.down_ms", 5 * slot_ms, stop_ms - start_ms - 500)
        faults["absent"] = crash((first - 1) % validators, start_ms + 300, down_ms)
    if draw.chance("early-slots.is_asleep", 50):
        asleep_ms = stop_ms - slot_ms - 50, stop_ms + draw.between("early-slots.asleep_ms", 20, 120)
        faults["paused"] = {"kind": "pause", "validator": hit[0], "start_ms": asleep_ms[0], "stop_ms": asleep_ms[1]}
    # Peers accept headers that are ahead of their clocks by that much.
    skew_ms = draw.one_of("early-slots.max_skew_ms", (500, 2_500, 2_500))
    return FaultSequence(faults, {"chain": {"max_skew_ms": skew_ms}, **_slots(slot_ms)})


def _two_branches(draw: Draw, validators: int, from_ms: int = FAULTS_FROM_MS) -> FaultSequence:
    """Each half builds a branch, twice, and some validators restart with the losing branch as the halves meet."""
    order = draw.some_of("branches.order", range(validators), validators)
    middle = draw.one_of("branches.middle", (validators // 2, validators // 2, faults_of(validators)))
    groups = [sorted(order[:middle]), sorted(order[middle:])]
    apart: Plain = {"kind": "partition", "groups": groups}
    first_ms = from_ms + draw.between("branches.first_ms", 0, 600)
    first_end_ms = first_ms + draw.between("branches.first_for_ms", 1_500, 3_000)
    second_ms = first_end_ms + draw.between("branches.between_ms", 400, 1_200)
    faults: dict[str, Plain] = {
        "first-branches": {**apart, "start_ms": first_ms, "stop_ms": first_end_ms},
        "second-branches": {
            **away(order[-1], validators),
            "start_ms": second_ms,
            "stop_ms": second_ms + draw.between("branches.second_for_ms", 1_000, 2_500),
        },
    }
    for place in range(2):
        node = order[place * middle]
        at_ms = first_end_ms + draw.between(f"branches.{place}.at_ms", 0, 600)
        faults[f"restart-{place}"] = crash(node, at_ms, draw.between(f"branches.{place}.down_ms", 100, 700))
    return FaultSequence(faults)


def _named_heads(draw: Draw, validators: int) -> FaultSequence:
    """A validator with an empty disk and a validator that missed slots ask for heads; a deaf peer names an old head."""
    deaf, empty, late = draw.some_of("stale-heads.order", range(validators), 3)
    start_ms = draw.between("stale-heads.start_ms", 9_000, 10_500)
    deaf_ms = draw.between("stale-heads.deaf_ms", 2_600, 3_600)
    back_ms = start_ms + draw.between("stale-heads.empty_ms", 900, 1_800)
    missed_ms = start_ms + deaf_ms + draw.between("stale-heads.missed_ms", -900, 900)
    unheard = drop([Announcement.traced_name, BlockRelay.traced_name, BlockResponse.traced_name], to=[deaf])
    faults: dict[str, Plain] = {
        "isolated": {**unheard, "start_ms": start_ms, "stop_ms": start_ms + deaf_ms},
        "empty": {"kind": "wipe", "validator": empty, "at_ms": start_ms + 200, "restart_ms": back_ms},
        "late": crash(late, start_ms + 700, missed_ms - start_ms - 700),
    }
    again = {"every_blocks": draw.between("stale-heads.every_blocks", 3, 5), "down_ms": 300}
    return FaultSequence(
        faults,
        {
            **_slots(SLOTS_MS[0]),
            "sync": {
                "snapshot_gap_blocks": draw.one_of("stale-heads.gap_blocks", (1, 3)),
                "chunk_bytes": draw.one_of("stale-heads.chunk_bytes", (8_000, 1 << 20)),
            },
            "observers": {"again": {"kind": "snapshot-join", **again}},
        },
    )


def _forged_heads(draw: Draw, validators: int) -> FaultSequence:
    """A leader forges headers and answers, builds invalid blocks, and is asked for its head meanwhile.

    An observer that judges no block asks, and so do validators that lose power for a moment, in succession, and lead
    soon after their restart.
    """
    liar, *others = draw.some_of("forged-heads.order", range(validators), 4)
    span: Plain = {"validator": liar, "start_ms": FAULTS_FROM_MS, "stop_ms": FAULTS_UNTIL_MS}
    beside = draw.one_of("forged-heads.beside", ("equivocate", "forge-block", "private-branch", "equivocate"))
    faults: dict[str, Plain] = {
        "forged-heads": {"kind": "byzantine", "behaviour": "forge-head", **span},
        "forged-blocks": {"kind": "byzantine", "behaviour": beside, "every": 2, **span},
    }
    for place, node in enumerate(others):
        at_ms = 3_500 + 4_000 * place + draw.between(f"forged-heads.{place}.at_ms", 0, 3_000)
        faults[f"asking-{place}"] = crash(node, at_ms, draw.between(f"forged-heads.{place}.down_ms", 100, 900))
    settings = _slots(SLOTS_MS[0], fetch_timeout_ms=draw.one_of("forged-heads.fetch_timeout_ms", (300, 400)))
    return FaultSequence(faults, {**settings, "observers": {"by-headers": {"kind": "finalized-only"}}})


def _slots(slot_ms: int, **times: int) -> dict[str, Plain]:
    """Return the settings for turns in slots of a length, with other times of consensus."""
    return {"consensus": {"longest_chain": {"slot_ms": slot_ms}, **times}}


def _early_slots_later(draw: Draw, validators: int) -> FaultSequence:
    """Clocks of successive leaders are ahead in the second half of the run."""
    return renamed(_early_slots(draw, validators, _LATER_MS), "later")


def _two_branches_later(draw: Draw, validators: int) -> FaultSequence:
    """Each half builds a branch in the second half of the run."""
    return renamed(_two_branches(draw, validators, _LATER_MS), "later")


LONGEST_CHAIN_SEQUENCES: Final[tuple[Callable[[Draw, int], FaultSequence], ...]] = (_early_slots, _two_branches)
"""All sequences of this file, in rotation."""

LATER_LONGEST_CHAIN_SEQUENCES: Final[tuple[Callable[[Draw, int], FaultSequence], ...]] = (
    _named_heads,
    _forged_heads,
    _named_heads,
    _two_branches_later,
    _early_slots_later,
)
"""Sequences that come after another sequence in the same run; a Byzantine leader forges until its fault ends."""
