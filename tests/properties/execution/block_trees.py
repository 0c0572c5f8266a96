"""A tree of blocks over a state: branches that are applied early, taken back, applied again, and lost.

A run takes back what its forks leave, mostly a block or two of one branch, and a batch that stood on a dead one is
asked for again in few of them. Here branches fork anywhere, any of them is certified and any becomes final, with
every limit of what can be taken back. A block's execution is a few writes; which blocks the state holds is a list of
names, and what it holds is what the writes along them leave in a dictionary.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple, cast

from scheduler import CoveragePoint, TimerTriggered, WatchRule
from scheduler.calendar import CalendarProfile
from tests.properties.draws import Asked, Draw
from validators.execution.block_tree import ApplyMode, BlockTree, Branch, Executed
from validators.execution.blocks import Block, Header
from validators.execution.errors import UnknownBlockError
from validators.execution.heights import BranchHeights
from validators.execution.timer_list import NO_TIMERS
from validators.execution.timers import NOTHING_READ, Waiting
from validators.state import Batch, Database
from validators.state.batch import BatchStatus
from validators.state.rules import StateRule

_STEPS: Final = 22
_KEYS: Final = 4
_BUCKETS: Final = 4
_RETAIN_MAX: Final = 4
_FAR: Final = 10**6
_GENESIS: Final = b"genesis"
_PROFILE: Final = CalendarProfile(3, 2, 1)
_READ: Final = Waiting(NO_TIMERS, 0)

Writes = Mapping[bytes, bytes | None]


class _Counting(Database):
    """A state that counts how often its log is pruned: one that is as short as here loses nothing by it."""

    __slots__ = ("pruned",)

    def __init__(self, retain: int) -> None:
        super().__init__(retain=retain)
        self.pruned = 0

    def prune(self, location: int | None = None) -> int:
        """Prune, and count."""
        self.pruned += 1
        return super().prune(location)


class _Plain(NamedTuple):
    """A block: its parent, its height, slot and calendar, what it wrote, and all that its state holds."""

    parent: bytes
    height: int
    slot: int
    profile: CalendarProfile
    writes: Writes
    values: dict[bytes, bytes]
    executed: Executed | None = None


class _Led:
    """A tree of blocks, and what it has to come to: names in lists."""

    def __init__(self, mode: ApplyMode) -> None:
        self.mode = mode
        self.cells: dict[CoveragePoint, int] = {}
        """The number of times that each rule is reached in a step."""
        self.database = _Counting(mode.retain_blocks)
        finalized = Branch(
            digest=_GENESIS,
            header=_header(_GENESIS, 0, 0, self.database.canonical_root),
            executed=None,
            batch=None,
            waiting=_READ,
            heights=BranchHeights(_PROFILE, 0),
        )
        self.tree = BlockTree(self.database, finalized, mode, self._execute_again)
        self.tree.reach = self._note
        self.known = {_GENESIS: _Plain(b"", 0, 0, _PROFILE, {}, {})}
        """Every block that there ever was."""
        self.open: list[bytes] = []
        """Those above the final one, in the order of execution."""
        self.final = _GENESIS
        self.early: list[bytes] = []
        self.undone: list[bytes] = []
        self.stale: dict[bytes, None] = {}
        """Blocks whose batch was taken back, or stood on one that was."""
        self.again: list[tuple[bytes, bytes]] = []
        """Blocks that are executed again, with their parents, and those that were."""
        self.found_again: list[tuple[bytes, bytes]] = []
        self.expected: dict[CoveragePoint, int] = {}

    def path_to(self, digest: bytes) -> list[bytes]:
        """Return the blocks from above the final one up to a block."""
        path = []
        while digest != self.final:
            path.append(digest)
            digest = self.known[digest].parent
        return path[::-1]

    def shared(self, path: Sequence[bytes]) -> int:
        """Return how many blocks of a path are applied early."""
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(path, self.early, strict=False)))

    def stand_below(self, path: Sequence[bytes]) -> None:
        """Leave the branch that is applied where another goes off, and bring back what of that one is dead."""
        shared = self.shared(path)
        taken = self.take_back(shared)
        self.undone += taken
        if len(taken) == self.mode.retain_blocks:
            self.expect(StateRule.REWOUND_TO_LIMIT)
        for digest in path[shared:]:
            if digest in self.stale:
                del self.stale[digest]
                if self.mode.reapply == "execute":
                    self.again.append((digest, self.known[digest].parent))
                else:
                    self.expect(StateRule.WRITTEN_AGAIN)

    def take_back(self, shared: int) -> list[bytes]:
        """Take blocks back but for the first few, the latest first; no batch that stands on them counts any more."""
        taken = self.early[shared:][::-1]
        del self.early[shared:]
        # Parents come before their children.
        for digest in self.open:
            if digest in taken or self.known[digest].parent in self.stale:
                self.stale[digest] = None
        return taken

    def apply(self, path: Sequence[bytes]) -> None:
        """Apply the blocks of a path; if they are applied, those above them stay."""
        if self.shared(path) < len(path):
            self.stand_below(path)
            self.early = [*path]

    def expect(self, cell: CoveragePoint) -> None:
        """Expect that a rule is reached in this step, once more."""
        self.expected[cell] = self.expected.get(cell, 0) + 1

    def _note(self, cell: CoveragePoint) -> None:
        self.cells[cell] = self.cells.get(cell, 0) + 1

    def _execute_again(self, branch: Branch, parent: Branch) -> Batch:
        self.found_again.append((branch.digest, parent.digest))
        return _fill(self.tree.database.batch(parent.batch), self.known[branch.digest].writes)


def check_block_trees(draw: Draw) -> Asked:
    """Yield what is asked of a tree of blocks, and whether it is so."""
    mode = ApplyMode(
        apply="certified" if draw(6) else "finalized",
        retain_blocks=1 + draw(_RETAIN_MAX) if draw(6) else 0,
        prune_every=draw(4),
        reapply="execute" if draw(2) else "write",
    )
    led = _Led(mode)
    for _ in range(_STEPS):
        step = draw(12)
        if step < 5 or not led.open:
            yield from _build(led, draw)
        elif step < 9:
            yield from _certify(led, draw)
        elif step < 10:
            yield from _finalize(led, draw)
        else:
            led.tree.rewind_to_finalized()
            led.take_back(0)
            if draw(2):
                led.tree.database.rebuild()
                yield from _forget(led)
        yield from _compare(led, draw)


def _build(led: _Led, draw: Draw) -> Asked:
    """Execute a block on any that others can build on, often on the newest."""
    tree = led.tree
    parent = led.open[-1] if led.open and draw(3) == 0 else [led.final, *led.open][draw(len(led.open) + 1)]
    led.stand_below(led.path_to(parent))
    before, on = led.known[parent], tree.get(parent)
    assert on is not None, "others can build on a block above the final one"
    batch = tree.open_batch(on)
    yield "a block is executed on other values than its parent left", _holds(batch, before.values)

    digest = b"block %d" % len(led.known)
    height, slot = before.height + 1, before.slot + draw(3)
    writes = _draw_writes(draw)
    values = {**before.values}
    for key, value in writes.items():
        values.pop(key, None)
        values |= {} if value is None else {key: value}
    _fill(batch, writes)
    header = _header(parent, height, slot, batch.canonical_root)
    executed = Executed(
        block=Block(header, (digest,)),
        digest=digest,
        header=header,
        receipts=(),
        events=(TimerTriggered(b"", 1, 0, b""),) if draw(2) else (),
        summary=cast("Any", None),
        batch=batch,
        operations=tuple(batch.operations),
        changes=dict(batch.changes),
    )
    profile = CalendarProfile(1 + draw(5), 1 + draw(3), draw(3))
    heights = BranchHeights(profile, slot)
    tree.add(Branch(digest=digest, header=header, executed=executed, batch=batch, waiting=_READ, heights=heights))
    led.known[digest] = _Plain(parent, height, slot, profile, writes, values, executed)
    led.open.append(digest)


def _certify(led: _Led, draw: Draw) -> Asked:
    """Certify any block that there ever was, now and then one that is lost or final."""
    digest = [*led.known][draw(len(led.known))] if draw(6) == 0 else led.open[draw(len(led.open))]
    expected = 0
    if led.mode.apply == "certified" and digest in led.open:
        path = led.path_to(digest)[: led.mode.retain_blocks]
        expected = len(path) - led.shared(path)
        if len(path) == led.mode.retain_blocks:
            led.expect(StateRule.APPLIED_TO_LIMIT)
        led.apply(path)
    found = led.tree.apply_certified(digest)
    yield "other blocks are applied by a certificate than there is room for", found == expected


def _finalize(led: _Led, draw: Draw) -> Asked:
    """Make any block final, and drop what it leaves behind."""
    tree = led.tree
    digest = led.open[draw(len(led.open))]
    # Mostly one near the final block, so that branches live on.
    digest = led.path_to(digest)[draw(2) * draw(led.known[digest].height - led.known[led.final].height)]
    path, before = led.path_to(digest), led.known[led.final].height
    led.apply(path)
    del led.early[: len(path)]
    led.final = digest
    every = led.mode.prune_every
    is_due = every > 0 and any(height % every == 0 for height in range(before + 1, led.known[digest].height + 1))
    pruned = led.database.pruned
    yield "a log is pruned, or not, otherwise than every so many heights", tree.finalize(digest) == is_due
    yield "a log is not pruned that is told to be, or is", led.database.pruned - pruned == is_due

    kept = [each for each in led.open if each not in path and _leads_through(led, each, digest)]
    lost = [each for each in led.open if each not in path and each not in kept]
    gone = [branch.batch for branch in tree.unfinalized() if branch.digest in lost]
    dropped = tree.drop_losers()
    yield (
        "other blocks are lost to the final one, or children before their parents",
        [each.digest for each in dropped] == lost and all(led.known[each.digest].executed is each for each in dropped),
    )
    is_dropped = all(batch is None or batch.status is BatchStatus.DROPPED for batch in gone)
    yield "the batch of a lost block is not dropped", is_dropped
    for each in dropped:
        if each.events:
            led.expect(WatchRule.TRIGGER_DROPPED)
    led.open = kept
    led.stale = {each: None for each in led.stale if each in kept}


def _leads_through(led: _Led, digest: bytes, final: bytes) -> bool:
    """Return whether a block stands on another."""
    while digest not in {final, _GENESIS}:
        digest = led.known[digest].parent
    return digest == final


def _forget(led: _Led) -> Asked:
    """Rebuild all that is derived, and look at every branch's own."""
    tree, plain = led.tree, led.known[led.final]
    anew = BranchHeights(plain.profile, plain.slot, _buckets(plain.values).items())
    tree.forget_derived(anew, _buckets(plain.values), lambda header: header.slot)
    yield "the final block has other heights than were found", tree.finalized.heights is anew
    for branch in (tree.finalized, *tree.unfinalized()):
        plain = led.known[branch.digest]
        records = _buckets(plain.values)
        expected = BranchHeights(plain.profile, plain.slot, records.items())
        yield (
            "a branch has other heights with timers than its own buckets",
            _look_at(branch.heights) == _look_at(expected) and branch.heights.due_heights(_FAR) == sorted(records),
        )
        yield "a branch goes on with timers that it has read before", branch.waiting is NOTHING_READ
        branch.waiting = _READ


