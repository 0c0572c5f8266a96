"""Framed records in an append-only file.

A frame is MARK || be4(length of body) || be4(checksum of body) || be4(checksum of the 12 bytes before) || body.

Invariant: a returned record was appended to this file at this offset, byte for byte. Both checksums (CRC-32) start from
the file's name and the frame's offset. So bytes that belong elsewhere, such as a misdirected write or a copy of another
file, fail the check. The body is the payload with every start of a MARK in it broken up. So after damage a scan finds
the next frame by its MARK, and no choice of a payload can plant a frame.

`read` continues after damage and names it. It cannot always tell damage from a torn tail, which is bytes that no
finished sync covered: it calls a tail torn when the file ends inside its frame. The journal needs more and keeps two
copies.
"""

import zlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from validators.storage.disk import Disk
from validators.storage.errors import Damage

_START: Final = b"\xa5\x5a\xc3"
"""No proper prefix of it is a suffix of it, so that two occurrences cannot overlap."""
_MARK: Final = _START + b"\x01"
_BROKEN: Final = _START + b"\x00"

HEAD_BYTES: Final = 16
"""Mark, length, checksum of the body and checksum of these three fields, before each body."""

TORN: Final = "torn tail"
DAMAGED: Final = "damaged record"


class Record(NamedTuple):
    """A payload and the place of its frame in the file, in bytes."""

    offset: int
    end: int
    payload: bytes


class Contents(NamedTuple):
    """Contents of a file: its intact records in order, and the gaps between and behind them."""

    records: list[Record]
    damages: list[Damage]


class RecordFile:
    """One file of framed records on a disk."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self.name = name
        self._checksum = zlib.crc32(name.encode())

    @property
    def size(self) -> int:
        """The file's length in bytes."""
        return self._disk.size(self.name)

    def append(self, payload: bytes) -> int:
        """Append one record and return the offset of its frame; raises DiskError."""
        return self._disk.append(self.name, self.frame(self._disk.size(self.name), payload))

    def frame(self, offset: int, payload: bytes) -> bytes:
        """Return the bytes of a record that stands at `offset` of this file."""
        # Without this, a scan for the next intact record would take a mark inside a payload for a record.
        body = payload.replace(_START, _BROKEN)
        # The offset is in the checksum, so that the same bytes at another offset, a misdirected write, fail it.
        seed = self._seed(offset)
        start = _MARK + len(body).to_bytes(4, "big") + zlib.crc32(body, seed).to_bytes(4, "big")
        return start + zlib.crc32(start, seed).to_bytes(4, "big") + body

    def read_at(self, offset: int) -> bytes | None:
        """Return the payload framed at `offset`, None where it is damaged; raises DiskError."""
        head = self._disk.read(self.name, offset, HEAD_BYTES)
        if not self._is_head(offset, head):
            return None
        return self._payload(offset, head, self._disk.read(self.name, offset + HEAD_BYTES, _body_bytes(head)))

    def read_span(self, offset: int, end: int) -> list[Record]:
        """Return the intact records from `offset` to `end`, up to the first damaged record; raises DiskError.

        It reads everything at once, which on a disk with faults would age other sectors than `read_at` does. So only
        checks and tools that look at a disk from outside call it.
        """
        data = self._disk.read(self.name, offset, end - offset)
        records: list[Record] = []
        start = offset
        while start < end and (record := self._parse(data, start, offset)) is not None:
            records.append(record)
            start = record.end
        return records

    def read(self) -> Contents:
        """Return every intact record, oldest first, and the gaps between them; raises DiskError."""
        data = self._disk.read(self.name)
        records: list[Record] = []
        damages: list[Damage] = []
        offset = 0
        while offset < len(data):
            record = self._parse(data, offset)
            if record is not None:
                records.append(record)
                offset = record.end
                continue
            # One byte further, not one header: a damaged length must not make the scan skip whole records.
            following = self._next_intact(data, offset + 1)
            damages.append(Damage(self.name, offset, following - offset, self._name_gap(data, offset)))
            offset = following
        return Contents(records, damages)

    def is_torn_from(self, offset: int) -> bool:
        """Return whether the bytes from `offset` on can be an append that was never synced; raises DiskError.

        They are then the beginning of a frame, or the zeros that a file system leaves for bytes that it never wrote.
        """
        tail = self._disk.read(self.name, offset)
        if not tail.strip(b"\0") or (len(tail) < HEAD_BYTES and _MARK.startswith(tail[: len(_MARK)])):
            return True
        head = tail[:HEAD_BYTES]
        return self._is_head(offset, head) and HEAD_BYTES + _body_bytes(head) > len(tail)

    def cut(self, offset: int) -> None:
        """Drop everything from `offset` on, durably; raises DiskError."""
        if self._disk.size(self.name) > offset:
            self._disk.truncate(self.name, offset)

    def repair(self, record: Record) -> None:
        """Write a record again at its offset, durably; raises DiskError."""
        self._disk.overwrite(self.name, record.offset, self.frame(record.offset, record.payload))

    def rewrite(self, payloads: Sequence[bytes]) -> None:
        """Replace the whole file by these records, durably; a crash in the meantime leaves only the first records.

        The file is emptied first, because old records behind a half-written new record would still be intact.
        """
        frames = bytearray()
        for payload in payloads:
            frames += self.frame(len(frames), payload)
        # Old records behind a half-written new file are intact, and would be read as its continuation.
        self.cut(0)
        self._disk.overwrite(self.name, 0, bytes(frames))

    def _next_intact(self, data: bytes, start: int) -> int:
        offset = data.find(_MARK, start)
        while offset >= 0 and self._parse(data, offset) is None:
            offset = data.find(_MARK, offset + 1)
        # The rest of the file is one gap.
        return offset if offset >= 0 else len(data)

    def _name_gap(self, data: bytes, offset: int) -> str:
        head = data[offset : offset + HEAD_BYTES]
        ends_inside = len(head) < HEAD_BYTES or (
            self._is_head(offset, head) and offset + HEAD_BYTES + _body_bytes(head) > len(data)
        )
        return TORN if ends_inside else DAMAGED

    def _parse(self, data: bytes, offset: int, first: int = 0) -> Record | None:
        """Return the record framed at `offset` of the file, None where it is damaged; `data` begins at `first`."""
        start = offset - first + HEAD_BYTES
        head = data[start - HEAD_BYTES : start]
        if not self._is_head(offset, head):
            return None
        end = start + _body_bytes(head)
        payload = self._payload(offset, head, data[start:end])
        return None if payload is None else Record(offset, end + first, payload)

    def _is_head(self, offset: int, head: bytes) -> bool:
        return (
            len(head) == HEAD_BYTES
            and head.startswith(_MARK)
            and zlib.crc32(head[:12], self._seed(offset)) == int.from_bytes(head[12:], "big")
        )

    def _payload(self, offset: int, head: bytes, body: bytes) -> bytes | None:
        # The checksum covers the body as stored, so that a broken mark is undone only in intact bytes.
        if len(body) != _body_bytes(head) or zlib.crc32(body, self._seed(offset)) != int.from_bytes(head[8:12], "big"):
            return None
        return body.replace(_BROKEN, _START)

    def _seed(self, offset: int) -> int:
        # The checksum of the name and the offset behind it.
        return zlib.crc32(offset.to_bytes(8, "big"), self._checksum)


def _body_bytes(head: bytes) -> int:
    return int.from_bytes(head[4:8], "big")
