"""Equal roots: a block leads to the same state root on every validator, in every replica mode."""

from typing import NamedTuple

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.observations import AppliedBlock, short
from checker.results import CheckResult
from network.events import Event, Handlers
from network.words import counted
from validators.events import DIVERGED, BlockExecuted, BlockFinalized, Booted, SnapshotJoined
from validators.execution.blocks import Header


class _Seen(NamedTuple):
    """A root, and the first validator that reported it."""

    value: bytes
    node: int


class EqualRoots(Check):
    """A block has the same state root on every replica, on every way there.

    At one final height, equal roots mean equal blocks. The root is the root that a replica computed, even if it
    refused the block.
    """

    name = "equal-roots"
    compares_replicas = True

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        rules = run.rules
        self._roots = {rules.genesis_digest: _Seen(rules.genesis_root, -1)}
        self._again: dict[bytes, None] = {}
        self._final = {0: (rules.genesis_digest, rules.genesis_root)}
        self._taken: dict[bytes, int] = {}
        self._refused: dict[bytes, int] = {}
        """By block, the first validator whose roots were all the header's, and the first that found another."""

    @property
    def handlers(self) -> Handlers:
        """Events with a root that a validator reached."""
        return {
            BlockExecuted: self.executed,
            BlockFinalized: self.finalized,
            Booted: self.boot,
            SnapshotJoined: self.snapshot_joined,
        }

    def executed(self, event: Event, block: BlockExecuted) -> None:
        """Compare the root of a speculative execution."""
        self._compare(event.node, block.height, block.digest, root=block.root)
        known = self._refused if block.mode == DIVERGED else self._taken
        self._compare_receipts(block, is_new=known.setdefault(block.digest, event.node) == event.node)

    def _compare_receipts(self, block: BlockExecuted, *, is_new: bool) -> None:
        """Require that validators with one state root for a block also agree on the receipts of its header."""
        taken, refused = self._taken.get(block.digest), self._refused.get(block.digest)
        if taken is None or refused is None or not is_new or self._roots[block.digest].value != block.root:
            return
        if taken in self.run.world.left_behind:
            return
        named = self.run.world.named
        self.tally.fail(
            f"block {short(block.digest)} at height {block.height}: {named(taken)} and {named(refused)} have root "
            f"{short(block.root)}, and the receipts of {named(refused)} are not those of the header",
            height=block.height,
            block=block.digest.hex(),
            validator=refused,
            other_validator=taken,
        )

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Compare a final block's root in both directions: by block and by height."""
        self._compare(event.node, block.height, block.digest, root=block.root)
        self.tally.compared += block.height in self._final
        digest, root = self._final.setdefault(block.height, (block.digest, block.root))
        if root == block.root and digest != block.digest:
            self.tally.fail(
                f"height {block.height}: blocks {short(digest)} and {short(block.digest)} are both final with root "
                f"{short(root)}",
                height=block.height,
                validator=event.node,
                root=root.hex(),
            )

    def boot(self, event: Event, boot: Booted) -> None:
        """Compare the root that a restarted validator recomputed from its disk."""
        known = self._final.get(boot.finalized_height)
        if known is not None:
            self._compare(event.node, boot.finalized_height, known[0], root=boot.root)

    def snapshot_joined(self, event: Event, joined: SnapshotJoined) -> None:
        """Compare the root that a validator recomputed from a peer's snapshot."""
        self._compare(event.node, joined.height, joined.digest, root=joined.root)

    def applied(self, block: AppliedBlock, header: Header) -> None:
        """Require that the validator computed the header's root."""
        self._compare(block.node, block.height, block.digest, root=block.root)
        self._compare(block.node, block.height, block.digest, root=header.state_root)

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{counted(len(self._again), 'blocks')} had equal roots in {counted(self.tally.compared, 'comparisons')}"
        )

    def _compare(self, node: int, height: int, digest: bytes, *, root: bytes) -> None:
        if digest in self._roots:
            self.tally.compared += 1
            self._again[digest] = None
        if digest in self._roots and self._roots[digest].node in self.run.world.left_behind:
            # An outdated build made this block: a newer build comes to another root.
            self._roots[digest] = _Seen(root, node)
        seen, named = self._roots.setdefault(digest, _Seen(root, node)), self.run.world.named
        if seen.value != root:
            self.tally.fail(
                f"block {short(digest)} at height {height}: {named(seen.node)} has root {short(seen.value)}, "
                f"{named(node)} has {short(root)}",
                height=height,
                block=digest.hex(),
                validator=node,
                root=root.hex(),
                other_validator=seen.node,
                other_root=seen.value.hex(),
            )
