"""Whether the indexes that an engine keeps beside its database are those that the operation log leads to."""

from collections.abc import Iterator, Mapping
from itertools import zip_longest

import msgspec

from scheduler import Timer
from validators.execution.heights import BranchHeights, scan_buckets
from validators.execution.schema import TIMERS
from validators.execution.timers import Waiting
from validators.state import Deviation, StateAudit

HEIGHT_LIMIT = 1 << 63
"""No height is as great."""


def audit_indexes(audit: StateAudit, heights: BranchHeights, waiting: Waiting) -> StateAudit:
    """Return a database's audit with what is wrong in the heights and in the waiting set, as of its tip."""
    if not audit.values:
        return audit
    made_anew = BranchHeights(heights.profile, heights.now, scan_buckets(audit.values.items()).items())
    kept = heights.due_heights(HEIGHT_LIMIT)
    wrong = (
        *compare_heights(made_anew.due_heights(HEIGHT_LIMIT), kept),
        *compare_tiers(made_anew, heights),
        *compare_waiting(audit.values, waiting),
    )
    compared = audit.compared["indexes"] + len(kept) + len(waiting.timers)
    return audit._replace(compared={**audit.compared, "indexes": compared}, deviations=(*audit.deviations, *wrong))


def compare_heights(expected: list[int], kept: list[int]) -> Iterator[Deviation]:
    """Yield the first height that the index has and the buckets have not, or the other way round."""
    if kept != expected:
        # Without a height that only one of them has, the index names one twice or in the wrong place.
        height = min(dict.fromkeys(kept).keys() ^ dict.fromkeys(expected).keys() or kept)
        counts = [f"{heights.count(height)} times" for heights in (kept, expected)]
        yield Deviation("indexes", f"height {height} in the index of heights", counts[0], counts[1])


def compare_tiers(expected: BranchHeights, kept: BranchHeights) -> Iterator[Deviation]:
    """Yield what the calendar queue holds in another tier than a queue made anew."""
    if kept.epochs != expected.epochs:
        yield Deviation("indexes", "heights in the epoch queue", str(kept.epochs), str(expected.epochs))
    roots = [heights.overflow.root().hex() if heights.overflow else "absent" for heights in (kept, expected)]
    if roots[0] != roots[1]:
        yield Deviation("indexes", "root of the overflow tree", roots[0], roots[1])


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
