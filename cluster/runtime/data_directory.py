"""Validators' disks as directories that outlive the process: ``run --data-dir``.

A data directory holds ``validator-N`` for each disk, ``watch-N`` beside it, ``watch-faults``, and a manifest with its
scenario and seed. It is made aside and renamed, so that it is either complete or absent. The cluster writes the watch
and syncs it entry by entry: the sent votes, the finalized digests, and their times. A run that reopens the directory
continues one slot after the latest time in any watch. It takes the faults' earlier effects from ``watch-faults``.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from checker.checks import OF_ONE_PROCESS
from checker.record.errors import ReportedError
from checker.record.fingerprint import Code
from checker.record.host import naming
from checker.record.locks import held
from checker.record.places import LOCK, work_directory
from checker.record.plain_files import UnsuitableFileError, is_lost, open_descriptor, read_plain, resolved
from checker.record.plugins import code_with
from checker.record.streams import TIME_LIMIT_US
from checker.results import FORMER_NAMES, CheckResult
from cluster.runtime.directory_disk import DirectoryDisk, sync_directory
from cluster.runtime.genesis import genesis_of, keys_of
from cluster.scenario.load import encode_scenario
from cluster.scenario.model import Scenario
from faults import Touched, kind_of
from network.events import Event, LoggedValues, Value
from validators.events import BlockFinalized, BlockRolledBack, BlockUndone, Booted, Halted, SnapshotJoined, Voted
from validators.identity import journal_head
from validators.storage import FinalizedLog, Record, RecordFile, provision

FORMAT: Final = 3
FORMATS_READ: Final = (1, 2, 3)
"""Formats that a run can continue; a directory of format 1 does not name the code that wrote it."""

FORMAT_WHOLE: Final = 3
"""From this format on a directory is made with all its parts; before, files appeared when they were first written."""

WATCH_ENTRIES: Final[Mapping[str, Any]] = {
    each.kind: each for each in (Booted, Voted, BlockFinalized, BlockRolledBack, BlockUndone, SnapshotJoined)
}
WATCHED: Final = tuple(WATCH_ENTRIES)
_MANIFEST: Final = "stampede.json"
_MANIFEST_BYTES_MAX: Final = 4_096
_CODES: Final = "code.jsonl"
"""The code versions that have written here: a line for each, in the order of the openings."""

_CODES_BYTES_MAX: Final = 16 * 1024 * 1024
_CODE_BEGINS: Final = b'{"fingerprint":"'
_ADVICE: Final = "put it back from a copy, or begin anew with another --data-dir; nothing was changed"
_WATCH: Final = "watch"
_TOUCHED: Final = "fault"
_SHOWN: Final = "shown"
"""Entries of the file of faults: the effect of a fault, and a promise that was kept."""

FAULT_ENTRIES: Final[Mapping[str, Any]] = {_TOUCHED: tuple[str, int, int], _SHOWN: tuple[str]}


class DataDirectoryError(ReportedError):
    """A directory that this run cannot use: ``path`` and the reason."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class DirectoryManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The identity of the run whose data a directory holds."""

    format: int
    scenario: str
    scenario_digest: str
    seed: int


class WatchEntry(msgspec.Struct, frozen=True, array_like=True):
    """An event of one of the types in `WATCHED`, with its values.

    Starts are watched too: a kill may come after a block was synced and before it was sent, and the next life continues
    above it.
    """

    at_us: Annotated[int, msgspec.Meta(ge=0, lt=TIME_LIMIT_US)]
    kind: str
    values: tuple[Any, ...]


class WatchFile:
    """The votes and blocks that one validator has sent, over all processes.

    Args:
        path: The directory of the watch.
        schemas: By the kind of an entry, the type of its values.

    Raises:
        DataDirectoryError: The file is damaged before its end, or holds an invalid entry; it stays as it is.
        UnsuitableFileError: An entry of the directory is no plain file, or too long.
        OSError: The file system refuses.
    """

    def __init__(self, path: Path, schemas: Mapping[str, Any] = WATCH_ENTRIES) -> None:
        self._disk = DirectoryDisk(path)
        self._file = RecordFile(self._disk, _WATCH)
        self._is_cut = False
        try:
            records, self._end = _read_watch(path, self._file)
            self.entries = [_read_entry(path, record, schemas) for record in records]
        except BaseException:
            self._disk.close()
            raise

    def add(self, at_us: int, kind: str, values: Sequence[Value]) -> None:
        """Append an entry in place of a torn tail, if there is any, and sync it; raises DiskError."""
        if not self._is_cut:
            self._file.cut(self._end)
            self._is_cut = True
        self._file.append(msgspec.msgpack.encode((at_us, kind, values)))
        self._disk.finish_sync(self._disk.begin_sync())

    def close(self) -> None:
        """Close the file."""
        self._disk.close()


