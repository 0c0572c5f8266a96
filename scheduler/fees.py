"""The movement of basefees: one step per block, at most an eighth, towards the point where blocks are half full.

Integers only (Q-2): the step is floored, not the product. Above the target a basefee rises by at least one, and it
never falls below its minimum (Q-3).
"""

from typing import Final

STEP_DENOMINATOR: Final = 8
"""A full or an empty block moves a basefee by one part in this many."""

MIN_BASEFEE: Final = 800
"""The default floor of a basefee, in units per cycle or per cell."""

MAX_BASEFEE: Final = 2**62
"""A basefee stays below this whatever happens, so that its record fits a 64-bit integer."""


def next_basefee(basefee: int, used: int, limit: int, minimum: int = MIN_BASEFEE) -> int:
    """Return the basefee of the next block.

    `used` and `limit` are this block's cycles or cells; the target is half the limit. Use above the limit, which the
    timer lane makes possible because it comes on top of the transactions, counts as a full block.
    """
    excess = min(2 * used - limit, limit)
    step = basefee * abs(excess) // (STEP_DENOMINATOR * limit)
    if excess > 0:
        return min(max(basefee + max(step, 1), minimum), MAX_BASEFEE)
    return max(basefee - step, minimum)
