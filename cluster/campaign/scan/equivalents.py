"""Equivalent mutants: changes that no run can show, each with its reason, in docs/mutation-scan-equivalents.toml.

An entry is found again by its source, function, operator and the text of the line before and after, so that it stays
true where lines move. One that fits no mutant any more is stale: its line has changed, and so may its reason.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from checker.record.root import PROJECT_ROOT
from cluster.campaign.scan.points import MutationLibrary, ScanMutant, read_source

EQUIVALENTS_FILE: Final = PROJECT_ROOT / "docs" / "mutation-scan-equivalents.toml"


class EquivalentsError(Exception):
    """The file of equivalent mutants cannot be read."""


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


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    equivalent: tuple[Equivalent, ...] = ()


def read_equivalents(path: Path = EQUIVALENTS_FILE) -> tuple[Equivalent, ...]:
    """Return the entries of a file.

    Raises:
        EquivalentsError: The file is not there or not of this form.
    """
    try:
        return msgspec.toml.decode(path.read_bytes(), type=_File).equivalent
    except (OSError, msgspec.MsgspecError, UnicodeError) as error:
        raise EquivalentsError(f"{path}: {error}") from error


def stale_entries(library: MutationLibrary, entries: Sequence[Equivalent]) -> list[Equivalent]:
    """Return the entries that fit no mutant of the sources as they are."""
    return [entry for entry in entries if not _mutants_of(library, entry)]


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
