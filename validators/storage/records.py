"""Framed records in an append-only file: be4(length) || be4(crc32 of payload) || be4(crc32 of these 8) || payload.

Invariant: what ``scan`` returns is a prefix of what was appended, byte for byte. A record that the
file ends inside of is a torn tail: it was never covered by a finished sync, so nothing was promised
on it, and it is cut off. A complete record whose checksum is wrong is damage, never a torn tail,
and raises: a validator must not act on half of its memory. The head has a checksum of its own, or one
flipped bit in a length would make everything after it look like a torn tail.
"""

import zlib
from collections.abc import Iterator
from typing import Final, NamedTuple

from validators.storage.disk import Disk

HEAD_BYTES: Final = 12
"""Length, checksum of the payload and checksum of these two before each payload."""


class CorruptRecordError(Exception):
    """A complete record whose checksum or length is wrong."""


class Record(NamedTuple):
    """A payload and the offset of its frame in the file, in bytes."""

    offset: int
    payload: bytes


class RecordFile:
    """One file of framed records on a disk."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self._name = name

    def append(self, payload: bytes) -> int:
        """Append one record and return the offset of its frame."""
        start = len(payload).to_bytes(4, "big") + zlib.crc32(payload).to_bytes(4, "big")
        head = start + zlib.crc32(start).to_bytes(4, "big")
        return self._disk.append(self._name, head + payload)

    def read_at(self, offset: int) -> bytes:
        """Return the payload framed at ``offset``; raises CorruptRecordError."""
        head = self._disk.read(self._name, offset, HEAD_BYTES)
        length = int.from_bytes(head[:4], "big")
        payload = self._disk.read(self._name, offset + HEAD_BYTES, length)
        self._check_head(offset, head)
        self._check(offset, head, payload)
        return payload

    def scan(self) -> Iterator[Record]:
        """Yield every whole record, oldest first, then cut a torn tail off the file."""
        data = memoryview(self._disk.read(self._name))
        offset = 0
        while offset + HEAD_BYTES <= len(data):
            head = bytes(data[offset : offset + HEAD_BYTES])
            self._check_head(offset, head)
            end = offset + HEAD_BYTES + int.from_bytes(head[:4], "big")
            if end > len(data):
                break
            payload = bytes(data[offset + HEAD_BYTES : end])
            self._check(offset, head, payload)
            yield Record(offset, payload)
            offset = end
        if offset < len(data):
            self._disk.truncate(self._name, offset)

    def _check_head(self, offset: int, head: bytes) -> None:
        if len(head) != HEAD_BYTES or zlib.crc32(head[:8]) != int.from_bytes(head[8:], "big"):
            raise CorruptRecordError(f"{self._name} at byte {offset}: the record's head is damaged")

    def _check(self, offset: int, head: bytes, payload: bytes) -> None:
        expected_bytes = int.from_bytes(head[:4], "big")
        if len(payload) != expected_bytes:
            raise CorruptRecordError(f"{self._name} at byte {offset}: the record says {expected_bytes} bytes")
        if zlib.crc32(payload) != int.from_bytes(head[4:8], "big"):
            raise CorruptRecordError(f"{self._name} at byte {offset}: checksum differs over {len(payload)} bytes")
