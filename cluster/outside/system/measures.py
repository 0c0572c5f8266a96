"""Figures that the system gives of processes; none if it gives none, for example outside Linux."""

import os
from contextlib import suppress
from pathlib import Path


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 if the system does not give it."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process so far; 0 if the system does not give it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def count_group(group: int) -> int:
    """Return the number of processes of a group; 0 if the system does not give it."""
    count = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        # The name before the last bracket may hold anything, spaces and brackets too.
        with suppress(OSError, IndexError, ValueError):
            count += int(path.read_text(errors="replace").rpartition(")")[2].split()[2]) == group
    return count


def children_of(pid: int) -> list[int]:
    """Return the children of a process, oldest first; none if the system does not give them."""
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []
