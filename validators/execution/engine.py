"""The engine: executes blocks on speculative branches, finalizes winners, drops losers.

Invariants: an executed block's roots are those of its header; every branch starts at the finalized block; branches
share nothing that changes. Each validator has an engine of its own with a database, caches and indexes of its own.
Rejected: applying a block on execution and undoing it when it loses; dropping a batch is free, undoing is not.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, final

import msgspec

from scheduler import POLICIES, Moment
from validators.actors import Programs
from validators.execution.blocks import (
    VERSION,
    Block,
    Header,
    Transaction,
    header_digest,
)
from validators.execution.errors import (
    InvalidBlockError,
    InvalidGenesisError,
    RootMismatchError,
    UnknownBlockError,
    UnknownParentError,
)
from validators.execution.genesis import Genesis
from validators.execution.genesis_state import build_genesis_state
from validators.execution.heights import BranchHeights, HeightIndex, scan_heights
from validators.execution.run import BlockRun, BlockSummary, Rules
from validators.execution.timers import NOTHING_READ, StateTimers, TimerKeys, Waiting
from validators.execution.view import DecodedCache, View
from validators.state import Batch, Database, mmr_root


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalContext:
    """What a leader builds a block from: the parent's digest, the view, its own index, its clock in milliseconds."""

    parent: bytes
    view: int
    proposer: int
    timestamp_ms: int


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Executed:
    """A block with all that executing it gave.

    `receipts` and `operations` are encoded; `changes` maps each key whose value differs from the parent's to the new
    value, None where it was deleted.
    """

    block: Block
    digest: bytes
    header: Header
    receipts: tuple[bytes, ...]
    events: tuple[msgspec.Struct, ...]
    summary: BlockSummary
    batch: Batch
    operations: tuple[bytes, ...]
    changes: dict[bytes, bytes | None]


@final
@dataclass(frozen=True, slots=True)
class Finalization:
    """What finalizing did: blocks applied, oldest first, and executed blocks that lost."""

    applied: tuple[Executed, ...]
    dropped: tuple[Executed, ...]


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Branch:
    """A block that others can build on, with the derived data of its state; the finalized one has no batch."""

    digest: bytes
    header: Header
    executed: Executed | None
    waiting: Waiting
    heights: BranchHeights

    @property
    def batch(self) -> Batch | None:
        return None if self.executed is None else self.executed.batch


