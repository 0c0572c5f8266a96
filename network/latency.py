"""The time that a message is on its way: a distribution over whole microseconds, sampled from a 64-bit draw.

Only integers are used; normal and exponential come from the inverse tables in `network.quantiles`, interpolated
linearly. A sample is a function of the draw, so that the k-th message of a link has its latency whatever else happens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never

from network.chance import DRAW_BITS, below
from network.quantiles import EXPONENTIAL, NORMAL_HALF, NORMAL_TAIL
from network.types import Micros

LatencyKind: TypeAlias = Literal["fixed", "uniform", "normal", "exponential"]

_KINDS: Final = ("fixed", "uniform", "normal", "exponential")
_TABLE_UNIT: Final = 1_000_000
_LAST_CELL: Final = 255
_EXPONENTIAL_LEVELS: Final = 3
"""Times that the last cell is opened again: the longest sample is ln(2^25), 17.3 times the mean."""


class LatencyError(ValueError):
    """The parameters describe no latency."""


@dataclass(frozen=True, slots=True)
class Latency:
    """A latency distribution.

    Attributes:
        kind: "fixed", "uniform", "normal" or "exponential".
        mean_us: the mean, before the lower bound cuts anything off.
        jitter_us: uniform: half the width; normal: the standard deviation; fixed and exponential: 0.
        min_us: no sample is shorter. An exponential latency starts there: min_us plus an exponential part, with the
            mean `mean_us` altogether.
    """

    kind: LatencyKind
    mean_us: Micros
    jitter_us: Micros = 0
    min_us: Micros = 1

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise LatencyError(f"latency kind {self.kind!r} is not one of {', '.join(_KINDS)}")
        # At least 1: a message that arrives in the instant of its sending would let two validators talk within it.
        if self.min_us < 1 or self.mean_us < self.min_us or self.jitter_us < 0:
            raise LatencyError(
                f"{self.kind} latency needs 1 <= min_us <= mean_us and jitter_us >= 0; "
                f"got min_us={self.min_us}, mean_us={self.mean_us}, jitter_us={self.jitter_us}"
            )
        if self.jitter_us and self.kind in {"fixed", "exponential"}:
            raise LatencyError(f"{self.kind} latency has no jitter; got jitter_us={self.jitter_us}")

    def sample(self, draw: int) -> Micros:
        """Return the latency in microseconds that belongs to a 64-bit draw."""
        if self.kind == "fixed":
            return self.mean_us
        if self.kind == "uniform":
            sample_us = self.mean_us - self.jitter_us + below(draw, 2 * self.jitter_us + 1)
        elif self.kind == "normal":
            sample_us = self.mean_us + self.jitter_us * normal_quantile(draw) // _TABLE_UNIT
        elif self.kind == "exponential":
            sample_us = self.min_us + (self.mean_us - self.min_us) * exponential_quantile(draw) // _TABLE_UNIT
        else:
            assert_never(self.kind)
        return max(sample_us, self.min_us)

    def samples(self, draws: Sequence[int]) -> list[Micros]:
        """Return the latencies that belong to these draws; calling `sample` for each takes twice the time."""
        low_us, width = self.mean_us - self.jitter_us, 2 * self.jitter_us + 1
        if self.kind == "uniform" and low_us >= self.min_us:
            return [low_us + (draw * width >> DRAW_BITS) for draw in draws]
        return list(map(self.sample, draws))


def normal_quantile(draw: int) -> int:
    """Map a 64-bit draw to a standard normal value in millionths, at most 4.48 either way.

    From the top: a bit for the sign, 8 bits for the cell, 8 more within the last cell, 32 for the place in it.
    """
    cell = (draw >> 55) & 0xFF
    if cell < _LAST_CELL:
        value = _interpolate(NORMAL_HALF, cell, (draw >> 23) & 0xFFFF_FFFF)
    else:
        value = _interpolate(NORMAL_TAIL, (draw >> 47) & 0xFF, (draw >> 15) & 0xFFFF_FFFF)
    return value if draw >> 63 else -value


def exponential_quantile(draw: int) -> int:
    """Map a 64-bit draw to a unit exponential value in millionths.

    The distribution has no memory: beyond the start of the last cell it begins anew, with the next 8 bits.
    """
    start, shift = 0, 56
    for _ in range(_EXPONENTIAL_LEVELS - 1):
        cell = (draw >> shift) & 0xFF
        if cell < _LAST_CELL:
            break
        start += EXPONENTIAL[_LAST_CELL]
        shift -= 8
    cell = (draw >> shift) & 0xFF
    return start + _interpolate(EXPONENTIAL, cell, (draw >> (shift - 32)) & 0xFFFF_FFFF)


def _interpolate(table: tuple[int, ...], cell: int, place: int) -> int:
    # `place` counts 2^-32 parts of the cell.
    low = table[cell]
    return low + ((table[cell + 1] - low) * place >> 32)
