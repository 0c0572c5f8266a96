"""The cause of a divergence in a single word.

*order*: receipts, timers or operations have another order; the root covers the log of operations. *hashing*: values and
operations are equal, the roots differ. *clean-up*: a group treats a timer as dead, or the bookkeeping of exited timers
differs. It is also the cause if the wrong validator had rewound blocks or executed other branches, and a fresh engine
with its code is right. *input*: the groups executed other bytes. *execution*: every other cause. An aborted execution
is compared with the beginning of the right execution.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, get_args

from checker.explain.divergence import Divergence, first_difference
from checker.explain.executions import Outcome
from checker.explain.explanation import Cause
from checker.explain.reading import (
    event_of,
    events_of,
    is_dead_timer,
    is_of_transaction,
    record_of,
    timer_of,
    timers_in,
)
from checker.tables import (
    BUCKET,
    BUCKET_ENTRY,
    GC_CURSOR,
    TIMER,
    TIMER_COUNTS,
    WATCH,
    WATCH_BOOKS,
    WATCH_COUNT,
    WATCHED_KEY,
    WATCHER,
)
from scheduler import (
    Timer,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledForDelay,
    TimerCancelledInsufficientFunds,
    TimerExpired,
    TimerFired,
)

_BOOKKEEPING: Final = (
    *(BUCKET, BUCKET_ENTRY, GC_CURSOR, TIMER_COUNTS),
    *(WATCH, WATCHED_KEY, WATCHER, WATCH_COUNT, WATCH_BOOKS),
)
"""Tables of timer bookkeeping: buckets, bucket entries, the GC lane's cursor, counts by actor, watches."""

_OF_TIMERS: Final = (TIMER, *_BOOKKEEPING)
_STATE_REFUSED: Final = ("CorruptLog: ", "RootMismatchError: ")
"""Errors of a state database that rejects right operations, or reaches another state by them."""

_COUNTS_OF_THE_DEAD: Final = ("waiting_dead", "expired", "insolvent", "gc_cycles")

_Collected = TimerExpired | TimerCancelledInsufficientFunds | TimerCancelledForDelay
_EXITS = _Collected | TimerFired | TimerCancelled | TimerCancelledByGovernance


def cause_of(divergence: Divergence, *, is_from_the_past: bool) -> Cause:
    """Return why the two outcomes of a divergence differ.

    Args:
        divergence: The divergence.
        is_from_the_past: Whether a wrong validator had executed other branches or rewound blocks, and its code
            without that history reaches the right outcome.
    """
    right, wrong = divergence.right, divergence.wrong
    if divergence.refusal or right.transactions != wrong.transactions:
        return "input"
    if wrong.broken:
        return _cause_of_break(divergence, is_from_the_past=is_from_the_past)
    if right.receipts != wrong.receipts or divergence.keys:
        return _cause_of_values(divergence, is_from_the_past=is_from_the_past)
    if is_from_the_past:
        return "clean-up"
    if right.operations != wrong.operations:
        return "order"
    return "hashing" if right.root != wrong.root else _cause_of_counts(right, wrong)


def _cause_of_break(divergence: Divergence, *, is_from_the_past: bool) -> Cause:
    """Return the cause of an aborted execution by comparing its partial outcome with the right outcome."""
    wrong, before = divergence.wrong, divergence.before
    if wrong.broken.startswith(_STATE_REFUSED):
        return "hashing"
    came_to = divergence.right._replace(receipts=divergence.right.receipts[: len(wrong.receipts)])
    if _is_reordered(divergence, came_to):
        return "order"
    removed = [key for key, value in wrong.changes.items() if value is None and key not in wrong.misread]
    is_of_nothing = any(key not in before and key[0] in _OF_TIMERS for key in removed)
    kept = dict.fromkeys(_timers_removed(divergence.right, before))
    more = [timer_of(before, timer_id) for timer_id in _timers_removed(wrong, before) if timer_id not in kept]
    is_dead = any(timer is not None and is_dead_timer(timer, before, divergence.now) for timer in more)
    is_about_the_dead = came_to.receipts != wrong.receipts and _is_about_the_dead(divergence, came_to)
    # The sender's account is the reason for a refused transaction; earlier timer exits are not.
    is_about_timers = not is_of_transaction(wrong) and (is_of_nothing or is_dead)
    is_clean_up = is_from_the_past or is_about_timers or is_about_the_dead
    return "clean-up" if is_clean_up else "execution"


