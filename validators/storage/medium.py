"""The bytes that a faulty disk returns: faults laid over the bytes that were written.

The simulated disk keeps the bytes that its validator wrote. A *scar* is the content that a sector shows instead: one
flipped bit, zeros, bytes of another write, or bytes of an earlier sync. It stays until its place is overwritten or cut
off.

Draws are keyed by fault, validator, file, sector and the number of reads of that sector. So removing one fault from a
plan leaves the draws of all other faults unchanged.

The last good copy is never destroyed. Where one copy of the vote journal has a scar, the other copy gets none within
`GUARD_BYTES`, which is more than any record is long, unless a fault sets `both_copies`. Even then the journal keeps the
bytes of the last sync, because without them the loss could not be detected. Only synced bytes are scarred.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias, assert_never, get_args

from network.chance import Chance, below
from network.spill import SpillingBytes
from validators.storage.errors import DiskError, DiskReadError, DiskSyncError, DiskWriteError

SECTOR_BYTES: Final = 512
GUARD_BYTES: Final = 16_384

JOURNAL_FILES: Final = ("journal-a", "journal-b")
"""The two copies of the vote journal, in the order in which they are appended to."""

Write: TypeAlias = Literal["append", "overwrite", "truncate"]
"""An operation that changes bytes of a file."""

WRITES: Final[tuple[Write, ...]] = get_args(Write)

Operation: TypeAlias = Write | Literal["read", "sync"]
"""An operation that a disk may refuse."""

_ERRORS: Final[Mapping[Operation, type[DiskError]]] = {
    **dict.fromkeys(WRITES, DiskWriteError),
    "read": DiskReadError,
    "sync": DiskSyncError,
}

_MILLION: Final = 1_000_000
_OTHER_COPY: Final = dict(zip(JOURNAL_FILES, reversed(JOURNAL_FILES), strict=True))


class BitFlip(NamedTuple):
    """Each read of a sector may find one flipped bit, which then stays. Without `files`, any file is hit.

    With `both_copies` a place of the journal may be hit in both copies, except for the bytes of the last sync.
    """

    ppm: int
    files: tuple[str, ...] = ()
    both_copies: bool = False


class StaleRead(NamedTuple):
    """Each read of a sector may find the content of an earlier sync, which then stays."""

    ppm: int
    files: tuple[str, ...] = ()


class MisdirectedWrite(NamedTuple):
    """Each append may land on synced bytes elsewhere; its own place holds zeros."""

    ppm: int
    files: tuple[str, ...] = ()


class IoErrors(NamedTuple):
    """Each read, write or sync may fail; with `files` only reads and writes of these files, as a sync is of all files.

    With `writes` only writes of these kinds may fail.
    """

    read_ppm: int
    write_ppm: int
    sync_ppm: int
    files: tuple[str, ...] = ()
    writes: tuple[Write, ...] = ()

    def ppm_of(self, operation: Operation) -> int:
        """Return the share of operations of a kind that fail, in parts per million."""
        match operation:
            case "read":
                return self.read_ppm
            case "sync":
                return self.sync_ppm
            case "append" | "overwrite" | "truncate":
                return self.write_ppm if operation in (self.writes or WRITES) else 0
            case _:
                assert_never(operation)


class TornWrite(NamedTuple):
    """A crash keeps part of the bytes not synced: a prefix, or a random subset of sectors."""


class FullDisk(NamedTuple):
    """The files together take at most `limit_bytes`."""

    limit_bytes: int


Condition = BitFlip | StaleRead | MisdirectedWrite | IoErrors | TornWrite | FullDisk


@dataclass(slots=True)
class File:
    """One file as written: its bytes, the number of bytes that survive a crash, and the lengths of finished syncs.

    `previous` is the synced content before the file was last cut back to nothing, None where it never was.
    """

    data: SpillingBytes
    synced_bytes: int = 0
    # Numbers of 8 bytes, because a run of 10,000 blocks makes 10^5 syncs.
    lengths: "array[int]" = field(default_factory=partial(array, "q"))
    previous: SpillingBytes | None = None


@dataclass(slots=True)
class _Active:
    name: str
    condition: Condition
    count: int = 0
    ordinals: dict[str, int] = field(default_factory=dict)

    def next_ordinal(self, subject: str) -> int:
        ordinal = self.ordinals.get(subject, 0)
        self.ordinals[subject] = ordinal + 1
        return ordinal


class Medium:
    """The faults of one validator's disk."""

    def __init__(self, node: int, chance: Chance) -> None:
        self._node = node
        self._chance = chance
        self._active: dict[str, _Active] = {}
        self._ended: dict[str, int] = {}
        self._scars: dict[str, dict[int, bytes]] = {}

    def impose(self, name: str, condition: Condition) -> None:
        """Start a fault."""
        self._active[name] = _Active(name, condition)

    def lift(self, name: str) -> None:
        """End a fault; its scars stay."""
        self._ended[name] = self._ended.get(name, 0) + self._active.pop(name).count

    def touched(self, name: str) -> int:
        """Return the number of effects of a fault, also after its end; 0 if it never started."""
        active = self._active.get(name)
        return self._ended.get(name, 0) + (0 if active is None else active.count)

    def at_rest(self) -> "Medium":
        """Return this medium with its scars and without the faults that could add scars."""
        resting = Medium(self._node, self._chance)
        resting._scars = self._scars
        return resting

    def forget(self) -> None:
        """Lose every scar: the disk was replaced or emptied."""
        self._scars.clear()

    # -- what fails ----------------------------------------------------------------------------

    def check(self, operation: Operation, name: str) -> None:
        """Raise DiskError where this operation fails."""
        for active in self._active.values():
            condition = active.condition
            if not isinstance(condition, IoErrors) or not _is_about(condition, name):
                continue
            if self._hits(active, f"io-error {operation}", condition.ppm_of(operation), name):
                active.count += 1
                raise _ERRORS[operation](name, operation, "input/output error")

    def room(self, used_bytes: int, wanted_bytes: int) -> int:
        """Return how many of the wanted bytes fit."""
        for active in self._active.values():
            if isinstance(active.condition, FullDisk) and used_bytes + wanted_bytes > active.condition.limit_bytes:
                active.count += 1
                wanted_bytes = max(active.condition.limit_bytes - used_bytes, 0)
        return wanted_bytes

    # -- what reads back wrong -----------------------------------------------------------------

    def view(self, files: Mapping[str, File], name: str, offset: int, end: int) -> bytes:
        """Return the bytes that a read of one of the disk's files shows."""
        file = files[name]
        ageing = [each for each in self._active.values() if isinstance(each.condition, BitFlip | StaleRead)]
        for active in ageing:
            if _is_about(active.condition, name):
                for sector in range(offset // SECTOR_BYTES, -(-min(end, file.synced_bytes) // SECTOR_BYTES)):
                    self._age(active, files, name, sector)
        data = bytearray(file.data.read(offset, end))
        scars = self._scars.get(name)
        if scars:
            for sector in range(offset // SECTOR_BYTES, -(-(offset + len(data)) // SECTOR_BYTES)):
                _lay_over(data, offset, sector * SECTOR_BYTES, scars.get(sector, b""))
        return bytes(data)

    def appended(self, files: dict[str, File], name: str, offset: int, data: bytes) -> None:
        """Draw whether a write that the disk has just accepted is misdirected."""
        for active in self._active.values():
            condition = active.condition
            if not isinstance(condition, MisdirectedWrite) or not _is_about(condition, name):
                continue
            if self._hits(active, "misdirected", condition.ppm, name):
                self._misdirect(active, files, name, offset=offset, data=data)

    def overwritten(self, name: str, file: File, offset: int, data: bytes) -> None:
        """Remove scars of overwritten bytes; keep scars of other bytes in the same sectors."""
        scars = self._scars.get(name, {})
        for sector in range(offset // SECTOR_BYTES, (offset + len(data) - 1) // SECTOR_BYTES + 1):
            start = sector * SECTOR_BYTES
            content = bytearray(scars.get(sector, b""))
            _lay_over(content, start, offset, data)
            if content == file.data.read(start, start + len(content)):
                scars.pop(sector, None)
            else:
                scars[sector] = bytes(content)

    def cut(self, name: str, length: int) -> None:
        """Forget scars behind the new end of a file."""
        scars = self._scars.get(name, {})
        for sector in sorted(scars):
            scars[sector] = scars[sector][: max(length - sector * SECTOR_BYTES, 0)]
            if not scars[sector]:
                del scars[sector]

    def tear(self, name: str, tail: bytes) -> bytes:
        """Return the part of the unsynced bytes that a crash keeps."""
        for active in self._active.values():
            if isinstance(active.condition, TornWrite) and tail:
                subject = f"{active.name}/{self._node}/{name}"
                kept = _torn(tail, self._chance, subject, active.next_ordinal(subject))
                active.count += bool(kept)
                return kept
        return b""

    # -- scars ---------------------------------------------------------------------------------

    def _age(self, active: _Active, files: Mapping[str, File], name: str, sector: int) -> None:
        """Draw whether a sector gets a scar; a sector with a scar keeps it."""
        file = files[name]
        subject = f"{name}/{sector}"
        condition = active.condition
        assert isinstance(condition, BitFlip | StaleRead), "only these two come with reading"
        # A sector shows one wrong content until it is written again, as a real sector does: a new draw would flicker.
        if sector in self._scars.get(name, {}):
            return
        start = sector * SECTOR_BYTES
        # Unsynced bytes are in the drive's cache, where faults of the platter do not reach them.
        stop = min(start + SECTOR_BYTES, file.synced_bytes)
        purpose = "bit rot" if isinstance(condition, BitFlip) else "stale read"
        if not self._hits(active, purpose, condition.ppm, subject):
            return
        draw = self._chance.draw(f"{purpose} content", f"{active.name}/{self._node}/{subject}", 0)
        content = file.data.read(start, stop)
        worse = _flip(content, draw) if isinstance(condition, BitFlip) else _older(file, start, content, draw)
        # The last sync's bytes prove that all before were durable: lost in both copies, they look like a torn tail.
        is_tail = stop > _last_synced(file)
        hits_both = isinstance(condition, BitFlip) and condition.both_copies and not is_tail
        if worse != content and (hits_both or self._may_scar(files, name, sector)):
            self._scar(name, sector, worse)
            active.count += 1

    def _misdirect(self, active: _Active, files: dict[str, File], name: str, *, offset: int, data: bytes) -> None:
        sectors = [
            (other, sector)
            # Sorted by name, because the draw is an index into this list.
            for other in sorted(files)
            for sector in range(files[other].synced_bytes // SECTOR_BYTES)
            if _is_about(active.condition, other)
        ]
        if not sectors:
            return
        draw = self._chance.draw("misdirected to", f"{active.name}/{self._node}/{name}", offset)
        victim, place = sectors[below(draw, len(sectors))]
        first, last = offset // SECTOR_BYTES, (offset + len(data) - 1) // SECTOR_BYTES
        own = [(name, sector) for sector in range(first, last + 1)]
        # All of it or nothing: half a misdirected write would be a lost write, which is another fault.
        if not all(self._may_scar(files, *each) for each in (*own, (victim, place))):
            return
        for _, sector in own:
            start = sector * SECTOR_BYTES
            content = self.view(files, name, start, start + SECTOR_BYTES)
            kept = max(offset - start, 0)
            self._scar(name, sector, content[:kept] + bytes(len(content) - kept))
        landed = self.view(files, victim, place * SECTOR_BYTES, (place + 1) * SECTOR_BYTES)
        # Asked again: the place may be in the other copy of a journal, next to the bytes that this copy has just lost.
        if self._may_scar(files, victim, place):
            self._scar(victim, place, data[:SECTOR_BYTES] + landed[len(data) :])
        active.count += 1

    def _scar(self, name: str, sector: int, content: bytes) -> None:
        self._scars.setdefault(name, {})[sector] = content

    def _may_scar(self, files: Mapping[str, File], name: str, sector: int) -> bool:
        """Return whether the place is not in a journal copy, or the other copy holds it and is intact around it."""
        other = _OTHER_COPY.get(name)
        if other is None:
            return True
        # Cut by a start whose rewriting the disk refused, the other copy is empty, and this copy is the only copy.
        stop = min((sector + 1) * SECTOR_BYTES, files[name].synced_bytes)
        if other not in files or len(files[other].data) < stop:
            return False
        # More than the longest record on either side, because no record may be damaged in both copies.
        guard = GUARD_BYTES // SECTOR_BYTES
        return all(abs(place - sector) > guard for place in self._scars.get(other, {}))

    def _hits(self, active: _Active, purpose: str, ppm: int, subject: str) -> bool:
        if not ppm:
            return False
        named = f"{active.name}/{self._node}/{subject}"
        return below(self._chance.draw(purpose, named, active.next_ordinal(f"{purpose}/{subject}")), _MILLION) < ppm


def _last_synced(file: File) -> int:
    """Return the offset of the first byte that only the last sync of the file covered."""
    return file.lengths[-2] if len(file.lengths) > 1 else 0


def _is_about(condition: Condition, name: str) -> bool:
    files = () if isinstance(condition, TornWrite | FullDisk) else condition.files
    return not files or name.partition("-")[0] in files


def _flip(content: bytes, draw: int) -> bytes:
    place = below(draw, 8 * len(content))
    flipped = bytearray(content)
    flipped[place // 8] ^= 1 << place % 8
    return bytes(flipped)


def _older(file: File, start: int, content: bytes, draw: int) -> bytes:
    """Return the sector as an earlier sync left it, or unchanged if no earlier sync covered it."""
    first = bisect_left(file.lengths, start)
    last = bisect_right(file.lengths, start + len(content) - 1)
    choices = [content[: length - start] + bytes(start + len(content) - length) for length in file.lengths[first:last]]
    previous = b"" if file.previous is None else file.previous.read(start, start + len(content))
    if previous:
        choices.append(previous + bytes(len(content) - len(previous)))
    return choices[below(draw, len(choices))] if choices else content


def _torn(tail: bytes, chance: Chance, subject: str, ordinal: int) -> bytes:
    if chance.draw("torn form", subject, ordinal) & 1:
        return tail[: below(chance.draw("torn prefix", subject, ordinal), len(tail) + 1)]
    kept = b""
    for place, start in enumerate(range(0, len(tail), SECTOR_BYTES)):
        if chance.draw("torn sector", f"{subject}/{ordinal}", place) & 1:
            kept = kept.ljust(start, b"\x00") + tail[start : start + SECTOR_BYTES]
    return kept


def _lay_over(data: bytearray, offset: int, start: int, content: bytes) -> None:
    """Overwrite the part of `data`, which stands at `offset`, that `content`, which stands at `start`, covers."""
    first, last = max(start, offset), min(start + len(content), offset + len(data))
    if first < last:
        data[first - offset : last - offset] = content[first - start : last - start]
