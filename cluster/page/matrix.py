"""The root matrix: at each height, which replica came to which root, and in which way.

A cell is one byte. Its low three bits are the group: 0 nothing known, 1 the root of the oracle, `PARTED` to 6 another
root or block, `UNJUDGED` the root of the chain, where the oracle stopped before it. Without an oracle the chain stands
for it. The other bits are `SPECULATIVE` (executed there, never final), `DROPPED` (a block of this height was executed
and rolled back), `UNDONE` (applied, then rewound) and `REPLAYED` (executed more than once).
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from checker.checks.majority import OF_NO_FINAL_BLOCK
from checker.oracle import NAME as ORACLE
from checker.record.streams import RootRecord
from checker.results import CheckResult
from network.events import Event, Handlers
from report.page.rows import NO_BLOCK, Matrix, ReplicaRow
from validators.events import BlockExecuted, BlockFinalized, BlockRolledBack, BlockUndone

AGREES: Final = 1
PARTED: Final = 2
UNJUDGED: Final = 7
GROUP: Final = 7
"""The bits of the group."""

SPECULATIVE: Final = 8
DROPPED: Final = 16
UNDONE: Final = 32
REPLAYED: Final = 64

GROUPS_MAX: Final = 6
"""Groups that a cell can name; further ones share the last."""

ROOT_BYTES: Final = 6
"""Bytes of a root that a page shows."""

TILES_MAX: Final = 2_000
"""The most cells of a row; above them a cell stands for several heights."""

JUDGES: Final = {"cold-replay": "a fresh process, from genesis", ORACLE: "the rules restated, independent code"}
"""Checks that come to roots of their own, and how."""


class Who(NamedTuple):
    """A replica: its name, a short one, its mode and its build."""

    name: str
    short: str
    mode: str
    build: str


class HeightFacts(NamedTuple):
    """A final block in numbers: its proposer, its transactions, and the timers that left in it."""

    proposer: int
    transactions: int
    timers: int


class ExecutionMarks:
    """Executions as the log has them: roots by replica and block, blocks dropped, rewound and executed again.

    Attributes:
        final_us: When each replica first held a block of each height as final.
    """

    def __init__(self) -> None:
        self.roots: dict[tuple[int, int], dict[bytes, bytes]] = {}
        self.flags: dict[tuple[int, int], int] = {}
        self.final_us: dict[tuple[int, int], int] = {}
        self.handlers: Final[Handlers] = {
            BlockExecuted: self._executed,
            BlockFinalized: self._finalized,
            BlockRolledBack: self._dropped,
            BlockUndone: self._undone,
        }

    def _executed(self, event: Event, body: BlockExecuted) -> None:
        here = self.roots.setdefault((event.node, body.height), {})
        if body.digest in here:
            self._flag(event.node, body.height, REPLAYED)
        here[body.digest] = body.root

    def _finalized(self, event: Event, body: BlockFinalized) -> None:
        self.final_us.setdefault((event.node, body.height), event.at_us)

    def _dropped(self, event: Event, body: BlockRolledBack) -> None:
        self._flag(event.node, body.height, DROPPED)

    def _undone(self, event: Event, body: BlockUndone) -> None:
        self._flag(event.node, body.height, UNDONE)

    def _flag(self, node: int, height: int, flag: int) -> None:
        self.flags[node, height] = self.flags.get((node, height), 0) | flag


def make_matrix(
    chain: Sequence[tuple[bytes, bytes]],
    roots: Iterable[RootRecord],
    executions: ExecutionMarks,
    *,
    replicas: Sequence[Who],
    checks: Sequence[CheckResult],
    facts: Sequence[HeightFacts] = (),
) -> Matrix:
    """Return the matrix.

    Args:
        chain: Digest and root of each final block, from height 1 on.
        roots: The blocks that each replica finalized.
        executions: The executions of the log.
        replicas: The replicas, by their numbers.
        checks: The results of the run's checks.
        facts: Facts of each final block, from height 1 on.
    """
    final = {(record.node, record.height): (record.digest, record.root) for record in roots}
    heights = max([len(chain), *(height for _, height in final), *(height for _, height in executions.roots)])
    named = {check.name: check for check in checks}
    groups, oracle = _Groups(chain), _Reference(named.get(ORACLE), len(chain))
    rows = []
    for node, who in enumerate(replicas):
        found = [groups.cell(node, height, final, executions) for height in range(1, heights + 1)]
        cells = bytes(oracle.seen(cell, height) for height, (cell, _) in enumerate(found, start=1))
        times = [executions.final_us.get((node, height)) for height in range(1, heights + 1)]
        rows.append(_Row(who, cells, [root for _, root in found], times))
    rows += _judges([named[name] for name in JUDGES if name in named], groups, oracle, rows)
    differs = (height for height in range(1, heights + 1) if any(_is_apart(row.cells[height - 1]) for row in rows))
    per_tile = max(1, -(-heights // TILES_MAX))
    places: dict[bytes, int] = {b"": 0}
    return Matrix(
        rows=tuple(row.tiled(per_tile, places) for row in rows),
        heights=heights,
        heights_per_tile=per_tile,
        first_divergence=next(differs, None),
        names=tuple(root.hex() for root in places),
        proposers=array("B", (each.proposer for each in facts[::per_tile])),
        transactions=_sums([each.transactions for each in facts], per_tile),
        timers=_sums([each.timers for each in facts], per_tile),
        has_oracle=oracle.is_there,
        note="" if per_tile == 1 else f"A cell stands for {per_tile} heights: the worst of them, and sums of numbers.",
    )


class _Row(NamedTuple):
    """A row height by height: cells, roots, and the times at which the blocks were final."""

    who: Who
    cells: bytes
    roots: Sequence[bytes]
    times: Sequence[int | None]

    def tiled(self, per_tile: int, places: dict[bytes, int]) -> ReplicaRow:
        """Return the row with so many heights a cell; roots that are new get the next places."""
        roots = array("I", (places.setdefault(root[:ROOT_BYTES], len(places)) for root in self.roots[::per_tile]))
        times = array("I", (NO_BLOCK if at is None else at // 1_000 for at in self.times[::per_tile]))
        return ReplicaRow(*self.who, _tiled(self.cells, per_tile), roots, times)


def _judges(
    checks: Sequence[CheckResult], groups: "_Groups", oracle: "_Reference", replicas: Sequence[_Row]
) -> list[_Row]:
    """Return the rows of judges: they stand where the first replica held the block as final."""
    columns = zip(*(row.times for row in replicas), strict=True)
    first = [min((at for at in column if at is not None), default=None) for column in columns]
    rows = []
    for check in checks:
        cells = oracle.row(len(first)) if check.name == ORACLE else _replayed(check, oracle, len(first))
        judged = enumerate(cells, start=1)
        roots = [groups.root(at) if cell & GROUP == AGREES and at != oracle.parted else b"" for at, cell in judged]
        rows.append(_Row(_who_judges(check.name), cells, roots, first))
    return rows


class _Reference:
    """The oracle's opinion of the chain: the height at which its root differs, and the heights that it never saw."""

    def __init__(self, check: CheckResult | None, blocks: int) -> None:
        self.is_there: Final = check is not None and check.status != "inconclusive"
        self.blocks: Final = blocks
        self.parted: int | None = None
        self.until = blocks
        if check is not None and check.status == "failed":
            evidence = dict(check.evidence)
            height = evidence.get("height")
            self.until = min(height - 1, blocks) if isinstance(height, int) else 0
            is_of_chain = "block" not in evidence and evidence.get("what") not in OF_NO_FINAL_BLOCK
            if isinstance(height, int) and is_of_chain and 0 < height <= blocks:
                self.parted = height

    def seen(self, cell: int, height: int) -> int:
        """Return a replica's cell, which the chain has coloured, in the colours of the oracle."""
        group, flags = cell & GROUP, cell & ~GROUP
        if not group or height <= self.until or not self.is_there:
            return cell
        if height == self.parted:
            # Whoever parts from a chain that is wrong may be right.
            return flags | (PARTED if group == AGREES else UNJUDGED)
        return flags | (UNJUDGED if group == AGREES else group)

    def row(self, heights: int) -> bytes:
        """Return the oracle's own row."""
        known = 0 if not self.is_there else self.parted or self.until
        return bytes([AGREES] * known + [0] * (heights - known))


