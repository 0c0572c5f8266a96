"""The choice of the GBA auction: effective tips, the order of what competes, slices of the budget (B-4, B-5, B-8).

Pure functions of numbers: who is asked, who can pay and what a fire does is the policy's.
"""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from scheduler.types import Timer


class Contender(NamedTuple):
    """A timer that competes; the tip is its effective one, in units per cycle, the weight in millionths."""

    timer: Timer
    tip: int
    weight: int


def rank_of(contender: Contender, tie_break: Literal["id", "append"] = "id") -> tuple[int, int, int, int, bytes]:
    """Return the key of the order: greatest tip, then greatest weight, then identifier (B-8).

    By `append` the place decides instead of the identifier. Timers of a later height stand before timers carried over
    from earlier blocks, because the page appends the latter to the next block's bucket (E-7).
    """
    timer, tip, weight = contender
    place = (-timer.due, timer.sequence) if tie_break == "append" else (0, 0)
    return -tip, -weight, *place, timer.timer_id


def effective_tip(max_fee: int, tip: int, *, basefee: int, reading: Literal["bid", "intro"]) -> int:
    """Return the effective tip of a bid, in units per cycle; a negative one does not cover the basefee (B-4).

    By `intro` it is cut to the room that the fee leaves; by `bid` it counts as stated, and the fee has to cover it.
    """
    room = max_fee - basefee
    if reading == "intro" or room < 0:
        return min(tip, room)
    return tip if tip <= room else room - tip


def share_out(budget: int, weights: Mapping[bytes, int]) -> dict[bytes, int]:
    """Return the cycles of each actor's slice by largest remainder, ties by actor (Q-44); 0 each without a weight."""
    total = sum(weights.values())
    if not total:
        return dict.fromkeys(weights, 0)
    slices = {actor: budget * weight // total for actor, weight in weights.items()}
    # By the actor's address where remainders are equal, and not by the mapping's order.
    by_remainder = sorted(weights, key=lambda actor: (-(budget * weights[actor] % total), actor))
    for actor in by_remainder[: budget - sum(slices.values())]:
        slices[actor] += 1
    return slices


def has_room(gas_limit: int, used: int, budget: int, *, reading: Literal["hard", "literal"]) -> bool:
    """Say whether the budget lets a timer fire: up to the budget, or until what was used exceeds it (B-5, K-12)."""
    return used <= budget if reading == "literal" else used + gas_limit <= budget