def _timers_removed(outcome: Outcome, before: Mapping[bytes, bytes]) -> list[bytes]:
    """Return the identifiers of the timers whose records an outcome deletes."""
    gone = [key for key, value in outcome.changes.items() if value is None and key[0] == TIMER]
    found = (record_of(key, before.get(key)) for key in gone)
    return [record.timer_id for record in found if isinstance(record, Timer)]


def _cause_of_counts(right: Outcome, wrong: Outcome) -> Cause:
    """Return the cause of differing counts in a block's summary, for equal states."""
    differing = [name for name, count in right.counts.items() if wrong.counts.get(name) != count]
    return "clean-up" if any(name in _COUNTS_OF_THE_DEAD for name in differing) else "execution"


def _cause_of_values(divergence: Divergence, *, is_from_the_past: bool) -> Cause:
    right, wrong = divergence.right, divergence.wrong
    is_permuted = not divergence.keys and Counter(right.receipts) == Counter(wrong.receipts)
    if is_permuted or _is_reordered(divergence, right):
        return "order"
    is_clean_up = is_from_the_past or _is_about_the_dead(divergence, right) or _is_about_removal(divergence)
    return "clean-up" if is_clean_up else "execution"


def _is_reordered(divergence: Divergence, right: Outcome) -> bool:
    """Return whether the groups took timers in another order, where both timers were ready for both groups."""
    for kind in (TimerFired, _Collected):
        taken = [
            [event.timer_id for event in map(event_of, outcome.receipts) if isinstance(event, kind)]
            for outcome in (right, divergence.wrong)
        ]
        pair = next((pair for pair in zip(*taken, strict=False) if pair[0] != pair[1]), None)
        if pair is None:
            continue
        if pair[0] in taken[1] and pair[1] in taken[0]:
            return True
        if kind is TimerFired and all(_is_ready(divergence, timer_id) for timer_id in pair):
            return True
    return False


def _is_ready(divergence: Divergence, timer_id: bytes) -> bool:
    """Return whether a group may take a timer; in its last slot a group may treat the timer as dead."""
    timer = timer_of(divergence.before, timer_id)
    return timer is not None and timer.due <= divergence.now < timer.expires_at


def _is_about_removal(divergence: Divergence) -> bool:
    """Return whether both groups have the same timer exits, and only the timers' bookkeeping differs."""
    receipts = divergence.right.receipts
    has_exits = any(isinstance(event, _EXITS) for receipt in receipts for event in events_of(receipt))
    is_same = receipts == divergence.wrong.receipts
    return is_same and has_exits and all(key[0] in _BOOKKEEPING for key in divergence.keys)


def _is_about_the_dead(divergence: Divergence, right: Outcome) -> bool:
    """Return whether the first differing receipts, or else keys, belong to a timer that one group treats as dead."""
    receipts = right.receipts, divergence.wrong.receipts
    found = first_difference(receipts)
    events = [] if found is None else [event_of(receipt) for receipt in found[1]]
    if _is_of_one_exit(events):
        return False
    if any(isinstance(event, _Collected) for event in events):
        return True
    timers = timers_in(events) or _timers_with_other_entries(divergence)
    if found is None:
        exits = [event.timer_id for event in map(event_of, right.receipts) if isinstance(event, _Collected)]
        return any(timer_id in timers for timer_id in exits)
    records = [timer_of(divergence.before, timer_id) for timer_id in timers]
    return any(timer is not None and timer.expires_at < divergence.now for timer in records)


def _is_of_one_exit(events: Sequence[object]) -> bool:
    """Return whether both groups have the same timer exit with another cost."""
    kinds = {type(event) for event in events}
    return kinds <= {*get_args(_Collected)} and len(kinds) == 1 == len(timers_in(events))


def _timers_with_other_entries(divergence: Divergence) -> list[bytes]:
    """Return the timers whose records or bucket entries differ."""
    found = (divergence.timer_of_key(key) for key in divergence.keys if key[0] in {TIMER, BUCKET_ENTRY})
    return [timer_id for timer_id in found if timer_id]