def _read_watch(path: Path, file: RecordFile) -> tuple[list[Record], int]:
    """Return the records of a watch, and the end of the last record; raises DataDirectoryError."""
    records, damages = file.read()
    end = records[-1].end if records else 0
    # A torn tail was never synced; all other records were, and the checks would miss them.
    if damages and not (damages[0].offset == end and file.is_torn_from(end)):
        raise DataDirectoryError(path, f"what was watched is damaged at byte {damages[0].offset}; {_ADVICE}")
    return records, end


def _read_entry(path: Path, record: Record, schemas: Mapping[str, Any]) -> WatchEntry:
    try:
        entry = msgspec.msgpack.decode(record.payload, type=WatchEntry)
        if entry.kind in schemas:
            msgspec.convert(entry.values, schemas[entry.kind], builtin_types=(bytes,))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise DataDirectoryError(path, f"what was watched is no entry at byte {record.offset}: {error}") from None
    return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class DataDirectory:
    """An open data directory. ``start_us`` is when the run continues, ``height`` its greatest finalized height; 0: new.

    ``written_by`` is the last code version that wrote here, None if none is recorded.
    """

    path: Path
    written_by: Code | None
    disks: list[DirectoryDisk]
    watches: list[WatchFile]
    faults: WatchFile
    touched: dict[str, Touched]
    shown: dict[str, None]
    start_us: int
    height: int
    hold: ExitStack

    def opening(self) -> bytes:
        """Return the identity of a run that continues this directory: its place, and its contents at the opening."""
        history = hashlib.sha256(msgspec.msgpack.encode([watch.entries for watch in self.watches])).hexdigest()
        return msgspec.json.encode({"data_directory": str(self.path), "history": history}) + b"\n"

    def history(self) -> list[Event]:
        """Return the entries that earlier processes watched, by time, and for each validator in writing order."""
        events = (
            Event(entry.at_us, node, LoggedValues(entry.kind, entry.values))
            for node, watch in enumerate(self.watches)
            for entry in watch.entries
        )
        return sorted(events, key=lambda event: (event.at_us, event.node))

    def observe(self, event: Event) -> None:
        """Watch one event of the run; raises DiskError."""
        if event.kind in WATCHED:
            self.watches[event.node].add(event.at_us, event.kind, event.values)
        elif event.kind == Halted.kind:
            self.raise_refusal()

    def record_faults(self, at_us: int, found: Iterable[tuple[str, Touched]], *, only_new: bool = False) -> None:
        """Record changed effects of faults; ``only_new``: only faults that had no effect before."""
        for name, touched in found:
            before = self.touched.get(name)
            if touched != before and any(touched) and not (only_new and before is not None):
                self.faults.add(at_us, _TOUCHED, (name, *touched))
                self.touched[name] = touched

    def remember(self, at_us: int, check: CheckResult) -> CheckResult:
        """Record that an expectation was met, or return that an earlier process met it and this run has not."""
        if check.name in OF_ONE_PROCESS and check.status == "passed" and check.name not in self.shown:
            self.faults.add(at_us, _SHOWN, (check.name,))
            self.shown[check.name] = None
        elif check.status == "inconclusive" and check.name in self.shown:
            return CheckResult(check.name, "passed", check.exit_class, "done earlier, by the directory's record", (), 1)
        return check

    def note_code(self, code: Code) -> None:
        """Add the running code version to the list, unless it was the last; raises OSError."""
        if self.written_by != code:
            _add_code(self.path, code)

    def raise_refusal(self) -> None:
        """Raise an error that the file system returned to a validator: the validator is not at fault."""
        for disk in self.disks:
            if disk.refusal is not None:
                raise disk.refusal

    def close(self) -> None:
        """Close all files and let the directory go."""
        for disk in self.disks:
            disk.close()
        for watch in (*self.watches, self.faults):
            watch.close()
        self.hold.close()


