"""A run as Parquet files for notebooks: events, blocks, timers, roots, and the events that an application told."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import islice, repeat
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec

from checker.record.cold_replay import open_engine, replay_blocks
from checker.record.errors import ReportedError, on_one_line
from checker.record.places import ForeignFileError, OwnFile, refuse_other_file, work_directory
from checker.record.program import install_command
from checker.record.run_directory import (
    SUMMARIES,
    RecordReader,
    read_events,
    read_final_blocks,
    read_roots,
    read_summaries,
)
from cluster.inspect.told_events import ToldEvents, told_blocks, told_events_of
from cluster.timers.lifecycles import NOT_YET, TimerLives
from cluster.timers.told_lives import ToldTimerLives
from network.events import Event

TABLES: Final = ("events", "blocks", "timers", "roots", "told")
"""The names of the tables, a file each; only runs of an outside application have the last."""

PARQUET: Final = OwnFile(b"PAR1", "Parquet file")

ROWS_AT_ONCE: Final = 50_000
"""Rows of a group: a log need not fit in memory."""

UNSIGNED: Final = ("expires_at",)
"""Columns with numbers of 64 bits without a sign: an expiry may lie above 2^63 - 1 (docs/chain.md)."""

Row = Mapping[str, Any]


class NoParquetError(ReportedError):
    """The library that writes Parquet is not installed."""

    exit_code: ClassVar[int] = 6


def library() -> tuple[Any, Any]:
    """Return pyarrow and its Parquet writer; raises NoParquetError."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ModuleNotFoundError as missing:
        raise NoParquetError(f"{missing.name} is not installed: {install_command('parquet')}") from None


def tables_of(directory: Path, refusals: list[str]) -> dict[str, Iterator[Row]]:
    """Return the rows of each table of a run directory by name; `refusals` gets what keeps it from all timers."""
    reader = RecordReader(directory)
    told = told_events_of(reader)
    timers = _timers(directory, refusals) if told is None else _told_timers(reader, told, refusals)
    rows = _events(read_events(directory)), _blocks(directory), timers, _roots(directory)
    tables = dict(zip(TABLES, rows, strict=False))
    return tables if told is None else {**tables, "told": _told(reader, told)}


def write_tables(directory: Path, out: Path, refusals: list[str]) -> dict[str, int]:
    """Write the tables of a run directory into a folder, a file each, and return their numbers of rows."""
    arrow, parquet = library()
    with work_directory(out.parent, out.name) as aside:
        tables = tables_of(directory, refusals)
        counts = {name: _write(aside / f"{name}.parquet", rows, arrow, parquet) for name, rows in tables.items()}
        out.mkdir(exist_ok=True)
        for name in TABLES:
            place = out / f"{name}.parquet"
            # A table of another run must not stay beside these.
            (aside / place.name).replace(place) if counts.get(name) else place.unlink(missing_ok=True)
    return counts


def refuse_other_tables(out: Path) -> None:
    """Raise ForeignFileError where a table would replace what is none."""
    if os.path.lexists(out) and not out.is_dir():
        raise ForeignFileError(f"{out} exists and is no folder; give another path or remove it")
    for name in TABLES:
        refuse_other_file(out / f"{name}.parquet", PARQUET)


def _write(path: Path, rows: Iterator[Row], arrow: Any, parquet: Any) -> int:  # noqa: ANN401 - an optional library
    count, writer = 0, None
    while group := list(islice(rows, ROWS_AT_ONCE)):
        schema = _schema_of(group[0], arrow) if writer is None else writer.schema
        table = arrow.Table.from_pylist(group, schema=schema)
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
        count += len(group)
    if writer is not None:
        writer.close()
    return count


def _schema_of(row: Row, arrow: Any) -> Any:  # noqa: ANN401 - an optional library
    """Return the types of a table's columns: text, signed numbers, and unsigned numbers where 64 bits are needed."""
    numbers = {name: arrow.uint64() if name in UNSIGNED else arrow.int64() for name in row}
    return arrow.schema([(name, arrow.string() if isinstance(row[name], str) else numbers[name]) for name in row])


def _events(events: Iterable[Event]) -> Iterator[Row]:
    for index, event in enumerate(events):
        values = json.dumps(event.values, default=lambda value: value.hex())
        yield {"index": index, "at_us": event.at_us, "node": event.node, "kind": event.kind, "values": values}


def _blocks(directory: Path) -> Iterator[Row]:
    has_summaries = (directory / SUMMARIES).exists()
    summaries = read_summaries(directory) if has_summaries else repeat(None)
    for (record, block), summary in zip(read_final_blocks(directory), summaries, strict=False):
        header = block.header
        yield {
            "height": record.height,
            "view": header.view,
            "proposer": header.proposer,
            "slot": header.slot,
            "timestamp_ms": header.timestamp_ms,
            "digest": record.digest.hex(),
            "root": record.root.hex(),
            "bytes": len(record.block),
            **({} if summary is None else msgspec.structs.asdict(summary)),
        }


def _roots(directory: Path) -> Iterator[Row]:
    for row in read_roots(directory):
        yield {"node": row.node, "height": row.height, "digest": row.digest.hex(), "root": row.root.hex()}


def _timers(directory: Path, refusals: list[str]) -> Iterator[Row]:
    """Yield a row for each timer: timers that left, by the block of their exit, then timers that wait at the end.

    If this code executes a block differently from the run, the rows end there, and `refusals` gets the reason.
    """
    lives = TimerLives()
    try:
        for executed in replay_blocks(directory, open_engine(directory)):
            yield from map(msgspec.structs.asdict, lives.follow(executed))
    except Exception as error:  # noqa: BLE001 - a run of a known bug or of other code: whatever breaks is the reason
        refusals.append(on_one_line(f"{type(error).__name__}: {error}"))
    yield from map(msgspec.structs.asdict, lives.waiting())


def _told_timers(reader: RecordReader, told: ToldEvents, refusals: list[str]) -> Iterator[Row]:
    """Yield a row for each timer of an application; a block without a recorded answer ends the rows."""
    lives = ToldTimerLives()
    try:
        for height, events in told_blocks(reader, told):
            yield from map(msgspec.structs.asdict, lives.take(height, events))
    except LookupError as missing:
        refusals.append(str(missing))
    yield from map(msgspec.structs.asdict, lives.waiting())


def _told(reader: RecordReader, told: ToldEvents) -> Iterator[Row]:
    """Yield a row for each event of a final block, as the application told it."""
    with suppress(LookupError):
        for height, events in told_blocks(reader, told):
            for index, event in enumerate(events):
                timer, due = str(event.get("timer", "")), event.get("due", NOT_YET)
                yield {
                    "height": height,
                    "index": index,
                    "event": event["event"],
                    "timer": timer,
                    "due": due,
                    "values": json.dumps(event),
                }
