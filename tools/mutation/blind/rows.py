"""The rows: what saw each bug, in one file that stands beside the bugs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from checker.record.root import PROJECT_ROOT
from tools.mutation.blind.catalogue import BUGS, Bug

ROWS_FILE: Final = PROJECT_ROOT / "tools" / "mutation" / "blind" / "rows.json"

SEEDS: Final = "5000..5039"
"""The seeds of the swarm that each bug gets."""


class Row(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """The run and the test that saw one bug.

    Attributes:
        name: The bug.
        runs_at: The commit at which its runs were made; empty where none were.
        seed: The first seed whose run failed.
        check: The check that failed there.
        inconclusive: The first seed whose run was inconclusive, which does not count.
        tests_at: The commit at which its tests were run; empty where none were.
        test: The first test that failed.
    """

    name: str
    runs_at: str = ""
    seed: int | None = None
    check: str = ""
    inconclusive: int | None = None
    tests_at: str = ""
    test: str = ""

    @property
    def bug(self) -> Bug:
        """The bug itself."""
        return BUGS[self.name]

    @property
    def is_whole(self) -> bool:
        """Whether both its runs and its tests were made."""
        return bool(self.runs_at and self.tests_at)

    @property
    def is_seen(self) -> bool:
        """Whether a run or a test saw it."""
        return bool(self.check or self.test)


def read_rows(path: Path = ROWS_FILE) -> dict[str, Row]:
    """Return the rows by the names of their bugs, one for each bug that there is."""
    there = msgspec.json.decode(path.read_bytes(), type=list[Row]) if path.exists() else []
    by_name = {row.name: row for row in there}
    return {name: by_name.get(name) or Row(name) for name in BUGS}


def encode_rows(rows: Iterable[Row]) -> bytes:
    """Return the content of the file: a line for each row that has a part measured."""
    lines = b",\n".join(msgspec.json.encode(row) for row in rows if row.runs_at or row.tests_at)
    return b"[\n" + lines + b"\n]\n"
