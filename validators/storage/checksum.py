"""Checksums of a disk's bytes, for the trace: of the bytes that survive a power loss, and of all bytes at a start.

The two are computed in different ways on purpose. The first is added up from sync to sync, each byte once. The second
is read again from the first byte. A CRC is enough, because nobody forges these bytes.
"""

from typing import Final
from zlib import crc32

from validators.storage.disk import Disk

_LENGTH_BYTES: Final = 8


class DurableChecksum:
    """Adds up the checksum of the bytes that survive a power loss; `disk` shows the bytes as they were written."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._files: dict[str, tuple[int, int]] = {}

    def forget(self, name: str) -> None:
        """Read a file again next time, because it was cut or overwritten."""
        self._files.pop(name, None)

    def value(self) -> int:
        """Return the checksum of the bytes of all files that survive a crash now."""
        disk, files = self._disk, self._files
        for name, _ in disk.begin_sync().lengths:
            length, checksum = files.get(name, (0, 0))
            durable_bytes = disk.synced_bytes(name)
            if durable_bytes != length:
                if durable_bytes < length:
                    length = checksum = 0
                files[name] = durable_bytes, crc32(disk.read(name, length, durable_bytes - length), checksum)
        return _join(files)


def checksum_of_all(disk: Disk) -> int:
    """Return the checksum of all bytes of all files, synced or not."""
    return _join({name: (length, crc32(disk.read(name))) for name, length in disk.begin_sync().lengths})


def _join(files: dict[str, tuple[int, int]]) -> int:
    """Return the checksum of files by name, length and checksum; an empty file counts like an absent file."""
    joined = 0
    for name in sorted(files):
        length, checksum = files[name]
        if length:
            joined = crc32(name.encode() + length.to_bytes(_LENGTH_BYTES, "big"), joined ^ checksum)
    return joined