def _is_apart(cell: int) -> bool:
    return PARTED <= cell & GROUP <= GROUPS_MAX


def _sums(values: Sequence[int], per_tile: int) -> "array[int]":
    return array("I", (sum(values[first : first + per_tile]) for first in range(0, len(values), per_tile)))


class _Groups:
    """Numbers the blocks and roots of a height, the chain's first."""

    def __init__(self, chain: Sequence[tuple[bytes, bytes]]) -> None:
        self._chain = chain
        self._others: dict[int, dict[tuple[bytes, bytes], int]] = {}

    def cell(
        self,
        node: int,
        height: int,
        final: Mapping[tuple[int, int], tuple[bytes, bytes]],
        executions: ExecutionMarks,
    ) -> tuple[int, bytes]:
        """Return the cell of a replica at a height, and its root."""
        flags = executions.flags.get((node, height), 0)
        here = final.get((node, height))
        executed = executions.roots.get((node, height), {})
        if here is not None:
            return flags | self._group(height, here), here[1]
        ours = self._chain[height - 1] if height <= len(self._chain) else None
        if ours is not None and ours[0] in executed:
            root = executed[ours[0]]
            return flags | SPECULATIVE | self._group(height, (ours[0], root)), root
        return flags | (SPECULATIVE if executed else 0), b""

    def root(self, height: int) -> bytes:
        """Return the chain's root at a height, nothing above the chain."""
        return self._chain[height - 1][1] if height <= len(self._chain) else b""

    def _group(self, height: int, found: tuple[bytes, bytes]) -> int:
        if height <= len(self._chain) and found == self._chain[height - 1]:
            return AGREES
        others = self._others.setdefault(height, {})
        return min(others.setdefault(found, len(others) + PARTED), GROUPS_MAX)


