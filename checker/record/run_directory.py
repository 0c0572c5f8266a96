"""The run directory: its only writer and its only reader.

Invariants: a directory under its final name is complete, because it is renamed to this name at the end. Its manifest
holds size and SHA-256 of every other file but the page; the reader checks them before it returns data. Input is data of
bounded size and depth; every error in it raises a DamagedRecordError with the place.

Streams are sequences of msgpack arrays, so that a log that does not fit in memory can be written and read.
events.msgpack is the run's log byte for byte: its SHA-256 is the run's digest. Pickle was rejected because reading it
runs code, a JSON file because it has to fit in memory.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Annotated, Any, Final, Self

import msgpack  # type: ignore[import-untyped]  # it ships no type information
import msgspec

from checker.record.manifest import (
    FORMAT,
    KIND,
    MANIFEST,
    REPORT,
    SCENARIO,
    FileEntry,
    Manifest,
    describe_file,
    hash_file,
    read_manifest,
)
from checker.record.places import RecordExistsError, put_in_place, refuse_foreign, work_directory
from checker.record.plain_files import resolved
from checker.record.plugins import code_with, plugin_codes
from checker.record.stream_files import (
    BLOCKS,
    BRANCHES,
    ENGINE_CALLS,
    EVENTS,
    GENESIS,
    ROOTS,
    STREAMS,
    SUMMARIES,
    WAITS,
    read_blocks,
    read_branches,
    read_engine_calls,
    read_events,
    read_final_blocks,
    read_genesis,
    read_roots,
    read_summaries,
    read_waits,
)
from checker.record.streams import (
    DOCUMENT_BYTES_MAX,
    STREAM_BYTES_MAX,
    BlockRecord,
    BranchRecord,
    DamagedRecordError,
    Difference,
    Node,
    Number,
    OldestWait,
    RootRecord,
    WaitRecord,
    describe_event,
    first_difference,
    iterate_events,
    open_file,
    read_document,
)
from checker.results import CheckResult, with_names_of_today
from network.events import Event, TraceEvent
from validators.execution import BlockSummary

__all__ = [
    "BLOCKS",
    "BRANCHES",
    "ENGINE_CALLS",
    "EVENTS",
    "GENESIS",
    "REQUIRED_FILES",
    "ROOTS",
    "STREAMS",
    "SUMMARIES",
    "VERDICT",
    "WAITS",
    "BlockRecord",
    "BranchRecord",
    "DamagedRecordError",
    "Difference",
    "Manifest",
    "RecordExistsError",
    "RecordReader",
    "RecordWriter",
    "RootRecord",
    "describe_event",
    "first_difference",
    "iterate_events",
    "read_blocks",
    "read_branches",
    "read_engine_calls",
    "read_events",
    "read_final_blocks",
    "read_genesis",
    "read_manifest",
    "read_roots",
    "read_summaries",
    "read_waits",
]

VERDICT: Final = "verdict.json"

REQUIRED_FILES: Final = (SCENARIO, GENESIS, BLOCKS, EVENTS, ROOTS, VERDICT)
"""The files of every run besides its manifest; a run may have more files, for example a report."""


class _Replica(msgspec.Struct):
    node: Node
    status: str = ""
    note: str = ""


class _Hits(msgspec.Struct):
    kind: str
    phase: str
    role: str
    hits: Number


class VerdictParts(msgspec.Struct):
    """The parts of a verdict that are read from a record; other parts are shown as they are, if at all."""

    checks: list[dict[str, Any]] = []
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0
    verdict: str = ""
    exit_code: int = 0
    headline: str = ""
    digest: str = ""
    repeat: str = ""
    code: dict[str, str] = {}
    figures: dict[str, int | str] = {}
    validators: list[_Replica] = []
    coverage: list[_Hits] = []
    reopened: str | bool | None = None


class RecordWriter:
    """Writes one run directory beside its final place, and moves it there at `finish`; see checker.record.places.

    Leaving a `with` block without `finish` removes the files written so far.

    Args:
        path: The final place, unless another run is there.
        plugins: The plug-ins that take part in the run.

    Raises:
        RecordExistsError: The final place is taken by something else than a run directory.
        OSError: The disk refuses.
    """

    def __init__(self, path: Path, plugins: Collection[str] = ()) -> None:
        self.path = resolved(path)
        refuse_foreign(self.path)
        # Now, not at the end: an edit of a source while the run goes on is not part of the run.
        self._code = code_with(plugins)
        self._plugins = plugin_codes(plugins)
        self._stay = ExitStack()
        self.directory = self._stay.enter_context(work_directory(self.path.parent, self.path.name))
        self._open_files: dict[str, IO[bytes]] = {}
        self._packer = msgpack.Packer()
        for name in STREAMS:
            self._open_files[name] = (self.directory / name).open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.abandon()
        if isinstance(error, OSError) and error.filename is None:
            # An error of writing to an open file does not name the file.
            error.filename = str(self.path)

    def write_scenario(self, encoded: bytes) -> None:
        """Write the resolved scenario."""
        self.write_file(SCENARIO, encoded)

    def write_genesis(self, encoded: bytes) -> None:
        """Write the encoded genesis."""
        self.write_file(GENESIS, encoded)

    def write_verdict(self, document: Mapping[str, object]) -> None:
        """Write the verdict as indented JSON."""
        self.write_file(VERDICT, msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")

    def write_file(self, name: str, content: bytes) -> None:
        """Write a file in one piece; names besides the required names are allowed, for example a report."""
        assert name != MANIFEST, "the manifest is written by finish"
        (self.directory / name).write_bytes(content)

    def add_block(self, *, height: int, digest: bytes, root: bytes, block: bytes) -> None:
        """Append a finalized block; heights ascend from 1."""
        self._add(BLOCKS, (height, digest, root, block))

    def add_root(self, *, node: int, height: int, digest: bytes, root: bytes) -> None:
        """Append a block that one validator finalized at a height, with its root."""
        self._add(ROOTS, (node, height, digest, root))

    def add_branch(self, record: BranchRecord) -> None:
        """Append a block that a validator executed, whether or not it becomes final."""
        self._add(BRANCHES, msgspec.structs.astuple(record))

    def add_summary(self, summary: BlockSummary) -> None:
        """Append the numbers of a finalized block; heights ascend from 1."""
        self._add(SUMMARIES, msgspec.structs.astuple(summary))

    def add_waits(self, waits: Iterable[OldestWait]) -> None:
        """Append the oldest waits of a finalized block; heights ascend from 1."""
        self._add(WAITS, (tuple(msgspec.structs.astuple(each) for each in waits),))

    def add_events(self, records: bytes | bytearray | memoryview) -> None:
        """Append encoded events: the run's log, or its next part."""
        self._open_files[EVENTS].write(records)

    def digest_of(self, name: str) -> str:
        """Return the SHA-256 of a written file, in hexadecimal digits."""
        self.flush()
        return describe_file(self.directory / name).sha256

    def flush(self) -> None:
        """Write buffered data to `directory`, so that the cold replay can read it."""
        for opened in self._open_files.values():
            opened.flush()

    def finish(self, *, scenario: str, seed: int, digest: bytes, verdict: str) -> Path:
        """Write the manifest, move the directory to its place, and return that.

        A run of the same plan, seed and code is replaced; beside any other run the name gets a few digits more.

        Raises:
            RecordExistsError: Something else than run directories has come to stand there, whatever the name.
        """
        self._close()
        evidence = (path for path in sorted(self.directory.iterdir()) if path.name != REPORT)
        files = {path.name: describe_file(path) for path in evidence}
        manifest = Manifest(
            kind=KIND,
            format=FORMAT,
            scenario=scenario,
            seed=seed,
            digest=digest.hex(),
            verdict=verdict,
            **self._code._asdict(),
            plugins=self._plugins,
            files=files,
        )
        content = msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n"
        (self.directory / MANIFEST).write_bytes(content)
        self.directory.chmod(0o755)  # mkdtemp lets only the owner in; a run directory is like any other
        self.path = put_in_place(self.directory, self.path)
        return self.path

    def abandon(self) -> None:
        """Remove the written files; does nothing after `finish`."""
        for opened in self._open_files.values():
            # Closing fails as well where the disk is full, which may be why the record is abandoned.
            with suppress(OSError):
                opened.close()
        self._stay.close()

    def _add(self, name: str, record: tuple[object, ...]) -> None:
        self._open_files[name].write(self._packer.pack(record))

    def _close(self) -> None:
        for opened in self._open_files.values():
            opened.close()


