"""The finalized log, unsound from a drawn entry on, and reopened: what is kept of it, and what is told.

A disk fault damages bytes, and checksums find that. A log of whole records that leads to no header's root takes a state
that was wrong as it was written, and a base that is none beside a log that leads elsewhere takes two of them in a run.
Here a stub stands for the engine, and says of a log whether it is sound; so the whole of a start costs little.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Final, NamedTuple, cast

import msgspec

from network.events import TraceEvent
from network.port import Port
from tests.properties.draws import Asked, Draw
from validators.consensus.interface import RecordCodec
from validators.events import DamageFound, DamageRepaired
from validators.execution import ExecutionLayer, InvalidEncodingError, RootMismatchError
from validators.execution.blocks import VERSION, Header, encode_header
from validators.recovery import Reopened, RepairLog, reopen_state
from validators.restored import RestoredLog, StateBase
from validators.state import CorruptLog, ForgedSnapshot, Snapshot
from validators.stats import ValidatorCounts
from validators.storage import FinalizedEntry, FinalizedLog, LogContents, SimulatedDisk
from validators.storage.rules import DiskRule

_STORIES: Final = 4
_ENTRIES_MAX: Final = 7
_BASES_MAX: Final = 4
_GAP_MAX: Final = 3
_RIGHT: Final = bytes(32)
_WRONG: Final = b"\xff" * 32
_FILES: Final = ("operations-a", "operations-b")
_ERRORS: Final[tuple[Callable[[], Exception], ...]] = (
    partial(CorruptLog, "no log"),
    partial(ForgedSnapshot, "no snapshot"),
    partial(InvalidEncodingError, "no header"),
    partial(RootMismatchError, 1, _RIGHT, _WRONG),
    partial(msgspec.ValidationError, "no record"),
)
"""Made anew each time: one that is raised again keeps what stood where it was raised before."""

LayerOf = Callable[[RestoredLog], ExecutionLayer]


def check_reopened_logs(draw: Draw) -> Asked:
    """Yield what is asked of logs that are reopened, and whether it is so."""
    for _ in range(_STORIES):
        disk = SimulatedDisk()
        slots = _write(disk, draw)
        engine_of = _judge_by(_ERRORS[draw(len(_ERRORS))])
        expected = _expect(slots)
        told = _Told(disk)
        found = reopen_state(FinalizedLog(disk), engine_of, told.repairs)
        yield from _compare(found, expected, "a start")
        yield "a repair is told otherwise than it was made", told.places == expected.told
        yield "a repair is told before it is made", not told.is_early
        yield (
            "repairs are counted otherwise than they were made",
            2 * told.counts.damaged == 2 * told.counts.repaired == len(expected.told),
        )
        yield (
            "a torn end is told otherwise than it is",
            told.counts.reached == ({DiskRule.TORN_TAIL: 1} if expected.is_torn else {}),
        )
        again = _Told(disk)
        log = FinalizedLog(disk)
        yield from _compare(reopen_state(log, engine_of, again.repairs), expected, "a second start")
        yield "what was repaired is repaired again", not again.places and not again.counts.reached
        # The log goes on where it was cut.
        more = _make_entry(expected.height + 1)
        log.append(more)
        disk.finish_sync(disk.begin_sync())
        disk.lose_unsynced()
        after = expected._replace(entries=[*expected.entries, more])
        yield from _compare(
            reopen_state(FinalizedLog(disk), engine_of, _Told(disk).repairs), after, "a log that went on"
        )


_NOTES_MAX: Final = 20
"""Damages and repairs of two logs, two of each at the most."""


class _Told:
    """The notes of a start; `is_early` where a repair was told before the disk had it."""

    def __init__(self, disk: SimulatedDisk) -> None:
        self.is_early = False
        self._log = FinalizedLog(disk)
        self._found: LogContents | None = None
        self.places: list[tuple[type[TraceEvent], str, int]] = []
        self.counts = ValidatorCounts()
        port = cast("Port", SimpleNamespace(trace=self._trace))
        self.repairs = RepairLog(port, cast("RecordCodec", None), self.counts)

    def _trace(self, event: DamageFound | DamageRepaired) -> None:
        self.places.append((type(event), event.file, event.place))
        # A start that gives up nothing would begin again for ever.
        if len(self.places) > _NOTES_MAX:
            raise RecursionError(f"a start notes more than {_NOTES_MAX} damages and repairs")
        found = self._log.read()
        if isinstance(event, DamageRepaired) and event.file not in _FILES:
            # What is wrong in the files themselves is cut off by the reading that finds it.
            self.is_early |= found == self._found
        self._found = found


@dataclass(slots=True, kw_only=True)
class _Slot:
    """A base, None for genesis, and the entries above it.

    Attributes:
        height: The base's.
        base: Its header and its snapshot, where it is sound.
        is_sound: Whether it is.
        entries: The entries of which no byte is damaged.
        sound: The number of the first of them that lead to their headers' roots.
        damage: File and place of the first damaged entry.
        is_torn: Whether the end of the log is torn.
    """

    height: int
    base: StateBase | None
    is_sound: bool
    entries: list[FinalizedEntry]
    sound: int
    damage: tuple[str, int] | None = None
    is_torn: bool = False


class _Expected(NamedTuple):
    """The outcome of a start: base and entries that are left, what is told, and whether an end was torn."""

    base: StateBase | None
    height: int
    entries: list[FinalizedEntry]
    told: list[tuple[type[TraceEvent], str, int]]
    is_torn: bool


def _write(disk: SimulatedDisk, draw: Draw) -> list[_Slot]:
    """Write a log above genesis, and one above each of some bases."""
    log = FinalizedLog(disk)
    log.recover()
    slots: list[_Slot] = []
    height = 0
    for number in range(1 + draw(_BASES_MAX)):
        slot = _Slot(height=height, base=None, is_sound=True, entries=[], sound=0)
        if number:
            height += draw(_GAP_MAX)
            slot = _install(log, height, draw)
        count = draw(_ENTRIES_MAX)
        slot.sound = draw(count + 1) if draw(3) else count
        kind, ends = draw(3), [disk.size(_FILES[number % 2])]
        for place in range(count):
            height += 1
            entry = _make_entry(height)
            if place >= slot.sound:
                entry = _spoil(entry, kind, is_first=place == slot.sound)
            slot.entries.append(entry)
            log.append(entry)
            ends.append(disk.size(_FILES[number % 2]))
        _damage(disk, slot, name=_FILES[number % 2], ends=ends, draw=draw)
        disk.finish_sync(disk.begin_sync())
        slots.append(slot)
        height += draw(2)
    return slots


def _make_entry(height: int) -> FinalizedEntry:
    return FinalizedEntry(height, bytes([height] * 32), _make_header(height), (b"one", bytes([height])))


def _make_header(height: int, root: bytes = _RIGHT) -> bytes:
    zeros = bytes(32)
    return encode_header(Header(VERSION, height, 0, height, zeros, 0, 0, 0, root, zeros, zeros))


def _spoil(entry: FinalizedEntry, kind: int, *, is_first: bool) -> FinalizedEntry:
    """Return one of the entries that lead elsewhere: by the first one's operations, or by the headers of all."""
    if kind == 0:
        return msgspec.structs.replace(entry, operations=(*entry.operations, _WRONG)) if is_first else entry
    return msgspec.structs.replace(
        entry, header=_make_header(entry.height, _WRONG) if kind == 1 else entry.header + b"\0"
    )


