"""What the faults of a plan leave of a quorum, from the plan alone: who is off, and whom each validator still hears.

A certificate needs a quorum of votes in one place. Votes are not passed on, so in a time in which no validator hears a
quorum, itself included, no block becomes final. Longer latencies, drawn outages and disks are not among the losses:
what a plan does not settle is not told.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from faults.kinds.base import FOREVER, Fault, Loss
from faults.kinds.wording import braced, join, seconds, who
from validators.consensus.quorum import quorum_of
from validators.consensus.registry import ENGINES

_PART: Final = 1_000_000


class Stretch(NamedTuple):
    """A time of a plan without a quorum, in milliseconds; `share_ppm` of it lies in faults that come and go."""

    start_ms: int
    stop_ms: int
    share_ppm: int = _PART

    @property
    def dark_ms(self) -> int:
        """The part of the time in which no quorum can be heard."""
        return (self.stop_ms - self.start_ms) * self.share_ppm // _PART


class Hearing(NamedTuple):
    """Whom each validator that is on can hear and be heard by, itself included; `off` are those without power."""

    heard: Mapping[int, tuple[int, ...]]
    off: tuple[int, ...]

    @property
    def most(self) -> int:
        """The most votes that come together at one validator."""
        return max(map(len, self.heard.values()), default=0)

    def groups(self) -> tuple[tuple[int, ...], ...] | None:
        """Return the groups in which all hear each other and nobody else, ascending; None where it is not that simple."""
        groups = tuple(dict.fromkeys(self.heard.values()))
        return groups if sum(map(len, groups)) == len(self.heard) else None
