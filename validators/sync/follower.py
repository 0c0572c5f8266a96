"""Brings blocks from "named by a certificate" to "executed here": finds, fetches and executes them.

Vocabulary. A *goal* is a block that a caller needs executed: it verifies a proposal, certifies a notarized block,
applies a finalized block, or builds on a block. A block is *ready* once its execution has taken its virtual time. A
goal is *reached* when its block is ready. It has *failed* when the block or an ancestor is invalid or lies on a branch
that lost.

Invariants: the follower begins no execution while another is under way; a leader's own block may be under way. The
ancestors of every ready block are ready or finalized. Goals are served in a fixed order: finalized
first, then by view.

The follower is a synchronous state machine over the execution layer. It asks for work and for requests to peers
through its two callables.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final, NamedTuple

from network.types import NodeId
from validators.consensus.interface import BlockRef
from validators.derived import Derived, DerivedSize, Plain
from validators.execution import ExecutedBlock, ExecutionLayer, InvalidBlockError
from validators.execution.blocks import Block, Header

PEER_BYTES_MAX: Final = 64 * 1024 * 1024
"""Most bytes kept of one peer's unfinalized blocks; beyond it only blocks that a goal waits for are kept."""

PEER_BLOCK_BYTES_MIN: Final = 16 * 1024
"""Least bytes that a block counts for, so that many tiny blocks do not exhaust the memory either."""


class PeerBlock(NamedTuple):
    """The peer that sent a block, and the block's encoded length."""

    peer: NodeId
    length_bytes: int

    @property
    def room_bytes(self) -> int:
        """The bytes that the block takes of the peer's room."""
        return max(self.length_bytes, PEER_BLOCK_BYTES_MIN)


class Purpose(IntEnum):
    """The reason to want a block; members stand in the order of service."""

    FINALIZE = 0
    CERTIFY = 1
    ADOPT = 2
    VERIFY = 3
    PROPOSE = 4


@dataclass(frozen=True, slots=True, order=True)
class Goal:
    """One wanted block: `digest` names it, `parent` is the digest of the parent that consensus expects."""

    purpose: Purpose
    view: int
    digest: bytes
    parent: bytes = b""

    @property
    def ref(self) -> BlockRef:
        """The block as consensus names it."""
        return BlockRef(self.view, self.digest)

    @property
    def key(self) -> tuple[Purpose, int, bytes]:
        """The place among the goals: purpose and view; for adoption also the digest, as a view may have many blocks."""
        return self.purpose, self.view, self.digest if self.purpose is Purpose.ADOPT else b""


@dataclass(frozen=True, slots=True)
class Fetch:
    """The walk back from a goal ended at a block that is not here."""

    digest: bytes


@dataclass(frozen=True, slots=True)
class Execute:
    """The next block to execute on the way to a goal."""

    block: Block
    digest: bytes


@dataclass(frozen=True, slots=True)
class Settled:
    """The goal's block is ready, or can never be ready."""

    is_ready: bool
    reason: str = ""


Step = Fetch | Execute | Settled