def _who_judges(name: str) -> Who:
    return Who(name.replace("-", " "), name.partition("-")[0], JUDGES[name], "")


def _replayed(check: CheckResult, oracle: _Reference, heights: int) -> bytes:
    """Return the row of the cold replay: the chain's root below the height at which it came to another one."""
    height = dict(check.evidence).get("height") if check.status == "failed" else oracle.blocks + 1
    if check.status == "inconclusive" or not isinstance(height, int):
        return bytes(heights)
    agreed = max(0, min(height - 1, oracle.blocks))
    cells = bytearray(oracle.seen(AGREES, each) for each in range(1, agreed + 1))
    cells += bytes(heights - agreed)
    if check.status == "failed" and 0 < height <= heights:
        # The oracle's root is known where it is the chain's alone.
        cells[height - 1] = UNJUDGED if height == oracle.parted else PARTED
    return bytes(cells)


def _tiled(cells: bytes, per_tile: int) -> bytes:
    if per_tile == 1:
        return cells
    tiles = bytearray()
    for first in range(0, len(cells), per_tile):
        part = cells[first : first + per_tile]
        flags = 0
        for cell in part:
            flags |= cell & ~GROUP
        tiles.append(flags | max((cell & GROUP for cell in part), key=_rank))
    return bytes(tiles)


def _rank(group: int) -> int:
    """Return the rank of a group: a differing root, then an unjudged root, then an agreeing root."""
    return (0, 1, 3, 4, 5, 6, 7, 2)[group]
