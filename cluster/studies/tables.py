"""The figures of a study as a table in a terminal, as CSV and as Parquet."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Final

from rich.box import MARKDOWN
from rich.table import Table
from rich.text import Text

from checker.record.host import naming
from checker.record.places import OwnFile, refuse_other_file, work_directory, write_own
from cluster.exports.parquet import PARQUET, library
from report.layout import VisibleConsole, natural_width
from report.page.study_rows import SpreadRow, StudyRows, describe_spread
from report.visible import visible

WIDTH_MAX: Final = 100
"""Columns of a terminal's table."""

COLUMNS: Final = ("study", "figure", *SpreadRow._fields, "seeds")
"""The first columns of both files; no axis may have one of these names."""

CSV: Final = OwnFile(",".join(COLUMNS).encode(), "table of a study")


def table_lines(rows: StudyRows) -> list[str]:
    """Return the lines of the arms' tables: as many figures side by side as fit, the others in further tables.

    The frame is that of a table in Markdown, so that a document can quote the lines.
    """
    axes, figures = [visible(name) for name in rows.axes], [visible(name) for name in rows.figures]
    _refuse_equal((*axes, "seeds", *figures))
    arms = {name: [visible(arm.values[place]) for arm in rows.arms] for place, name in enumerate(axes)}
    arms["seeds"] = [f"{arm.seeds:,}" for arm in rows.arms]
    groups: list[dict[str, list[str]]] = []
    for place, name in enumerate(figures):
        column = {name: [describe_spread(arm.spreads[place]) for arm in rows.arms]}
        if groups and natural_width(arms | groups[-1] | column) <= WIDTH_MAX:
            groups[-1] |= column
        else:
            groups.append(column)
    return [line for group in groups for line in _lines(arms | group, numbers=("seeds", *group))]


def write_csv(path: Path, rows: StudyRows) -> None:
    """Write a row for each arm and figure, in the place of another table of a study or of no file.

    Raises:
        ForeignFileError: Something else stands there.
        OSError: The file system refuses.
    """
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_headers(rows))
    writer.writerows(_records(rows))
    write_own(path, text.getvalue().encode(errors="backslashreplace"), CSV)


def write_parquet(path: Path, rows: StudyRows) -> None:
    """Write the rows of `write_csv` as Parquet.

    Raises:
        NoParquetError: The library is not installed.
        ForeignFileError: Something else stands there.
        OSError: The file system refuses.
    """
    arrow, parquet = library()
    refuse_other_file(path, PARQUET)
    headers = _headers(rows)
    types = {"seeds": arrow.int64()} | dict.fromkeys(SpreadRow._fields, arrow.float64())
    schema = arrow.schema([(name, types.get(name, arrow.string())) for name in headers])
    table = arrow.Table.from_pylist(
        [dict(zip(headers, record, strict=True)) for record in _records(rows)], schema=schema
    )
    with naming(path), work_directory(path.parent, path.name) as aside:
        with parquet.ParquetWriter(aside / path.name, table.schema) as writer:
            writer.write_table(table)
        (aside / path.name).replace(path)


def _lines(columns: Mapping[str, Sequence[str]], *, numbers: Sequence[str]) -> list[str]:
    """Return the lines of a table, with an empty line after it."""
    table = Table(box=MARKDOWN)
    for name in columns:
        table.add_column(Text(name), justify="right" if name in numbers else "left", overflow="fold")
    for cells in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, cells))
    console = VisibleConsole(file=StringIO(), width=WIDTH_MAX, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(table)
    return [*filter(None, map(str.strip, capture.get().splitlines())), ""]


def _headers(rows: StudyRows) -> tuple[str, ...]:
    headers = (*COLUMNS, *rows.axes)
    _refuse_equal(headers)
    return headers


def _refuse_equal(names: Sequence[str]) -> None:
    """Raise ValueError where two columns have one name: one column would hide the other."""
    if len(dict.fromkeys(names)) < len(names):
        raise ValueError(f"two columns have the same name: {', '.join(names)}")


def _records(rows: StudyRows) -> Iterator[tuple[str | float | int | None, ...]]:
    """Yield a record for each arm and figure; a figure without a value has an empty mean and interval."""
    for arm in rows.arms:
        for figure, spread in zip(rows.figures, arm.spreads, strict=True):
            yield rows.name, figure, *_ends(spread), arm.seeds, *arm.values


def _ends(spread: SpreadRow | None) -> tuple[float | None, ...]:
    return spread or (None,) * len(SpreadRow._fields)
