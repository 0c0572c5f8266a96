"""The audit of a database's memory against its own operation log.

All derived data is computed again from the kept operations and the peaks over the pruned operations, and compared part
by part. The audit changes nothing: a database that fails continues unchanged, and the caller decides.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, Literal, NamedTuple, TypeAlias

from validators.state.activity import GRAFT_HEIGHT, GRAFTS
from validators.state.errors import CorruptLog
from validators.state.store import Store, rebuild_store
from validators.state.tree import DIGEST_BYTES, hash_leaves

Structure: TypeAlias = Literal["operation-log", "bitmap", "indexes"]
"""Structures that can be wrong: the operations, the activity bitmap with its grafted tree, or other derived data."""

ROW_NAMES: Final = ("chunk", "node over chunk")
"""Names of the entries in the rows below the grafted tree."""


REBUILDS_KEPT: Final = 4
"""Rebuilt stores kept for further audits: replicas end at one or two heights, each audited at two of its blocks."""


class Deviation(NamedTuple):
    """One place where a structure is wrong; `key` is the affected state key, or empty."""

    structure: Structure
    place: str
    kept: str
    expected: str
    key: bytes = b""


class StateAudit(NamedTuple):
    """The result of an audit.

    Attributes:
        canonical_root: Root computed from the log alone; empty when these bytes are not a valid log.
        values: Keys and values that the log leads to.
        operations: The kept operations as they are in memory, the first at location `start`.
        start: Location of the oldest operation kept.
        compared: Entries compared, by structure.
        deviations: All wrong places. If the log is wrong, it is the only structure listed, because data derived from a
            wrong log says nothing.
    """

    canonical_root: bytes
    values: Mapping[bytes, bytes]
    operations: tuple[bytes, ...]
    start: int
    compared: Mapping[Structure, int]
    deviations: tuple[Deviation, ...]


class _Rebuilt(NamedTuple):
    """A store rebuilt from a log, and the values that the log leads to."""

    operations: tuple[bytes, ...]
    peaks: Sequence[bytes]
    store: Store
    values: Mapping[bytes, bytes]


class Rebuilds:
    """Stores rebuilt from logs for the audits of several replicas, of which most have the same log byte for byte.

    A rebuilt store depends on its log and the peaks below it alone, and no audit changes it. So an audit reuses the
    store of an earlier audit where codec, operations and peaks are equal, and compares its own replica with it.
    """

    def __init__(self) -> None:
        self._kept: list[_Rebuilt] = []

    def rebuild(self, store: Store) -> tuple[tuple[bytes, ...], Store, Mapping[bytes, bytes]]:
        """Return the operations of a store, the store rebuilt from them, and its values; raises CorruptLog."""
        operations, peaks = tuple(store.log), tuple(store.levels.pinned_peaks(store.start))
        for known in self._kept:
            if _is_same(known, store, operations, peaks):
                return operations, known.store, known.values
        fresh = rebuild_store(store.codec, operations, start=store.start, peaks=peaks)
        values = {key: fresh.find_value(key) or b"" for key in fresh.locations}
        self._kept = [*self._kept[1 - REBUILDS_KEPT :], _Rebuilt(operations, peaks, fresh, values)]
        return operations, fresh, values


def _is_same(known: _Rebuilt, store: Store, operations: tuple[bytes, ...], peaks: Sequence[bytes]) -> bool:
    """Return whether a rebuilt store is the store of these operations."""
    codec, other = known.store.codec, store.codec
    return (
        known.store.start == store.start
        # Comparing tuples of different lengths would walk to the end of the shorter tuple first.
        and len(known.operations) == len(operations)
        and type(codec) is type(other)
        and codec.value_bytes == other.value_bytes
        and known.peaks == peaks
        and known.operations == operations
    )


def audit_store(store: Store, rebuilds: Rebuilds | None = None) -> StateAudit:
    """Derive everything from the log again and compare; O(kept operations)."""
    operations: tuple[bytes, ...] = ()
    values: Mapping[bytes, bytes] = {}
    try:
        operations, fresh, values = (rebuilds or Rebuilds()).rebuild(store)
        reason = f"the root {fresh.tip.root.hex()}"
    except CorruptLog as error:
        operations, fresh, reason = tuple(store.log), Store(store.codec), str(error)
    compared: dict[Structure, int] = {"operation-log": len(operations)}
    if (fresh.tip.size, fresh.tip.root) != (store.tip.size, store.tip.root):
        wrong = Deviation("operation-log", locate_operation(store), reason, f"the root {store.tip.root.hex()}")
        return StateAudit(b"", {}, operations, store.start, compared, (wrong,))
    canonical_root = fresh.require_activity().root
    compared["bitmap"] = 0 if store.activity is None else sum(map(len, store.activity.rows))
    compared["indexes"] = len(store.flags) + len(store.locations) + sum(map(len, fresh.levels.rows)) // DIGEST_BYTES
    deviations = (*compare_bitmaps(store, fresh), *compare_indexes(store, fresh))
    return StateAudit(canonical_root, values, operations, store.start, compared, deviations)


def locate_operation(store: Store) -> str:
    """Return the place where the log is wrong: the first operation that differs from the tree's leaf."""
    leaves = b"".join(hash_leaves(store.start, store.log))
    place = first_difference(leaves, bytes(store.levels.rows[0]), DIGEST_BYTES, store.levels.first_kept(0))
    if place is None:
        return f"operations {store.start} to {store.tip.size}, or the peaks below them"
    return f"operation {place}"


