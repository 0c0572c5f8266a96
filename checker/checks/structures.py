"""Whether what each validator holds in memory at the end is what its operation log leads to, structure by structure.

The audit is the validator's own code over its own memory (`validators/state/audit.py`): everything derived is derived
anew from the log. Here it is held against what others know: the finalized header's root, and the disk.
"""

from typing import Final, NamedTuple, final

from checker.checks.observations import ReadBack
from checker.results import CheckResult, Tally
from checker.tables import describe_key
from validators.state import StateAudit, Structure

_STRUCTURES: Final[tuple[Structure, ...]] = ("operation-log", "bitmap", "indexes")
_SHOWN_BYTES: Final = 80


class _Where(NamedTuple):
    """A validator, where its database stands, and when that was looked at if not at the end."""

    node: int
    height: int
    moment: str = ""


@final
class Structures:
    """Three checks: the operation log, the activity bitmap, and the indexes of each validator."""

    def __init__(self) -> None:
        self._tallies = {structure: Tally(structure, "safety") for structure in _STRUCTURES}
        self._validators = 0
        self._reorganizations = 0

    def compare(self, readback: ReadBack) -> None:
        """Compare one validator."""
        self._validators += 1
        where = _Where(readback.node, readback.height)
        self._compare_audit(where, readback.audit, readback.root)
        if not readback.error:
            self._compare_disk(where, readback)

    def reorganized(self, node: int, height: int, root: bytes, audit: StateAudit) -> None:
        """Compare one validator in the midst of the run, after blocks were dropped or taken back."""
        self._reorganizations += 1
        self._compare_audit(_Where(node, height, " after a reorganization"), audit, root)

    def results(self) -> list[CheckResult]:
        """Return what came of it, in the order of the catalogue."""
        figures = [(self._tallies[structure], f"{self._tallies[structure].compared:,}") for structure in _STRUCTURES]
        texts = (
            f"operations in the memory of {self._validators} validators give the final roots and are those on disk",
            f"chunks and grafted nodes of {self._validators} validators are those of the log",
            f"flags, locations, nodes, heights and timers of {self._validators} validators are those of the log",
        )
        after = f", {self._reorganizations:,} times after a reorganization" if self._reorganizations else ""
        return [tally.result(f"{count} {text}{after}") for (tally, count), text in zip(figures, texts, strict=True)]

    def _compare_audit(self, where: _Where, audit: StateAudit, root: bytes) -> None:
        for structure, compared in audit.compared.items():
            self._tallies[structure].compared += compared
        for structure, place, kept, expected, key in audit.deviations:
            subject = f"{place}, {describe_key(key)}," if key else place
            self._fail(structure, where, place, f"{subject} is {kept} and not {expected}", (kept, expected))
        if audit.canonical_root and audit.canonical_root != root:
            found = f"it leads to the root {audit.canonical_root.hex()} and not to {root.hex()}"
            roots = audit.canonical_root.hex(), root.hex()
            self._fail("operation-log", where, "root", found, roots, "its final header")

    def _compare_disk(self, where: _Where, readback: ReadBack) -> None:
        """Compare the operations in memory with those on the disk, which end at the same height."""
        kept, stored = readback.audit.operations, readback.operations
        if readback.height and not stored:
            held = f"{len(kept):,} operations", "no operation"
            self._fail("operation-log", where, "disk", "its disk holds no operation", held, "its disk")
        count = min(len(kept), len(stored))
        if kept[len(kept) - count :] == tuple(stored[len(stored) - count :]):
            return
        end = readback.audit.start + len(kept)
        for back in range(count, 0, -1):
            if kept[-back] != stored[-back]:
                place, held = f"operation {end - back}", (show(kept[-back]), show(stored[-back]))
                found = f"{place} is {held[0]} in memory and {held[1]} on its disk"
                self._fail("operation-log", where, place, found, held, "its disk")

    def _fail(  # noqa: PLR0917 - where, what, and both values
        self,
        structure: Structure,
        where: _Where,
        place: str,
        text: str,
        values: tuple[str, str],
        source: str = "its operation log",
    ) -> None:
        """Note a failure; `values` are what is found in memory, and what is expected there by `source`."""
        summary = f"validator {where.node}, height {where.height}{where.moment}: {text}"
        found, expected = values
        self._tallies[structure].fail(
            summary,
            validator=where.node,
            height=where.height,
            place=place,
            found=found,
            expected=expected,
            source=source,
        )


def show(operation: bytes) -> str:
    """Return the beginning of an operation in hexadecimal."""
    return operation[:_SHOWN_BYTES].hex() + ("..." if len(operation) > _SHOWN_BYTES else "")
