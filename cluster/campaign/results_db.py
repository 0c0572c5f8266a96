"""The results file of a sweep: an SQLite database with a row for each seed and its coverage points.

Each seed is written in its own transaction. A sweep that is killed loses at most the seeds without a row, and runs
exactly these seeds when it goes on. A file is opened only if this program wrote it for the same subject; any other
defect is a DamagedResultsError. Only numbers and text of bounded length are read. Reading a hostile file executes
nothing from it: a schema with views, triggers or other tables is refused.
"""

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from checker.coverage.collector import RuleHit
from checker.record.errors import ReportedError
from checker.record.fingerprint import UNKNOWN, is_fingerprint
from checker.record.host import make_folder
from checker.record.locks import held
from checker.record.plain_files import open_plain
from checker.results import EXIT_CODES
from faults import FaultPoint

FORMAT: Final = "stampede-sweep 6"
"""The application identifier of a results file."""

TEXT_CHARACTERS_MAX: Final = 4_000
"""The longest text of a row in characters; a longer text is cut when written and refused when read."""

SUBJECT_CHARACTERS_MAX: Final = 1 << 22
"""The longest subject: a resolved scenario."""

_RESULTS_TABLE: Final = (
    "CREATE TABLE results (seed INTEGER PRIMARY KEY, exit_code INTEGER NOT NULL, verdict TEXT NOT NULL, "
    "signature TEXT NOT NULL, headline TEXT NOT NULL, digest TEXT NOT NULL, milliseconds INTEGER NOT NULL, "
    "directory TEXT NOT NULL, failed TEXT NOT NULL{})"
)
_FINGERPRINT: Final = f"fingerprint TEXT NOT NULL DEFAULT '{UNKNOWN}'"
_CELLS_TABLE: Final = (
    "CREATE TABLE cells (seed INTEGER NOT NULL, kind TEXT NOT NULL, phase TEXT NOT NULL, role TEXT NOT NULL, "
    "hits INTEGER NOT NULL, PRIMARY KEY (seed, kind, phase, role)) WITHOUT ROWID"
)
_SWEEP_TABLE: Final = "CREATE TABLE sweep (format TEXT NOT NULL, subject TEXT NOT NULL)"
_RULES_TABLE: Final = (
    "CREATE TABLE rules (seed INTEGER NOT NULL, cell TEXT NOT NULL, hits INTEGER NOT NULL, "
    "PRIMARY KEY (seed, cell)) WITHOUT ROWID"
)
_PAIRS_TABLES: Final = (
    # A pair is long and occurs in many runs: its text is stored once, under a number.
    "CREATE TABLE pairs (number INTEGER PRIMARY KEY, pair TEXT NOT NULL UNIQUE)",
    "CREATE TABLE met (seed INTEGER NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (seed, number)) WITHOUT ROWID",
)
_UNSEEN_TABLE: Final = (
    "CREATE TABLE unseen (sort TEXT PRIMARY KEY, reached INTEGER NOT NULL, once INTEGER NOT NULL, "
    "observations INTEGER NOT NULL) WITHOUT ROWID"
)
_SINCE_6: Final = (*_PAIRS_TABLES, _UNSEEN_TABLE)
_RESULTS: Final = _RESULTS_TABLE.format(f", {_FINGERPRINT}")
_SCHEMAS: Final[Mapping[str, Sequence[str]]] = {
    FORMAT: (_SWEEP_TABLE, _RESULTS, _CELLS_TABLE, _RULES_TABLE, *_SINCE_6),
    "stampede-sweep 5": (_SWEEP_TABLE, _RESULTS, _CELLS_TABLE, _RULES_TABLE),
    "stampede-sweep 4": (_SWEEP_TABLE, _RESULTS, _CELLS_TABLE),
    "stampede-sweep 3": (_SWEEP_TABLE, _RESULTS_TABLE.format(""), _CELLS_TABLE),
}
"""The tables of each format that can be opened, the newest first."""

_UPGRADES: Final[Mapping[str, Sequence[str]]] = {
    "stampede-sweep 5": _SINCE_6,
    "stampede-sweep 4": (_RULES_TABLE, *_SINCE_6),
    "stampede-sweep 3": (f"ALTER TABLE results ADD COLUMN {_FINGERPRINT}", _RULES_TABLE, *_SINCE_6),
}
"""The statements that upgrade an older file: columns and tables that it lacks are empty, or of unknown code."""

_DELETIONS: Final = tuple(f"DELETE FROM {table} WHERE seed = ?" for table in ("cells", "rules", "met"))  # noqa: S608
"""The statements that remove what a seed reached."""

WORKLOAD: Final = "workload "
"""Prefix of the coverage point of a workload that the seed drew; without hits the workload had no effect."""

SCRIPT: Final = "script "
"""Prefix of the coverage point of a script that the seed began with; without hits the run missed its state."""

