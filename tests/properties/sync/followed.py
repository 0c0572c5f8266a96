"""Blocks on their way from a name to an execution: branches that go on, lost ones, and holes in both.

What becomes of a block that nobody can use costs requests and no more, for as long as somebody asks for it. Here a
follower has a handful of blocks above a final one, some of them on a block that lost, some invalid, some not here.
"""

from types import SimpleNamespace
from typing import Any, Final, NamedTuple, cast

from tests.properties.draws import Asked, Draw
from validators.execution import Engine
from validators.execution.blocks import Block, Header
from validators.sync.follower import Follower, Goal, Purpose, Settled
from validators.sync.seals import STRAY_SEAL, Seals

_BLOCKS: Final = 9
_GOALS: Final = 8
_FINAL: Final = b"final"
_LOST: Final = b"lost"
"""A block of the final height that is not the final one; nobody has it any more."""


class _Kept(NamedTuple):
    """A block, and whether it is here and valid."""

    block: Block
    is_here: bool
    is_invalid: bool


class _Chain:
    """The engine as a follower asks it: what is final, and what is executed."""

    def __init__(self, height: int) -> None:
        self.finalized = SimpleNamespace(height=height, view=0)
        self.finalized_digest = _FINAL
        self.done: dict[bytes, Block] = {}

    def executed(self, digest: bytes) -> Block | None:
        """Return what an execution came to."""
        return self.done.get(digest)


def check_followed_blocks(draw: Draw) -> Asked:
    """Yield what is asked of a follower and of seals, and whether it is so."""
    height = 1 + draw(6)
    blocks = _draw_blocks(height, draw)
    chain, log = _Chain(height), list[tuple[str, bytes]]()

    def execute(block: Block, digest: bytes) -> None:
        log.append(("execute", digest))
        follower.begin(digest)
        chain.done[digest] = block

    def settle(goal: Goal, settled: Settled) -> None:
        log.append(("ready" if settled.is_ready else "refuse", goal.digest))

    follower = Follower(
        cast("Engine", chain),
        execute=execute,
        request=lambda digest, _goal: log.append(("fetch", digest)),
        settle=settle,
        find_fault=lambda _goal, _header: "",
    )
    for digest, kept in blocks.items():
        if kept.is_here:
            follower.add_block(digest, kept.block)
        if kept.is_invalid:
            follower.mark_invalid(digest, "invalid")
    for view in range(1, _GOALS):
        digest = b"%d" % draw(_BLOCKS)
        expected = _expect(blocks, chain, digest)
        log.clear()
        follower.want(Goal(Purpose.CERTIFY, view, digest))
        for _ in range(_BLOCKS):
            if log and log[-1][0] == "execute":
                follower.end(log[-1][1])
                follower.advance()
        # A goal that waits for a block asks for it whenever anything comes.
        follower.abandon(lambda _goal: True)
        yield "a block is fetched, executed or given up otherwise than its branch asks for", log == expected
    seals = Seals(cast("Any", None), cast("Any", _NO_SEALS), cast("Any", None))
    header = blocks[b"0"].block.header
    found = seals.find_fault(header, b"seal"), seals.find_fault(header, b"")
    yield "a seal is taken where no block has one, or missed there", found == (STRAY_SEAL, "")


_NO_SEALS: Final = SimpleNamespace(consensus=SimpleNamespace(check_seal=None))
"""The settings of a validator whose engine seals no blocks."""


def _draw_blocks(final_height: int, draw: Draw) -> dict[bytes, _Kept]:
    blocks: dict[bytes, _Kept] = {}
    heights = {_FINAL: final_height, _LOST: final_height}
    for number in range(_BLOCKS):
        parent = [*heights][draw(len(heights))]
        digest = b"%d" % number
        heights[digest] = heights[parent] + 1
        blocks[digest] = _Kept(_block(heights[digest], parent), draw(6) > 0, draw(12) == 0)
    return blocks


def _block(height: int, parent: bytes) -> Block:
    header = Header(
        version=1,
        height=height,
        consensus_epoch=0,
        view=height,
        parent=parent,
        proposer=0,
        slot=0,
        timestamp_ms=0,
        state_root=b"",
        tx_root=b"",
        receipts_root=b"",
    )
    return Block(header, ())


def _expect(blocks: dict[bytes, _Kept], chain: _Chain, wanted: bytes) -> list[tuple[str, bytes]]:
    """Return what a follower has to do for a block."""
    path: list[bytes] = []
    digest = wanted
    while digest != _FINAL and digest not in chain.done:
        if digest == _LOST or blocks[digest].is_invalid:
            return [("refuse", wanted)]
        if not blocks[digest].is_here:
            return [("fetch", digest)]
        path.append(digest)
        digest = blocks[digest].block.header.parent
    return [*(("execute", each) for each in reversed(path)), ("ready", wanted)]