class RecordReader:
    """Reads a run directory; everything in it has been checked against the manifest when the constructor returns.

    Raises:
        DamagedRecordError: A file is missing, is not of this project, or does not match the manifest.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = read_manifest(path)
        # Format 1 is older than the executed blocks.
        for name in REQUIRED_FILES if self.manifest.format == 1 else (*REQUIRED_FILES, BRANCHES):
            if name not in self.manifest.files:
                raise DamagedRecordError(path, MANIFEST, f"does not list {name}")
        for name, entry in sorted(self.manifest.files.items()):
            self._check_file(name, entry)
        if self.manifest.files[EVENTS].sha256 != self.manifest.digest:
            raise DamagedRecordError(path, MANIFEST, f"the run's digest is not the SHA-256 of {EVENTS}")

    def scenario(self) -> bytes:
        """Return the bytes of the resolved scenario."""
        return read_document(self.path, SCENARIO)

    def genesis(self) -> bytes:
        """Return the encoded genesis."""
        return read_document(self.path, GENESIS)

    def verdict(self) -> dict[str, object]:
        """Return the verdict's JSON object, once its parts were found to be of their types."""
        content = read_document(self.path, VERDICT)
        try:
            msgspec.json.decode(content, type=VerdictParts)
            return msgspec.json.decode(content, type=dict[str, object])
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise DamagedRecordError(self.path, VERDICT, str(error)) from None

    def checks(self) -> tuple[CheckResult, ...]:
        """Return the results of the run's checks."""
        try:
            return with_names_of_today(msgspec.convert(self.verdict().get("checks"), tuple[CheckResult, ...]))
        except (msgspec.ValidationError, AssertionError) as error:
            raise DamagedRecordError(self.path, VERDICT, f"holds no checks: {error}") from None

    def blocks(self) -> Iterator[BlockRecord]:
        """Yield the finalized blocks, lowest height first."""
        return read_blocks(self.path)

    def roots(self) -> Iterator[RootRecord]:
        """Yield each validator's finalized blocks with their roots, in the order in which it finalized them."""
        yield from read_roots(self.path)

    def branches(self) -> Iterator[BranchRecord]:
        """Yield the executed blocks, in the order of their first execution; older records have no such blocks."""
        if BRANCHES in self.manifest.files:
            yield from (record for _, record in read_branches(self.path))

    def summaries(self) -> Iterator[BlockSummary]:
        """Yield the numbers of the finalized blocks, lowest height first; older records have none."""
        if SUMMARIES in self.manifest.files:
            yield from read_summaries(self.path)

    def waits(self) -> Iterator[WaitRecord]:
        """Yield the oldest waits of the finalized blocks, lowest height first; older records have none."""
        if WAITS in self.manifest.files:
            yield from read_waits(self.path)

    def events(self, types: Collection[type[TraceEvent]] = ()) -> Iterator[Event]:
        """Yield the run's events in the order of the log; see `read_events`."""
        yield from read_events(self.path, types)

    def engine_calls(self) -> Iterator[Event]:
        """Yield the calls of the engines that differ from their specification; see `read_engine_calls`."""
        if ENGINE_CALLS in self.manifest.files:
            yield from read_engine_calls(self.path)

    def read_all(self) -> None:
        """Read every record once, so that a malformed record is refused before any record is used."""
        self.checks()
        streams: tuple[Iterator[object], ...] = (self.blocks(), self.roots(), self.branches(), self.summaries())
        for stream in (*streams, self.waits(), self.events(), self.engine_calls()):
            for _ in stream:
                pass

    def _check_file(self, name: str, entry: FileEntry) -> None:
        with open_file(self.path, name, STREAM_BYTES_MAX if name in STREAMS else DOCUMENT_BYTES_MAX) as opened:
            # The size comes first: reading a sparse file takes as long as reading a full file.
            size = os.fstat(opened.fileno()).st_size
            if size != entry.size:
                raise DamagedRecordError(self.path, name, f"{size:,} bytes instead of {entry.size:,}")
            try:
                sha256 = hash_file(opened)
            except OSError as error:
                raise DamagedRecordError(self.path, name, f"cannot be read: {error.strerror}") from None
        if sha256 != entry.sha256:
            raise DamagedRecordError(self.path, name, f"SHA-256 is {sha256}, the manifest says {entry.sha256}")
