"""The three files of a validator: vote journal, blocks, and the finalized operation log.

Invariant: together they are all that a restart needs. The journal restores consensus, the log
restores the state and the block file restores headers and unfinalized blocks; nothing is copied
from the cluster's memory.
"""

from collections.abc import Iterator
from typing import NamedTuple, final

import msgspec

from validators.storage.disk import Disk
from validators.storage.records import RecordFile


class FinalizedEntry(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One finalized block in the operation log: the operations that its batch appended to the state."""

    height: int
    digest: bytes
    operations: tuple[bytes, ...]


class CorruptLogError(Exception):
    """A record that is whole but does not say what this file holds."""


@final
class Journal:
    """The write-ahead journal of consensus artifacts (specification of Simplex, section 1.4)."""

    def __init__(self, disk: Disk) -> None:
        self._file = RecordFile(disk, "journal")

    def append(self, artifact: bytes) -> None:
        """Append one encoded artifact; it counts only once the disk is synced."""
        self._file.append(artifact)

    def replay(self) -> Iterator[bytes]:
        """Yield the encoded artifacts of earlier lives, oldest first."""
        for record in self._file.scan():
            yield record.payload


class StoredBlock(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A block as the block file holds it; height and digest stand beside it so that an index needs no decoding."""

    height: int
    digest: bytes
    block: bytes


class _Place(NamedTuple):
    height: int
    offset: int


@final
class BlockFile:
    """Certified and finalized blocks by digest. Only the index is in memory."""

    def __init__(self, disk: Disk) -> None:
        self._file = RecordFile(disk, "blocks")
        self._decoder = msgspec.msgpack.Decoder(StoredBlock)
        self._places: dict[bytes, _Place] = {}

    def load(self) -> None:
        """Rebuild the index from the disk; raises CorruptLogError."""
        for record in self._file.scan():
            stored = self._decode(record.payload, record.offset)
            self._places[stored.digest] = _Place(stored.height, record.offset)

    def append(self, *, height: int, digest: bytes, block: bytes) -> None:
        """Store a block once."""
        if digest not in self._places:
            offset = self._file.append(msgspec.msgpack.encode(StoredBlock(height, digest, block)))
            self._places[digest] = _Place(height, offset)

    def get(self, digest: bytes) -> bytes | None:
        """Return the block's bytes, or None where this file does not hold it."""
        place = self._places.get(digest)
        if place is None:
            return None
        return self._decode(self._file.read_at(place.offset), place.offset).block

    def above(self, height: int) -> Iterator[bytes]:
        """Yield the blocks above ``height``, lowest first, ties by digest."""
        found = sorted((place.height, digest) for digest, place in self._places.items() if place.height > height)
        for _, digest in found:
            yield self.get(digest) or b""

    def _decode(self, payload: bytes, offset: int) -> StoredBlock:
        try:
            return self._decoder.decode(payload)
        except msgspec.MsgspecError as error:
            raise CorruptLogError(f"blocks at byte {offset}: {error}") from error


@final
class FinalizedLog:
    """The operation log by finalized block, in height order."""

    def __init__(self, disk: Disk) -> None:
        self._file = RecordFile(disk, "operations")
        self._decoder = msgspec.msgpack.Decoder(FinalizedEntry)

    def append(self, entry: FinalizedEntry) -> None:
        """Append one finalized block's operations; it counts only once the disk is synced."""
        self._file.append(msgspec.msgpack.encode(entry))

    def replay(self) -> Iterator[FinalizedEntry]:
        """Yield the entries, lowest height first; raises CorruptLogError."""
        for height, record in enumerate(self._file.scan(), start=1):
            try:
                entry = self._decoder.decode(record.payload)
            except msgspec.MsgspecError as error:
                raise CorruptLogError(f"operations at byte {record.offset}: {error}") from error
            if entry.height != height:
                raise CorruptLogError(f"operations at byte {record.offset}: height {entry.height}, expected {height}")
            yield entry
