"""A run as four Parquet files for notebooks: events, blocks, timers by block, and roots."""

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Final

from checker.record.errors import ReportedError
from checker.record.run_directory import SUMMARIES, read_blocks, read_events, read_roots, read_summaries
from network.events import Event
from validators.execution.blocks import decode_block

REQUIREMENTS: Final = "requirements/parquet.txt"

ROWS_AT_ONCE: Final = 50_000
"""Rows of a group: a log need not fit in memory."""

TIMER_COLUMNS: Final = (
    *("scheduled", "cancelled", "fired", "reverted", "expired", "insolvent"),
    *("waiting_live", "waiting_dead"),
)
"""Numbers of a block's summary: the record has no timer one by one."""

Row = Mapping[str, Any]


class NoParquetError(ReportedError):
    """The library that writes Parquet is not installed."""

    exit_code: ClassVar[int] = 6


def library() -> tuple[Any, Any]:
    """Return pyarrow and its Parquet writer; raises NoParquetError."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ModuleNotFoundError as missing:
        raise NoParquetError(f"{missing.name} is not installed: see {REQUIREMENTS}") from None


def tables_of(directory: Path) -> dict[str, Iterator[Row]]:
    """Return the rows of each table of a run directory, by the table's name."""
    return {
        "events": _events(read_events(directory)),
        "blocks": _blocks(directory),
        "timers": _timers(directory),
        "roots": _roots(directory),
    }


def write_tables(directory: Path, out: Path) -> dict[str, int]:
    """Write the tables of a run directory into a folder, a file each, and return their numbers of rows."""
    arrow, parquet = library()
    out.mkdir(parents=True, exist_ok=True)
    return {name: _write(out / f"{name}.parquet", rows, arrow, parquet) for name, rows in tables_of(directory).items()}


def _write(path: Path, rows: Iterator[Row], arrow: Any, parquet: Any) -> int:  # noqa: ANN401 - an optional library
    count, writer = 0, None
    while group := list(islice(rows, ROWS_AT_ONCE)):
        table = arrow.Table.from_pylist(group, schema=None if writer is None else writer.schema)
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
        count += len(group)
    if writer is not None:
        writer.close()
    return count


def _events(events: Iterable[Event]) -> Iterator[Row]:
    for index, event in enumerate(events):
        values = json.dumps(event.values, default=lambda value: value.hex())
        yield {"index": index, "at_us": event.at_us, "node": event.node, "kind": event.kind, "values": values}


def _blocks(directory: Path) -> Iterator[Row]:
    for record in read_blocks(directory):
        header = decode_block(record.block).header
        yield {
            "height": record.height,
            "view": header.view,
            "proposer": header.proposer,
            "slot": header.slot,
            "timestamp_ms": header.timestamp_ms,
            "digest": record.digest.hex(),
            "root": record.root.hex(),
            "bytes": len(record.block),
        }


def _roots(directory: Path) -> Iterator[Row]:
    for row in read_roots(directory):
        yield {"node": row.node, "height": row.height, "digest": row.digest.hex(), "root": row.root.hex()}


def _timers(directory: Path) -> Iterator[Row]:
    if not (directory / SUMMARIES).exists():
        return
    for height, summary in enumerate(read_summaries(directory), start=1):
        yield {"height": height, **{name: getattr(summary, name) for name in TIMER_COLUMNS}}
