"""Proofs about the committed tip, as bytes; verify.py checks them and shares no code with this module.

Integers are 8 bytes, big-endian; digests and chunks 32. Size and location determine the number of digests that follow,
so each claim has one proof, and no byte of it is free:

    operation   size | inactive peaks | siblings, lowest first | other peaks, tallest first
    key-value   location | size | inactive peaks | root over the operations | chunk | siblings | other peaks [| digest]
    root        root of the grafted tree [| bits used in the partial chunk | its digest]

An operation proof leads to the root over the operations, a key-value proof to the canonical root. The siblings and
peaks of a key-value proof are those of the grafted tree from the grafting height on, and its chunk says that the
operation is active. The last digest is that of a partial chunk that does not hold the operation. A root proof shows the
root over the operations inside a canonical root.
"""

from hashlib import sha256

from validators.state.activity import CHUNK_BITS, CHUNKS, GRAFT_HEIGHT, GRAFTS, Activity, grafted_peaks
from validators.state.errors import AbsentKey, PrunedLocation
from validators.state.mmr import count_inactive_peaks, peak_heights
from validators.state.store import Store
from validators.state.tree import pack_position


def prove_operation(store: Store, location: int) -> bytes:
    """Return the proof that the log has its operation at a location.

    Raises:
        PrunedLocation: The operation was pruned, or the log is shorter.
    """
    tip = store.tip
    if not store.start <= location < tip.size:
        msg = f"operation {location} is not kept; the log goes from {store.start} to {tip.size}"
        raise PrunedLocation(msg)
    height, number = find_peak(tip.size, location)
    siblings = [store.levels.node(level, location >> level ^ 1) for level in range(height)]
    peaks = [peak for index, peak in enumerate(tip.peaks) if index != number]
    inactive = count_inactive_peaks(tip.size, tip.floor)
    return b"".join((pack_position(tip.size), pack_position(inactive), *siblings, *peaks))


def prove_key(store: Store, key: bytes) -> bytes:
    """Return the proof that a key has its value.

    Raises:
        AbsentKey: The key has no value. There are no proofs of absence: an unordered database cannot give them.
    """
    location = store.locations.get(key)
    if location is None:
        msg = f"the database of {store.tip.active} keys has no key {key.hex()}"
        raise AbsentKey(msg)
    return prove_update(store, location)


def prove_update(store: Store, location: int) -> bytes:
    """Return the proof that a key has the value of the update at a location: false unless it is the key's latest.

    Raises:
        PrunedLocation: The operation was pruned, or the log is shorter.
    """
    tip, activity = store.tip, store.require_activity()
    if not store.start <= location < tip.size:
        msg = f"operation {location} is not kept; the log goes from {store.start} to {tip.size}"
        raise PrunedLocation(msg)
    height, number = find_peak(tip.size, location)
    siblings = [store.levels.node(level, location >> level ^ 1) for level in range(min(height, GRAFT_HEIGHT))]
    siblings += [
        activity.rows[level - GRAFT_HEIGHT + GRAFTS][location >> level ^ 1] for level in range(GRAFT_HEIGHT, height)
    ]
    peaks, inactive = grafted_peaks(tip, activity.reader)
    del peaks[number]
    integers = map(pack_position, (location, tip.size, inactive))
    chunk = activity.rows[CHUNKS][location >> GRAFT_HEIGHT]
    return b"".join((*integers, tip.root, chunk, *siblings, *peaks, digest_partial(activity, tip.size, location)))


def prove_root(store: Store) -> bytes:
    """Return the proof that the canonical root contains the root over the operations."""
    size, activity = store.tip.size, store.require_activity()
    if size % CHUNK_BITS == 0:
        return activity.grafted_root
    partial = sha256(activity.rows[CHUNKS][size >> GRAFT_HEIGHT]).digest()
    return activity.grafted_root + pack_position(size % CHUNK_BITS) + partial


def find_peak(size: int, location: int) -> tuple[int, int]:
    """Return the height of the peak over a location, and its number from the tallest on."""
    end = 0
    for number, height in enumerate(peak_heights(size)):
        end += 1 << height
        if location < end:
            return height, number
    msg = f"operation {location} is not in a log of {size}"
    raise PrunedLocation(msg)


def digest_partial(activity: Activity, size: int, location: int) -> bytes:
    """Return the digest of the partial chunk; empty if there is none or the location is in it."""
    last = size >> GRAFT_HEIGHT
    if size % CHUNK_BITS == 0 or location >> GRAFT_HEIGHT == last:
        return b""
    return sha256(activity.rows[CHUNKS][last]).digest()
