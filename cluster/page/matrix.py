"""The root matrix: at each height, which replica came to which root, and in which way.

A cell is one byte. Its low three bits are the group: 0 nothing known, 1 the block and root of the chain, from 2 on
another root or block. The others are `SPECULATIVE` (executed there, never final), `DROPPED` (a block of this height
was executed and rolled back), `UNDONE` (applied, then taken back) and `REPLAYED` (executed more than once).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from checker.record.streams import RootRecord
from checker.results import CheckResult
from network.events import Event, Handlers
from report.page.rows import Matrix, ReplicaRow
from validators.events import BlockExecuted, BlockRolledBack, BlockUndone

SPECULATIVE: Final = 8
DROPPED: Final = 16
UNDONE: Final = 32
REPLAYED: Final = 64

GROUPS_MAX: Final = 7
"""Groups that a cell can name; further ones share the last."""

TILES_MAX: Final = 2_000
"""The most cells of a row; above them a cell stands for several heights."""

JUDGES: Final = {"cold-replay": "a fresh process, from genesis", "oracle": "the rules restated, independent code"}
"""Checks that come to roots of their own, and how."""


class Who(NamedTuple):
    """A replica: its name, a short one, its mode and its build."""

    name: str
    short: str
    mode: str
    build: str


class ExecutionMarks:
    """Executions as the log has them: roots by replica and block, blocks dropped, taken back and executed again."""

    def __init__(self) -> None:
        self.roots: dict[tuple[int, int], dict[bytes, bytes]] = {}
        self.flags: dict[tuple[int, int], int] = {}
        self.handlers: Final[Handlers] = {
            BlockExecuted: self._executed,
            BlockRolledBack: self._dropped,
            BlockUndone: self._undone,
        }

    def _executed(self, event: Event, body: BlockExecuted) -> None:
        here = self.roots.setdefault((event.node, body.height), {})
        if body.digest in here:
            self._flag(event.node, body.height, REPLAYED)
        here[body.digest] = body.root

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
) -> Matrix:
    """Return the matrix.

    Args:
        chain: Digest and root of each final block, from height 1 on.
        roots: The blocks that each replica finalized.
        executions: The executions of the log.
        replicas: The replicas, by their numbers.
        checks: The results of the run's checks.
    """
    final: dict[tuple[int, int], tuple[bytes, bytes]] = {}
    for record in roots:
        final[record.node, record.height] = record.digest, record.root
    heights = max([len(chain), *(height for _, height in final), *(height for _, height in executions.roots)])
    groups = _Groups(chain)
    rows = []
    for node, who in enumerate(replicas):
        cells = bytes(groups.cell(node, height, final, executions) for height in range(1, heights + 1))
        rows.append((who, cells))
    named = {check.name: check for check in checks}
    rows += [(_who_judges(name), _judged(named[name], len(chain), heights)) for name in JUDGES if name in named]
    differs = (
        height for height in range(1, heights + 1) if any(cells[height - 1] & GROUPS_MAX > 1 for _, cells in rows)
    )
    per_tile = max(1, -(-heights // TILES_MAX))
    note = "" if per_tile == 1 else f"A cell stands for {per_tile} heights, and shows the worst of them."
    return Matrix(
        rows=tuple(ReplicaRow(*who, _tiled(cells, per_tile)) for who, cells in rows),
        heights=heights,
        heights_per_tile=per_tile,
        first_divergence=next(differs, None),
        groups=tuple(root.hex() for _, root in chain),
        note=note,
    )


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
    ) -> int:
        """Return the cell of a replica at a height."""
        flags = executions.flags.get((node, height), 0)
        here = final.get((node, height))
        executed = executions.roots.get((node, height), {})
        if here is not None:
            return flags | self._group(height, here)
        ours = self._chain[height - 1] if height <= len(self._chain) else None
        if ours is not None and ours[0] in executed:
            return flags | SPECULATIVE | self._group(height, (ours[0], executed[ours[0]]))
        return flags | (SPECULATIVE if executed else 0)

    def _group(self, height: int, found: tuple[bytes, bytes]) -> int:
        if height <= len(self._chain) and found == self._chain[height - 1]:
            return 1
        others = self._others.setdefault(height, {})
        return min(others.setdefault(found, len(others) + 2), GROUPS_MAX)


def _who_judges(name: str) -> Who:
    return Who(name.replace("-", " "), name.partition("-")[0], JUDGES[name], "")


def _judged(check: CheckResult, blocks: int, heights: int) -> bytes:
    """Return the row of a judge: the chain's root below the height at which it came to another one, if it did."""
    if check.status == "inconclusive":
        return bytes(heights)
    height = dict(check.evidence).get("height") if check.status == "failed" else None
    if check.status == "failed" and not isinstance(height, int):
        return bytes(heights)
    agreed = blocks if height is None else min(int(height) - 1, blocks)
    cells = bytearray(b"\1" * max(agreed, 0) + bytes(heights - max(agreed, 0)))
    # A block that was wrongly refused has no other root by the judge: it agrees with the others.
    is_root = dict(check.evidence).get("what") != "refusal"
    if height is not None and is_root and 0 < int(height) <= heights:
        cells[int(height) - 1] = 2
    return bytes(cells)


def _tiled(cells: bytes, per_tile: int) -> bytes:
    if per_tile == 1:
        return cells
    tiles = bytearray()
    for first in range(0, len(cells), per_tile):
        part = cells[first : first + per_tile]
        flags = 0
        for cell in part:
            flags |= cell & ~GROUPS_MAX
        tiles.append(flags | max(cell & GROUPS_MAX for cell in part))
    return bytes(tiles)