@final
class Engine:
    """Executes, proposes and finalizes the blocks of one validator.

    Whoever sets `on_executed` sees each execution before its roots are compared with those that the block claims: where
    they differ, the block's header is the claimed one, and header and digest are what executing it gave.
    """

    def __init__(
        self,
        genesis: Genesis,
        *,
        programs: Programs,
        verify_transaction: Callable[[Transaction], bool],
        operations: Sequence[bytes] | None = None,
        header: Header | None = None,
    ) -> None:
        """Start from genesis, or from a log read back.

        Args:
            genesis: What the chain starts from.
            programs: Actors' programs by name.
            verify_transaction: Says whether a transaction's signature is its sender's.
            operations: All operations since genesis' own: those of the finalized blocks, oldest first.
            header: The last finalized header, which the log must lead to.

        Raises:
            InvalidGenesisError: The chain cannot start.
            CorruptLog: The operations are no log.
            RootMismatchError: The log does not lead to the header's state root.
        """
        if genesis.policy not in POLICIES:
            raise InvalidGenesisError(f"policy {genesis.policy!r} is none of {', '.join(POLICIES)}")
        self._rules = Rules(genesis, programs, POLICIES[genesis.policy](), verify_transaction)
        self.on_executed: Callable[[Executed], None] = _look_away
        self._cache = DecodedCache()
        self._timer_keys = TimerKeys()
        self._branches: dict[bytes, _Branch] = {}
        self.database, genesis_header = build_genesis_state(genesis, programs)
        self.genesis_digest: Final = header_digest(genesis_header)
        tip = header or genesis_header
        if operations:
            self.database = Database.from_operations(chain(self.database.operations(), operations))
        root = self.database.canonical_root
        if root != tip.state_root:
            raise RootMismatchError(tip.height, tip.state_root, root)
        self._index = HeightIndex(scan_heights(key for key, _ in self.database.items()))
        heights = BranchHeights(self._index, None)
        heights.fold()
        self._finalized = _Branch(header_digest(tip), tip, None, NOTHING_READ, heights)

    @property
    def finalized(self) -> Header:
        """The last finalized header; genesis' at the start."""
        return self._finalized.header

    @property
    def finalized_digest(self) -> bytes:
        """The digest of the last finalized block."""
        return self._finalized.digest

    def propose(self, context: ProposalContext, candidates: Iterable[Transaction]) -> Executed:
        """Build a block from the candidates that are valid in their order, and keep it as executed.

        Raises:
            UnknownParentError: The parent is neither executed nor finalized here.
            InvalidBlockError: The clock or the proposer's index make no valid header.
        """
        parent = self._parent(context.parent)
        draft = Header(
            version=VERSION,
            height=parent.header.height + 1,
            consensus_epoch=0,
            view=context.view,
            parent=context.parent,
            proposer=context.proposer,
            slot=context.timestamp_ms // self._rules.genesis.slot_ms,
            timestamp_ms=context.timestamp_ms,
            state_root=bytes(32),
            tx_root=bytes(32),
            receipts_root=bytes(32),
        )
        self._check_header(draft, parent.header)
        return self._run(parent, draft, None, lambda run: run.take_valid(candidates))

    def execute(self, block: Block) -> Executed:
        """Execute a block on its parent, and keep it if it holds what its header says.

        Raises:
            UnknownParentError: The parent is neither executed nor finalized here.
            InvalidBlockError: The block breaks a rule, or its roots are not those that executing it gives.
        """
        known = self._branches.get(header_digest(block.header))
        if known is not None and known.executed is not None:
            if known.executed.block != block:
                raise InvalidBlockError("transactions are not those of the header's tx_root")
            return known.executed
        parent = self._parent(block.header.parent)
        self._check_header(block.header, parent.header)
        if mmr_root(block.transactions) != block.header.tx_root:
            raise InvalidBlockError("transactions are not those of the header's tx_root")
        return self._run(parent, block.header, block, lambda run: run.take_all(block.transactions))

    def executed(self, digest: bytes) -> Executed | None:
        """Return an executed block that is not finalized yet."""
        branch = self._branches.get(digest)
        return None if branch is None else branch.executed

    def path_to(self, digest: bytes) -> list[Executed]:
        """Return the unfinalized blocks that lead to a block, oldest first, itself the last.

        Raises:
            UnknownBlockError: The block is not executed here, or finalized already.
        """
        path: list[Executed] = []
        while digest != self._finalized.digest or not path:
            executed = self.executed(digest)
            if executed is None:
                raise UnknownBlockError(digest)
            path.append(executed)
            digest = executed.header.parent
        path.reverse()
        return path

    def finalize(self, digest: bytes) -> Finalization:
        """Apply a block and its ancestors to the database and drop every branch that does not lead through it.

        Raises:
            UnknownBlockError: The block is not executed here, or finalized already.
        """
        applied = self.path_to(digest)
        winner = self._branches[digest]
        self.database.apply(applied[-1].batch)
        assert self.database.canonical_root == winner.header.state_root, "what was applied is what was executed"
        for executed in applied:
            self._branches.pop(executed.digest).heights.fold()
            self._forget_gone(executed.changes)
        self._finalized = _Branch(winner.digest, winner.header, None, winner.waiting, winner.heights)
        return Finalization(tuple(applied), tuple(self._drop_losers()))

    def live_values(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield every key of the finalized state, ascending, with its value as this validator holds it.

        Where a decoded record stands in memory it is encoded anew, so that a record that was changed in place shows.
        """
        for key, stored in self.database.items():
            yield key, self._cache.reencode(key, stored)

    def due_heights(self, upto: int, digest: bytes | None = None) -> list[int]:
        """Return the heights up to `upto` that have timers, ascending, as of a block or of the finalized one."""
        branch = self._finalized if digest is None else self._parent(digest)
        return branch.heights.due_heights(upto)

    def _parent(self, digest: bytes) -> _Branch:
        if digest == self._finalized.digest:
            return self._finalized
        branch = self._branches.get(digest)
        if branch is None:
            raise UnknownParentError(digest)
        return branch

    def _check_header(self, header: Header, parent: Header) -> None:
        genesis = self._rules.genesis
        checks = (
            (header.version == VERSION, f"version {header.version} is not {VERSION}"),
            (header.consensus_epoch == 0, f"consensus epoch {header.consensus_epoch} is not 0"),
            (header.height == parent.height + 1, f"height {header.height} does not follow {parent.height}"),
            (header.view > parent.view, f"view {header.view} is not after the parent's {parent.view}"),
            (header.proposer < len(genesis.validators), f"there is no validator {header.proposer}"),
            (
                header.timestamp_ms > parent.timestamp_ms,
                f"timestamp {header.timestamp_ms} is not after the parent's {parent.timestamp_ms}",
            ),
            (
                header.slot == header.timestamp_ms // genesis.slot_ms,
                f"slot {header.slot} is not that of timestamp {header.timestamp_ms}",
            ),
        )
        for holds, reason in checks:
            if not holds:
                raise InvalidBlockError(reason)

    def _run(
        self, parent: _Branch, header: Header, block: Block | None, take_transactions: Callable[[BlockRun], None]
    ) -> Executed:
        """Run a block; a given one must turn out as its header says, a draft gets its roots filled in."""
        batch = self.database.batch(parent.batch)
        view = View(batch, self._cache)
        heights = BranchHeights(self._index, parent.heights)
        timers = StateTimers(view, heights, parent.waiting, self._timer_keys)
        genesis = self._rules.genesis
        moment = Moment(header.height, header.slot, parent.header.slot, genesis.timebase)
        run = BlockRun(
            self._rules, view=view, timers=timers, moment=moment, proposer=genesis.validators[header.proposer]
        )
        try:
            summary = run.run(take_transactions)
            batch.merkleize()
            sealed = _seal(header, run, batch.canonical_root)
            executed = Executed(
                block=block or Block(sealed, tuple(run.transactions)),
                digest=header_digest(sealed),
                header=sealed,
                receipts=tuple(run.receipts),
                events=tuple(run.events),
                summary=summary,
                batch=batch,
                operations=tuple(batch.operations),
                changes=dict(batch.changes),
            )
            self.on_executed(executed)
            if block is not None:
                _check_roots(header, sealed)
        except InvalidBlockError:
            batch.drop()
            self._forget_gone(view.written_keys())
            raise
        known = self.executed(executed.digest)
        if known is not None:
            # A leader that proposes the same again: what is built on the first one must stay alive.
            batch.drop()
            return known
        self._branches[executed.digest] = _Branch(executed.digest, sealed, executed, timers.waiting(), heights)
        return executed

    def _drop_losers(self) -> Iterator[Executed]:
        """Forget every branch that no longer starts at the finalized block; parents stand before their children."""
        kept = {self._finalized.digest: self._finalized}
        for digest, branch in list(self._branches.items()):
            if branch.header.parent in kept:
                kept[digest] = branch
                continue
            del self._branches[digest]
            assert branch.executed is not None, "only the finalized block has no batch"
            branch.executed.batch.drop()
            self._forget_gone(branch.executed.changes)
            yield branch.executed

    def _forget_gone(self, keys: Iterable[bytes]) -> None:
        """Let go of decoded records whose keys the finalized state does not have; a branch that has them reads anew."""
        for key in keys:
            if self.database.get(key) is None:
                self._cache.forget(key)


def _look_away(_executed: Executed) -> None:
    """See nothing."""


def _seal(header: Header, run: BlockRun, state_root: bytes) -> Header:
    return msgspec.structs.replace(
        header, state_root=state_root, tx_root=mmr_root(run.transactions), receipts_root=mmr_root(run.receipts)
    )


def _check_roots(claimed: Header, actual: Header) -> None:
    for name in ("state_root", "tx_root", "receipts_root"):
        expected, found = getattr(claimed, name), getattr(actual, name)
        if expected != found:
            reason = f"{name} {expected.hex()} where executing gives {found.hex()}"
            raise InvalidBlockError(reason, actual.state_root)
