"""Refusals of the machine: an error of its file system is a problem of the environment, in any part of the code.

A full disk can stop a validator's journal, a run directory or a results file. Each of them raises an OSError with the
path.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error codes of a file system without room."""

REFUSALS: Final = (*NO_ROOM, errno.EIO, errno.EROFS)
"""Error codes that are about the machine, and not about the run."""


def refusal_behind(error: BaseException) -> OSError | None:
    """Return the machine's refusal that caused an exception, or None where it has another cause."""
    cause: BaseException | None = error
    while cause is not None and not (isinstance(cause, OSError) and cause.errno in REFUSALS):
        cause = cause.__cause__
    return cause


def make_folder(path: Path) -> None:
    """Make a folder and its parents; raises OSError, the same for a file in its place as for a file further above."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), error.filename) from None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to an OSError that has none: an error of writing does not name its file."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
