"""The cause of a difference between two outcomes of one block, in one word.

*order*: the same receipts in another order, another timer taken first, or the same values by other operations: the root
remembers the log. *hashing*: the same values and operations, and yet another root. *clean-up*: a timer that one side
holds to be dead, what is kept of timers that left, or a state that only a validator holds that has executed other
branches or taken blocks back, while a fresh engine with the same code comes to the right outcome. *input*: other bytes
were executed. Everything else is *execution*. An execution that came to no end is judged by how far it came.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from checker.explain.formatting import (
    differing_keys,
    event_of,
    is_dead_timer,
    record_of,
    timer_of,
    timers_in,
    timers_of_keys,
)
from checker.explain.sides import Outcome
from checker.mutants.mutant import Cause
from checker.tables import BUCKET, BUCKET_ENTRY, GC_CURSOR, TIMER
from scheduler import Timer, TimerCancelledForDelay, TimerCancelledInsufficientFunds, TimerExpired, TimerFired

_BOOKKEEPING: Final = (BUCKET, BUCKET_ENTRY, GC_CURSOR, 0x08)
"""Tables of buckets, of their entries, of the GC lane's place, and of how many timers each actor has."""

_OF_TIMERS: Final = (TIMER, *_BOOKKEEPING)
_STATE_REFUSED: Final = ("CorruptLog: ", "RootMismatchError: ")
"""How an execution breaks off whose state database makes nothing, or something else, of operations that are right."""

_COUNTS_OF_THE_DEAD: Final = ("waiting_dead", "expired", "insolvent", "gc_cycles")

_Collected = TimerExpired | TimerCancelledInsufficientFunds | TimerCancelledForDelay


class Circumstances(NamedTuple):
    """What else is known of a difference.

    Attributes:
        before: The state before the block.
        now: The present of the block, in the chain's timebase.
        is_from_the_past: Whether a wrong validator had executed other branches or taken blocks back, and its code
            without that past comes to another outcome.
    """

    before: Mapping[bytes, bytes]
    now: int
    is_from_the_past: bool


def cause_of(right: Outcome, wrong: Outcome, circumstances: Circumstances) -> Cause:
    """Return why two outcomes of one block differ."""
    if right.transactions != wrong.transactions:
        return "input"
    if wrong.broken:
        return _cause_of_break(right, wrong, circumstances)
    keys = differing_keys(right, wrong, circumstances.before)
    if right.receipts != wrong.receipts or keys:
        return _cause_of_values(right, wrong, keys, circumstances)
    if circumstances.is_from_the_past:
        return "clean-up"
    if right.operations != wrong.operations:
        return "order"
    return "hashing" if right.root != wrong.root else _cause_of_counts(right, wrong)


def _cause_of_break(right: Outcome, wrong: Outcome, circumstances: Circumstances) -> Cause:
    """Return why an execution came to no end: what it had come to is compared with what it should have come to."""
    if wrong.broken.startswith(_STATE_REFUSED):
        return "hashing"
    came_to = right._replace(receipts=right.receipts[: len(wrong.receipts)])
    if _is_reordered(came_to, wrong, circumstances):
        return "order"
    before = circumstances.before
    removed = [key for key, value in wrong.changes.items() if value is None and key not in wrong.misread]
    is_of_nothing = any(key not in before and key[0] in _OF_TIMERS for key in removed)
    kept = dict.fromkeys(_timers_removed(right, before))
    more = [timer_of(before, timer_id) for timer_id in _timers_removed(wrong, before) if timer_id not in kept]
    is_dead = any(timer is not None and is_dead_timer(timer, before, circumstances.now) for timer in more)
    is_about_the_dead = came_to.receipts != wrong.receipts and _is_about_the_dead(came_to, wrong, circumstances)
    is_clean_up = is_of_nothing or is_dead or is_about_the_dead
    return "clean-up" if circumstances.is_from_the_past or is_clean_up else "execution"


def _timers_removed(outcome: Outcome, before: Mapping[bytes, bytes]) -> list[bytes]:
    """Return the identifiers of the timers whose records an outcome deletes."""
    gone = [key for key, value in outcome.changes.items() if value is None and key[0] == TIMER]
    found = (record_of(key, before.get(key)) for key in gone)
    return [record.timer_id for record in found if isinstance(record, Timer)]


def _cause_of_counts(right: Outcome, wrong: Outcome) -> Cause:
    """Return why a block's summary counts otherwise although nothing that is in the state differs."""
    others = [name for name, count in right.counts.items() if wrong.counts.get(name) != count]
    return "clean-up" if any(name in _COUNTS_OF_THE_DEAD for name in others) else "execution"


def _cause_of_values(right: Outcome, wrong: Outcome, keys: Sequence[bytes], circumstances: Circumstances) -> Cause:
    is_permuted = not keys and Counter(right.receipts) == Counter(wrong.receipts)
    if is_permuted or _is_reordered(right, wrong, circumstances):
        return "order"
    is_clean_up = _is_about_the_dead(right, wrong, circumstances) or _is_about_removal(right, wrong, keys)
    return "clean-up" if circumstances.is_from_the_past or is_clean_up else "execution"


def _is_reordered(right: Outcome, wrong: Outcome, circumstances: Circumstances) -> bool:
    """Whether both sides took a timer that both might take, and not the same one first."""
    for kind in (TimerFired, _Collected):
        taken = [
            [event.timer_id for event in map(event_of, side.receipts) if isinstance(event, kind)]
            for side in (right, wrong)
        ]
        pair = next((pair for pair in zip(*taken, strict=False) if pair[0] != pair[1]), None)
        if pair is None:
            continue
        if pair[0] in taken[1] and pair[1] in taken[0]:
            return True
        if kind is TimerFired and all(_is_ready(timer_of(circumstances.before, each), circumstances) for each in pair):
            return True
    return False


def _is_ready(timer: Timer | None, circumstances: Circumstances) -> bool:
    """Whether a timer may be taken; in the last slot of its life a side may hold it to be dead."""
    return timer is not None and timer.due <= circumstances.now < timer.expires_at


def _is_about_removal(right: Outcome, wrong: Outcome, keys: Sequence[bytes]) -> bool:
    """Whether timers left alike on both sides, and what was kept of them by height and by actor did not."""
    has_exits = any(isinstance(event_of(receipt), _Collected | TimerFired) for receipt in right.receipts)
    return right.receipts == wrong.receipts and has_exits and all(key[0] in _BOOKKEEPING for key in keys)


def _is_about_the_dead(right: Outcome, wrong: Outcome, circumstances: Circumstances) -> bool:
    """Whether the first receipts that differ, or else the keys that do, are about a timer that is dead on a side."""
    events = [event_of(receipt) for receipt in _first_differing(right.receipts, wrong.receipts)]
    if any(isinstance(event, _Collected) for event in events):
        return True
    timers = timers_in(events) or timers_of_keys(right, wrong, circumstances.before)
    if right.receipts == wrong.receipts:
        exits = [event.timer_id for event in map(event_of, right.receipts) if isinstance(event, _Collected)]
        return bool(dict.fromkeys(exits).keys() & dict.fromkeys(timers).keys())
    found = [timer_of(circumstances.before, timer_id) for timer_id in timers]
    return any(timer is not None and timer.expires_at < circumstances.now for timer in found)


def _first_differing(right: Sequence[bytes], wrong: Sequence[bytes]) -> tuple[bytes | None, bytes | None]:
    return next((pair for pair in zip_longest(right, wrong) if pair[0] != pair[1]), (None, None))
