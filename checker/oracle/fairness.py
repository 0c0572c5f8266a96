"""The fairness weight of an actor under `eip1559`: who fired less than the median of late comes sooner."""

from collections.abc import Mapping
from fractions import Fraction

from checker.oracle.market import median

Fires = dict[bytes, int]
"""How many timers of each actor fired."""


def fires_in_window(blocks: Mapping[int, Fires], height: int, window: int) -> Fires:
    """Add up the fires of the `window` blocks before `height`."""
    total: Fires = {}
    for block in sorted(blocks):
        if height - window <= block < height:
            for actor, count in blocks[block].items():
                total[actor] = total.get(actor, 0) + count
    return total


def weights(recent: Mapping[bytes, int], least: Fraction, greatest: Fraction) -> dict[bytes, Fraction]:
    """Return the weight of each actor that is named; one that is not named has fired nothing and has `greatest`."""
    divisor = max(Fraction(1), median([count for count in recent.values() if count > 0]))
    return {actor: min(max(2 - count / divisor, least), greatest) for actor, count in recent.items()}
