"""Kills the applications of a test-bed process that has died, even by SIGKILL.

A process group outlives its parent. So each test-bed process with applications has a further child, which knows their
groups. The child waits for the end of its standard input, and then kills the remaining groups. Rejected:
PR_SET_PDEATHSIG, which Linux alone has and which leaves an application's own children alive.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress


class Guardian:
    """The groups of applications that are alive, known to a child process."""

    def __init__(self) -> None:
        self._owner = 0
        self._groups: dict[int, None] = {}
        self._child: subprocess.Popen[bytes] | None = None

    def watch(self, group: int) -> None:
        """Have a process group killed when this process ends."""
        self._tell(f"+{group}\n")
        self._groups[group] = None

    def forget(self, group: int) -> None:
        """Leave a process group alone, since it has ended."""
        self._groups.pop(group, None)
        self._tell(f"-{group}\n")

    def _tell(self, line: str) -> None:
        # A forked worker has applications of its own, and its parent's guardian waits for the parent.
        if self._owner != os.getpid():
            self._owner, self._groups, self._child = os.getpid(), {}, None
        try:
            self._write(line)
        except OSError:
            # The guardian was killed: its successor has to know all groups.
            self._child = None
            self._write("".join(f"+{group}\n" for group in self._groups) + line)

    def _write(self, text: str) -> None:
        if self._child is None:
            self._child = _begin()
        assert self._child.stdin is not None, "it was asked for"
        self._child.stdin.write(text.encode())
        self._child.stdin.flush()


GUARDIAN = Guardian()
"""The guardian of this process."""


def _begin() -> "subprocess.Popen[bytes]":
    # Isolated and without site: it needs nothing, and begins in a third of the time.
    return subprocess.Popen(  # noqa: S603 - this file
        [sys.executable, "-I", "-S", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # In a session of its own, so that an interrupt from the keyboard does not reach it.
        start_new_session=True,
    )


def main() -> None:
    """Read process groups until the end of standard input, then kill the groups that were not released."""
    groups: dict[int, None] = {}
    for line in sys.stdin:
        group = int(line[1:])
        if line[0] == "+":
            groups[group] = None
        else:
            groups.pop(group, None)
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
