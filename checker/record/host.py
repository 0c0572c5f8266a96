"""The machine under the test bed: what its file system refuses is the environment, whatever ran into it.

A full disk is met by a validator's journal, a run directory or a results file; all of them say it in the same way, as
an OSError with the path.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Answers of a file system that takes no more."""

REFUSALS: Final = (*NO_ROOM, errno.EIO, errno.EROFS)
"""Answers that say something of the machine, and nothing of what was run on it."""


def refusal_behind(error: BaseException) -> OSError | None:
    """Return the machine's refusal that an exception comes from, or None where it comes from something else."""
    cause: BaseException | None = error
    while cause is not None and not (isinstance(cause, OSError) and cause.errno in REFUSALS):
        cause = cause.__cause__
    return cause


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give an OSError the path that it is about, where it has none: a write does not name its file."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise
