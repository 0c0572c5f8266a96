"""Files beside the vote journal: blocks, and the finalized state as a base and a log above it.

Invariant: only records with a valid checksum are returned; damaged records are named and left out. Blocks and state
can be fetched again from peers, so damage here costs time and never breaks a vote.
"""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeVar

import msgspec

from validators.derived import Derived
from validators.storage.disk import Disk
from validators.storage.errors import Damage, DiskReadError
from validators.storage.records import RecordFile

_Kind = TypeVar("_Kind", bound=msgspec.Struct)


class StoredBlock(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A block in the block file; height and digest stand beside it, so that an index needs no decoding."""

    height: int
    digest: bytes
    block: bytes


class _Place(NamedTuple):
    height: int
    offset: int


class BlockFile:
    """Certified and finalized blocks by digest. Only the index is in memory.

    `on_damage` gets every block that turns out to be damaged, at `load` or when it is read.
    """

    def __init__(self, disk: Disk, on_damage: Callable[[Damage], None] = lambda _damage: None) -> None:
        self._file = RecordFile(disk, "blocks")
        self._on_damage = on_damage
        self._places: dict[bytes, _Place] = {}

    def load(self) -> None:
        """Rebuild the index from the disk, without the damaged blocks; a damaged tail is cut off. Raises DiskError."""
        records, damages = self._file.read()
        for record in records:
            stored = _decode(record.payload, StoredBlock)
            if stored is None:
                damages.append(Damage(self._file.name, record.offset, record.end - record.offset, "not a block"))
            else:
                self._places[stored.digest] = _Place(stored.height, record.offset)
        for damage in damages:
            self._on_damage(damage)
        # Only behind the last intact record: a gap in the middle costs one block, not all blocks after it.
        self._file.cut(records[-1].end if records else 0)

    def __contains__(self, digest: bytes) -> bool:
        """Return whether the index has the block; damage shows only when the block is read."""
        return digest in self._places

    def append(self, *, height: int, digest: bytes, block: bytes) -> None:
        """Store a block once; raises DiskError."""
        # A block comes more than once, by relay and by request; a second copy would only grow the file.
        if digest not in self._places:
            offset = self._file.append(msgspec.msgpack.encode(StoredBlock(height, digest, block)))
            self._places[digest] = _Place(height, offset)

    def get(self, digest: bytes) -> bytes | None:
        """Return the block's bytes, None where this file does not hold it or cannot read it any more.

        A block that cannot be read leaves the index, so that it can be fetched and stored again.
        """
        place = self._places.get(digest)
        if place is None:
            return None
        try:
            payload = self._file.read_at(place.offset)
            what = "damaged record"
        except DiskReadError as error:
            payload, what = None, error.reason
        stored = None if payload is None else _decode(payload, StoredBlock)
        if stored is None or stored.digest != digest:
            # Removed from the index: `append` would otherwise take the block for stored and not store it again.
            del self._places[digest]
            self._on_damage(Damage(self._file.name, place.offset, 0, what))
            return None
        return stored.block

    def derived(self, disk: Disk) -> Derived:
        """Return the index beside the index rebuilt from a disk."""
        rebuilt: dict[str, int] = {}
        for record in RecordFile(disk, self._file.name).read().records:
            stored = _decode(record.payload, StoredBlock)
            if stored is not None:
                rebuilt[f"height of {stored.digest.hex()}"] = stored.height
        kept = {f"height of {digest.hex()}": place.height for digest, place in self._places.items()}
        return Derived(part="block index", kept=kept, rebuilt=rebuilt, is_of_disk=True)

    def above(self, height: int) -> Iterator[bytes]:
        """Yield the blocks above `height`, lowest first, ties by digest."""
        # Parents before children; digests settle ties, so that the order follows from the blocks alone.
        found = sorted((place.height, digest) for digest, place in self._places.items() if place.height > height)
        for _, digest in found:
            block = self.get(digest)
            if block is not None:
                yield block


class FinalizedEntry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One finalized block in the operation log: its encoded header, and the operations that its batch appended."""

    height: int
    digest: bytes
    header: bytes
    operations: tuple[bytes, ...]


class LogBase(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """The state at a finalized height, as the base of a log; the caller defines `encoded`."""

    generation: int
    height: int
    encoded: bytes


class LogContents(NamedTuple):
    """The finalized state as a disk holds it: a base (None: genesis), the blocks above it without a gap, damages."""

    base: LogBase | None
    entries: list[FinalizedEntry]
    damages: list[Damage]


class _Slot(NamedTuple):
    snapshot: RecordFile
    operations: RecordFile


class _Found(NamedTuple):
    """Contents of a slot; the log is intact up to the byte `end`."""

    base: LogBase | None
    entries: list[FinalizedEntry]
    end: int
    damages: list[Damage]


_NAMES: Final = (("snapshot-a", "operations-a"), ("snapshot-b", "operations-b"))


class FinalizedLog:
    """The finalized state: operations by block, in height order, above genesis or above a snapshot.

    There are two slots, each a snapshot file with the log above it. A new base goes into the slot that is not in use,
    and the slot in use stays unchanged until the next base. So a crash while a base is written, or later damage to it,
    leaves the older base with its log. Slot a without a snapshot starts at genesis.
    """

    def __init__(self, disk: Disk) -> None:
        self._slots = [_Slot(RecordFile(disk, snapshot), RecordFile(disk, log)) for snapshot, log in _NAMES]
        self._current = 0
        self._generation = 0

    def append(self, entry: FinalizedEntry) -> None:
        """Append one finalized block's operations; it counts only once the disk is synced. Raises DiskError."""
        self._slots[self._current].operations.append(msgspec.msgpack.encode(entry))

    def install(self, *, height: int, encoded: bytes) -> None:
        """Make a snapshot the base, below all later appends. Raises DiskError.

        It counts only once the disk is synced: act on it behind the barrier.
        """
        self._current = 1 - self._current
        self._generation += 1
        slot = self._slots[self._current]
        slot.operations.cut(0)
        slot.snapshot.cut(0)
        # Appended, not overwritten: it is durable only with the barrier's sync, and until then the other slot counts.
        slot.snapshot.append(msgspec.msgpack.encode(LogBase(self._generation, height, encoded)))

    def keep(self, entries: int) -> None:
        """Cut the log back to its first entries, durably; raises DiskError."""
        operations = self._slots[self._current].operations
        operations.cut(operations.read().records[entries - 1].end if entries else 0)

    def discard(self) -> None:
        """Give up the base with the log above it; `recover` then finds the base before it. Raises DiskError."""
        slot = self._slots[self._current]
        slot.snapshot.cut(0)
        slot.operations.cut(0)

    def erase(self) -> None:
        """Erase everything, durably, so that the state starts at genesis. Raises DiskError."""
        for slot in self._slots:
            slot.snapshot.cut(0)
            slot.operations.cut(0)

    def read(self) -> LogContents:
        """Return the content of the disk and change nothing; raises DiskError."""
        chosen, found = self._choose()
        return self._contents(chosen, found)

    def recover(self) -> LogContents:
        """Return the content of the disk, cut off unusable parts, and append after it from now on; raises DiskError."""
        chosen, found = self._choose()
        base, _, end, _ = found[chosen]
        # Before anything is cut off: an empty snapshot file is that of a log above genesis.
        contents = self._contents(chosen, found)
        self._current = chosen
        self._generation = 0 if base is None else base.generation
        self._slots[chosen].operations.cut(end)
        if not self._is_older(1 - chosen, found):
            # Not in use, and no log above genesis: the base was not finished, or is damaged.
            self._slots[1 - chosen].snapshot.cut(0)
            self._slots[1 - chosen].operations.cut(0)
        if base is None:
            self._slots[chosen].snapshot.cut(0)
        return contents

    def _choose(self) -> tuple[int, list[_Found]]:
        found = [_read_slot(slot) for slot in self._slots]
        generations = [-1 if slot.base is None else slot.base.generation for slot in found]
        # Slot a on a tie: without a base it stands for genesis.
        return (1 if generations[1] > generations[0] else 0), found

    def _is_older(self, other: int, found: list[_Found]) -> bool:
        """Return whether the slot that is not in use holds a state to which the slot in use may fall back."""
        # A log above genesis has no snapshot.
        return found[other].base is not None or (other == 0 and not self._slots[0].snapshot.size)

    def _contents(self, chosen: int, found: list[_Found]) -> LogContents:
        base, entries, _, damages = found[chosen]
        # Damages of a merely older slot would be reported at each start; any other slot may have lost its base.
        if not self._is_older(1 - chosen, found):
            damages = [*damages, *found[1 - chosen].damages]
        return LogContents(base, entries, damages)


def _read_slot(slot: _Slot) -> _Found:
    records, damages = slot.snapshot.read()
    base = _decode(records[0].payload, LogBase) if records and records[0].offset == 0 else None
    expected = 1 if base is None else base.height + 1
    entries: list[FinalizedEntry] = []
    end = 0
    records, torn = slot.operations.read()
    for record in records:
        if record.offset != end:
            # The gap before it is among the damages already.
            break
        entry = _decode(record.payload, FinalizedEntry)
        # Each record is intact by itself; only the heights show a missing record between them.
        if entry is None or entry.height != expected + len(entries):
            what = "not an entry" if entry is None else f"height {entry.height}, expected {expected + len(entries)}"
            torn.append(Damage(slot.operations.name, record.offset, record.end - record.offset, what))
            break
        entries.append(entry)
        end = record.end
    return _Found(base, entries, end, [*damages, *torn])


def _decode(payload: bytes, kind: type[_Kind]) -> _Kind | None:
    try:
        return msgspec.msgpack.decode(payload, type=kind)
    except msgspec.MsgspecError:
        return None
