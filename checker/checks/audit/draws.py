"""Draws and latencies, worked out from their keys alone: the run's own source of chance may be wrong too.

A draw is the 64-bit word at its ordinal in the stream of (seed, purpose, subject). Eight words are one block: blake2b
over the key's parts, each behind its length, and over the block's number, little-endian (docs/design.md). Only the
tables of quantiles are the run's; a test computes them anew.
"""

import hashlib
import struct
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from network.quantiles import EXPONENTIAL, NORMAL_HALF, NORMAL_TAIL

MILLION: Final = 1_000_000

DrawKey: TypeAlias = tuple[str, str, int]
"""The purpose, the subject and the ordinal of a draw."""

_BLOCK: Final = struct.Struct("<8Q")
_WORDS: Final = 8
_BLOCKS_KEPT: Final = 1 << 14
_CELLS: Final = 256
_PLACES_BITS: Final = 32


def draw(seed: int, purpose: str, subject: str, ordinal: int) -> int:
    """Return the word at an ordinal of the stream of a purpose and a subject."""
    number, place = divmod(ordinal, _WORDS)
    return _block(seed, purpose, subject, number)[place]


@lru_cache(_BLOCKS_KEPT)
def _block(seed: int, purpose: str, subject: str, number: int) -> tuple[int, ...]:
    parts = (str(seed).encode(), purpose.encode(), subject.encode())
    key = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return _BLOCK.unpack(hashlib.blake2b(key + number.to_bytes(8, "big"), digest_size=_BLOCK.size).digest())


class AuditedSeeds:
    """The seeds of a run, each with the virtual time from which it holds.

    A draw that was made ahead is drawn again at a new seed if the moment it is for is later than this time.
    """

    def __init__(self, seed: int, reseeds: Sequence[tuple[int, int]], redraws: Mapping[DrawKey, int]) -> None:
        self._since = [(-1, seed)]
        self._due = deque(reseeds)
        self._redraws = redraws

    def change(self, turn: int, seed: int, now_us: int) -> str:
        """Note that draws have another seed from now on; return why the plan has no such change, or nothing."""
        due = self._due.popleft() if self._due else None
        self._since.append((now_us, seed))
        if due == (turn, seed):
            return ""
        planned = "no further change" if due is None else f"seed {due[1]} from turn {due[0]:,} on"
        return f"draws had seed {seed} from turn {turn:,} on; the plan has {planned}"

    def draw_for(self, at_us: int, purpose: str, subject: str, ordinal: int) -> int:
        """Return the draw for a moment of the run."""
        given = self._redraws.get((purpose, subject, ordinal))
        if given is not None:
            return given
        seed = next(seed for since_us, seed in reversed(self._since) if since_us < max(at_us, 0))
        return draw(seed, purpose, subject, ordinal)


def share_of(word: int, bound: int) -> int:
    """Return a draw as a number below a bound."""
    return word * bound // (1 << 64)


@dataclass(frozen=True, slots=True)
class AuditedLatency:
    """A latency by its kind and parameters (docs/reference.md); none is shorter than a microsecond."""

    kind: str
    mean_us: int
    jitter_us: int = 0

    def sample(self, word: int) -> int:
        """Return the latency of a draw, in microseconds."""
        match self.kind:
            case "fixed":
                return self.mean_us
            case "uniform":
                found_us = self.mean_us - self.jitter_us + share_of(word, 2 * self.jitter_us + 1)
            case "normal":
                found_us = self.mean_us + self.jitter_us * _normal(word) // MILLION
            case "exponential":
                found_us = 1 + (self.mean_us - 1) * _exponential(word) // MILLION
            case _:
                raise ValueError(f"the audit knows no latency of the kind {self.kind!r}")
        return max(1, found_us)


def _normal(word: int) -> int:
    """Return a standard normal value in millionths: a sign, 8 bits for the cell, 32 for the place behind its bits."""
    sign, cell = divmod(word >> 55, _CELLS)
    if cell == _CELLS - 1:
        value = _between(NORMAL_TAIL, _bits(word, 47, 8), _bits(word, 15, _PLACES_BITS))
    else:
        value = _between(NORMAL_HALF, cell, _bits(word, 23, _PLACES_BITS))
    return value if sign else -value


def _exponential(word: int) -> int:
    """Return a unit exponential value in millionths: the last cell begins the distribution anew, twice at most."""
    begun, low = 0, 56
    while _bits(word, low, 8) == _CELLS - 1 and low > 40:
        begun += EXPONENTIAL[-2]
        low -= 8
    return begun + _between(EXPONENTIAL, _bits(word, low, 8), _bits(word, low - _PLACES_BITS, _PLACES_BITS))


def _bits(word: int, low: int, count: int) -> int:
    return (word >> low) % (1 << count)


def _between(table: tuple[int, ...], cell: int, place: int) -> int:
    """Return the value that lies `place` of 2^32 parts into a cell."""
    return table[cell] + (table[cell + 1] - table[cell]) * place // (1 << _PLACES_BITS)
