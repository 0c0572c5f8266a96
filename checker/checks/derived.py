"""Derived state: what validators keep in memory is what its source says, and no more than a stated formula allows.

The parts of a validator offer it as plain data (`validators.derived`): kept, rebuilt, and sizes beside their bounds.
An entry that went stale or was never removed changes no vote and no root, and shows nowhere else.
"""

from collections.abc import Mapping, Sequence

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.results import CheckResult
from validators.derived import Derived, Plain


class DerivedState(Check):
    """Derived state of honest replicas is that of its source, at the end and after reorganizations, and bounded."""

    name = "derived"

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._reorganizations = 0
        self._entries = 0

    def rederived(self, node: int, parts: Sequence[Derived]) -> None:
        """Compare one replica in the middle of the run, after blocks were dropped or taken back."""
        self._reorganizations += 1
        self._compare(node, parts, " after a reorganization")

    def finish(self) -> CheckResult:
        """Return the result."""
        for node, parts in self.run.end.derived.items():
            self._compare(node, parts, "")
        times = f", {self._reorganizations:,} times after a reorganization" if self._reorganizations else ""
        replicas = len(self.run.end.derived)
        return self.tally.result(
            f"{self._entries:,} entries in the memory of {replicas} replicas are those of their sources, and "
            f"{self.tally.compared - self._entries:,} sizes are within their bounds{times}"
        )

    def _compare(self, node: int, parts: Sequence[Derived], moment: str) -> None:
        for part in parts:
            if not part.is_of_disk or node not in self.run.disk_faults.touched:
                self._compare_entries(node, part, moment)
            for size in part.sizes:
                self.tally.compared += 1
                if size.found > size.bound:
                    self.tally.fail(
                        f"validator {node}{moment}: {part.part} has {size.found:,} {size.what}, at most {size.bound:,} "
                        f"are allowed ({size.formula})",
                        validator=node,
                        part=part.part,
                        found=size.found,
                        expected=size.bound,
                    )

    def _compare_entries(self, node: int, part: Derived, moment: str) -> None:
        kept, rebuilt = part.kept, part.rebuilt
        count = max(len(kept), len(rebuilt))
        self._entries += count
        self.tally.compared += count
        if kept == rebuilt:
            return
        name = next(name for name in (*kept, *rebuilt) if _value(kept, name) != _value(rebuilt, name))
        found, expected = _value(kept, name), _value(rebuilt, name)
        self.tally.fail(
            f"validator {node}{moment}: {part.part}, {name}, is {found} and not {expected}",
            validator=node,
            part=part.part,
            found=found,
            expected=expected,
        )


def _value(values: Mapping[str, Plain], name: str) -> str:
    if name not in values:
        return "absent"
    value = values[name]
    return value.hex() if isinstance(value, bytes) else str(value)