COUNT: Final = "count "
"""Prefix of a figure that a campaign without runs stores in place of a coverage point; seeds are added up."""

_MAGIC: Final = b"SQLite format 3\x00"
"""The first bytes of every SQLite file."""


_BESIDE: Final = ("-journal", "-wal", "-shm")
"""Ends of the names of the files that SQLite opens beside it."""

_REFUSALS: Final = {sqlite3.SQLITE_FULL: errno.ENOSPC, sqlite3.SQLITE_IOERR: errno.EIO}
_PRIMARY_CODE: Final = 0xFF


class DamagedResultsError(ReportedError):
    """A results file that cannot be read, was not written by this program, or belongs to another sweep."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


class SeedResult(NamedTuple):
    """The result of a seed: its verdict, its signature, its run directory if kept, its failed checks and its coverage.

    Attributes:
        failed: The checks that failed or found a broken promise, in the verdict's order, separated by blanks.
        fingerprint: The fingerprint of the code that ran the seed.
        points: The coverage points of faults: kind, phase and role.
        rules: The coverage points of rules.
        pairs: The pairs of situations that followed each other.
    """

    seed: int
    exit_code: int
    verdict: str
    signature: str
    headline: str
    digest: str
    milliseconds: int
    directory: str = ""
    failed: str = ""
    fingerprint: str = UNKNOWN
    points: tuple[FaultPoint, ...] = ()
    rules: tuple[RuleHit, ...] = ()
    pairs: tuple[str, ...] = ()


class ResultsFile:
    """Opens or makes the file of one sweep; a context manager.

    Args:
        path: Where the file is or will be.
        subject: The scenario and settings of the sweep, as text; a file goes on only with the same subject.

    Raises:
        DamagedResultsError: The file is not a results file of this subject.
        InUseError: Another sweep writes it.
    """

    def __init__(self, path: Path, subject: str) -> None:
        self.path: Final = path
        if not _is_there(path):
            make_folder(path.parent)
        with ExitStack() as stack:
            stack.enter_context(held(path.with_name(f".{path.name}.lock"), path))
            self._open(path, subject)
            self._hold = stack.pop_all()

    def _open(self, path: Path, subject: str) -> None:
        # Asked again under the lock: another sweep may have begun it meanwhile.
        is_new = not _is_there(path)
        try:
            self._connection = sqlite3.connect(path, isolation_level=None)
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, SUBJECT_CHARACTERS_MAX * 4)
            if is_new or not self._schema():
                self._create(subject)
            else:
                self._check(subject)
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            _raise_refusal(path, error)
            raise DamagedResultsError(path, f"is no results file of a sweep: {error}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._hold.close()

    def add(self, result: SeedResult) -> None:
        """Write a result, replacing an older result of its seed; it is on the disk when this returns."""
        *row, points, rules, pairs = result
        cut = [value[:TEXT_CHARACTERS_MAX] if isinstance(value, str) else value for value in row]
        # A single transaction: a seed has all its coverage points, or is run again.
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for deletion in _DELETIONS:
                self._connection.execute(deletion, (result.seed,))
            self._connection.execute("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", cut)
            self._connection.executemany(
                "INSERT INTO cells VALUES (?, ?, ?, ?, ?)", [(result.seed, *point) for point in points]
            )
            self._connection.executemany("INSERT INTO rules VALUES (?, ?, ?)", [(result.seed, *hit) for hit in rules])
            self._connection.executemany("INSERT OR IGNORE INTO pairs (pair) VALUES (?)", [(pair,) for pair in pairs])
            self._connection.executemany(
                "INSERT INTO met SELECT ?, number FROM pairs WHERE pair = ?", [(result.seed, pair) for pair in pairs]
            )
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            _raise_refusal(self.path, error)
            raise

    def note_unseen(self, rows: Iterable[tuple[str, int, int, int]]) -> None:
        """Write the estimate of the unseen: sort of place, places reached, places in a single run, observations."""
        try:
            self._connection.executemany("INSERT OR REPLACE INTO unseen VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            _raise_refusal(self.path, error)
            raise

    def results(self) -> Iterator[SeedResult]:
        """Yield the results in the file, by seed."""
        try:
            points, rules, pairs = self._points(), self._rules(), self._pairs()
            for row in self._connection.execute("SELECT * FROM results ORDER BY seed"):
                result = self._check_row(row)
                seed = result.seed
                yield result._replace(
                    points=tuple(points.get(seed, ())),
                    rules=tuple(rules.get(seed, ())),
                    pairs=tuple(pairs.get(seed, ())),
                )
        except (sqlite3.Error, OverflowError, UnicodeError) as error:
            _raise_refusal(self.path, error)
            raise DamagedResultsError(self.path, f"its rows cannot be read: {error}") from None

    def _points(self) -> dict[int, list[FaultPoint]]:
        found: dict[int, list[FaultPoint]] = {}
        for seed, *row in self._connection.execute("SELECT * FROM cells ORDER BY seed, kind, phase, role"):
            self._check_values(seed, row, (str, str, str, int))
            found.setdefault(seed, []).append(FaultPoint(*row))
        return found

    def _rules(self) -> dict[int, list[RuleHit]]:
        found: dict[int, list[RuleHit]] = {}
        for seed, *row in self._connection.execute("SELECT * FROM rules ORDER BY seed, cell"):
            self._check_values(seed, row, (str, int))
            found.setdefault(seed, []).append(RuleHit(*row))
        return found

    def _pairs(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        named: dict[int, str] = {}
        for number, pair in self._connection.execute("SELECT number, pair FROM pairs"):
            self._check_values(None, (number, pair), (int, str))
            named[number] = pair
        for seed, number in self._connection.execute("SELECT seed, number FROM met ORDER BY seed, number"):
            if number not in named:
                raise DamagedResultsError(self.path, f"seed {seed!r}: there is no pair {number!r:.60}")
            found.setdefault(seed, []).append(named[number])
        return {seed: sorted(pairs) for seed, pairs in found.items()}

    def _schema(self) -> Sequence[str]:
        rows = self._connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
        return tuple(str(row[0]) for row in rows)

    def _create(self, subject: str) -> None:
        # WAL with full sync: a row that was written survives the loss of power, and a reader may look on meanwhile.
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMAS[FORMAT]:
            self._connection.execute(statement)
        self._connection.execute("INSERT INTO sweep VALUES (?, ?)", (FORMAT, subject))
        self._connection.execute("COMMIT")

    def _check(self, subject: str) -> None:
        schema = self._schema()
        written_by = next((name for name, tables in _SCHEMAS.items() if schema == tables), None)
        if written_by is None:
            raise DamagedResultsError(self.path, "is no results file of a sweep: it has other tables")
        found = self._connection.execute("SELECT format, subject FROM sweep").fetchall()
        if len(found) != 1 or found[0][0] != written_by:
            raise DamagedResultsError(self.path, f"is no results file of this program, which writes {FORMAT!r}")
        if found[0][1] != subject:
            raise DamagedResultsError(
                self.path, "holds another sweep: another scenario, other settings; give another --results"
            )
        self._connection.execute("PRAGMA synchronous = FULL")
        if written_by != FORMAT:
            self._upgrade(written_by)

    def _upgrade(self, written_by: str) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        for statement in _UPGRADES[written_by]:
            self._connection.execute(statement)
        self._connection.execute("UPDATE sweep SET format = ?", (FORMAT,))
        self._connection.execute("COMMIT")

    def _check_row(self, row: Sequence[object]) -> SeedResult:
        self._check_values(row[0], row, (int, int, str, str, str, str, int, str, str, str))
        result = SeedResult(*row)  # type: ignore[arg-type]  # each value was checked above
        is_sound = EXIT_CODES.get(result.verdict) == result.exit_code and result.seed >= 0 and result.milliseconds >= 0
        if not is_fingerprint(result.fingerprint):
            raise DamagedResultsError(self.path, f"seed {result.seed}: {result.fingerprint!r:.60} is no fingerprint")
        if not is_sound:
            raise DamagedResultsError(
                self.path, f"seed {result.seed}: {result.verdict!r:.60} with exit code {result.exit_code} cannot be"
            )
        return result

    def _check_values(self, seed: object, row: Sequence[object], kinds: Sequence[type]) -> None:
        for value, kind in zip(row, kinds, strict=True):
            if not isinstance(value, kind) or (isinstance(value, str) and len(value) > TEXT_CHARACTERS_MAX):
                raise DamagedResultsError(self.path, f"seed {seed!r}: {value!r:.60} is no value that a sweep writes")


def _raise_refusal(path: Path, error: Exception) -> None:
    """Raise an OSError if the file system refused a request of SQLite: the file itself is not damaged."""
    number = _REFUSALS.get(getattr(error, "sqlite_errorcode", 0) & _PRIMARY_CODE)
    if number is not None:
        raise OSError(number, str(error), str(path)) from error


def _is_there(path: Path) -> bool:
    """Whether there is a file to go on with; raises DamagedResultsError or UnsuitableFileError for a foreign file.

    SQLite itself would overwrite a short file of another program, and wait for ever at a pipe.
    """
    if not path.name or "\0" in str(path) or (os.path.lexists(path) and not path.exists()):
        raise DamagedResultsError(path, "is no file")
    for beside in (path.with_name(f"{path.name}{ending}") for ending in _BESIDE):
        if os.path.lexists(beside):
            open_plain(beside, None, follows_links=False).close()
    if not path.exists():
        return False
    with open_plain(path, None) as opened:
        if opened.read(len(_MAGIC)) not in {b"", _MAGIC}:
            raise DamagedResultsError(path, "is no results file of a sweep: it is no SQLite database")
    return True
