"""The rows: when the failure of each mutant was decided and when it was noticed, in one file beside this one."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from checker.record.root import PROJECT_ROOT

ROWS_FILE: Final = PROJECT_ROOT / "tools" / "mutation" / "distances" / "rows.json"


class Row(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, frozen=True):
    """The distance of one mutant; all times are virtual, in microseconds.

    Attributes:
        name: The mutant.
        seed: The seed of the swarm in which it is killed.
        unmeasured: Why there is no distance; empty where there is.
        family: The family of the check that noticed it.
        check: The full name of that check.
        is_stopped: Whether the failure ended the run; otherwise the check judged a run that came to its own end.
        is_unavoidable: Whether all continuations from genesis fail alike.
        baked_us: The first point found at which the failure is decided, 0 for an unavoidable failure; the end of the
            run where it is never decided before.
        open_us: The last point found before it at which the failure is not decided.
        shown_us: The first execution of a block of the height that the check names; None where it names no height.
        end_us: The end of the run, at which the failure is noticed.
        runs: The continuations made.
    """

    name: str
    seed: int
    unmeasured: str = ""
    family: str = ""
    check: str = ""
    is_stopped: bool = False
    is_unavoidable: bool = False
    baked_us: int = 0
    open_us: int = 0
    shown_us: int | None = None
    end_us: int = 0
    runs: int = 0

    @property
    def unseen_us(self) -> int:
        """The time from the decision to the end of the run."""
        return self.end_us - self.baked_us

    @property
    def hidden_us(self) -> int | None:
        """The time from the decision to the first execution of the height that the check names, 0 if that is earlier.

        None where the check names no height.
        """
        return None if self.shown_us is None else max(0, self.shown_us - self.baked_us)


def read_rows(path: Path = ROWS_FILE) -> dict[str, Row]:
    """Return the rows by the names of their mutants."""
    there = msgspec.json.decode(path.read_bytes(), type=list[Row]) if path.exists() else []
    return {row.name: row for row in there}


def encode_rows(rows: Iterable[Row]) -> bytes:
    """Return the content of the file: a line for each row, by name."""
    lines = b",\n".join(msgspec.json.encode(row) for row in sorted(rows, key=lambda row: row.name))
    return b"[\n" + lines + b"\n]\n"