def _install(log: FinalizedLog, height: int, draw: Draw) -> _Slot:
    """Install a base, sound or not."""
    snapshot = Snapshot(height + 1, 0, 0, _RIGHT, b"witness", (), (b"operation",))
    base = StateBase(_make_header(height), snapshot)
    stored, kind = base, draw(6)
    if kind == 0:
        stored = StateBase(base.header, msgspec.structs.replace(snapshot, root=_WRONG))
    elif kind == 1:
        stored = StateBase(base.header[:-1], snapshot)
    log.install(height=height, encoded=b"\x93\x01\x02\x03" if kind == 2 else msgspec.msgpack.encode(stored))
    return _Slot(height=height, base=base, is_sound=kind > 2, entries=[], sound=0)


def _damage(disk: SimulatedDisk, slot: _Slot, *, name: str, ends: list[int], draw: Draw) -> None:
    """Damage an entry, or tear the end off."""
    kind, count = draw(3), len(slot.entries)
    if kind == 0 and count:
        place = draw(count)
        at = ends[place] + draw(ends[place + 1] - ends[place])
        disk.overwrite(name, at, bytes([disk.read(name, at, 1)[0] ^ 1]))
        slot.damage = name, ends[place]
        del slot.entries[place:]
    elif kind == 1 and count:
        disk.truncate(name, ends[-1] - 1 - draw(ends[-1] - ends[-2] - 1))
        slot.is_torn = True
        del slot.entries[-1]
    slot.sound = min(slot.sound, len(slot.entries))


def _expect(slots: list[_Slot]) -> _Expected:
    """Return what a start has to make of the last two logs; those before them are gone."""
    told: list[tuple[type[TraceEvent], str, int]] = []
    is_torn = False
    for slot in reversed(slots[-2:]):
        is_torn = is_torn or slot.is_torn
        if slot.damage is not None:
            told += [(DamageFound, *slot.damage), (DamageRepaired, *slot.damage)]
        if slot.is_sound:
            if slot.sound < len(slot.entries):
                told.append((DamageFound, "operations", len(slot.entries)))
                told.append((DamageRepaired, "operations", slot.sound))
            return _Expected(slot.base, slot.height + slot.sound, slot.entries[: slot.sound], told, is_torn)
        told += [(DamageFound, "operations", len(slot.entries)), (DamageRepaired, "snapshot", 0)]
    return _Expected(None, 0, [], told, is_torn)


def _judge_by(make_error: Callable[[], Exception]) -> LayerOf:
    """Return a stub that refuses unsound logs by an error, and returns the others in a layer's place."""

    def layer_of(log: RestoredLog) -> ExecutionLayer:
        base = log.read_base()
        header = log.last_header(base)
        is_wrong = _WRONG in log.operations() or (header is not None and header.state_root == _WRONG)
        if is_wrong or (base is not None and base.snapshot.root == _WRONG):
            raise make_error()
        return cast("ExecutionLayer", log)

    return layer_of


def _compare(found: Reopened, expected: _Expected, what: str) -> Asked:
    base, entries = expected.base, expected.entries
    yield f"{what} keeps other entries than are sound", found.entries == entries
    header = entries[-1].header if entries else None if base is None else base.header
    log = cast("RestoredLog", found.layer)
    yield f"{what} opens its layer from other entries than are sound", list(log.entries) == entries
    yield f"{what} opens its layer from another base", log.read_base() == base
    last = log.last_header(log.read_base())
    yield f"{what} opens its layer by another header", header == (None if last is None else encode_header(last))
