"""The rise that `curve` found before, read from the table that it wrote: `shrink` begins with it."""

import csv
import hashlib
from pathlib import Path
from typing import Final

import msgspec

from checker.record.plain_files import UnsuitableFileError, read_plain
from cluster.campaign.shrink import without_expected
from cluster.causality.told import COLUMNS, LOW
from cluster.scenario.load import encode_scenario
from cluster.scenario.model import Scenario
from faults import Fault
from network.types import MILLISECOND_US

TABLE_BYTES_MAX: Final = 1 << 20
"""The longest table that is read; a table has some thirty short rows."""

VIRTUAL_US_MAX: Final = 1 << 63


def whole_scenario(recorded: Scenario) -> Scenario:
    """Return the scenario of a record, judged without its expectation to fail."""
    # A run with expected failures goes on after them, and so does this run.
    run = msgspec.structs.replace(recorded.run, stop_at_failure=recorded.stops_at_failure)
    return without_expected(msgspec.structs.replace(recorded, run=run))


def curve_path(runs: Path, name: str, scenario: Scenario) -> Path:
    """Return where `curve` keeps the continuations of a scenario for a record; the table lies beside."""
    identity = hashlib.sha256(encode_scenario(scenario)).hexdigest()
    return runs / f"curve-{name}-{identity[:6]}.sqlite"


def idle_at_rise(recorded: Scenario, name: str, runs: Path) -> tuple[str, ...]:
    """Return the faults that are over before the rise of a record or begin after it.

    Without a table of `curve` for the run itself, or without a rise in it, there are none.

    Args:
        recorded: The scenario of the record.
        name: The name of its directory.
        runs: The directory of the table.
    """
    rise_us = _known_rise_us(curve_path(runs, name, whole_scenario(recorded)).with_suffix(".csv"))
    return tuple(
        name
        for name, fault in recorded.faults.items()
        if fault.enabled and rise_us is not None and not _is_at_work(fault, rise_us)
    )


def _is_at_work(fault: Fault, at_us: int) -> bool:
    start_ms, stop_ms = fault.bounds()
    return start_ms * MILLISECOND_US <= at_us < stop_ms * MILLISECOND_US


def _known_rise_us(table: Path) -> int | None:
    """Return the virtual time of a table's rise; None without a table, or where it is none of `curve`."""
    try:
        lines = read_plain(table, TABLE_BYTES_MAX).decode("ascii").splitlines()
    except (OSError, UnsuitableFileError, UnicodeError):
        return None
    rows = [dict(zip(COLUMNS, cells, strict=False)) for cells in csv.reader(lines)]
    found = (row["virtual_us"] for row in rows if row.get("mode") == "chance" and row.get("rise") == LOW)
    text = next(found, "")
    return int(text) if text.isdigit() and int(text) < VIRTUAL_US_MAX else None
