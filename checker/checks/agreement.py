"""One chain: each height has one final block, and each validator's chain grows by one linked block at a time."""

from typing import NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.observations import AppliedBlock, short
from checker.results import CheckResult
from network.events import Event, Handlers
from network.words import counted
from validators.events import BlockFinalized, Booted, DamageFound, Halted, SnapshotJoined
from validators.execution.blocks import Header, header_digest
from validators.stats import BROKEN, REFUSED_FINAL


class _Seen(NamedTuple):
    """A digest, and the first validator that reported it."""

    value: bytes
    node: int


class Agreement(Check):
    """At most one block is final at each height, it stands on the final block below, and no replica goes back.

    A replica repeats heights only after a fault of its disk, and skips heights only when it joins from a snapshot. A
    replica fails the check if it goes back or has damage without a fault of the plan. It also fails if it halts over
    an invariant of its own or over a final block.
    """

    name = "agreement"
    compares_replicas = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        self._blocks = {0: _Seen(run.rules.genesis_digest, -1)}
        self._linked: dict[int, None] = {}
        self._heights: dict[int, int] = {}
        self._views: dict[int, int] = {}

    @property
    def handlers(self) -> Handlers:
        """Events that move a validator's chain up or back."""
        return {
            Booted: self.boot,
            DamageFound: self.damage,
            SnapshotJoined: self.snapshot_joined,
            BlockFinalized: self.finalized,
            Halted: self.halted,
        }

    def boot(self, event: Event, boot: Booted) -> None:
        """Require that a restarted validator has all blocks that it finalized; it may have synced more unreported."""
        before = self._heights.get(event.node, 0)
        # Before its first final block a validator has nothing to compare.
        self.tally.compared += before > 0
        if boot.finalized_height < before and event.node not in self.run.disk_faults.destroyed:
            self.tally.fail(
                f"validator {event.node} restarted at finalized height {boot.finalized_height} after {before}",
                validator=event.node,
                height=boot.finalized_height,
                finalized_before=before,
            )
        if boot.finalized_height != before:
            self._views[event.node] = 0
        self._heights[event.node] = boot.finalized_height

    def damage(self, event: Event, damage: DamageFound) -> None:
        """A validator found its disk damaged."""
        self.tally.compared += 1
        if event.node not in self.run.disk_faults.touched:
            self.tally.fail(
                f"validator {event.node} found {damage.file} damaged at {damage.place}, but no fault touched its disk: "
                f"{damage.what}",
                validator=event.node,
                file=damage.file,
                place=damage.place,
            )

    def snapshot_joined(self, event: Event, joined: SnapshotJoined) -> None:
        """Require that a peer's snapshot leads upward, to the block that the other validators have at that height."""
        before = self._heights.get(event.node, 0)
        self.tally.compared += 1
        if joined.height <= before:
            self.tally.fail(
                f"validator {event.node} joined from a snapshot of height {joined.height}, but had height {before}",
                validator=event.node,
                height=joined.height,
            )
        self._heights[event.node], self._views[event.node] = joined.height, 0
        self._compare(event.node, joined.height, joined.digest)

    def finalized(self, event: Event, final_block: BlockFinalized) -> None:
        """Require the validator's next height, a later view, and the block that the other validators have there."""
        node, height = event.node, final_block.height
        expected, view = self._heights.get(node, 0) + 1, self._views.get(node, 0)
        self.tally.compared += 2
        if height != expected:
            self.tally.fail(
                f"validator {node} finalized height {height}; expected height {expected}", validator=node, height=height
            )
        elif final_block.view <= view:
            self.tally.fail(
                f"validator {node} finalized height {height} in view {final_block.view}; expected a view after {view}",
                validator=node,
                height=height,
            )
        self._heights[node], self._views[node] = height, final_block.view
        self._compare(node, height, final_block.digest)

    def applied(self, block: AppliedBlock, header: Header) -> None:
        """Require that the block has its digest and extends the block of the height below."""
        self._compare(block.node, block.height, block.digest)
        parent = self._blocks.get(block.height - 1)
        self.tally.compared += 1
        place = f"validator {block.node} applied block {short(block.digest)} at height {block.height}"
        if header.height != block.height or header_digest(header) != block.digest:
            self.tally.fail(
                f"{place}, whose header says height {header.height} and has digest {short(header_digest(header))}",
                validator=block.node,
                height=block.height,
            )
        elif parent is None or header.parent != parent.value:
            found = "none" if parent is None else short(parent.value)
            self.tally.fail(
                f"{place} on parent {short(header.parent)}; the final block below is {found}",
                validator=block.node,
                height=block.height,
                parent=header.parent.hex(),
            )
        self._linked[block.height] = None

    def halted(self, event: Event, halted: Halted) -> None:
        """Fail on a validator that halts over an invariant of its own, or that cannot execute a final block."""
        reason = halted.reason
        if reason.startswith((BROKEN, REFUSED_FINAL)):
            self.tally.compared += 1
            self.tally.fail(f"validator {event.node} halted: {reason}", validator=event.node, at_us=event.at_us)

    def malformed(self, block: AppliedBlock, reason: str) -> None:
        """Fail on an applied block that cannot be decoded."""
        self.tally.compared += 1
        self.tally.fail(
            f"validator {block.node} applied bytes at height {block.height} that are no block: {reason}",
            validator=block.node,
            height=block.height,
        )

    def finish(self) -> CheckResult:
        """Return the result; a validator that finalized alone has no peer to agree with."""
        checked, height = len(self.run.honest), max(self._blocks)
        nodes = sum(height > 0 for height in self._heights.values())
        if checked == 1 and self._linked:
            linked = f"{counted(len(self._linked), 'blocks')} of 1 validator are linked by parent, in ascending views"
            return self.tally.result(f"{linked}; no other validator finalized these heights", heights=height)
        if nodes == 1 and checked > 1:
            return self.tally.inconclusive("only 1 validator finalized a block")
        return self.tally.result(f"{nodes} validators agree on {counted(height, 'heights')}", heights=height)

    def _compare(self, node: int, height: int, digest: bytes) -> None:
        seen = self._blocks.setdefault(height, _Seen(digest, node))
        self.tally.compared += seen.node != node
        if seen.value != digest:
            self.tally.fail(
                f"height {height}: validator {seen.node} finalized {short(seen.value)}, "
                f"validator {node} finalized {short(digest)}",
                height=height,
                validator=node,
                digest=digest.hex(),
                other_validator=seen.node,
                other_digest=seen.value.hex(),
            )