def compare_bitmaps(store: Store, fresh: Store) -> Iterator[Deviation]:
    """Yield the places where bitmap and grafted tree, if they are kept, differ from those rebuilt from the log."""
    if store.activity is None:
        return
    mine, other = store.require_activity(), fresh.require_activity()
    for row in range(max(len(mine.rows), len(other.rows))):
        name = ROW_NAMES[row] if row < GRAFTS else f"grafted node of height {row - GRAFTS + GRAFT_HEIGHT},"
        kept, expected = (activity.rows[row] if row < len(activity.rows) else {} for activity in (mine, other))
        for index in sorted(kept.keys() | expected.keys()) if kept != expected else ():
            if kept.get(index) != expected.get(index):
                yield Deviation("bitmap", f"{name} {index}", show(kept.get(index)), show(expected.get(index)))
    roots = (("root of the grafted tree", mine.grafted_root, other.grafted_root), ("root", mine.root, other.root))
    for name, kept_root, expected_root in roots:
        if kept_root != expected_root:
            yield Deviation("bitmap", name, show(kept_root), show(expected_root))


def compare_indexes(store: Store, fresh: Store) -> Iterator[Deviation]:
    """Yield the places where flags, locations, tree nodes and tip differ from those rebuilt from the log."""
    yield from compare_entries("activity flag of operation", (store.flags, fresh.flags), 1, store.start)
    if store.locations != fresh.locations:
        for key in sorted(store.locations.keys() | fresh.locations.keys()):
            kept, expected = store.locations.get(key), fresh.locations.get(key)
            if kept != expected:
                yield Deviation("indexes", "location of a key", str(kept), str(expected), key)
    rows = zip_longest(store.levels.rows, fresh.levels.rows, fillvalue=bytearray())
    for height, (mine, other) in enumerate(rows):
        first = store.levels.first_kept(height)
        yield from compare_entries(f"tree node of height {height},", (mine, other), DIGEST_BYTES, first)
    for name, tip, fresh_tip in (
        ("peaks", b"".join(store.tip.peaks).hex(), b"".join(fresh.tip.peaks).hex()),
        ("floor", str(store.tip.floor), str(fresh.tip.floor)),
        ("live keys", str(store.tip.active), str(fresh.tip.active)),
    ):
        if tip != fresh_tip:
            yield Deviation("indexes", f"{name} of the tip", tip, fresh_tip)


def compare_entries(name: str, rows: tuple[bytearray, bytearray], width: int, first: int) -> Iterator[Deviation]:
    """Yield the first entry of a width that differs in two rows whose entries are counted from `first`."""
    place = first_difference(bytes(rows[0]), bytes(rows[1]), width, first)
    if place is not None:
        start = width * (place - first)
        kept, expected = (show(bytes(row[start : start + width])) for row in rows)
        yield Deviation("indexes", f"{name} {place}", kept, expected)


def first_difference(kept: bytes, expected: bytes, width: int, first: int) -> int | None:
    """Return the number of the first entry of a width that differs, counted from `first`; None where all are equal."""
    if kept == expected:
        return None
    for start in range(0, max(len(kept), len(expected)), width):
        if kept[start : start + width] != expected[start : start + width]:
            return first + start // width
    return None


def show(entry: bytes | None) -> str:
    """Return bytes in hexadecimal, or a note that they are absent."""
    return entry.hex() if entry else "absent"
