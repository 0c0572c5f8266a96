"""The first difference between the oracle's and the validators' results of a block, in words."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from checker.oracle.blocks import Result
from checker.oracle.describe import (
    decode,
    narrow_down,
    narrow_record,
    show,
    show_key,
    show_receipt,
    timer_of_entry,
    timer_of_receipts,
)
from checker.oracle.records import Header, write
from checker.results import CheckTally


class Difference(NamedTuple):
    """A difference in one word and in one line, with the state key, timer or losing block it concerns, if any."""

    what: str
    line: str
    key: str = ""
    timer: str = ""
    height: int = 0
    block: str = ""


def compare_receipts(result: Result, receipts: Sequence[bytes], tally: CheckTally) -> Difference | None:
    """Compare the receipts in order."""
    ours = [write(receipt) for receipt in result.receipts]
    theirs = list(receipts)
    tally.compared += len(ours)
    for index, (one, other) in enumerate(zip_longest(ours, theirs)):
        if one != other:
            decoded = decode(one), decode(other)
            timer = timer_of_receipts(decoded)
            about = show_receipt(decoded[1] if one is None else decoded[0])
            place, values = narrow_down(decoded)
            found = f"receipt {index}, {_with_timer(about, timer)}{place}"
            return Difference("receipts", line_of(found, values), timer=timer)
    return None


def compare_changes(
    result: Result, changes: Mapping[bytes, bytes | None] | None, tally: CheckTally
) -> Difference | None:
    """Compare the keys that the block changed, and their values, if the run recorded them."""
    if changes is None:
        return None
    ours, theirs = result.changes, changes
    tally.compared += len(ours)
    if ours == theirs:
        return None
    for key in sorted(ours.keys() | theirs.keys()):
        is_in_both = key in ours and key in theirs
        if not is_in_both or ours[key] != theirs[key]:
            decoded = _written(ours, key), _written(theirs, key)
            timer = timer_of_entry(key, decoded)
            field, values = narrow_record(key, decoded)
            place = f"{_with_timer(show_key(key), timer)}{field}"
            return Difference("changes", line_of(place, values), key=key.hex(), timer=timer)
    return None


def compare_roots(result: Result, header: Header, tally: CheckTally) -> Difference | None:
    """Compare the roots with the header's roots."""
    for name in ("tx_root", "receipts_root", "state_root"):
        tally.compared += 1
        pair = getattr(result, name), getattr(header, name)
        if pair[0] != pair[1]:
            return Difference("roots", line_of(name, (show(pair[0]), show(pair[1]))))
    return None


def compare_counts(result: Result, counts: Mapping[str, int], tally: CheckTally) -> Difference | None:
    """Compare the amounts used of each budget."""
    for name, count in result.counts.items():
        if name in counts:
            tally.compared += 1
            pair = count, counts[name]
            if pair[0] != pair[1]:
                return Difference("budgets", line_of(name, (show(pair[0]), show(pair[1]))))
    return None


def _written(changes: Mapping[bytes, bytes | None], key: bytes) -> object:
    if key not in changes:
        return "not written"
    return decode(changes[key])


def _with_timer(place: str, timer: str) -> str:
    return f"{place} of timer {timer}" if timer and timer not in place else place


def line_of(place: str, values: tuple[str, str]) -> str:
    """Return the line that names the place and both values."""
    return f"{place} is {values[0]} by the oracle and {values[1]} in the run"
