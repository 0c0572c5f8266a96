"""Bytes that grow during a run: the newest in memory, the older bytes in a temporary file.

A log that is only appended to, or a disk whose old blocks are never read, would make memory grow with every block.
Short runs never need a file. Where no file can be written the bytes stay in memory: a run needs no room on a disk.
"""

import weakref
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import IO, Final

PIECE_BYTES: Final = 1 << 16
"""Bytes that go to the file together; each piece has its own place there."""

HOT_BYTES: Final = 4 * PIECE_BYTES
"""Bytes in memory above which the older half goes to the file."""


class ColdFile:
    """A temporary file of pieces, made with the first piece and removed with its owner; it has no name."""

    __slots__ = ("__weakref__", "_file", "_free", "_is_refused", "_places")

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._places = 0
        self._free: list[int] = []
        self._is_refused = False

    def put(self, piece: bytes) -> int | None:
        """Write a piece and return its place; None where the file system takes no more."""
        if self._is_refused:
            return None
        place = self._free.pop() if self._free else self._places
        try:
            if self._file is None:
                # Without a buffer: a forked process would write its copy of the buffer a second time.
                self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - it stays open for as long as its owner lives
                weakref.finalize(self, self._file.close)
            self._file.seek(place * PIECE_BYTES)
            is_written = self._file.write(piece) == len(piece)
        except OSError:
            is_written = False
        if not is_written:
            self._is_refused = True
            return None
        self._places = max(self._places, place + 1)
        return place

    def read(self, place: int, start: int, end: int) -> bytes:
        """Return the bytes of a piece from `start` to `end`."""
        assert self._file is not None, "a piece has a place only in a file"
        self._file.seek(place * PIECE_BYTES + start)
        return self._file.read(end - start)

    def free(self, place: int) -> None:
        """Let another piece use the place."""
        self._free.append(place)


class SpillingBytes:
    """Bytes that are appended to, cut off at the end and sometimes overwritten.

    Args:
        cold: takes the older bytes; several owners may share it.
    """

    __slots__ = ("_cold", "_places", "_tail")

    def __init__(self, cold: ColdFile) -> None:
        self._cold = cold
        self._places: list[int] = []
        self._tail = bytearray()

    def __len__(self) -> int:
        return len(self._places) * PIECE_BYTES + len(self._tail)

    def __bytes__(self) -> bytes:
        return b"".join(self.pieces())

    @property
    def bytes_in_memory(self) -> int:
        """Return the number of bytes that no file holds."""
        return len(self._tail)

    def pieces(self) -> Iterator[bytes]:
        """Yield all bytes, in pieces."""
        for place in self._places:
            yield self._cold.read(place, 0, PIECE_BYTES)
        yield bytes(self._tail)

    def append(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes."""
        self._tail += data
        if len(self._tail) >= HOT_BYTES:
            self._spill()

    def read(self, start: int, end: int) -> bytes:
        """Return the existing bytes from `start` to `end`; none where `end` is before `start`."""
        end = max(start, end)
        base = len(self._places) * PIECE_BYTES
        if start >= base:
            return bytes(memoryview(self._tail)[start - base : end - base])
        parts = []
        for index in range(start // PIECE_BYTES, min(-(-end // PIECE_BYTES), len(self._places))):
            first = index * PIECE_BYTES
            parts.append(
                self._cold.read(self._places[index], max(start - first, 0), min(end - first, PIECE_BYTES)),
            )
        if end > base:
            parts.append(bytes(memoryview(self._tail)[: end - base]))
        return b"".join(parts)

    def cut(self, length: int) -> None:
        """Drop all bytes from `length` on."""
        base = len(self._places) * PIECE_BYTES
        if length >= base:
            del self._tail[length - base :]
            return
        kept, rest = divmod(length, PIECE_BYTES)
        self._tail = bytearray(self._cold.read(self._places[kept], 0, rest))
        self._free(kept)

    def overwrite(self, start: int, data: bytes) -> None:
        """Replace bytes from `start` on, and append the rest where `data` is longer."""
        # Repaired bytes are in use again; the pieces go back to the file when more is appended.
        self._warm(start)
        base = len(self._places) * PIECE_BYTES
        self._tail[start - base : start - base + len(data)] = data

    def _warm(self, start: int) -> None:
        """Load everything from `start` on back into memory."""
        kept = min(start // PIECE_BYTES, len(self._places))
        self._tail[:0] = b"".join(self._cold.read(place, 0, PIECE_BYTES) for place in self._places[kept:])
        self._free(kept)

    def _free(self, kept: int) -> None:
        for place in self._places[kept:]:
            self._cold.free(place)
        del self._places[kept:]

    def _spill(self) -> None:
        written = 0
        while len(self._tail) - written > HOT_BYTES // 2:
            place = self._cold.put(bytes(memoryview(self._tail)[written : written + PIECE_BYTES]))
            if place is None:
                break
            self._places.append(place)
            written += PIECE_BYTES
        del self._tail[:written]
