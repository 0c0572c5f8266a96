"""Errors of a disk, and the damage found on it."""

from typing import NamedTuple


class DiskError(Exception):
    """A failed operation of the disk. `file` is its name, `operation` is append, read, truncate or sync."""

    def __init__(self, file: str, operation: str, reason: str) -> None:
        super().__init__(f"{operation} of {file or 'all files'}: {reason}")
        self.file = file
        self.operation = operation
        self.reason = reason


class DiskReadError(DiskError):
    """A read failed; a later read may succeed."""


class DiskWriteError(DiskError):
    """An append, overwrite or truncate failed; part of the bytes may have been written."""


class DiskFullError(DiskWriteError):
    """There is no room; part of the bytes may have been written."""


class DiskSyncError(DiskError):
    """A sync failed. Bytes that it should have covered may be lost already: it must never be tried again."""


class DiskRevokedError(Exception):
    """A read through a handle whose validator has crashed."""


class JournalLostError(Exception):
    """Votes that this validator may have sent cannot be read back; `reason` is the fault found in the journal."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"vote journal lost: {reason}")
        self.reason = reason


class Damage(NamedTuple):
    """Bytes of a file that differ from the bytes written there; `offset` and `length` are in bytes."""

    file: str
    offset: int
    length: int
    what: str
