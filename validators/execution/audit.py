"""Whether the indexes that an engine keeps beside its database are those that the operation log leads to."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest

import msgspec

from scheduler import Timer
from validators.execution.heights import HeightIndex, scan_heights
from validators.execution.schema import TIMERS
from validators.execution.timers import Waiting
from validators.state import Deviation, StateAudit

HEIGHT_LIMIT = 1 << 63
"""No height is as great."""


def audit_indexes(audit: StateAudit, index: HeightIndex, waiting: Waiting) -> StateAudit:
    """Return a database's audit with what is wrong in the height index and in the waiting set, as of its tip."""
    if not audit.values:
        return audit
    heights = index.between(-1, HEIGHT_LIMIT)
    wrong = (*compare_heights(audit.values, heights), *compare_waiting(audit.values, waiting))
    compared = audit.compared["indexes"] + len(heights) + len(waiting.timers)
    return audit._replace(compared={**audit.compared, "indexes": compared}, deviations=(*audit.deviations, *wrong))


def compare_heights(values: Mapping[bytes, bytes], kept: list[int]) -> Iterator[Deviation]:
    """Yield the heights that the index has and the buckets have not, or the other way round."""
    expected = scan_heights(values)
    if kept != expected:
        # Without a height that only one of them has, the index names one twice or in the wrong place.
        height = min(dict.fromkeys(kept).keys() ^ dict.fromkeys(expected).keys() or kept)
        counts = [f"{heights.count(height)} times" for heights in (kept, expected)]
        yield Deviation("indexes", f"height {height} in the index of heights", counts[0], counts[1])


def compare_waiting(values: Mapping[bytes, bytes], waiting: Waiting) -> Iterator[Deviation]:
    """Yield the first timer of the waiting set that is not the one that a scan of all timers gives at its place."""
    decode = msgspec.msgpack.Decoder(Timer).decode
    timers = [decode(value) for key, value in values.items() if key[0] == TIMERS.code]
    due = [timer for timer in timers if timer.due <= waiting.through]
    expected = sorted(due, key=lambda timer: (timer.due, timer.sequence))
    for number, (mine, other) in enumerate(zip_longest(waiting.timers, expected)):
        if mine != other:
            yield Deviation("indexes", f"timer {number} of the waiting set", show_timer(mine), show_timer(other))
            return


def show_timer(timer: Timer | None) -> str:
    """Return a timer's fields, bytes in hexadecimal; `absent` for None."""
    if timer is None:
        return "absent"
    fields = msgspec.structs.asdict(timer)
    return str({name: value.hex() if isinstance(value, bytes) else value for name, value in fields.items()})
