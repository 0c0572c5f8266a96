"""Specimens: an own disk, and an own inbox, on which the test bed's instruments are tried before a run is believed.

What a bad disk does to bytes is in no log: the log has checksums of what was durable, and a torn or rotten byte is
seen only when somebody misses it. So each kind of disk fault is put to work on a small disk at its full rate, with
bytes that are known, and the outcome is held against docs/faults.md. Alone of the audit this imports what it tries,
with the bus and the stage that are tried beside it (`bus_specimens`, `fault_specimens`, `rehearsal_specimens`).
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from checker.checks.audit.bus_specimens import find_bus_faults
from checker.checks.audit.fault_specimens import try_adversaries, try_edges, try_votes
from checker.checks.audit.rehearsal_specimens import rehearse
from network.chance import Chance
from network.inbox import Inbox
from validators.storage.disk import DiskHandle, SimulatedDisk
from validators.storage.errors import DiskError
from validators.storage.medium import (
    JOURNAL_FILES,
    SECTOR_BYTES,
    BitFlip,
    Condition,
    FullDisk,
    IoErrors,
    MisdirectedWrite,
    StaleRead,
    TornWrite,
)

_ALWAYS: Final = 1_000_000
_SECTORS: Final = 4
_BYTES: Final = bytes(1 + place * 7 % 251 for place in range(_SECTORS * SECTOR_BYTES))
"""The content of a file, without a zero byte, so that a byte that is missing shows."""

_MORE: Final = bytes(255 - each for each in _BYTES)
_CRASHES: Final = 48
"""So many that a hole and an end within a sector are among what they leave, whatever the seed."""
_FILE: Final = "blocks"


def find_faults(seed: int) -> Iterator[str]:
    """Yield what the instruments do otherwise than they should, by the chance of a run."""
    yield from find_bus_faults(seed)
    yield from (f"in a rehearsal {fault}" for fault in rehearse(seed))
    chance = Chance(seed)
    for trial in (
        _try_syncs,
        _try_readings,
        _try_other_bytes,
        _try_errors,
        _try_beside,
        _try_torn,
        _try_handle,
        _try_inbox,
        try_edges,
        try_adversaries,
        try_votes,
    ):
        try:
            yield from (text for text, holds in trial(chance) if not holds)
        except DiskError as error:
            yield f"an act that should not fail does: {error}"


def _disk_with(chance: Chance, condition: Condition | None = None, *files: str) -> SimulatedDisk:
    """Return a disk with synced files on which a fault then sets in."""
    disk = SimulatedDisk(0, chance)
    for name in files or (_FILE,):
        disk.append(name, _BYTES)
    disk.finish_sync(disk.begin_sync())
    if condition is not None:
        disk.medium.impose("specimen", condition)
    return disk


def _try_syncs(chance: Chance) -> Iterator[tuple[str, bool]]:
    disk = SimulatedDisk(0, chance)
    disk.append(_FILE, _BYTES)
    disk.append("operations-a", b"one")
    point = disk.begin_sync()
    disk.append(_FILE, _MORE)
    yield "bytes are durable before their sync has ended", disk.synced_bytes(_FILE) == 0
    disk.finish_sync(point)
    covered = disk.synced_bytes(_FILE), disk.synced_bytes("operations-a")
    yield "a sync covers other bytes than those that were there when it began", covered == (len(_BYTES), 3)
    yield "a crash loses other bytes than those that no sync covered", disk.lose_unsynced() == len(_MORE)
    yield "a crash leaves other bytes than those that a sync covered", disk.read(_FILE) == _BYTES
    point = disk.begin_sync()
    disk.truncate(_FILE, 100)
    disk.append(_FILE, _MORE)
    disk.overwrite("operations-a", 0, b"two")
    disk.append("operations-a", b"three")
    disk.lose_unsynced()
    yield "a crash leaves other bytes than those that were cut back", disk.read(_FILE) == _BYTES[:100]
    yield "what was overwritten is not durable", disk.read("operations-a") == b"two"
    disk.wipe()
    yield "a disk that was replaced has bytes", not disk.read(_FILE)
    yield "a disk that was replaced has files", not disk.begin_sync().lengths


def _try_readings(chance: Chance) -> Iterator[tuple[str, bool]]:
    disk = _disk_with(chance, BitFlip(_ALWAYS))
    disk.append(_FILE, _MORE)
    found = disk.read(_FILE)
    flipped = [_bits_between(one, other) for one, other in zip(_sectors(found), _sectors(_BYTES), strict=False)]
    yield "rot at its full rate flips another number of bits than one a sector", flipped == [1] * _SECTORS
    yield "rot reaches bytes that no sync has covered", found[len(_BYTES) :] == _MORE
    yield "a rotten sector reads otherwise the next time", disk.read(_FILE) == found
    disk.medium.lift("specimen")
    yield "rot is gone with its fault", disk.read(_FILE) == found
    yield "rot is not counted sector by sector", disk.medium.touched("specimen") == _SECTORS
    parts = [(start, start + length) for start in range(0, len(_BYTES), 300) for length in (1, SECTOR_BYTES, 1_200)]
    yield (
        "a part of a rotten file reads otherwise than all of it",
        all(disk.read(_FILE, start, end - start) == found[start:end] for start, end in parts),
    )
    disk.overwrite(_FILE, 0, _BYTES[:SECTOR_BYTES])
    yield "rot stays where it was overwritten", disk.read(_FILE, 0, SECTOR_BYTES) == _BYTES[:SECTOR_BYTES]
    yield "rot goes where nothing was overwritten", disk.read(_FILE, SECTOR_BYTES) == found[SECTOR_BYTES:]
    disk.truncate(_FILE, 100)
    disk.append(_FILE, _BYTES[100:])
    yield "rot stays behind what was cut back", disk.read(_FILE) == _BYTES
    disk = _disk_with(chance, BitFlip(_ALWAYS))
    disk.read(_FILE)
    disk.wipe()
    disk.append(_FILE, _BYTES)
    yield "a disk that was replaced has the rot of the one before", disk.read(_FILE) == _BYTES
    short = _BYTES[: SECTOR_BYTES + 100]
    disk = SimulatedDisk(0, chance)
    disk.append(_FILE, short)
    disk.finish_sync(disk.begin_sync())
    disk.medium.impose("specimen", BitFlip(_ALWAYS))
    flipped = [_bits_between(*pair) for pair in zip(_sectors(disk.read(_FILE)), _sectors(short), strict=True)]
    yield "rot spares a sector that a file's end leaves unfilled, or hits it twice", flipped == [1, 1]
    disk = _disk_with(chance, BitFlip(_ALWAYS), *JOURNAL_FILES)
    damaged = [disk.read(name) != _BYTES for name in JOURNAL_FILES]
    yield "rot hits no copy of a journal, or both at one place", damaged.count(True) == 1
    disk = _disk_with(chance, BitFlip(_ALWAYS, ("operations",)), _FILE, "operations-a")
    hit = [name for name in (_FILE, "operations-a") if disk.read(name) != _BYTES]
    yield "rot of one kind of files hits another kind, or no generation of its own", hit == ["operations-a"]


def _try_other_bytes(chance: Chance) -> Iterator[tuple[str, bool]]:
    disk = SimulatedDisk(0, chance)
    for part in (_BYTES[:100], _BYTES[100:]):
        disk.append(_FILE, part)
        disk.finish_sync(disk.begin_sync())
    disk.medium.impose("specimen", StaleRead(_ALWAYS))
    stale = _BYTES[:100].ljust(SECTOR_BYTES, b"\0") + _BYTES[SECTOR_BYTES:]
    yield "a stale read shows another sync than the one before", disk.read(_FILE) == stale
    disk = _disk_with(chance, MisdirectedWrite(_ALWAYS))
    disk.append(_FILE, _MORE[:SECTOR_BYTES])
    found = _sectors(disk.read(_FILE))
    yield "the place of a misdirected write has it", found[-1] == bytes(SECTOR_BYTES)
    others = zip(found[:-1], _sectors(_BYTES), strict=True)
    hit = [one for one, before in others if one != before]
    yield "a misdirected write is not in exactly one other place", hit == [_MORE[:SECTOR_BYTES]]
    yield from _try_within_sector(chance)


def _try_within_sector(chance: Chance) -> Iterator[tuple[str, bool]]:
    """Misdirect a write that begins behind other bytes of its sector."""
    disk = _disk_with(chance)
    disk.append(_FILE, _MORE[:100])
    disk.finish_sync(disk.begin_sync())
    disk.medium.impose("specimen", MisdirectedWrite(_ALWAYS))
    disk.append(_FILE, _MORE[100 : SECTOR_BYTES + 50])
    found = disk.read(_FILE, len(_BYTES))
    yield "a misdirected write takes what stands before it in its sector along", found[:100] == _MORE[:100]
    yield "a misdirected write leaves part of itself at its place", found[100:] == bytes(SECTOR_BYTES - 50)


def _try_errors(chance: Chance) -> Iterator[tuple[str, bool]]:
    for failing in ("read", "append", "sync"):
        read_ppm, write_ppm, sync_ppm = (_ALWAYS * (failing == kind) for kind in ("read", "append", "sync"))
        disk = _disk_with(chance, IoErrors(read_ppm, write_ppm, sync_ppm))
        failed = {
            "read": _fails(partial(disk.read, _FILE)),
            "append": _fails(partial(disk.append, _FILE, b"more")),
            "sync": _fails(partial(disk.finish_sync, disk.begin_sync())),
        }
        yield (
            f"where each {failing} fails another act does, or none",
            failed == {kind: kind == failing for kind in failed},
        )
    disk = _disk_with(chance, FullDisk(len(_BYTES) + 10))
    is_refused = not _fails(partial(disk.append, _FILE, b"ten bytes.")) and _fails(partial(disk.append, _FILE, b"x"))
    yield "a full disk takes more than its room, or less", is_refused and disk.size(_FILE) == len(_BYTES) + 10
    disk = _disk_with(chance, FullDisk(len(_BYTES) + 10))
    is_refused = _fails(partial(disk.append, _FILE, _MORE))
    yield "a full disk takes more than fits, or less", is_refused and disk.read(_FILE)[len(_BYTES) :] == _MORE[:10]


def _try_beside(chance: Chance) -> Iterator[tuple[str, bool]]:
    """Impose each fault as the second one of a disk, whose first does nothing here."""
    for condition, act in (
        (IoErrors(_ALWAYS, 0, 0), lambda disk: disk.read(_FILE)),
        (FullDisk(len(_BYTES)), lambda disk: disk.append(_FILE, _MORE)),
        (MisdirectedWrite(_ALWAYS), lambda disk: disk.append(_FILE, _MORE[:SECTOR_BYTES])),
        (BitFlip(_ALWAYS), lambda disk: disk.read(_FILE)),
        (TornWrite(), lambda disk: [(disk.append(_FILE, _MORE), disk.lose_unsynced()) for _ in range(_CRASHES)]),
    ):
        disk = _disk_with(chance, StaleRead(0) if isinstance(condition, TornWrite) else FullDisk(1 << 40))
        disk.medium.impose("second", condition)
        _fails(partial(act, disk))
        yield f"{type(condition).__name__} does nothing beside another fault", disk.medium.touched("second") > 0


def _try_torn(chance: Chance) -> Iterator[tuple[str, bool]]:
    disk = _disk_with(chance, TornWrite())
    kept = []
    for _ in range(_CRASHES):
        start = disk.append(_FILE, _MORE)
        lost_bytes = disk.lose_unsynced()
        kept.append(disk.read(_FILE, start))
        yield "a torn write loses another number of bytes than it says", lost_bytes == len(_MORE) - len(kept[-1])
        yield "what a crash has left is not durable", disk.synced_bytes(_FILE) == disk.size(_FILE)
        disk.truncate(_FILE, start)
    yield "a torn write leaves bytes that were not written there", all(map(_is_part, kept))
    yield "no torn write ends within a sector", any(len(part) % SECTOR_BYTES for part in kept)
    yield "no torn write has a hole", any(part != _MORE[: len(part)] for part in kept)
    yield "every torn write leaves all", any(part != _MORE for part in kept)
    disk.medium.lift("specimen")
    disk.append(_FILE, _MORE)
    yield "writes are torn when the fault is over", disk.lose_unsynced() == len(_MORE)


def _try_handle(chance: Chance) -> Iterator[tuple[str, bool]]:
    """Note at each boundary what a power cut there would find."""
    disk = _disk_with(chance, None, *JOURNAL_FILES)
    found: list[tuple[str, list[int]]] = []
    handle = DiskHandle(disk, lambda name: found.append((name, [disk.size(each) for each in JOURNAL_FILES])))
    whole, more = len(_BYTES), len(_BYTES) + 1
    for name in JOURNAL_FILES:
        handle.append(name, b"1")
    handle.finish_sync(handle.begin_sync())
    for name in JOURNAL_FILES:
        handle.truncate(name, whole)
        handle.truncate(name, 0)
    yield (
        "a boundary stands at another place than it says",
        found
        == [
            ("before-append", [whole, whole]),
            ("after-append", [more, more]),
            ("after-sync", [more, more]),
            ("mid-prune", [0, whole]),
        ],
    )
    handle.revoke()
    handle.append(JOURNAL_FILES[0], b"1")
    yield "a life that has ended writes, or reaches a boundary", not disk.size(JOURNAL_FILES[0]) and len(found) == 4


def _try_inbox(_chance: Chance) -> Iterator[tuple[str, bool]]:
    inbox: Inbox[int] = Inbox()
    inbox.put(0)
    inbox.pause()
    inbox.put(1)
    inbox.put(2)
    yield "a pause does not count what it holds back", inbox.held == 2
    inbox.resume()
    yield "a pause loses or doubles what it holds back", len(inbox) == 3
    inbox.pause()
    inbox.put(3)
    yield "a pause counts what an earlier one held back", inbox.held == 1


def _is_part(part: bytes) -> bool:
    """Return whether each sector that is left is that of the write or a hole, the last one cut off perhaps."""
    return len(part) <= len(_MORE) and all(
        sector in {whole[: len(sector)], bytes(len(sector))}
        for sector, whole in zip(_sectors(part), _sectors(_MORE), strict=False)
    )


def _sectors(content: bytes) -> list[bytes]:
    return [content[start : start + SECTOR_BYTES] for start in range(0, len(content), SECTOR_BYTES)]


def _bits_between(one: bytes, other: bytes) -> int:
    return (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()


def _fails(act: Callable[[], object]) -> bool:
    try:
        act()
    except DiskError:
        return True
    return False
