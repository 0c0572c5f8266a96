"""A validator's disk: append-only files that a crash cuts back to their synced length.

Invariant: after `lose_unsynced` a file holds exactly the bytes that a *finished* sync covered. A sync covers the bytes
that had been appended when it began, not when it ended, as on real hardware. Bytes appended in the meantime wait for
the next sync.

The interface is append, read, truncate and a two-step sync, because virtual time passes between the two steps and a
crash may fall in between. `overwrite` and `truncate` belong to repairs at a start and to pruning of the journal: they
are rare, and durable when they return.
"""

from array import array
from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol, TypeAlias

from network.chance import Chance
from network.spill import ColdFile, SpillingBytes
from validators.storage.errors import DiskFullError, DiskRevokedError
from validators.storage.medium import JOURNAL_FILES, File, Medium

Boundary: TypeAlias = Literal[
    "before-append", "after-append", "after-sync", "after-send", "mid-prune", "before-call", "after-call"
]
"""A moment in the write-ahead order of a vote, between its two pruned copies, or around a call of an application."""


class SyncPoint(NamedTuple):
    """The extent of one sync: bytes appended to the whole disk so far, and the length of each file."""

    appended_bytes: int
    lengths: tuple[tuple[str, int], ...]


class Disk(Protocol):
    """One validator's files. Names are plain words such as `blocks`; sizes and offsets are bytes.

    Every call but the two properties and the sizes may raise DiskError. After a DiskError of an append or a sync the
    disk's content is unknown: the validator stops, and tries no second sync.
    """

    def append(self, name: str, data: bytes) -> int:
        """Append `data` to file `name` (made if absent) and return the offset of its first byte."""

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """Return `length` bytes from `offset`, or all bytes from there; an absent file is empty."""

    def overwrite(self, name: str, offset: int, data: bytes) -> None:
        """Write `data` from `offset` on, which is not behind the end of the file; durable when it returns."""

    def truncate(self, name: str, length: int) -> None:
        """Cut file `name` back to `length` bytes; durable when it returns."""

    def size(self, name: str) -> int:
        """Return the length of file `name` in bytes; 0 where it does not exist."""

    def synced_bytes(self, name: str) -> int:
        """Return the number of bytes of file `name`, from its start, that survive a crash."""

    def begin_sync(self) -> SyncPoint:
        """Fix the extent of the sync that starts now."""

    def finish_sync(self, point: SyncPoint) -> None:
        """Make the bytes that `point` covers survive a crash."""

    @property
    def appended_bytes(self) -> int:
        """Bytes appended to the whole disk since it was made."""

    @property
    def is_synced(self) -> bool:
        """Return whether a crash now would lose no bytes."""


class SimulatedDisk:
    """A disk in memory. It outlives the incarnations of its validator; only the cluster crashes it.

    `medium` holds its faults. Without faults there, every byte reads as it was written.
    """

    def __init__(self, node: int = 0, chance: Chance | None = None) -> None:
        self.medium = Medium(node, chance or Chance(0))
        self._files: dict[str, File] = {}
        self._cold = ColdFile()
        self._appended_bytes = 0

    @property
    def appended_bytes(self) -> int:
        """Bytes appended to the whole disk since it was made."""
        return self._appended_bytes

    @property
    def used_bytes(self) -> int:
        """Bytes that the files hold."""
        return sum(len(file.data) for file in self._files.values())

    @property
    def bytes_in_memory(self) -> int:
        """Bytes of the files that no temporary file holds."""
        return sum(file.data.bytes_in_memory for file in self._files.values())

    @property
    def is_synced(self) -> bool:
        """Return whether a crash now would lose no bytes."""
        return all(len(file.data) == file.synced_bytes for file in self._files.values())

    def append(self, name: str, data: bytes) -> int:
        """See `Disk.append`."""
        self.medium.check("append", name)
        file = self._file(name)
        offset = len(file.data)
        # A full disk writes the part that fits before it fails, as a real disk does: recovery must cope with the part.
        fitting = self.medium.room(self.used_bytes, len(data))
        file.data.append(data[:fitting])
        self._appended_bytes += fitting
        if fitting < len(data):
            raise DiskFullError(name, "append", f"no room for {len(data)} bytes")
        self.medium.appended(self._files, name, offset, data)
        return offset

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """See `Disk.read`."""
        self.medium.check("read", name)
        file = self._files.get(name)
        if file is None:
            return b""
        end = len(file.data) if length is None else min(offset + length, len(file.data))
        return self.medium.view(self._files, name, offset, end)

    def overwrite(self, name: str, offset: int, data: bytes) -> None:
        """See `Disk.overwrite`."""
        self.medium.check("overwrite", name)
        file = self._file(name)
        file.data.overwrite(offset, data)
        file.synced_bytes = len(file.data)
        self.medium.overwritten(name, file, offset, data)

    def truncate(self, name: str, length: int) -> None:
        """See `Disk.truncate`."""
        self.medium.check("truncate", name)
        file = self._files.get(name)
        if file is not None:
            if length == 0:
                # Kept for stale reads: sectors of the file before it was emptied may show again.
                file.data.cut(file.synced_bytes)
                if file.previous is not None:
                    file.previous.cut(0)
                file.previous, file.data = file.data, SpillingBytes(self._cold)
            self._cut(name, file, length)

    def size(self, name: str) -> int:
        """See `Disk.size`."""
        file = self._files.get(name)
        return 0 if file is None else len(file.data)

    def synced_bytes(self, name: str) -> int:
        """See `Disk.synced_bytes`."""
        file = self._files.get(name)
        return 0 if file is None else file.synced_bytes

    def begin_sync(self) -> SyncPoint:
        """See `Disk.begin_sync`."""
        # Fixed now: bytes that are appended while the sync runs are not covered by it.
        lengths = tuple((name, len(self._files[name].data)) for name in sorted(self._files))
        return SyncPoint(self._appended_bytes, lengths)

    def finish_sync(self, point: SyncPoint) -> None:
        """See `Disk.finish_sync`."""
        self.medium.check("sync", "")
        for name, length in point.lengths:
            file = self._files[name]
            # The file may have been cut back while the sync ran.
            covered = min(length, len(file.data))
            if covered > file.synced_bytes:
                file.synced_bytes = covered
                file.lengths.append(covered)

    def lose_unsynced(self) -> int:
        """Cut every file back to its synced length, as a power loss does; return the number of bytes lost."""
        lost_bytes = 0
        for name in sorted(self._files):
            file = self._files[name]
            tail = file.data.read(file.synced_bytes, len(file.data))
            kept = self.medium.tear(name, tail)
            lost_bytes += len(tail) - len(kept)
            self._cut(name, file, file.synced_bytes)
            file.data.append(kept)
            file.synced_bytes = len(file.data)
        return lost_bytes

    def wipe(self) -> None:
        """Lose all files, as when the disk is replaced by an empty disk."""
        self._files.clear()
        self.medium.forget()

    def pristine(self) -> "SimulatedDisk":
        """Return a sound disk with the bytes that were written to this disk."""
        sound = SimulatedDisk()
        for name, file in self._files.items():
            for piece in file.data.pieces():
                sound.append(name, piece)
        return sound

    def written(self) -> "SimulatedDisk":
        """Return a view of this disk, for reading, that always shows the bytes that were written to it."""
        view = SimulatedDisk()
        # Shared on purpose: the checks read what was written, faults of this disk left out.
        view._files = self._files
        return view

    def scarred(self) -> "SimulatedDisk":
        """Return a view of this disk, for reading, that shows all present damage and takes no new damage."""
        view = self.written()
        view.medium = self.medium.at_rest()
        return view

    def _file(self, name: str) -> File:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = File(SpillingBytes(self._cold))
        return file

    def _cut(self, name: str, file: File, length: int) -> None:
        file.data.cut(length)
        file.synced_bytes = len(file.data)
        file.lengths = array("q", (each for each in file.lengths if each <= length))
        self.medium.cut(name, length)