def open_data_directory(path: Path, scenario: Scenario, seed: int) -> DataDirectory:
    """Open a data directory, or make it if there is none.

    Raises:
        DataDirectoryError: It belongs to another scenario or seed, lacks a part, or is invalid; or the faults differ.
        InUseError: Another process has it open.
        OSError: The file system refuses.
    """
    for name, fault in scenario.faults.items():
        if fault.enabled and not fault.runs_on_real_disks():
            raise DataDirectoryError(path, f"a real disk cannot be given faults.{name}, which is a {kind_of(fault)}")
    manifest = DirectoryManifest(FORMAT, scenario.name, hashlib.sha256(encode_scenario(scenario)).hexdigest(), seed)
    if is_lost(path):
        raise DataDirectoryError(path, "is a link that leads to no directory")
    with naming(place := resolved(path)):
        return _open(place, scenario, manifest)


def _open(path: Path, scenario: Scenario, manifest: DirectoryManifest) -> DataDirectory:
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        if path.exists() and path.samefile(Path.cwd()):
            raise DataDirectoryError(path, "is the working directory, whose place a new data directory cannot take")
        _make(path, scenario, manifest)
    found = _claim(path, manifest, code_with(scenario.plugins))
    with ExitStack() as hold:
        hold.enter_context(held(path / LOCK, path))
        _check_parts(path, found.format, scenario)
        return _open_held(path, scenario, found.format, hold)


def _open_held(path: Path, scenario: Scenario, made_as: int, hold: ExitStack) -> DataDirectory:
    """Open a directory's files; the result gets the hold on it, which stays with the caller if that fails."""
    written_by = _last_code(path, made_as)
    nodes = range(scenario.replicas)
    disks = [DirectoryDisk(path / f"validator-{node}") for node in nodes]
    watches = [WatchFile(path / f"watch-{node}") for node in nodes]
    heights = list(map(_height, disks))
    for node, (height, watch) in enumerate(zip(heights, watches, strict=True)):
        # Each start is watched, and comes before any block.
        if height and not watch.entries and made_as >= FORMAT_WHOLE:
            found = f"watch-{node} has no record, and validator-{node} has height {height}"
            raise DataDirectoryError(path, f"is damaged: {found}; {_ADVICE}")
    times_us = [entry.at_us for watch in watches for entry in watch.entries[-1:]]
    start_us = max(times_us) + scenario.chain.slot_ms * 1_000 if times_us else 0
    faults = WatchFile(path / "watch-faults", FAULT_ENTRIES)
    return DataDirectory(
        path=path,
        written_by=written_by,
        disks=disks,
        watches=watches,
        faults=faults,
        touched={entry.values[0]: Touched(*entry.values[1:]) for entry in faults.entries if entry.kind == _TOUCHED},
        shown={
            FORMER_NAMES.get(entry.values[0], entry.values[0]): None for entry in faults.entries if entry.kind == _SHOWN
        },
        start_us=start_us,
        height=max(heights),
        hold=hold.pop_all(),
    )


def _height(disk: DirectoryDisk) -> int:
    base, entries, _ = FinalizedLog(disk).read()
    return entries[-1].height if entries else 0 if base is None else base.height


