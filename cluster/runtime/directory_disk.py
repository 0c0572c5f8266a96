"""A disk that is a real directory: one file for each name, synchronous, with fsync.

The operating system decides what survives a crash of the process or the machine, so no disk fault can be laid over it.
Data that another process left unsynced is synced when the directory is opened: its readers may rely on it.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from checker.record.host import NO_ROOM, naming
from checker.record.plain_files import open_descriptor
from validators.storage import DiskError, DiskFullError, DiskReadError, DiskSyncError, DiskWriteError, SyncPoint

FILE_BYTES_MAX: Final = 512 * 1024 * 1024
"""Greatest size of a file, which is read whole: a command takes at most 1 GiB of memory for a folder's contents."""


def sync_directory(path: Path) -> None:
    """Make the names in a directory survive a crash; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class DirectoryDisk:
    """See ``validators.storage.Disk``."""

    def __init__(self, path: Path) -> None:
        """Open a directory, make it if it is absent, and sync its contents.

        A link is refused: its target does not belong to this disk, and repair would cut it.

        Raises:
            UnsuitableFileError: The directory holds anything else than plain files, or a file that is too long.
            OSError: It is a link or no directory, or the file system refuses.
        """
        self._path = path
        if path.is_symlink():
            raise OSError(errno.ELOOP, "is a link; a disk is a directory of its own", str(path))
        if path.exists() and not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "is no directory; a disk is one", str(path))
        path.mkdir(exist_ok=True)
        self.refusal: DiskError | None = None
        """The first error of the file system: the machine's fault, whatever a validator concludes from it."""
        self._files = {
            each.name: open_descriptor(each, os.O_RDWR | os.O_NOFOLLOW, FILE_BYTES_MAX)
            for each in sorted(path.iterdir())
        }
        with naming(path):
            for descriptor in self._files.values():
                os.fsync(descriptor)
            sync_directory(path)
        self._sizes = {name: os.fstat(descriptor).st_size for name, descriptor in self._files.items()}
        self._synced = dict(self._sizes)
        self._appended_bytes = 0
        self._has_new_names = False

    @property
    def appended_bytes(self) -> int:
        """Bytes appended to the whole disk since it was opened."""
        return self._appended_bytes

    @property
    def is_synced(self) -> bool:
        """Whether a crash now would lose nothing."""
        return self._sizes == self._synced

    def append(self, name: str, data: bytes) -> int:
        """See ``Disk.append``."""
        offset = self.size(name)
        with self._named_errors(name, "append", DiskWriteError):
            self._write(name, offset, data)
        self._appended_bytes += len(data)
        return offset

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """See ``Disk.read``."""
        if name not in self._files:
            return b""
        wanted = self._sizes[name] - offset if length is None else length
        with self._named_errors(name, "read", DiskReadError):
            return os.pread(self._files[name], max(wanted, 0), offset)

    def overwrite(self, name: str, offset: int, data: bytes) -> None:
        """See ``Disk.overwrite``."""
        with self._named_errors(name, "overwrite", DiskWriteError):
            self._write(name, offset, data)
            self._sync(name)

    def truncate(self, name: str, length: int) -> None:
        """See ``Disk.truncate``."""
        if self.size(name) <= length:
            return
        with self._named_errors(name, "truncate", DiskWriteError):
            os.ftruncate(self._files[name], length)
            self._sizes[name] = length
            self._sync(name)

    def size(self, name: str) -> int:
        """See ``Disk.size``."""
        return self._sizes.get(name, 0)

    def synced_bytes(self, name: str) -> int:
        """See ``Disk.synced_bytes``."""
        return self._synced.get(name, 0)

    def begin_sync(self) -> SyncPoint:
        """See ``Disk.begin_sync``."""
        return SyncPoint(self._appended_bytes, tuple(sorted(self._sizes.items())))

    def finish_sync(self, point: SyncPoint) -> None:
        """See ``Disk.finish_sync``."""
        with self._named_errors("", "sync", DiskSyncError):
            for name, length in point.lengths:
                # The file may have been cut back while the sync ran.
                covered = min(length, self._sizes[name])
                if covered > self.synced_bytes(name):
                    self._sync(name)
                    # A simulated disk would lose data that was appended meanwhile, and both have the same digest.
                    self._synced[name] = covered

    def lose_unsynced(self) -> int:
        """Cut every file back to its synced length, as a loss of power does; return the number of bytes lost."""
        lost_bytes = 0
        for name, size in sorted(self._sizes.items()):
            durable_bytes = self.synced_bytes(name)
            self.truncate(name, durable_bytes)
            lost_bytes += size - durable_bytes
        return lost_bytes

    def wipe(self) -> None:
        """Lose everything; raises OSError."""
        self.close()
        for name in sorted(self._sizes):
            (self._path / name).unlink()
        sync_directory(self._path)
        self._sizes.clear()
        self._synced.clear()

    def pristine(self) -> "DirectoryDisk":
        """Return this disk: its written data is all that can be known of it."""
        return self

    def written(self) -> "DirectoryDisk":
        """Return this disk, for the same reason."""
        return self

    def scarred(self) -> "DirectoryDisk":
        """Return this disk, for the same reason."""
        return self

    def close(self) -> None:
        """Close every file."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()

    def _write(self, name: str, offset: int, data: bytes) -> None:
        if name not in self._files:
            self._files[name] = os.open(self._path / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            self._sizes[name] = 0
            self._has_new_names = True
        rest = memoryview(data)
        while rest:
            count = os.pwrite(self._files[name], rest, offset)
            rest, offset = rest[count:], offset + count
            self._sizes[name] = max(self._sizes[name], offset)

    def _sync(self, name: str) -> None:
        os.fsync(self._files[name])
        if self._has_new_names:
            sync_directory(self._path)
            self._has_new_names = False
        self._synced[name] = self._sizes[name]

    @contextmanager
    def _named_errors(self, name: str, operation: str, kind: type[DiskError]) -> Iterator[None]:
        try:
            with naming(self._path / name):
                yield
        except OSError as error:
            raised = DiskFullError if error.errno in NO_ROOM else kind
            refusal = raised(name, operation, error.strerror or "input/output error")
            self.refusal = self.refusal or refusal
            raise refusal from error
