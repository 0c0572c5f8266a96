"""One history: at each height one block, one root and one set of writes, by whatever road a validator got there."""

from collections.abc import Collection, Mapping
from typing import NamedTuple, final

from checker.checks.observations import NO_DISK_FAULTS, AppliedBlock, ChainRules, DiskFaults, read_event, short
from checker.results import CheckResult, Tally
from checker.tables import describe_place, describe_value
from network.events import Event
from validators.events import BlockExecuted, BlockFinalized, Booted, DamageFound, Halted, SnapshotJoined
from validators.execution.blocks import Header, header_digest
from validators.state import mmr_root
from validators.stats import BROKEN, REFUSED_FINAL


class _Seen(NamedTuple):
    """A digest or root, and the validator that said it first."""

    value: bytes
    node: int


@final
class Agreement:
    """One final block at each height; each validator's chain grows by one linked block at a time and never shrinks.

    Two things may move a validator otherwise: what a fault did to its disk takes it back at a start, and a peer's
    snapshot, which it says, takes it up. Going back, or damage, that no fault of the plan explains is a failure.
    """

    def __init__(self, rules: ChainRules, disk_faults: DiskFaults = NO_DISK_FAULTS, *, judged: int = 1) -> None:
        """Begin; `judged` is how many validators there are to agree."""
        self._tally = Tally("agreement", "safety")
        self._judged = judged
        self._disk_faults = disk_faults
        self._blocks = {0: _Seen(rules.genesis_digest, -1)}
        self._linked: dict[int, None] = {}
        self._heights: dict[int, int] = {}
        self._views: dict[int, int] = {}

    @property
    def height(self) -> int:
        """The greatest height that anybody finalized."""
        return max(self._blocks)

    def boot(self, event: Event) -> None:
        """A restarted validator still has all that it finalized, perhaps more: what was synced but not yet said."""
        boot = read_event(event, Booted)
        before = self._heights.get(event.node, 0)
        # Who had nothing to lose has shown nothing.
        self._tally.compared += before > 0
        if boot.finalized_height < before and event.node not in self._disk_faults.destroyed:
            self._tally.fail(
                f"validator {event.node} restarted at finalized height {boot.finalized_height} after {before}",
                validator=event.node,
                height=boot.finalized_height,
                finalized_before=before,
            )
        if boot.finalized_height != before:
            self._views[event.node] = 0
        self._heights[event.node] = boot.finalized_height

    def damage(self, event: Event) -> None:
        """A validator found its disk damaged."""
        damage = read_event(event, DamageFound)
        self._tally.compared += 1
        if event.node not in self._disk_faults.touched:
            self._tally.fail(
                f"validator {event.node} found {damage.file} damaged at {damage.place} and no fault touched its disk: "
                f"{damage.what}",
                validator=event.node,
                file=damage.file,
                place=damage.place,
            )

    def snapshot_joined(self, event: Event) -> None:
        """A validator goes on from a peer's snapshot: upward only, and at the block that all others have there."""
        joined = read_event(event, SnapshotJoined)
        before = self._heights.get(event.node, 0)
        self._tally.compared += 1
        if joined.height <= before:
            self._tally.fail(
                f"validator {event.node} joined from a snapshot of height {joined.height} where it had {before}",
                validator=event.node,
                height=joined.height,
            )
        self._heights[event.node], self._views[event.node] = joined.height, 0
        self._compare(event.node, joined.height, joined.digest)

    def finalized(self, event: Event) -> None:
        """The next height of this validator, in a later view, with the block that all others have there."""
        final_block = read_event(event, BlockFinalized)
        node, height = event.node, final_block.height
        expected, view = self._heights.get(node, 0) + 1, self._views.get(node, 0)
        self._tally.compared += 2
        if height != expected:
            self._tally.fail(
                f"validator {node} finalized height {height} where {expected} was next", validator=node, height=height
            )
        elif final_block.view <= view:
            self._tally.fail(
                f"validator {node} finalized height {height} in view {final_block.view}, not after view {view}",
                validator=node,
                height=height,
            )
        self._heights[node], self._views[node] = height, final_block.view
        self._compare(node, height, final_block.digest)

    def applied(self, block: AppliedBlock, header: Header) -> None:
        """The block is what its digest says and extends the block of the height below."""
        self._compare(block.node, block.height, block.digest)
        parent = self._blocks.get(block.height - 1)
        self._tally.compared += 1
        place = f"validator {block.node} applied block {short(block.digest)} at height {block.height}"
        if header.height != block.height or header_digest(header) != block.digest:
            self._tally.fail(
                f"{place}, whose header says height {header.height} and has digest {short(header_digest(header))}",
                validator=block.node,
                height=block.height,
            )
        elif parent is None or header.parent != parent.value:
            found = "none" if parent is None else short(parent.value)
            self._tally.fail(
                f"{place} on parent {short(header.parent)}; the final block below is {found}",
                validator=block.node,
                height=block.height,
                parent=header.parent.hex(),
            )
        self._linked[block.height] = None

    def halted(self, event: Event) -> None:
        """A validator that broke an invariant of its own, or cannot execute what is final, does not agree."""
        reason = read_event(event, Halted).reason
        if reason.startswith((BROKEN, REFUSED_FINAL)):
            self._tally.compared += 1
            self._tally.fail(f"validator {event.node} halted: {reason}", validator=event.node, at_us=event.at_us)

    def refuse(self, block: AppliedBlock, reason: str) -> None:
        """Note bytes that are no block."""
        self._tally.compared += 1
        self._tally.fail(
            f"validator {block.node} applied at height {block.height} what is no block: {reason}",
            validator=block.node,
            height=block.height,
        )

    def result(self) -> CheckResult:
        """Return what came of it."""
        nodes = sum(height > 0 for height in self._heights.values())
        if self._judged == 1 and self._linked:
            linked = f"1 validator's {len(self._linked)} blocks are linked, parent by parent in ascending views"
            return self._tally.result(f"{linked}; no other validator finalized the same", heights=self.height)
        if nodes == 1 and self._judged > 1:
            return self._tally.inconclusive("one validator alone finalized anything")
        return self._tally.result(f"{nodes} validators agree on {self.height} heights", heights=self.height)

    def _compare(self, node: int, height: int, digest: bytes) -> None:
        seen = self._blocks.setdefault(height, _Seen(digest, node))
        self._tally.compared += seen.node != node
        if seen.value != digest:
            self._tally.fail(
                f"height {height}: validator {seen.node} finalized {short(seen.value)}, "
                f"validator {node} finalized {short(digest)}",
                height=height,
                validator=node,
                digest=digest.hex(),
                other_validator=seen.node,
                other_digest=seen.value.hex(),
            )


