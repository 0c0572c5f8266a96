"""The fires of each subject in the window, and the weight that this gives: W(actor) of CIP-1, section 8.

The window is one record per block and one sum per subject. A block's cost depends on its own fires, the fires that
leave the window, and the number of different sums. It never depends on the number of actors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from scheduler.fee_market import doubled_median
from scheduler.lane import Lane
from scheduler.types import LaneMarket


@dataclass(frozen=True, slots=True)
class Weights:
    """W of every subject in one block, as numerators over one denominator: they compare as integers (Q-10)."""

    denominator: int
    low: int
    high: int
    slope: int
    recent_fires: Callable[[bytes], int]

    def numerator(self, subject: bytes) -> int:
        """Return W of a subject, times the denominator."""
        return max(self.low, min(self.high, 2 * self.denominator - self.slope * self.recent_fires(subject)))

    def weight(self, subject: bytes) -> Fraction:
        """Return W of a subject."""
        return Fraction(self.numerator(subject), self.denominator)


def open_window(lane: Lane, height: int) -> LaneMarket:
    """Take the fires that are too old out of the window; return the market with the window's new start (Q-14)."""
    tables, market = lane.tables, lane.market
    start = max(market.window_start, height - lane.config.fairness_window_blocks)
    for old in range(market.window_start, start):
        fires = tables.fires(old)
        for subject, count in fires:
            tables.set_recent_fires(subject, tables.recent_fires(subject) - count)
        if fires:
            tables.set_fires(old, ())
    return msgspec.structs.replace(market, window_start=start)


def read_weights(lane: Lane) -> Weights:
    """Return the weights that the window gives: W = clip(2 - r / max(1, median))."""
    return weights_at(lane, doubled_median(lane.tables.fire_counts(), lane.config.median))


def weights_at(lane: Lane, doubled: int, parts: int = 1) -> Weights:
    """Return the weights for twice a median, which `doubled` counts in `parts` of 1."""
    doubled = max(2 * parts, doubled)
    (low, low_under), (high, high_under) = lane.config.weight_min, lane.config.weight_max
    scale = low_under * high_under
    return Weights(
        denominator=doubled * scale,
        low=low * high_under * doubled,
        high=high * low_under * doubled,
        slope=2 * scale * parts,
        recent_fires=lane.tables.recent_fires,
    )


def subject_of(lane: Lane, actor: bytes) -> bytes:
    """Return under whom an actor's fires count: itself, or its owner (Q-16)."""
    return actor if lane.config.fairness_subject == "actor" else lane.owner_of(actor)


def count_fires(lane: Lane, height: int, actors: Sequence[bytes]) -> None:
    """Add a block's fires to the window; `actors` holds one entry per fired timer."""
    counts: dict[bytes, int] = {}
    for actor in actors:
        subject = subject_of(lane, actor)
        counts[subject] = counts.get(subject, 0) + 1
    fires = sorted(counts.items())
    for subject, count in fires:
        lane.tables.set_recent_fires(subject, lane.tables.recent_fires(subject) + count)
    if fires:
        lane.tables.set_fires(height, fires)
