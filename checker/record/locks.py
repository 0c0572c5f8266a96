"""Locks between processes: the kernel releases a lock when its process dies, for any reason.

A lock is a file that exists while it is held, and names its holder. The holder removes the file before it releases the
lock. A process that waited for a removed file locks the next file of this name, so that a name never has two holders.
"""

import fcntl
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from checker.record.errors import ReportedError
from checker.record.host import naming
from checker.record.plain_files import open_descriptor

HOLDER_BYTES_MAX: Final = 400
"""Bytes of a lock file that are read at most, and written at most."""


class InUseError(ReportedError):
    """A path that another process holds, and that process."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path}: is in use by {holder or 'another process'}")


@contextmanager
def held(lock: Path, subject: Path, *, waits: bool = False) -> Iterator[None]:
    """Hold a lock.

    Args:
        lock: The lock file, which exists only while the lock is held.
        subject: The locked path, for the message.
        waits: Whether to wait for another holder.

    Raises:
        InUseError: Another process holds it.
        OSError: The file system refuses.
    """
    descriptor = _take(lock, subject, waits=waits)
    try:
        with naming(lock):
            os.pwrite(descriptor, _this_process(), 0)
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def holds_on(directory: Path) -> int:
    """Lock a directory that this process has made, and return the descriptor that holds the lock until it is closed."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def is_held(directory: Path) -> bool:
    """Return whether a live process holds a directory; True where that cannot be found out."""
    try:
        os.close(holds_on(directory))
    except OSError:
        return True
    return False


def _take(lock: Path, subject: Path, *, waits: bool) -> int:
    while True:
        descriptor = open_descriptor(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, None)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            if _is_at(descriptor, lock):
                os.truncate(descriptor, 0)
                return descriptor
        except BlockingIOError:
            holder = os.pread(descriptor, HOLDER_BYTES_MAX, 0).decode(errors="replace")
            os.close(descriptor)
            raise InUseError(subject, holder) from None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether an open file still has that name: its last holder may have removed it since."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


def _this_process() -> bytes:
    since = datetime.now(tz=UTC).strftime("%Y-%m-%d %H:%M:%S")
    said = f"process {os.getpid()} on {socket.gethostname()} since {since} UTC: {shlex.join(sys.argv)}"
    return said.encode(errors="replace")[:HOLDER_BYTES_MAX]
