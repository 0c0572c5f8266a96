"""Whether what each validator holds in memory at the end is what its operation log leads to, structure by structure.

The audit is the validator's own code over its own memory (`validators/state/audit.py`): everything derived is derived
anew from the log. Here it is held against what others know: the finalized header's root, and the disk.
"""

from typing import Final, final

from checker.observations import ReadBack
from checker.results import CheckResult, Tally
from checker.tables import describe_key
from validators.state import Structure

_STRUCTURES: Final[tuple[Structure, ...]] = ("operation-log", "bitmap", "indexes")
_SHOWN_BYTES: Final = 80


@final
class Structures:
    """Three checks: the operation log, the activity bitmap, and the indexes of each validator."""

    def __init__(self) -> None:
        self._tallies = {structure: Tally(structure, "safety") for structure in _STRUCTURES}
        self._validators = 0

    def compare(self, readback: ReadBack) -> None:
        """Compare one validator."""
        self._validators += 1
        audit = readback.audit
        for structure, compared in audit.compared.items():
            self._tallies[structure].compared += compared
        for structure, place, kept, expected, key in audit.deviations:
            subject = f"{place}, {describe_key(key)}," if key else place
            self._fail(structure, readback, place, f"{subject} is {kept} and not {expected}")
        if audit.canonical_root and audit.canonical_root != readback.root:
            found = f"it leads to the root {audit.canonical_root.hex()} and not to {readback.root.hex()}"
            self._fail("operation-log", readback, "root", found)
        if not readback.error:
            self._compare_disk(readback)

    def results(self) -> list[CheckResult]:
        """Return what came of it, in the order of the catalogue."""
        figures = [(self._tallies[structure], f"{self._tallies[structure].compared:,}") for structure in _STRUCTURES]
        texts = (
            f"operations in the memory of {self._validators} validators give the final roots and are those on disk",
            f"chunks and grafted nodes of {self._validators} validators are those of the log",
            f"flags, locations, nodes, heights and timers of {self._validators} validators are those of the log",
        )
        return [tally.result(f"{count} {text}") for (tally, count), text in zip(figures, texts, strict=True)]

    def _compare_disk(self, readback: ReadBack) -> None:
        """Compare the operations in memory with those on the disk, which end at the same height."""
        kept, stored = readback.audit.operations, readback.operations
        if readback.height and not stored:
            self._fail("operation-log", readback, "disk", "its disk holds no operation")
        count = min(len(kept), len(stored))
        if kept[len(kept) - count :] == tuple(stored[len(stored) - count :]):
            return
        end = readback.audit.start + len(kept)
        for back in range(count, 0, -1):
            if kept[-back] != stored[-back]:
                place = f"operation {end - back}"
                found = f"{place} is {show(kept[-back])} in memory and {show(stored[-back])} on its disk"
                self._fail("operation-log", readback, place, found)

    def _fail(self, structure: Structure, readback: ReadBack, place: str, text: str) -> None:
        where = f"validator {readback.node}, height {readback.height}"
        self._tallies[structure].fail(f"{where}: {text}", validator=readback.node, height=readback.height, place=place)


def show(operation: bytes) -> str:
    """Return the beginning of an operation in hexadecimal."""
    return operation[:_SHOWN_BYTES].hex() + ("..." if len(operation) > _SHOWN_BYTES else "")