class DiskHandle:
    """One incarnation's handle to a disk. After `revoke` writes do nothing and reads raise.

    A crash revokes first and cancels afterwards, so that writes of the dying task's clean-up code cannot reach the
    disk.

    `reach` is called at each boundary of the write-ahead order that the disk sees; it may cut the power there.
    `on_durable` is called when the bytes that survive a crash have changed. Its argument is the file that was cut or
    overwritten, or nothing after a sync.
    """

    def __init__(
        self,
        disk: Disk,
        reach: Callable[[Boundary], None] = lambda _boundary: None,
        on_durable: Callable[[str], None] = lambda _name: None,
    ) -> None:
        self._disk = disk
        self._reach = reach
        self._on_durable = on_durable
        self._is_revoked = False

    def revoke(self) -> None:
        """Cut the incarnation off from its disk."""
        self._is_revoked = True

    @property
    def appended_bytes(self) -> int:
        """See `Disk.appended_bytes`."""
        return self._disk.appended_bytes

    @property
    def is_synced(self) -> bool:
        """See `Disk.is_synced`."""
        return self._disk.is_synced

    def append(self, name: str, data: bytes) -> int:
        """See `Disk.append`."""
        if self._is_revoked:
            return -1
        if name == JOURNAL_FILES[0]:
            self._reach("before-append")
        # Between the two boundaries: a power cut at either leaves a journal with or without exactly this record.
        offset = self._disk.append(name, data)
        if name == JOURNAL_FILES[-1]:
            self._reach("after-append")
        return offset

    def read(self, name: str, offset: int = 0, length: int | None = None) -> bytes:
        """See `Disk.read`."""
        if self._is_revoked:
            raise DiskRevokedError(f"file {name!r}: the validator that held this handle has crashed")
        return self._disk.read(name, offset, length)

    def overwrite(self, name: str, offset: int, data: bytes) -> None:
        """See `Disk.overwrite`."""
        if not self._is_revoked:
            self._disk.overwrite(name, offset, data)
            self._on_durable(name)

    def size(self, name: str) -> int:
        """See `Disk.size`."""
        return self._disk.size(name)

    def synced_bytes(self, name: str) -> int:
        """See `Disk.synced_bytes`."""
        return self._disk.synced_bytes(name)

    def truncate(self, name: str, length: int) -> None:
        """See `Disk.truncate`."""
        if not self._is_revoked:
            if name == JOURNAL_FILES[-1] and length == 0:
                self._reach("mid-prune")
            self._disk.truncate(name, length)
            self._on_durable(name)

    def begin_sync(self) -> SyncPoint:
        """See `Disk.begin_sync`."""
        return self._disk.begin_sync()

    def finish_sync(self, point: SyncPoint) -> None:
        """See `Disk.finish_sync`."""
        if not self._is_revoked:
            self._disk.finish_sync(point)
            self._on_durable("")
            # After the sync counts: a cut here leaves a durable vote that was never sent.
            self._reach("after-sync")