class Follower:
    """One validator's unfinalized blocks and the goals over them.

    Attributes:
        layer: The validator's execution layer.
        has_branches: Whether consensus has asked to adopt a block, so that a view may have any number of blocks.
    """

    def __init__(
        self,
        layer: ExecutionLayer,
        *,
        execute: Callable[[Block, bytes], None],
        request: Callable[[bytes, Goal], None],
        settle: Callable[[Goal, Settled], None],
        find_fault: Callable[[Goal, Header], str],
    ) -> None:
        self.layer = layer
        self._execute = execute
        self._request = request
        self._settle = settle
        self._find_fault = find_fault
        self._blocks: dict[bytes, Block] = {}
        self._seals: dict[bytes, bytes] = {}
        self._peer_blocks: dict[bytes, PeerBlock] = {}
        self._peer_bytes: dict[NodeId, int] = {}
        self._invalid: dict[bytes, str] = {}
        self._goals: dict[tuple[Purpose, int, bytes], Goal] = {}
        self.has_branches = False
        self._running: dict[bytes, bool] = {}
        self._is_advancing = False
        self._is_paused = False

    def block(self, digest: bytes) -> Block | None:
        """Return an unfinalized block that is kept here."""
        return self._blocks.get(digest)

    def seal_of(self, digest: bytes) -> bytes:
        """Return the seal kept with an unfinalized block, empty for a block without a seal."""
        return self._seals.get(digest, b"")

    def seal(self, digest: bytes, seal: bytes) -> None:
        """Keep a seal with an unfinalized block, unless the block has no seals or is not kept here."""
        if seal and digest in self._blocks:
            self._seals[digest] = seal

    def sealed(self) -> list[tuple[Block, bytes]]:
        """Return the blocks kept here with their seals, lowest first; leave out blocks without a seal."""
        found = sorted((self._blocks[digest].header.height, digest) for digest in self._seals)
        return [(self._blocks[digest], self._seals[digest]) for _, digest in found]

    def add_block(self, digest: bytes, block: Block, sent: PeerBlock | None = None) -> bool:
        """Keep a block; return False where it is known, too old to matter, or exceeds its peer's room.

        `sent` is None for a block that was built here or read from the disk. Each peer has room of its own, because
        its blocks may be junk above the chain that never becomes final: junk must not displace other peers' blocks.
        """
        if digest in self._blocks or block.header.height <= self.layer.finalized.height:
            return False
        if sent is not None:
            held_bytes = self._peer_bytes.get(sent.peer, 0) + sent.room_bytes
            if held_bytes > PEER_BYTES_MAX and digest not in self.missing():
                return False
            self._peer_bytes[sent.peer] = held_bytes
            self._peer_blocks[digest] = sent
        self._blocks[digest] = block
        return True

    def want(self, goal: Goal) -> None:
        """Add a goal; a goal of the same key that is already here stays."""
        self._goals.setdefault(goal.key, goal)
        self.has_branches |= goal.purpose is Purpose.ADOPT
        self.advance()

    def abandon(self, is_moot: Callable[[Goal], bool]) -> list[Goal]:
        """Forget the goals for which `is_moot` holds, and return them."""
        moot = [goal for goal in self._goals.values() if is_moot(goal)]
        for goal in moot:
            del self._goals[goal.key]
        return moot

    def is_ready(self, digest: bytes) -> bool:
        """Whether the block is the finalized tip, or was executed here and its virtual time is over."""
        if digest == self.layer.finalized_digest:
            return True
        return digest not in self._running and self.layer.executed(digest) is not None

    def lacks(self, digest: bytes) -> bool:
        """Whether the block or one of its ancestors has to be fetched."""
        return isinstance(self._next_step(digest), Fetch)

    def begin(self, digest: bytes, *, is_own: bool = False) -> None:
        """Note that an execution of `digest`, a peer's block or our own, takes its virtual time from now on."""
        self._running[digest] = is_own

    def end(self, digest: bytes) -> None:
        """Note that the execution's time is over: the block is ready, or known to be invalid.

        The block may belong to an earlier follower, whose state a snapshot has replaced in the meantime.
        """
        self._running.pop(digest, None)

    def mark_invalid(self, digest: bytes, reason: str) -> None:
        """Note that the block can never be executed."""
        self._invalid[digest] = reason

    def prune(self) -> None:
        """Forget blocks and goals that finalization has settled."""
        height = self.layer.finalized.height
        self._blocks = {digest: block for digest, block in self._blocks.items() if block.header.height > height}
        self._seals = {digest: seal for digest, seal in self._seals.items() if digest in self._blocks}
        for digest in [digest for digest in self._peer_blocks if digest not in self._blocks]:
            sent = self._peer_blocks.pop(digest)
            self._peer_bytes[sent.peer] -= sent.room_bytes
        self._invalid = {digest: reason for digest, reason in self._invalid.items() if digest in self._blocks}

    def missing(self) -> Iterator[bytes]:
        """Yield each missing block that a goal waits for; none while paused."""
        for goal in () if self._is_paused else sorted(self._goals.values()):
            step = self._step(goal)
            if isinstance(step, Fetch):
                yield step.digest

    @property
    def is_paused(self) -> bool:
        """Whether the state is about to be replaced."""
        return self._is_paused

    def pause(self) -> None:
        """Settle, execute and request nothing until `resume`: the state is about to be replaced."""
        self._is_paused = True

    def resume(self) -> None:
        """Settle, execute and request again."""
        self._is_paused = False
        self.advance()

    def derived(self, view: int) -> Derived:
        """Return kept blocks, rooms of peers and goals, beside the same sets derived from finality and the view."""
        height = self.layer.finalized.height
        rooms: dict[NodeId, int] = {}
        for sent in self._peer_blocks.values():
            rooms[sent.peer] = rooms.get(sent.peer, 0) + sent.room_bytes
        kept: dict[str, Plain] = {f"block {digest.hex()}": True for digest in self._blocks}
        rebuilt: dict[str, Plain] = {
            f"block {digest.hex()}": True for digest, block in self._blocks.items() if block.header.height > height
        }
        kept |= {f"room of peer {peer}": room for peer, room in self._peer_bytes.items() if room}
        rebuilt |= {f"room of peer {peer}": room for peer, room in rooms.items()}
        kept |= {f"giver of {digest.hex()}": sent.peer for digest, sent in self._peer_blocks.items()}
        rebuilt |= {
            f"giver of {digest.hex()}": sent.peer
            for digest, sent in self._peer_blocks.items()
            if digest in self._blocks
        }
        kept |= {f"seal of {digest.hex()}": True for digest in self._seals}
        rebuilt |= {f"seal of {digest.hex()}": True for digest in self._seals if digest in self._blocks}
        kept |= {_name_goal(goal): True for goal in self._goals.values()}
        rebuilt |= {_name_goal(goal): True for goal in self._goals.values() if self._is_open(goal, view)}
        invalid = sum(digest not in self._blocks for digest in self._invalid)
        own, views = sum(self._running.values()), max(view - self.layer.finalized.view, 0) + 1
        return Derived(
            part="follower",
            kept=kept,
            rebuilt=rebuilt,
            sizes=(
                *(
                    DerivedSize(f"bytes of peer {peer}", room, PEER_BYTES_MAX + PEER_BLOCK_BYTES_MIN, "PEER_BYTES_MAX")
                    for peer, room in self._peer_bytes.items()
                ),
                DerivedSize("executions of others' blocks", len(self._running) - own, 1, "one at a time"),
                DerivedSize("executions of own blocks", own, views, "views from the final one to the current one"),
                DerivedSize("invalid blocks that are gone", invalid, len(self._blocks) + 1, "blocks here and 1"),
            ),
        )

    def _is_open(self, goal: Goal, view: int) -> bool:
        """Return whether a goal can still be reached or fail in the current view."""
        return goal.view == view if goal.purpose >= Purpose.VERIFY else goal.view > self.layer.finalized.view

    def advance(self) -> None:
        """Settle goals, start an execution if none is under way, and request missing blocks."""
        if self._is_advancing or self._is_paused:
            return
        self._is_advancing = True
        try:
            while self._advance_once():
                pass
        finally:
            self._is_advancing = False

    def _advance_once(self) -> bool:
        """Serve the goals in order; return True when a goal was settled, which may have changed the other goals."""
        for key in sorted(self._goals):
            goal = self._goals[key]
            step = self._step(goal)
            if isinstance(step, Settled):
                del self._goals[key]
                self._settle(goal, step)
                return True
            if isinstance(step, Fetch):
                self._request(step.digest, goal)
            elif not self._running:
                self._execute(step.block, step.digest)
        return False

    def _step(self, goal: Goal) -> Step:
        """Return the next step for a goal; a block whose header is refuted is neither fetched for nor executed.

        Without this, a leader could make all peers fetch a chain without end, or execute a block of the year 3000.
        """
        block = self._blocks.get(goal.digest)
        fault = "" if block is None else self._find_fault(goal, block.header)
        return Settled(is_ready=False, reason=fault) if fault else self._next_step(goal.digest)

    def _next_step(self, digest: bytes) -> Step:
        """Walk back from `digest` to the nearest ready ancestor and return the first step from there."""
        child: Execute | None = None
        while not self.is_ready(digest):
            if digest in self._invalid:
                return Settled(is_ready=False, reason=self._invalid[digest])
            block = self._blocks.get(digest)
            if block is None:
                return Fetch(digest)
            if block.header.height <= self.layer.finalized.height + 1 and (
                block.header.parent != self.layer.finalized_digest
            ):
                return Settled(is_ready=False, reason="lies on a branch that lost to a finalized block")
            child = Execute(block, digest)
            digest = block.header.parent
        return child or Settled(is_ready=True)


def _name_goal(goal: Goal) -> str:
    return f"goal to {goal.purpose.name.lower()} {goal.digest.hex()} of view {goal.view}"


def run_block(layer: ExecutionLayer, block: Block) -> ExecutedBlock | InvalidBlockError:
    """Execute `block` on its parent; return the error where it is invalid."""
    try:
        return layer.execute(block)
    except InvalidBlockError as error:
        return error
