"""The sandbox of an application: bubblewrap, on a machine where it is installed and works.

A process in it has no network, a root that it can only read, and a /tmp of its own. It writes in its own directory. Its
processes have a namespace; the end of the namespace's first process ends them all. Rejected: limits of the address
space, which break node. Rejected too: refusing to run without bubblewrap, since most faults that it would show are seen
without it.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from cluster.outside.system.measures import children_of

# With --die-with-parent the kernel watches the thread that begins a process: if this thread ends, its applications end.
ROOM: Final = (
    *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"),  # noqa: S108 - a private one
    *("--unshare-net", "--unshare-pid", "--die-with-parent"),
)
"""Arguments of every sandbox, which the probe tries too."""

WRAPPERS: Final = 2
"""Processes of bubblewrap above the command: one outside the namespace, and the first process within."""

_EMPTY: Final = ("/tmp", "/dev/shm")  # noqa: S108 - they are replaced
"""Folders that are empty in the sandbox, apart from files that the command names."""

_SECONDS: Final = 5.0
"""Time for a probe, and for the end of a namespace."""


@cache
def bubblewrap() -> str:
    """Return the program that makes a sandbox, "" if none works: asked once a process."""
    program = shutil.which("bwrap")
    if program is None:
        return ""
    try:
        quiet = subprocess.DEVNULL
        done = subprocess.run(  # noqa: S603 - a program of PATH, and no shell
            [program, *ROOM, "--", "true"], stdin=quiet, stdout=quiet, stderr=quiet, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return program if done.returncode == 0 else ""


def sandbox_level() -> tuple[str, ...]:
    """Return the limits on an application on this machine, in words for a verdict."""
    limits = "limits of time, memory and processes" if Path("/proc/self/statm").exists() else "a limit of time"
    return (limits, "no network", "read-only root") if bubblewrap() else (limits,)


def sandboxed(command: tuple[str, ...], folder: Path, directory: Path) -> tuple[str, ...]:
    """Return a command in a sandbox, or the command itself if there is no sandbox.

    Args:
        command: Program and arguments.
        folder: The working directory.
        directory: The only folder that can be written.
    """
    program = bubblewrap()
    if not program:
        return command
    named = [part for place in dict.fromkeys(_named_in_empty(command, folder)) for part in ("--ro-bind", place, place)]
    own = str(directory.resolve())
    return (program, *ROOM, *named, "--bind", own, own, "--chdir", str(folder), "--", *command)


def _named_in_empty(command: tuple[str, ...], folder: Path) -> Iterator[str]:
    """Yield the entries of the emptied folders that hold the working directory or a file that the command names."""
    for word in ("", *command):
        try:
            real = Path(folder, word).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):
            # No file: an option, or a program text as long as `python3 -c` accepts.
            continue
        for place in (Path(os.path.normpath(Path(folder, word))), real):
            for empty in map(Path, _EMPTY):
                if place.is_relative_to(empty) and place != empty:
                    yield str(empty / place.relative_to(empty).parts[0])


def main_process(wrapper: int) -> int:
    """Return the process of the command below bubblewrap; bubblewrap itself until it has begun."""
    for first in children_of(wrapper):
        for command in children_of(first):
            return command
    return wrapper


def end_namespace(wrapper: "subprocess.Popen[bytes]") -> None:
    """Kill the first process of a sandbox and wait for bubblewrap: then no process of the sandbox is left.

    A kill of bubblewrap would not wait for them, and the next life would meet the previous life in its directory.
    """
    for first in children_of(wrapper.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(first, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            wrapper.wait(_SECONDS)
