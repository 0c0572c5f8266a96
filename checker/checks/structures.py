"""Structures in memory: each has to equal the structure rebuilt from the validator's operation log.

The audit is the validator's own code over its own memory (`validators/state/audit.py`); it rebuilds every derived value
from the log. The check compares the audit with the finalized header's root and with the disk.
"""

from typing import ClassVar, Final, NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.observations import ReadBack
from checker.results import CheckResult
from checker.tables import describe_key
from validators.execution.blocks import Header
from validators.state import StateAudit, Structure

_SHOWN_BYTES: Final = 80


class _Where(NamedTuple):
    """A validator, its database's height, and the time of the audit unless that is the end."""

    node: int
    height: int
    moment: str = ""


class StructureCheck(Check):
    """A check of a structure of every replica by its audit, at the end and after reorganizations."""

    name: ClassVar[Structure]
    needs = "tables"
    summary: ClassVar[str]

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._reorganizations = 0

    def reorganized(self, node: int, header: Header, audit: StateAudit) -> None:
        """Compare a replica in the middle of the run, after it dropped or rewound blocks."""
        self._reorganizations += 1
        self.compare_audit(_Where(node, header.height, " after a reorganization"), audit, header.state_root)

    def finish(self) -> CheckResult:
        """Return the result."""
        readbacks = self.run.end.readbacks
        for readback in readbacks:
            self.compare(_Where(readback.node, readback.height), readback)
        after = f", {self._reorganizations:,} times after a reorganization" if self._reorganizations else ""
        text = self.summary.format(len(readbacks))
        return self.tally.result(f"{self.tally.compared:,} {text}{after}")

    def compare(self, where: _Where, readback: ReadBack) -> None:
        """Compare one replica at the end."""
        self.compare_audit(where, readback.audit, readback.root)

    def compare_audit(self, where: _Where, audit: StateAudit, _root: bytes) -> None:
        """Compare this structure's part of an audit."""
        self.tally.compared += audit.compared.get(self.name, 0)
        for structure, place, kept, expected, key in audit.deviations:
            if structure == self.name:
                subject = f"{place}, {describe_key(key)}," if key else place
                self.fail(where, place, f"{subject} is {kept} and not {expected}", (kept, expected))

    def fail(
        self, where: _Where, place: str, text: str, values: tuple[str, str], *, source: str = "its operation log"
    ) -> None:
        """Note a failure; `values` are the value in memory and the value in `source`."""
        found, expected = values
        self.tally.fail(
            f"validator {where.node}, height {where.height}{where.moment}: {text}",
            validator=where.node,
            height=where.height,
            place=place,
            found=found,
            expected=expected,
            source=source,
        )


class OperationLog(StructureCheck):
    """At the end a replica's operations in memory give the root of its final header, and are those on its disk."""

    name = "operation-log"
    summary = "operations in the memory of {} validators give the final roots and are those on disk"

    def compare(self, where: _Where, readback: ReadBack) -> None:
        """Compare the memory with the header's root, and with the disk where that can be read."""
        super().compare(where, readback)
        if not readback.error:
            self._compare_disk(where, readback)

    def compare_audit(self, where: _Where, audit: StateAudit, root: bytes) -> None:
        """Compare the root that the operations lead to as well."""
        super().compare_audit(where, audit, root)
        if audit.canonical_root and audit.canonical_root != root:
            found = f"it leads to the root {audit.canonical_root.hex()} and not to {root.hex()}"
            roots = audit.canonical_root.hex(), root.hex()
            self.fail(where, "root", found, roots, source="its final header")

    def _compare_disk(self, where: _Where, readback: ReadBack) -> None:
        """Compare the operations in memory with the operations on the disk, which end at the same height."""
        kept, stored = readback.audit.operations, readback.operations
        if readback.height and not stored:
            held = f"{len(kept):,} operations", "no operation"
            self.fail(where, "disk", "its disk holds no operation", held, source="its disk")
        count = min(len(kept), len(stored))
        if kept[len(kept) - count :] == tuple(stored[len(stored) - count :]):
            return
        end = readback.audit.start + len(kept)
        for back in range(count, 0, -1):
            if kept[-back] != stored[-back]:
                place, held = f"operation {end - back}", (show(kept[-back]), show(stored[-back]))
                found = f"{place} is {held[0]} in memory and {held[1]} on its disk"
                self.fail(where, place, found, held, source="its disk")


class Bitmap(StructureCheck):
    """At the end a replica's activity bitmap and grafted tree follow from its operations."""

    name = "bitmap"
    summary = "chunks and grafted nodes of {} validators are those of the log"


class Indexes(StructureCheck):
    """At the end a replica's locations, flags, tree, heights and waiting timers are those of its operations.

    Then the replica takes back every block that it can, and is compared again. With `run.audit_reorgs` it is
    compared after each reorganization too.
    """

    name = "indexes"
    summary = "flags, locations, nodes, heights and timers of {} validators are those of the log"


def show(operation: bytes) -> str:
    """Return the beginning of an operation in hexadecimal."""
    return operation[:_SHOWN_BYTES].hex() + ("..." if len(operation) > _SHOWN_BYTES else "")
