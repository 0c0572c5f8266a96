"""Changes of the committed part: append a batch, undo the newest batches, forget the oldest part.

Append and undo are mirror images, so they stand side by side. An undo shares the lists that the batch made anyway, so
retaining it takes no time; it is dropped when more batches than the bound have followed.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from itertools import repeat
from operator import rshift, sub

from validators.state.activity import CHUNK_BITS, GRAFT_HEIGHT, Graft
from validators.state.batch import BatchOutcome
from validators.state.store import Store
from validators.state.undo import Undo


def append_outcome(store: Store, outcome: BatchOutcome, graft: Graft | None) -> None:
    """Append one batch's result.

    Args:
        store: The committed part, whose tip the batch extends.
        outcome: The batch's result.
        graft: Bitmap and grafted tree after it, if the store keeps them.
    """
    start = store.start
    assert start + len(store.log) == outcome.tip.size - len(outcome.operations), "a batch left a gap in the log"
    store.log += outcome.operations
    store.levels.extend(outcome.nodes)
    flags = store.flags
    # From the old floor only: below it every flag is clear already.
    below_floor = slice(store.tip.floor - start, min(outcome.tip.floor, store.tip.size) - start)
    # A copy for the undo, made before the flags are cleared.
    inactive = bytes(flags[below_floor])
    flags[below_floor] = bytes(len(inactive))
    mark(flags, outcome.rewritten, start, 0)
    flags += outcome.flags
    locations = store.locations
    # Before the deletions, because a deleted key is among the entries, marked.
    locations.update(outcome.entries)
    for key in outcome.deleted:
        del locations[key]
    if store.activity is not None:
        assert graft is not None, "a batch is applied without its part of the bitmap"
        store.activity.commit(graft)
    if store.undos.maxlen:
        store.undos.append(
            Undo(
                tip=store.tip,
                displaced=outcome.displaced,
                superseded=outcome.superseded,
                created=outcome.created,
                inactive=inactive,
                rewritten=outcome.rewritten,
            )
        )
    store.tip = outcome.tip
    assert len(locations) == store.tip.active, "a batch miscounted the live keys"


def rewind_store(store: Store, batches: int) -> None:
    """Undo the batches that were applied last, at least 1 and at most as many as are retained."""
    undos = [store.undos.pop() for _ in range(batches)]
    tip = undos[-1].tip
    del store.log[tip.size - store.start :]
    store.levels.cut(tip.size)
    flags = store.flags
    del flags[tip.size - store.start :]
    for undo in undos:
        restore_flags(store, undo, tip.size)
    restore_locations(store.locations, undos)
    if store.activity is not None:
        store.activity.rewind(store.tip.size, tip.size, list_cleared_chunks(undos))
    store.tip = tip
    assert len(store.locations) == tip.active, "a rewind miscounted the live keys"


def restore_locations(locations: dict[bytes, int], undos: Iterable[Undo]) -> None:
    """Restore each key's location before the oldest of some batches, given newest first."""
    for undo in undos:
        # The commit's location at the end has no key. Whole lists are used: key by key takes two fifths longer.
        locations.update(zip(undo.displaced, undo.superseded, strict=False))
        for key in undo.created:
            locations.pop(key, None)


def restore_flags(store: Store, undo: Undo, size: int) -> None:
    """Set the flags that a batch cleared below `size`, where the log ends now."""
    flags, start = store.flags, store.start
    first = undo.tip.floor - start
    below_floor = undo.inactive[: max(0, size - undo.tip.floor)]
    flags[first : first + len(below_floor)] = below_floor
    # Locations ascend, so those cut off stand at the end.
    mark(flags, undo.rewritten[: bisect_left(undo.rewritten, size)], start, 1)


def mark(flags: bytearray, locations: Iterable[int], start: int, flag: int) -> None:
    """Give the operations at these locations a flag; the first flag is that of location `start`."""
    deque(map(flags.__setitem__, map(sub, locations, repeat(start)), repeat(flag)), maxlen=0)


def list_cleared_chunks(undos: Iterable[Undo]) -> set[int]:
    """Return the numbers of the chunks in which batches cleared bits."""
    chunks: set[int] = set()
    for undo in undos:
        chunks.update(map(rshift, undo.rewritten, repeat(GRAFT_HEIGHT)))
        end = undo.tip.floor + len(undo.inactive)
        chunks.update(range(undo.tip.floor >> GRAFT_HEIGHT, (end + CHUNK_BITS - 1) >> GRAFT_HEIGHT))
    return chunks


def prune_store(store: Store, location: int) -> int:
    """Forget whole chunks below a location and below every floor that can be restored; return the new start."""
    oldest = store.undos[0].tip if store.undos else store.tip
    # Rounded down to a whole chunk: the grafted tree has a leaf for each chunk, and half a chunk could not be rebuilt.
    start = min(location, oldest.floor) // CHUNK_BITS * CHUNK_BITS
    if start > store.start:
        if store.activity is not None:
            store.activity.prune(store.start, start)
        del store.log[: start - store.start]
        del store.flags[: start - store.start]
        store.levels.prune(start)
        store.start = start
    return store.start
