"""Draws and latencies, worked out once more from their keys: the run's own source of chance may be wrong too.

A draw is the 64-bit word at its ordinal in the stream of (seed, purpose, subject): blake2b over the three, each behind
its length, and over the number of the block of eight words, little-endian (docs/design.md). Only the quantile tables
are the run's; a test computes them anew.
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import Final

from network.quantiles import EXPONENTIAL, NORMAL_HALF, NORMAL_TAIL

_BLOCK: Final = struct.Struct("<8Q")
_WORDS: Final = 8
_MILLION: Final = 1_000_000
_CELLS: Final = 256
_PLACES_BITS: Final = 32


def share_of(draw: int, bound: int) -> int:
    """Return a draw as a number below a bound."""
    return draw * bound // (1 << 64)


class AuditedDraws:
    """The words of one stream; the last block is kept, because ordinals mostly ascend."""

    __slots__ = ("_number", "_start", "_words")

    def __init__(self, seed: int, purpose: str, subject: str) -> None:
        self._start = hashlib.blake2b(digest_size=_BLOCK.size)
        for part in (str(seed).encode(), purpose.encode(), subject.encode()):
            self._start.update(len(part).to_bytes(4, "big"))
            self._start.update(part)
        self._number = -1
        self._words: tuple[int, ...] = ()

    def at(self, ordinal: int) -> int:
        """Return the word at an ordinal."""
        number, place = divmod(ordinal, _WORDS)
        if number != self._number:
            hasher = self._start.copy()
            hasher.update(number.to_bytes(8, "big"))
            self._number, self._words = number, _BLOCK.unpack(hasher.digest())
        return self._words[place]


class AuditedChance:
    """The chance of a seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def stream(self, purpose: str, subject: str) -> AuditedDraws:
        """Return the stream of a purpose and a subject."""
        return AuditedDraws(self._seed, purpose, subject)

    def draw(self, purpose: str, subject: str, ordinal: int) -> int:
        """Return one word of a stream."""
        return self.stream(purpose, subject).at(ordinal)


@dataclass(frozen=True, slots=True)
class AuditedLatency:
    """A latency by its kind and parameters (docs/scenarios.md); none is shorter than a microsecond."""

    kind: str
    mean_us: int
    jitter_us: int = 0

    def sample(self, draw: int) -> int:
        """Return the latency of a draw, in microseconds."""
        match self.kind:
            case "fixed":
                return self.mean_us
            case "uniform":
                found_us = self.mean_us - self.jitter_us + share_of(draw, 2 * self.jitter_us + 1)
            case "normal":
                found_us = self.mean_us + self.jitter_us * _normal(draw) // _MILLION
            case "exponential":
                found_us = 1 + (self.mean_us - 1) * _exponential(draw) // _MILLION
            case _:
                raise ValueError(f"the audit knows no latency of the kind {self.kind!r}")
        return max(1, found_us)


def _normal(draw: int) -> int:
    """Return a standard normal value in millionths: a sign, 8 bits for the cell, 32 for the place behind its bits."""
    sign, cell = divmod(draw >> 55, _CELLS)
    if cell == _CELLS - 1:
        value = _between(NORMAL_TAIL, _bits(draw, 47, 8), _bits(draw, 15, _PLACES_BITS))
    else:
        value = _between(NORMAL_HALF, cell, _bits(draw, 23, _PLACES_BITS))
    return value if sign else -value


def _exponential(draw: int) -> int:
    """Return a unit exponential value in millionths: the last cell begins the distribution anew, twice at most."""
    begun, low = 0, 56
    while _bits(draw, low, 8) == _CELLS - 1 and low > 40:
        begun += EXPONENTIAL[-2]
        low -= 8
    return begun + _between(EXPONENTIAL, _bits(draw, low, 8), _bits(draw, low - _PLACES_BITS, _PLACES_BITS))


def _bits(draw: int, low: int, count: int) -> int:
    return (draw >> low) % (1 << count)


def _between(table: tuple[int, ...], cell: int, place: int) -> int:
    """Return the value that lies `place` of 2^32 parts into a cell."""
    return table[cell] + (table[cell + 1] - table[cell]) * place // (1 << _PLACES_BITS)