@final
class EqualRoots:
    """Equal blocks lead to equal roots on every road, and at one final height equal roots mean equal blocks."""

    def __init__(self, rules: ChainRules) -> None:
        self._tally = Tally("equal-roots", "safety")
        self._roots = {rules.genesis_digest: _Seen(rules.genesis_root, -1)}
        self._again: dict[bytes, None] = {}
        self._final = {0: (rules.genesis_digest, rules.genesis_root)}

    def executed(self, event: Event) -> None:
        """A speculative execution."""
        block = read_event(event, BlockExecuted)
        self._compare(event.node, block.height, block.digest, root=block.root)

    def finalized(self, event: Event) -> None:
        """A final block: both directions are judged."""
        block = read_event(event, BlockFinalized)
        self._compare(event.node, block.height, block.digest, root=block.root)
        self._tally.compared += block.height in self._final
        digest, root = self._final.setdefault(block.height, (block.digest, block.root))
        if root == block.root and digest != block.digest:
            self._tally.fail(
                f"height {block.height}: blocks {short(digest)} and {short(block.digest)} are both final with root "
                f"{short(root)}",
                height=block.height,
                validator=event.node,
                root=root.hex(),
            )

    def boot(self, event: Event) -> None:
        """The root that a restarted validator recomputed from its disk."""
        boot = read_event(event, Booted)
        known = self._final.get(boot.finalized_height)
        if known is not None:
            self._compare(event.node, boot.finalized_height, known[0], root=boot.root)

    def snapshot_joined(self, event: Event) -> None:
        """The root that a validator recomputed from a peer's snapshot."""
        joined = read_event(event, SnapshotJoined)
        self._compare(event.node, joined.height, joined.digest, root=joined.root)

    def applied(self, block: AppliedBlock, header: Header) -> None:
        """The header's root is the one that the validator came to."""
        self._compare(block.node, block.height, block.digest, root=block.root)
        self._compare(block.node, block.height, block.digest, root=header.state_root)

    def result(self) -> CheckResult:
        """Return what came of it."""
        return self._tally.result(
            f"{len(self._again):,} blocks gave one root each in {self._tally.compared:,} comparisons"
        )

    def _compare(self, node: int, height: int, digest: bytes, *, root: bytes) -> None:
        if digest in self._roots:
            self._tally.compared += 1
            self._again[digest] = None
        seen = self._roots.setdefault(digest, _Seen(root, node))
        if seen.value != root:
            self._tally.fail(
                f"block {short(digest)} at height {height}: validator {seen.node} has root {short(seen.value)}, "
                f"validator {node} has {short(root)}",
                height=height,
                block=digest.hex(),
                validator=node,
                root=root.hex(),
                other_validator=seen.node,
                other_root=seen.value.hex(),
            )


