"""The audit of the indexes that an engine keeps beside its database, against the operation log."""

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest

import msgspec

from scheduler import Timer, WaitingPool
from scheduler.aptos_keys import key_order, price_of
from scheduler.bias_pool import BiasPool
from scheduler.buckets import Bucket
from scheduler.calendar import NO_HEIGHT
from scheduler.pool import OPEN, DuePool
from scheduler.ready_queue import ReadyQueue
from scheduler.tables import Record, StateTable, StateTables
from validators.execution.heights import BranchHeights, is_queued, scan_buckets
from validators.execution.schema import TIMERS
from validators.execution.timers import PoolKeeper, Waiting
from validators.state import Deviation, StateAudit

HEIGHT_LIMIT = 1 << 63
"""Upper limit of heights; no real height reaches it."""


def audit_indexes(
    audit: StateAudit,
    heights: BranchHeights,
    waiting: Waiting,
    pools: PoolKeeper | None = None,
    *,
    derive: Callable[[StateTables], object | None] = lambda _: None,
) -> StateAudit:
    """Return a database's audit with the deviations of heights and waiting set added, as of its tip.

    The pool is compared with the waiting set that it represents, which may be that of another block.
    """
    if not audit.values:
        return audit
    buckets = scan_buckets(audit.values.items())
    made_anew = BranchHeights(heights.profile, heights.now, buckets.items())
    # Starting below every height, so that an invalid height is seen too.
    kept = heights.due_heights(HEIGHT_LIMIT, after=NO_HEIGHT - 1)
    kept_pool = None if pools is None else pools.kept
    wrong = (
        *compare_heights(made_anew.due_heights(HEIGHT_LIMIT), kept),
        *compare_flags(buckets),
        *compare_tiers(made_anew, heights),
        *compare_waiting(audit.values, waiting),
        *compare_carried(audit.values, waiting, derive),
        *([] if kept_pool is None else compare_pool(*kept_pool)),
    )
    compared = audit.compared["indexes"] + len(kept) + len(waiting.timers)
    return audit._replace(compared={**audit.compared, "indexes": compared}, deviations=(*audit.deviations, *wrong))


def compare_heights(expected: list[int], kept: list[int]) -> Iterator[Deviation]:
    """Yield the first height that only the index or only the buckets have."""
    if kept != expected:
        # If neither has a height that the other lacks, the index names a height twice or in the wrong place.
        height = min(dict.fromkeys(kept).keys() ^ dict.fromkeys(expected).keys() or kept)
        counts = [f"{heights.count(height)} times" for heights in (kept, expected)]
        yield Deviation("indexes", f"height {height} in the index of heights", counts[0], counts[1])


def compare_flags(buckets: Mapping[int, bytes]) -> Iterator[Deviation]:
    """Yield the first height whose flag, by which the queue places it, is not that of its decoded bucket."""
    decode = msgspec.msgpack.Decoder(Bucket).decode
    for height, record in buckets.items():
        flag, expected = is_queued(record), decode(record).queued
        if flag != expected:
            yield Deviation("indexes", f"the flag of the bucket of height {height}", str(flag), str(expected))
            return


def compare_tiers(expected: BranchHeights, kept: BranchHeights) -> Iterator[Deviation]:
    """Yield the first height that the calendar queue holds in another tier than a rebuilt queue."""
    if kept.epochs != expected.epochs:
        yield Deviation("indexes", "heights in the epoch queue", str(kept.epochs), str(expected.epochs))
    roots = [heights.overflow.root().hex() if heights.overflow else "absent" for heights in (kept, expected)]
    if roots[0] != roots[1]:
        yield Deviation("indexes", "root of the overflow tree", roots[0], roots[1])


def compare_waiting(values: Mapping[bytes, bytes], waiting: Waiting) -> Iterator[Deviation]:
    """Yield the first timer of the waiting set that differs from a scan of all timers at its place."""
    decode = msgspec.msgpack.Decoder(Timer).decode
    timers = [decode(value) for key, value in values.items() if key[0] == TIMERS.code]
    due = [timer for timer in timers if timer.due <= waiting.through]
    expected = sorted(due, key=lambda timer: (timer.due, timer.sequence))
    for number, (mine, other) in enumerate(zip_longest(waiting.timers, expected)):
        if mine != other:
            yield Deviation("indexes", f"timer {number} of the waiting set", show_timer(mine), show_timer(other))
            return


def compare_carried(
    values: Mapping[bytes, bytes], waiting: Waiting, derive: Callable[[StateTables], object | None]
) -> Iterator[Deviation]:
    """Yield a deviation where the data that the policy carries, if known, differs from a derivation from the state."""
    if waiting.carried is None:
        return
    expected = derive(EncodedTables(values))
    if waiting.carried != expected:
        place = f"carried data of the policy {waiting.policy}"
        yield Deviation("indexes", place, show_carried(waiting.carried), show_carried(expected))


