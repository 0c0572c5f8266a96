"""The triage of a scan: what no run can show, each with its reason, in docs/mutation-scan-equivalents.toml.

A mutant is equivalent if it behaves as the original does. A place is outside if its code is not there for runs: it
refuses bad input, or words something for a person. An entry of an equivalent mutant is found again by its source,
function, operator and the text of the line before and after, so that it stays true where lines move. An entry that fits
nothing any more is stale: its line has changed, and so may its reason.
"""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

import msgspec

from checker.record.errors import ReportedError
from checker.record.plain_files import UnsuitableFileError, read_plain
from checker.record.root import PROJECT_ROOT
from tools.mutation.scan.points import MutationLibrary, MutationPoint, ScanMutant, read_source, source_files

EQUIVALENTS_FILE: Final = PROJECT_ROOT / "docs" / "mutation-scan-equivalents.toml"

TRIAGE_BYTES_MAX: Final = 16 * 1024 * 1024
"""No file of entries is longer."""


class TriageError(ReportedError):
    """The file cannot be read."""


class Equivalent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One mutant, or several with the same text, that behave as the original does.

    Attributes:
        file: The source, relative to the project.
        function: The qualified name of the function or class; empty at module level.
        operator: The operator's name in the library.
        before: The changed line as it is.
        after: The changed line.
        reason: The reason why no run can show it.
    """

    file: str
    function: str
    operator: str
    before: str
    after: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.function}: {self.operator}: {self.before}"

    def fits(self, mutant: ScanMutant) -> bool:
        """Whether a mutant is this one."""
        point = mutant.point
        place = (self.file, self.function, self.operator)
        text = (self.before, self.after)
        return place == (point.file, point.function, point.operator) and text == (mutant.before, mutant.after)


class Outside(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Places that are not drawn.

    Attributes:
        file: A pattern for sources.
        function: A pattern for qualified names of functions and classes.
        reason: The reason why no run is there to judge them.
    """

    file: str
    function: str
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.function}"

    def holds(self, point: MutationPoint) -> bool:
        """Whether a place is among these."""
        return fnmatchcase(point.file, self.file) and fnmatchcase(point.function, self.function)


class Triage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything that a scan leaves out."""

    equivalent: tuple[Equivalent, ...] = ()
    outside: tuple[Outside, ...] = ()

    def leaves_out(self, point: MutationPoint) -> bool:
        """Whether a place is outside."""
        return any(entry.holds(point) for entry in self.outside)


def read_triage(path: Path = EQUIVALENTS_FILE) -> Triage:
    """Return the entries of a file.

    Raises:
        TriageError: The file is not there or not of this form.
    """
    try:
        return msgspec.toml.decode(read_plain(path, TRIAGE_BYTES_MAX), type=Triage)
    except UnsuitableFileError as error:
        raise TriageError(str(error)) from None
    except (OSError, msgspec.MsgspecError, UnicodeError) as error:
        raise TriageError(f"{path}: {error}") from error


def stale_entries(library: MutationLibrary, triage: Triage) -> list[str]:
    """Return the entries that fit nothing in the sources as they are."""
    equivalent = [str(entry) for entry in triage.equivalent if not _mutants_of(library, entry)]
    return equivalent + [str(entry) for entry in triage.outside if not _has_places(library, entry)]


def _has_places(library: MutationLibrary, entry: Outside) -> bool:
    files = [file for file in source_files() if fnmatchcase(file, entry.file)]
    return any(entry.holds(point) for file in files for point in library.points_of(file, read_source(file)))


def _mutants_of(library: MutationLibrary, entry: Equivalent) -> list[ScanMutant]:
    if not (PROJECT_ROOT / entry.file).is_file():
        return []
    source = read_source(entry.file)
    points = [
        point
        for point in library.points_of(entry.file, source)
        if (point.operator, point.function) == (entry.operator, entry.function)
    ]
    mutants = (library.mutant_at(point, source) for point in points)
    return [mutant for mutant in mutants if mutant is not None and entry.fits(mutant)]
