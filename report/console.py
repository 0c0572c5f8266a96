"""The verdict in a terminal: the tables of validators and checks, on standard output."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from rich.table import Table
from rich.text import Text

from report.layout import fitting_columns, output_console
from report.verdict_rows import CheckRow, ValidatorRow
from report.visible import visible
from report.words import reasons_in_words

ROOT_DIGITS_SHOWN: Final = 10
"""Hexadecimal digits of a state root in the table: as wide as the column's header."""

_STATUS_STYLE = {"passed": "green", "failed": "bold red", "inconclusive": "yellow"}


_DROPPED_FIRST: Final = ("undone", "rolled back", "executed", "height", "note")
"""Columns that the validators' table drops on a narrow terminal; dropped notes then follow the table."""


def validator_table(rows: Sequence[ValidatorRow], width: int) -> Table:
    """Return the table of validators, with as many columns as fit into `width`."""
    columns = _validator_columns(rows)
    shown = fitting_columns(columns, width, _DROPPED_FIRST)
    table = Table(title="validators", title_justify="left", caption_justify="left")
    for header in shown:
        table.add_column(header, justify="left" if header == "note" else "right")
    for place in range(len(rows)):
        table.add_row(*(Text(columns[header][place]) for header in shown))
    if "note" in columns and "note" not in shown:
        table.caption = Text("\n".join(f"{row.node}: {row.note}" for row in rows if row.note))
    return table


def _validator_columns(rows: Sequence[ValidatorRow]) -> dict[str, list[str]]:
    """Return the texts of the validators' table by header; `note` only if a validator has a note."""
    columns = {
        "validator": [str(row.node) for row in rows],
        "height": [str(row.height) for row in rows],
        "finalized": [str(row.finalized_height) for row in rows],
        "state root": [row.state_root[:ROOT_DIGITS_SHOWN] for row in rows],
    }
    for name in ("executed", "rolled_back", "undone", "fired", "expired", "insolvent", "waiting"):
        columns[name.replace("_", " ")] = [f"{getattr(row, name):,}" for row in rows]
    if any(row.note for row in rows):
        columns["note"] = [row.note for row in rows]
    return columns


def check_table(checks: Sequence[CheckRow], not_asked: Mapping[str, str] = MappingProxyType({})) -> Table:
    """Return the table of checks; summaries wrap at the console's width.

    Args:
        checks: A row for each result.
        not_asked: Reasons by the names of checks without a result; the caption lists them.
    """
    table = Table(title="checks", title_justify="left", caption_justify="left")
    if not_asked:
        table.caption = Text(f"not asked: {'; '.join(reasons_in_words(not_asked))}")
    table.add_column("check", no_wrap=True)
    table.add_column("result", no_wrap=True)
    table.add_column("summary", overflow="fold")
    for check in checks:
        style = _STATUS_STYLE.get(check.status, "")
        table.add_row(check.name, Text(check.status, style=style), Text(visible(check.summary)))
    return table


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables to standard output."""
    console = output_console()
    for table in tables:
        console.print(table)