class EncodedTables:
    """The tables of an encoded state, for reading."""

    def __init__(self, values: Mapping[bytes, bytes]) -> None:
        self._values = values

    def get(self, table: StateTable[Record], key: bytes) -> Record | None:
        """Return the record under a key of a table, or None."""
        encoded = self._values.get(key)
        return None if encoded is None else msgspec.msgpack.decode(encoded, type=table.record)

    def set(self, key: bytes, record: object) -> None:
        """Refuse to change anything; raises TypeError."""
        raise TypeError(f"key {key.hex()} cannot be set to {record!r}: the state is there to read")


def compare_pool(pool: DuePool, waiting: Waiting) -> Iterator[Deviation]:
    """Yield the first timer whose numbers or place in the pool differ from the waiting set."""
    if isinstance(pool, BiasPool):
        yield from compare_cohorts(pool, waiting)
        return
    if isinstance(pool, ReadyQueue):
        yield from compare_queue(pool, waiting)
        return
    if not isinstance(pool, WaitingPool):
        return
    rules = pool.rules
    out = pool.expired.keys() | pool.over_cap.keys()
    expected = {
        timer.timer_id: (timer.fee_payer, rules.gas_limit(timer), *rules.fees(timer))
        for timer in waiting.timers
        if timer.timer_id not in out
    }
    offers = {timer_id: (fee or 0, tip or 0) for timer_id, (_, _, fee, tip) in expected.items()}
    for place, kept, wanted in (
        ("among its payer's", dict(list_rows(pool)), expected),
        ("in the books", dict(list_offers(pool)), offers),
    ):
        differing = [name for name in kept.keys() | wanted.keys() if kept.get(name) != wanted.get(name)]
        if differing:
            timer_id = min(differing)
            found, said = (show_numbers(rows.get(timer_id, ())) for rows in (kept, wanted))
            yield Deviation("indexes", f"timer {timer_id.hex()} {place} in the pool", found, said)
            return


def compare_cohorts(pool: BiasPool, waiting: Waiting) -> Iterator[Deviation]:
    """Yield the first timer whose place or gas limit in the bias auction's pool differs from the waiting set."""
    out = pool.expired.keys() | pool.over_cap.keys()
    wanted = {
        timer.timer_id: (timer.due, timer.sequence, timer.gas_limit)
        for timer in waiting.timers
        if timer.timer_id not in out
    }
    kept = {
        entry.timer.timer_id: (entry.due, entry.sequence, gas)
        for group in pool.groups.values()
        for gas, cohort in group.cohorts.items()
        for entry in cohort
    }
    differing = [name for name in kept.keys() | wanted.keys() if kept.get(name) != wanted.get(name)]
    if differing:
        timer_id = min(differing)
        found, said = (show_numbers(rows.get(timer_id, ())) for rows in (kept, wanted))
        yield Deviation("indexes", f"timer {timer_id.hex()} in a cohort of the pool", found, said)


def compare_queue(queue: ReadyQueue, waiting: Waiting) -> Iterator[Deviation]:
    """Yield the first entry of each of a queue's orders that differs from the waiting set."""
    by_key = sorted(waiting.timers, key=key_order)
    by_turn = sorted(by_key, key=price_of, reverse=True) if queue.rules.is_price_first else by_key
    for name, found, expected in (("key", queue.in_key_order(), by_key), ("turn", queue.in_turn(), by_turn)):
        for number, (mine, other) in enumerate(zip_longest(found, expected)):
            if mine != other:
                yield Deviation("indexes", f"entry {number} in {name} order", show_timer(mine), show_timer(other))
                return


def list_rows(pool: WaitingPool) -> Iterator[tuple[bytes, tuple[bytes, int, int | None, int | None]]]:
    """Yield each timer within the cap with its payer, its gas limit, its greatest fee and its tip, None where open."""
    for address, payer in pool.payers.items():
        for timer, gas_limit, fee, tip in zip(payer.timers, payer.gas_limits, payer.fees, payer.tips, strict=True):
            yield timer.timer_id, (address, gas_limit, None if fee == OPEN else fee, None if tip == OPEN else tip)


def list_offers(pool: WaitingPool) -> Iterator[tuple[bytes, tuple[int, int]]]:
    """Yield each timer of the pool's sorted offers with its greatest fee and its tip, 0 where open."""
    for block in (block for book in pool.books.values() for block in book.blocks):
        fees = {timer.timer_id: -negated for negated, _, timer in block.by_fee}
        for negated, _, timer in block.by_tip:
            yield timer.timer_id, (fees[timer.timer_id], -negated)


def show_numbers(row: tuple[bytes | int | None, ...]) -> str:
    """Return fields side by side, bytes in hexadecimal."""
    return " ".join(part.hex() if isinstance(part, bytes) else str(part) for part in row) or "absent"


def show_carried(carried: object | None) -> str:
    """Return a policy's carried data, a mapping in the order of its keys."""
    return str(dict(sorted(carried.items())) if isinstance(carried, Mapping) else carried)


def show_timer(timer: Timer | None) -> str:
    """Return a timer's fields, bytes in hexadecimal; `absent` for None."""
    if timer is None:
        return "absent"
    fields = msgspec.structs.asdict(timer)
    return str({name: value.hex() if isinstance(value, bytes) else value for name, value in fields.items()})