def _claim(path: Path, manifest: DirectoryManifest, code: Code) -> DirectoryManifest:
    """Return a directory's own manifest, which is never rewritten, if the directory belongs to this run."""
    try:
        content = read_plain(path / _MANIFEST, _MANIFEST_BYTES_MAX, follows_links=False)
        found = msgspec.json.decode(content, type=DirectoryManifest)
    except OSError as error:
        raise DataDirectoryError(path, "is no data directory of this program") from error
    except (UnsuitableFileError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        reason = error.reason if isinstance(error, UnsuitableFileError) else error
        raise DataDirectoryError(path, f"its {_MANIFEST} is not one: {reason}") from error
    for name in DirectoryManifest.__struct_fields__:
        ours, theirs = getattr(manifest, name), getattr(found, name)
        if ours != theirs and not (name == "format" and theirs in FORMATS_READ):
            # A new key of scenarios changes the digest too: the user has to know that the code is another.
            written_by = _last_code(path, found.format) if name == "scenario_digest" else None
            since = "" if written_by in (None, code) else f"; it was written by {written_by}; this is {code}"
            reason = f"its {name} is {theirs}, this run's is {ours}{since}"
            raise DataDirectoryError(path, f"belongs to another run, or to another version of it: {reason}")
    return found


def _check_parts(path: Path, made_as: int, scenario: Scenario) -> None:
    """Refuse a directory that lacks an original part: made anew it would look like a validator's loss.

    An observer's disk may be empty: its mode empties it, and a kill may have come before it was filled again.
    """
    replicas, voters = scenario.replicas, scenario.cluster.validators
    whole = made_as >= FORMAT_WHOLE
    parts = [f"validator-{node}" for node in range(replicas)] + [f"watch-{node}" for node in range(replicas)]
    missing = [part for part in parts + ["watch-faults", _CODES] * whole if not os.path.lexists(path / part)]
    missing += [part for part in parts[:voters] if part not in missing and not any((path / part).iterdir())]
    watches = [part for part in (*parts[replicas:], "watch-faults") if whole and part not in missing]
    missing += [f"{part}/{_WATCH}" for part in watches if not os.path.lexists(path / part / _WATCH)]
    if missing:
        raise DataDirectoryError(path, f"is damaged: {', '.join(missing)} missing or empty; {_ADVICE}")


def _last_code(path: Path, made_as: int) -> Code | None:
    """Return the last code version that wrote here; None for an older directory without a list.

    Raises:
        DataDirectoryError: The list holds anything else than lines of codes, or nothing.
        UnsuitableFileError: It is no plain file, or too long.
        OSError: The file system refuses.
    """
    try:
        content = read_plain(path / _CODES, _CODES_BYTES_MAX, follows_links=False)
    except FileNotFoundError:
        return None
    code, offset = None, 0
    for line in content.split(b"\n"):
        try:
            code = Code(**msgspec.json.decode(line, type=dict[Literal["fingerprint", "commit", "python"], str]))
        except (msgspec.MsgspecError, UnicodeError):
            # A kill may have torn a line; a later opening wrote the next line below it.
            if not _is_beginning_of_line(line.rstrip(b"\0")):
                raise DataDirectoryError(
                    path, f"is damaged: {_CODES} at byte {offset} names no code; {_ADVICE}"
                ) from None
        offset += len(line) + 1
    if code is None and made_as >= FORMAT_WHOLE:
        raise DataDirectoryError(path, f"is damaged: {_CODES} names no code; {_ADVICE}")
    return code


def _is_beginning_of_line(line: bytes) -> bool:
    return _CODE_BEGINS.startswith(line) or (line.startswith(_CODE_BEGINS) and b"}" not in line)


def _add_code(path: Path, code: Code) -> None:
    """Append a line to the list of codes; raises OSError."""
    line = msgspec.json.encode(code._asdict()) + b"\n"
    descriptor = open_descriptor(path / _CODES, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, _CODES_BYTES_MAX)
    try:
        size = os.fstat(descriptor).st_size
        last = os.pread(descriptor, 1, max(0, size - 1))
        os.pwrite(descriptor, line if last in {b"", b"\n"} else b"\n" + line, size)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_directory(path)


def _make(path: Path, scenario: Scenario, manifest: DirectoryManifest) -> None:
    """Provision every replica's disk, aside, and move it into place atomically."""
    with work_directory(path.parent, path.name) as aside:
        _fill(aside, scenario, manifest)
        aside.rename(path)
    sync_directory(path.parent)


def _fill(aside: Path, scenario: Scenario, manifest: DirectoryManifest) -> None:
    keys = keys_of(scenario)
    genesis = genesis_of(scenario, keys)
    for node in range(scenario.replicas):
        disk = DirectoryDisk(aside / f"validator-{node}")
        provision(disk, journal_head(genesis, node, keys.validator_keys))
        disk.close()
    for watch in (*(f"watch-{node}" for node in range(scenario.replicas)), "watch-faults"):
        (aside / watch).mkdir()
        (aside / watch / _WATCH).touch()
        DirectoryDisk(aside / watch).close()
    _add_code(aside, code_with(scenario.plugins))
    with (aside / _MANIFEST).open("wb") as file:
        file.write(msgspec.json.encode(manifest) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    sync_directory(aside)
