"""The only reader of files that are opened by name: it reads regular files of a limited size.

A name may belong to a pipe that waits for ever, an endless device, or a sparse file of a terabyte; and the file may
change before it is opened. So the reader asks the open file for its kind and size before it reads.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from checker.record.errors import ReportedError
from checker.record.host import naming

_KINDS: Final = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a link"),
)


class UnsuitableFileError(ReportedError):
    """A name of no regular file, or of a file that is too long: `path` and `reason`."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


def open_plain(path: Path, limit: int | None, *, follows_links: bool = True) -> IO[bytes]:
    """Open a regular file for reading.

    Args:
        path: Its name.
        limit: The most bytes that it may have; None where the caller reads a beginning alone.
        follows_links: Whether the name may be a link.

    Raises:
        UnsuitableFileError: The name stands for something else, or the file is longer.
        OSError: The file system refuses.
    """
    descriptor = open_descriptor(path, os.O_RDONLY | (0 if follows_links else os.O_NOFOLLOW), limit)
    return open(descriptor, "rb")  # noqa: PTH123 - of an open file


def open_descriptor(path: Path, flags: int, limit: int | None) -> int:
    """Open a regular file of at most `limit` bytes with flags of `os.open`; see `open_plain`."""
    # Opening some devices alone has an effect. Whether there is a file at all is said by opening it.
    with suppress(FileNotFoundError):
        _refuse_unsuitable(path, path.stat(follow_symlinks=not flags & os.O_NOFOLLOW), limit)
    # Something else may stand there by now: a pipe without a writer would wait.
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY, 0o644)
    try:
        _refuse_unsuitable(path, os.fstat(descriptor), limit)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_plain(path: Path, limit: int, *, follows_links: bool = True) -> bytes:
    """Return the content of a regular file of at most `limit` bytes; raises what `open_plain` raises."""
    with naming(path), open_plain(path, limit, follows_links=follows_links) as opened:
        content = opened.read(limit + 1)
    # It may have grown since it was opened, and a file of the kernel's says that it is empty.
    if len(content) > limit:
        raise UnsuitableFileError(path, _too_long(limit))
    return content


def _refuse_unsuitable(path: Path, found: os.stat_result, limit: int | None) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(found.st_mode)), "something else")
        raise UnsuitableFileError(path, f"is {kind}, and no plain file")
    if limit is not None and found.st_size > limit:
        raise UnsuitableFileError(path, f"{_too_long(limit)}: {found.st_size:,}")


def _too_long(limit: int) -> str:
    return f"longer than {limit:,} bytes"


def resolved(path: Path) -> Path:
    """Return the place that a path leads to; a link that leads to itself stays, and opening it fails."""
    # Not by Path.resolve, which raises RuntimeError at such a link up to Python 3.12.
    return Path(os.path.realpath(path))


def is_lost(path: Path) -> bool:
    """Return whether a path goes over a link that leads to nothing, or to itself: nobody asked for what it names."""
    return any(each.is_symlink() and not each.exists() for each in (path, *path.parents))
