"""Writes and receipts: every validator has the same at each height."""

from collections.abc import Mapping
from typing import NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.observations import AppliedBlock
from checker.results import CheckResult
from checker.tables import describe_place, describe_value
from validators.execution.blocks import Header
from validators.state import mmr_root


class _Writes(NamedTuple):
    """The writes of the first validator to apply a height, and the validators that have not applied it yet."""

    node: int
    changes: Mapping[bytes, bytes | None]
    receipts: tuple[bytes, ...]
    awaited: dict[int, None]


class WriteSets(Check):
    """All replicas make the same writes and receipts at a height, to the byte, and the receipts are the header's."""

    name = "write-sets"
    compares_replicas = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._writes: dict[int, _Writes] = {}
        self._keys = 0
        self._compared_heights: dict[int, None] = {}

    def applied(self, block: AppliedBlock, header: Header) -> None:
        """Compare with the first validator's writes, which are dropped when all validators have applied the height."""
        first = self._writes.get(block.height)
        if first is None:
            self.tally.compared += 1
            if mmr_root(block.receipts) != header.receipts_root:
                self.tally.fail(
                    f"height {block.height}: receipts of validator {block.node} are not those of the header",
                    height=block.height,
                    validator=block.node,
                )
            awaited = dict.fromkeys(self.run.honest)
            awaited.pop(block.node, None)
            self._writes[block.height] = _Writes(block.node, block.changes, block.receipts, awaited)
            return
        self._compare(first, block)
        first.awaited.pop(block.node, None)
        if not first.awaited:
            self._writes[block.height] = _Writes(first.node, {}, (), first.awaited)

    def finish(self) -> CheckResult:
        """Return the result; a height that one validator alone applied is not compared."""
        if len(self.run.honest) == 1:
            return self.tally.result(
                f"receipts at {len(self._writes)} heights are those of the headers; no other validator wrote the same"
            )
        heights = len(self._compared_heights)
        if not heights:
            return self.tally.inconclusive("no height was applied by two validators")
        # An outside application reports no writes.
        what = f"{self._keys:,} writes" if "tables" in self.run.offers else "receipts"
        return self.tally.result(f"{what} at {heights} heights are the same everywhere")

    def _compare(self, first: _Writes, block: AppliedBlock) -> None:
        # A second application by the same validator is the agreement check's matter; the writes may be dropped already.
        if block.node not in first.awaited:
            return
        self.tally.compared += 1
        if block.height not in self._compared_heights:
            self._compared_heights[block.height] = None
            self._keys += len(first.changes)
        if first.changes != block.changes:
            key = _first_differing(first.changes, block.changes)
            ours, theirs = _value_at(first.changes, key), _value_at(block.changes, key)
            place = describe_place(key, first.changes.get(key), block.changes.get(key))
            self.tally.fail(
                f"height {block.height}: {place}: {ours} on validator {first.node} and {theirs} on "
                f"validator {block.node}",
                height=block.height,
                validator=block.node,
                other_validator=first.node,
                key=key.hex(),
            )
        elif first.receipts != block.receipts:
            pairs = zip(first.receipts, block.receipts, strict=False)
            shorter = min(len(first.receipts), len(block.receipts))
            index = next((i for i, (ours_, theirs_) in enumerate(pairs) if ours_ != theirs_), shorter)
            self.tally.fail(
                f"height {block.height}: receipt {index} of validators {first.node} and {block.node} differs",
                height=block.height,
                validator=block.node,
                other_validator=first.node,
                receipt=index,
            )


def _first_differing(first: Mapping[bytes, bytes | None], second: Mapping[bytes, bytes | None]) -> bytes:
    keys = sorted(first.keys() | second.keys())
    return next(key for key in keys if _value_at(first, key) != _value_at(second, key))


def _value_at(changes: Mapping[bytes, bytes | None], key: bytes) -> str:
    return describe_value(changes[key], key) if key in changes else "not written"
