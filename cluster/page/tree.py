"""The tree of executed blocks, laid out: the chain on the first branch, each fork on one of its own.

Height is the horizontal place, so only branches are computed: a block stands on its parent's branch if it is the first
child there, final ones before others, and on the lowest branch that is free at its height and those above otherwise.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from checker.record.streams import BranchRecord
from network.events import Event, Handlers
from report.page.rows import NO_BLOCK, Arc, Columns, Tree
from validators.events import BlockRolledBack, BlockUndone
from validators.execution.blocks import Header, decode_block
from validators.execution.errors import InvalidEncodingError

BLOCKS_MAX: Final = 2_000
"""The most blocks that are drawn."""

DIGITS: Final = 12
"""Hexadecimal digits of a digest that are shown."""


class Blocks:
    """The executed blocks of a run, each once, in the order of heights; `numbers` are their places by digest."""

    def __init__(self, branches: Iterable[BranchRecord]) -> None:
        found: dict[bytes, tuple[Header, str]] = {}
        for record in branches:
            try:
                header = decode_block(record.block).header
            except InvalidEncodingError:
                continue
            found[record.digest] = header, record.refusal or found.get(record.digest, (header, ""))[1]
        ordered = sorted(found, key=lambda digest: (found[digest][0].height, found[digest][0].view, digest))
        self.headers: Final = [found[digest][0] for digest in ordered]
        self.digests: Final = ordered
        self.numbers: Final = {digest: number for number, digest in enumerate(ordered)}
        self.refusals: Final = {number: found[digest][1] for number, digest in enumerate(ordered) if found[digest][1]}


class ReorgArcs:
    """Collects blocks that replicas dropped or took back; those of one moment are one arc."""

    def __init__(self, numbers: Mapping[bytes, int]) -> None:
        self._numbers = numbers
        self._groups: dict[tuple[int, int, str], list[tuple[int, bytes]]] = {}
        self.handlers: Final[Handlers] = {BlockRolledBack: self._dropped, BlockUndone: self._undone}

    def arcs(self) -> tuple[Arc, ...]:
        """Return an arc for each moment in which a replica dropped blocks."""
        arcs = []
        for (at_us, node, what), blocks in self._groups.items():
            heights = sorted({height for height, _ in blocks})
            top = max(blocks)[1]
            number = self._numbers.get(top, NO_BLOCK)
            arcs.append(Arc(at_us, node, number, heights[0], len(heights), what))
        return tuple(arcs)

    def _dropped(self, event: Event, body: BlockRolledBack) -> None:
        self._add(event, body.height, body.digest, "rolled back")

    def _undone(self, event: Event, body: BlockUndone) -> None:
        self._add(event, body.height, body.digest, "undone")

    def _add(self, event: Event, height: int, digest: bytes, what: str) -> None:
        self._groups.setdefault((event.at_us, event.node, what), []).append((height, digest))


def make_tree(blocks: Blocks, final: Sequence[bytes], arcs: Sequence[Arc]) -> Tree:
    """Return the tree, with the digests of the final blocks given from height 1 on."""
    parents = [blocks.numbers.get(header.parent, NO_BLOCK) for header in blocks.headers]
    is_final = [False] * len(parents)
    for digest in final:
        if digest in blocks.numbers:
            is_final[blocks.numbers[digest]] = True
    rows = _rows(blocks, parents, is_final)
    kept, note = _kept(blocks, parents, is_final)
    columns: dict[str, array[int]] = {
        "number": array("I", kept),
        "height": array("I", (blocks.headers[number].height for number in kept)),
        "view": array("I", (blocks.headers[number].view for number in kept)),
        "proposer": array("B", (blocks.headers[number].proposer for number in kept)),
        "row": array("B", (rows[number] for number in kept)),
        "parent": array("I", (parents[number] for number in kept)),
        "final": array("B", (is_final[number] for number in kept)),
    }
    shown = set(kept)
    return Tree(
        columns=Columns(columns, note),
        digests=tuple(digest.hex()[:DIGITS] for digest in blocks.digests),
        refusals=blocks.refusals,
        arcs=tuple(arc for arc in arcs if arc.block in shown)[:BLOCKS_MAX],
        rows=max(rows, default=0) + 1,
    )


def _rows(blocks: Blocks, parents: Sequence[int], is_final: Sequence[bool]) -> list[int]:
    rows = [0] * len(parents)
    last_height: dict[int, int] = {}
    continued: dict[int, bool] = {}
    order = sorted(
        range(len(parents)), key=lambda number: (blocks.headers[number].height, not is_final[number], number)
    )
    for number in order:
        parent, height = parents[number], blocks.headers[number].height
        if is_final[number]:
            row = 0
        elif parent != NO_BLOCK and not is_final[parent] and parent not in continued:
            row = rows[parent]
        else:
            row = next(row for row in range(1, 256) if last_height.get(row, -2) < height - 1 or row == 255)
        continued[parent] = True
        rows[number] = row
        last_height[row] = max(height, last_height.get(row, -2))
    return rows


def _kept(blocks: Blocks, parents: Sequence[int], is_final: Sequence[bool]) -> tuple[list[int], str]:
    """Return the blocks that are drawn: forks and their surroundings first, then every k-th of the chain."""
    numbers = list(range(len(parents)))
    if len(numbers) <= BLOCKS_MAX:
        return numbers, ""
    forks = [number for number in numbers if not is_final[number]]
    near = {blocks.headers[number].height + step for number in forks for step in (-1, 0, 1)}
    wanted = [number for number in numbers if not is_final[number] or blocks.headers[number].height in near]
    wanted = wanted[: BLOCKS_MAX * 3 // 4]
    chosen = set(wanted)
    room = BLOCKS_MAX - len(wanted)
    stride = -(-len(numbers) // room)
    kept = [number for number in numbers if number in chosen or number % stride == 0][:BLOCKS_MAX]
    note = f"Of {len(numbers):,} executed blocks {len(kept):,} are drawn: forks with the blocks beside them"
    return kept, f"{note}, and every {stride}th of the chain."