def _look_at(heights: BranchHeights) -> tuple[object, ...]:
    beyond = heights.overflow
    return heights.profile, heights.now, heights.epochs, [*beyond], beyond.root() if beyond else b""


def _compare(led: _Led, draw: Draw) -> Asked:
    tree, database = led.tree, led.tree.database
    applied = led.early[-1] if led.early else led.final
    yield (
        "a state holds other values than lead to the block that is applied",
        (dict(database.items()) == led.known[applied].values),
    )
    yield "another block is applied", tree.applied.digest == applied
    yield "another block is final", tree.finalized.digest == led.final
    yield "a final block keeps its execution", tree.finalized.executed is None and tree.finalized.batch is None
    found = [branch.digest for branch in tree.unfinalized()]
    yield "other blocks stand above the final one", found == led.open
    blocks = [each.block for each in (led.known[digest].executed for digest in led.early) if each is not None]
    yield "other blocks are applied early", tree.early() == blocks
    yield "fewer blocks can be taken back than are applied early", database.retained >= len(led.early)
    yield "blocks are executed again on others than their parents, or not at all", led.found_again == led.again
    unreported = len(led.undone) + (len(led.again) if led.mode.reapply == "execute" else 0)
    yield "blocks that were undone or executed again are miscounted", tree.unreported == unreported
    if led.mode.retain_blocks:
        yield "rules of the state are reached otherwise than its blocks come and go", led.cells == led.expected
    led.cells, led.expected = {}, {}
    if draw(2):
        undone = [each.digest for each in tree.take_undone()]
        yield "other blocks are undone than stood on the branch that was left", undone == led.undone
        again = [each.digest for each in tree.take_reexecuted()]
        yield "other blocks are executed again than are told of", again == [digest for digest, _ in led.again]
        yield "what was told is told again", tree.unreported == 0
        led.undone, led.again = [], []
        led.found_again.clear()
    yield from _compare_paths(led, draw)


