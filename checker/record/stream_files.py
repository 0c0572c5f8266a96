"""The files of a run directory and what each holds: genesis, and streams of records with their types.

The directory may still lack its manifest. Every error raises a DamagedRecordError with file and place.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from checker.record.streams import (
    BLOCK_RECORD_BYTES_MAX,
    EVENT_BYTES_MAX,
    NATIVE_TYPES,
    NUMBER_MAX,
    BlockRecord,
    BranchRecord,
    DamagedRecordError,
    RootRecord,
    WaitRecord,
    read_document,
    read_event_record,
    stream_records,
)
from network.events import Event, TraceEvent, read_event
from validators.execution import Block, BlockSummary, InvalidEncodingError
from validators.execution.blocks import decode_block

GENESIS: Final = "genesis.msgpack"
BLOCKS: Final = "blocks.msgpack"
EVENTS: Final = "events.msgpack"
ROOTS: Final = "roots.msgpack"
BRANCHES: Final = "branches.msgpack"
SUMMARIES: Final = "summaries.msgpack"
WAITS: Final = "waits.msgpack"

ENGINE_CALLS: Final = "engine_calls.msgpack"
"""The calls of the engines that differ from their specification: no run that passed has it."""

STREAMS: Final = (BLOCKS, EVENTS, ROOTS, BRANCHES, SUMMARIES, WAITS)
"""Files that are read record by record; every other file is read in one piece."""

_Record = TypeVar("_Record", bound=msgspec.Struct)


def read_genesis(path: Path) -> bytes:
    """Return the encoded genesis of a run directory, which may still lack its manifest; raises DamagedRecordError."""
    return read_document(path, GENESIS)


def read_blocks(path: Path) -> Iterator[BlockRecord]:
    """Yield the finalized blocks of a run directory, which may still lack its manifest, lowest height first.

    Raises:
        DamagedRecordError: While iterating, at the first record that is not a block of the next height.
    """
    stream = stream_records(path, BLOCKS, BLOCK_RECORD_BYTES_MAX)
    for height, (offset, record) in enumerate(stream, start=1):
        block = _convert(path, BLOCKS, offset, record, kind=BlockRecord)
        if block.height != height:
            raise DamagedRecordError(path, f"{BLOCKS} at byte {offset}", f"height {block.height} instead of {height}")
        yield block


def read_final_blocks(path: Path) -> Iterator[tuple[BlockRecord, Block]]:
    """Yield the finalized blocks of a run directory, lowest height first, each with its decoded block.

    Raises:
        DamagedRecordError: While iterating, at the first record that holds no block of its height.
    """
    for record in read_blocks(path):
        place = f"{BLOCKS} at height {record.height}"
        try:
            block = decode_block(record.block)
        except InvalidEncodingError as error:
            raise DamagedRecordError(path, place, f"holds no block: {error}") from None
        if block.header.height != record.height:
            raise DamagedRecordError(path, place, f"holds a block of height {block.header.height}")
        yield record, block


def read_branches(path: Path) -> Iterator[tuple[int, BranchRecord]]:
    """Yield the executed blocks of a run directory, which may lack its manifest, each with its first byte's offset.

    Raises:
        DamagedRecordError: While iterating, at the first malformed record.
    """
    for offset, record in stream_records(path, BRANCHES, BLOCK_RECORD_BYTES_MAX):
        yield offset, _convert(path, BRANCHES, offset, record, kind=BranchRecord)


def read_roots(path: Path) -> Iterator[RootRecord]:
    """Yield each validator's finalized blocks of a run directory, which may lack its manifest; see RecordReader."""
    for offset, record in stream_records(path, ROOTS, EVENT_BYTES_MAX):
        yield _convert(path, ROOTS, offset, record, kind=RootRecord)


def read_summaries(path: Path) -> Iterator[BlockSummary]:
    """Yield the numbers of the finalized blocks of a run directory, which may lack its manifest; see RecordReader."""
    for offset, record in stream_records(path, SUMMARIES, EVENT_BYTES_MAX):
        summary = _convert(path, SUMMARIES, offset, record, kind=BlockSummary)
        # The type is the run's, which a mutant may fill with anything.
        if any(abs(number) > NUMBER_MAX for number in msgspec.structs.astuple(summary)):
            raise DamagedRecordError(path, f"{SUMMARIES} at byte {offset}", f"a number is above {NUMBER_MAX:,}")
        yield summary


def read_waits(path: Path) -> Iterator[WaitRecord]:
    """Yield the oldest waits of the finalized blocks of a run directory, which may lack its manifest."""
    for offset, record in stream_records(path, WAITS, EVENT_BYTES_MAX):
        yield _convert(path, WAITS, offset, record, kind=WaitRecord)


def read_events(path: Path, types: Collection[type[TraceEvent]] = ()) -> Iterator[Event]:
    """Yield the events of a run directory, which may lack its manifest, in the order of the log.

    Args:
        path: The run directory.
        types: The types that the caller reads: events of these come with their typed values.

    Raises:
        DamagedRecordError: While iterating, at the first record that is not an event, or whose values are not those
            of its type.
    """
    by_kind = {each.kind: each for each in types}
    for offset, record in stream_records(path, EVENTS, EVENT_BYTES_MAX):
        try:
            event = read_event_record(record)
            expected = by_kind.get(event.kind)
            body = None if expected is None else read_event(event, expected)
        except ValueError as error:
            raise DamagedRecordError(path, f"{EVENTS} at byte {offset}", str(error)) from None
        yield event if body is None else Event(event.at_us, event.node, body)


def read_engine_calls(path: Path) -> Iterator[Event]:
    """Yield the calls of the engines that differ from their specification; nothing where the record has none.

    An event's kind is the call, its values are the number of the life, the place of the call in it, and what
    `checker.record.engine_calls.encoded_calls` wrote.
    """
    if not (path / ENGINE_CALLS).exists():
        return
    for offset, record in stream_records(path, ENGINE_CALLS, EVENT_BYTES_MAX):
        try:
            yield read_event_record(record)
        except ValueError as error:
            raise DamagedRecordError(path, f"{ENGINE_CALLS} at byte {offset}", str(error)) from None


def _convert(path: Path, name: str, offset: int, record: object, *, kind: type[_Record]) -> _Record:
    try:
        return msgspec.convert(record, kind, builtin_types=NATIVE_TYPES)
    except msgspec.ValidationError as error:
        raise DamagedRecordError(path, f"{name} at byte {offset}", str(error)) from None
