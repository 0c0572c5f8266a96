"""What a campaign promises to reach with each kind of fault: phases and roles that no campaign may leave out.

Promised is what a thousand drawn runs reach many times over (about each fourth run in which the fault had an effect,
or more often), so that an empty cell means a hole in the campaign and not bad luck.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from faults.coverage.phases import Phase, Role

Promise: TypeAlias = tuple[tuple[Phase, Role], ...]

DEFAULT_PROMISE: Final[Promise] = (("proposing", "leader"), ("awaiting-proposal", "voter"))
"""What a kind promises that is not named below: it hits a leader with a block to propose, and one who waits for it."""

_VERIFYING: Final[Promise] = (*DEFAULT_PROMISE, ("verifying", "voter"))
"""The machine is hit while it does the work of a view."""

_VOTING: Final[Promise] = (*_VERIFYING, ("notarized", "leader"), ("notarized", "voter"))
"""What lasts longer than a view is there after its votes as well."""

_TIMESTAMPS: Final[Promise] = (("proposing", "leader"), ("verifying", "voter"))
"""A wrong clock is read where a header gets its timestamp and where that is judged."""

_MESSAGES: Final[Promise] = (*_VOTING, ("finalizing", "voter"))
"""Every vote and certificate of a view is hit on its way."""

PROMISED: Final[Mapping[str, Promise]] = {
    "partition": (*_MESSAGES, ("nullified", "voter")),
    "flapping": (*_MESSAGES, ("nullified", "voter")),
    "cut": _MESSAGES,
    "links": _MESSAGES,
    "rule": _MESSAGES,
    "isolate-leader": (*_VERIFYING, ("notarized", "leader"), ("nullified", "voter")),
    "slow": _VOTING,
    "dishonest": _VERIFYING,
    "slow-disk": (*_VOTING, ("certifying", "leader"), ("certifying", "voter")),
    "clock-offset": _TIMESTAMPS,
    "clock-drift": _TIMESTAMPS,
    "clock-swing": _TIMESTAMPS,
    "clock-strobe": _TIMESTAMPS,
    "crash": _VERIFYING,
    "restart-storm": (("awaiting-proposal", "voter"),),
    "blackout": (*_VERIFYING, ("notarized", "leader")),
    "crash-at-boundary": (("verifying", "voter"), ("finalizing", "voter")),
    "pause": (("proposing", "leader"), ("verifying", "voter")),
    "bit-rot": (("recovering", "voter"),),
    "stale-read": (("recovering", "voter"),),
    "misdirected-write": (("notarized", "voter"),),
    "disk-full": (("verifying", "voter"),),
    "io-error": (),  # strikes in too few drawn runs to be promised anywhere
    "torn-writes": (("verifying", "voter"), ("certifying", "voter")),
}


def promised_cells(kind: str) -> Promise:
    """Return the phases and roles that a campaign with this kind of fault has to reach."""
    return PROMISED.get(kind, DEFAULT_PROMISE)