def _compare_paths(led: _Led, draw: Draw) -> Asked:
    """Ask for the way to any block that there ever was."""
    digest = [*led.known][draw(len(led.known))]
    is_known = digest == led.final or digest in led.open
    try:
        found = [branch.digest for branch in led.tree.path_to(digest)]
        is_refused = False
    except UnknownBlockError:
        found, is_refused = [], True
    yield (
        "there is a way to a block that is lost, or none to one that is here",
        is_refused != is_known and (is_refused or found == led.path_to(digest)),
    )
    branch = led.tree.get(digest)
    yield "a block is here that is lost, or none that others build on", (branch is not None) == is_known
    yield "another block is here than was asked for", branch is None or branch.digest == digest


def _header(parent: bytes, height: int, slot: int, state_root: bytes) -> Header:
    return Header(
        version=1,
        height=height,
        consensus_epoch=0,
        view=height,
        parent=parent,
        proposer=0,
        slot=slot,
        timestamp_ms=slot,
        state_root=state_root,
        tx_root=b"",
        receipts_root=b"",
    )


def _draw_writes(draw: Draw) -> dict[bytes, bytes | None]:
    """Return what a block writes: values, and buckets of heights, each now and then deleted."""
    writes: dict[bytes, bytes | None] = {}
    for _ in range(1 + draw(3)):
        key = bytes((1, draw(_KEYS))) + bytes(30)
        writes[key] = bytes((draw(256),)) if draw(4) else None
    for _ in range(draw(3)):
        key = b"\x06" + (1 + 3 * draw(_BUCKETS)).to_bytes(8, "big") + bytes(23)
        writes[key] = bytes((0x94, 0, 1, 1, 0xC2 + draw(2))) if draw(3) else None
    return writes


def _fill(batch: Batch, writes: Writes) -> Batch:
    for key, value in writes.items():
        batch.write(key, value)
    batch.merkleize()
    return batch


def _holds(batch: Batch, values: Mapping[bytes, bytes]) -> bool:
    """Return whether a batch reads these values, and nothing else."""
    keys = {bytes((1, number)) + bytes(30): None for number in range(_KEYS)} | dict.fromkeys(values)
    return all(batch.get(key) == values.get(key) for key in keys)


def _buckets(values: Mapping[bytes, bytes]) -> dict[int, bytes]:
    """Return the buckets among values, by height."""
    return {int.from_bytes(key[1:9], "big"): value for key, value in values.items() if key[0] == 6}