class _Writes(NamedTuple):
    """What the first validator to apply a height wrote there, and who has not applied it yet."""

    node: int
    changes: Mapping[bytes, bytes | None]
    receipts: tuple[bytes, ...]
    awaited: dict[int, None]


@final
class WriteSets:
    """All validators apply the same changes and receipts at a height, and the receipts are those of the header."""

    def __init__(self, honest: Collection[int]) -> None:
        self._tally = Tally("write-sets", "safety")
        self._honest = sorted(honest)
        self._writes: dict[int, _Writes] = {}
        self._keys = 0
        self._compared_heights: dict[int, None] = {}

    def applied(self, block: AppliedBlock, header: Header) -> None:
        """Compare with the first; writes are let go when the last validator has applied the height."""
        first = self._writes.get(block.height)
        if first is None:
            self._tally.compared += 1
            if mmr_root(block.receipts) != header.receipts_root:
                self._tally.fail(
                    f"height {block.height}: receipts of validator {block.node} are not those of the header",
                    height=block.height,
                    validator=block.node,
                )
            awaited = dict.fromkeys(self._honest)
            awaited.pop(block.node, None)
            self._writes[block.height] = _Writes(block.node, block.changes, block.receipts, awaited)
            return
        self._compare(first, block)
        first.awaited.pop(block.node, None)
        if not first.awaited:
            self._writes[block.height] = _Writes(first.node, {}, (), first.awaited)

    def result(self) -> CheckResult:
        """Return what came of it."""
        if len(self._honest) == 1:
            return self._tally.result(
                f"receipts at {len(self._writes)} heights are those of the headers; no other validator wrote the same"
            )
        heights = len(self._compared_heights)
        if not heights:
            return self._tally.inconclusive("no height was applied by two validators")
        return self._tally.result(f"{self._keys:,} writes at {heights} heights are the same everywhere")

    def _compare(self, first: _Writes, block: AppliedBlock) -> None:
        # A second application by the same validator is the agreement check's matter; the writes may be gone already.
        if block.node not in first.awaited:
            return
        self._tally.compared += 1
        if block.height not in self._compared_heights:
            self._compared_heights[block.height] = None
            self._keys += len(first.changes)
        if first.changes != block.changes:
            key = _first_differing(first.changes, block.changes)
            ours, theirs = _value_at(first.changes, key), _value_at(block.changes, key)
            place = describe_place(key, first.changes.get(key), block.changes.get(key))
            self._tally.fail(
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
            self._tally.fail(
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
