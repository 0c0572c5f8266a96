"""Snapshots: the committed tip as data, small enough to send, and its restoration by a peer that trusts only a root.

Nothing below the floor is active, so the operations from the floor's chunk on have all live keys and their values. Of
the operations below, the tree needs only its peaks, and the grafted tree equals the plain tree there. A peer's peaks
and operations are proved by the root over the operations, which they must lead to. The witness, which leads from that
root to the canonical root, proves the root itself. Floor, activity and bitmap are computed again.
"""

from typing import Final

import msgspec

from validators.state.activity import CHUNK_BITS
from validators.state.errors import CorruptLog, ForgedSnapshot
from validators.state.operations import OperationCodec
from validators.state.proofs import prove_root
from validators.state.store import Store, rebuild_store
from validators.state.tree import DIGEST_BYTES
from validators.state.verify import verify_root

SIZE_LIMIT: Final = 1 << 62
"""Upper limit for a log's size in a peer's snapshot; no real log is as long."""


class Snapshot(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The committed tip of a database; one state has one snapshot.

    Attributes:
        size: Operations in the log.
        start: Location of the first operation sent: the floor rounded down to a chunk of 256.
        floor: Location below which no operation is active.
        root: Root over the operations, 32 bytes.
        witness: The result of `Database.prove_root`: the proof that `root` is inside the canonical root.
        peaks: Peaks of the tree over the operations below `start`, tallest first, 32 bytes each.
        operations: Encoded operations from `start` on.
    """

    size: int
    start: int
    floor: int
    root: bytes
    witness: bytes
    peaks: tuple[bytes, ...]
    operations: tuple[bytes, ...]


def take_snapshot(store: Store) -> Snapshot:
    """Return the snapshot of the committed tip."""
    tip = store.tip
    start = tip.floor // CHUNK_BITS * CHUNK_BITS
    return Snapshot(
        size=tip.size,
        start=start,
        floor=tip.floor,
        root=tip.root,
        witness=prove_root(store),
        peaks=store.levels.pinned_peaks(start),
        operations=tuple(store.log[start - store.start :]),
    )


def restore_snapshot(snapshot: Snapshot, canonical_root: bytes, codec: OperationCodec, retain: int) -> Store:
    """Return the store that a snapshot describes.

    Raises:
        ForgedSnapshot: It does not describe the state of the canonical root.
    """
    check_shape(snapshot)
    if not verify_root(snapshot.witness, canonical_root, snapshot.root):
        raise ForgedSnapshot(f"witness: it does not lead from {snapshot.root.hex()} to {canonical_root.hex()}")
    try:
        store = rebuild_store(codec, snapshot.operations, retain=retain, start=snapshot.start, peaks=snapshot.peaks)
    except CorruptLog as error:
        raise ForgedSnapshot(f"operations: {error}") from None
    tip = store.tip
    if tip.floor != snapshot.floor:
        raise ForgedSnapshot(f"floor: {snapshot.floor} is not that of the last commit, {tip.floor}")
    if tip.root != snapshot.root:
        raise ForgedSnapshot(f"operations: they and the peaks lead to {tip.root.hex()}, not to {snapshot.root.hex()}")
    found = store.require_activity().root
    if found != canonical_root:
        raise ForgedSnapshot(f"bitmap: the canonical root is {found.hex()} and not {canonical_root.hex()}")
    return store


def check_shape(snapshot: Snapshot) -> None:
    """Raise ForgedSnapshot unless integers and lengths fit each other."""
    size, start, floor = snapshot.size, snapshot.start, snapshot.floor
    if not 0 <= floor < size < SIZE_LIMIT:
        raise ForgedSnapshot(f"floor: {floor} in a log of {size} operations")
    if start != floor // CHUNK_BITS * CHUNK_BITS:
        raise ForgedSnapshot(f"floor: operations start at {start}, which is not the chunk of {floor}")
    if len(snapshot.operations) != size - start:
        raise ForgedSnapshot(f"truncated: {len(snapshot.operations)} operations from {start} to {size}")
    if len(snapshot.peaks) != start.bit_count() or any(len(peak) != DIGEST_BYTES for peak in snapshot.peaks):
        raise ForgedSnapshot(f"peaks: {len(snapshot.peaks)} over {start} operations, or not of {DIGEST_BYTES} bytes")
