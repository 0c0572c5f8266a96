"""The bugs, read from `bugs/AREA.toml`: each has a name, a sentence and the edits that put it into the code."""

import tomllib
from pathlib import Path
from typing import Final

import msgspec

from checker.record.errors import ReportedError
from checker.record.root import PROJECT_ROOT

_FOLDER: Final = PROJECT_ROOT / "tools" / "mutation" / "blind" / "bugs"

AREAS: Final = (
    *("scheduler", "execution", "actors", "state", "simplex", "hotstuff", "longest-chain", "sync", "mempool"),
    *("storage", "testbed"),
)
"""The areas, in the order of the page."""


class EditError(ReportedError):
    """An edit whose old text does not stand once in its file."""


class Edit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change of a file: `old` stands there once, and `new` takes its place."""

    file: str
    old: str
    new: str


class Bug(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One bug: it stands in all validators, or in the test bed."""

    name: str
    sentence: str
    edits: tuple[Edit, ...]
    area: str = ""

    @property
    def modules(self) -> tuple[str, ...]:
        """The dotted names of the modules that it changes."""
        return tuple(edit.file.removesuffix(".py").replace("/", ".") for edit in self.edits)


class _AreaFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    bugs: tuple[Bug, ...]


def _read() -> dict[str, Bug]:
    found = {}
    for area in AREAS:
        plain = tomllib.loads((_FOLDER / f"{area}.toml").read_text(encoding="utf-8"))
        for bug in msgspec.convert(plain, _AreaFile).bugs:
            found[bug.name] = msgspec.structs.replace(bug, area=area)
    return found


BUGS: Final = _read()
"""Every bug by its name, area by area."""


def put_in(bug: Bug, root: Path) -> None:
    """Put a bug into a copy of the tree.

    Raises:
        EditError: The code has moved away from an edit.
    """
    for edit in bug.edits:
        path = root / edit.file
        source = path.read_text(encoding="utf-8") if path.exists() else ""
        count = source.count(edit.old)
        if count != 1:
            expected = f"expected its old text once in {edit.file}, found it {count} times"
            raise EditError(f"bug {bug.name}: {expected}: {edit.old.strip()[:80]!r}")
        path.write_text(source.replace(edit.old, edit.new), encoding="utf-8")
