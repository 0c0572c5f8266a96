"""The engine: executes blocks on speculative branches, finalizes winners, drops losers.

Invariants: an executed block's roots are those of its header; every branch starts at the finalized block; branches
share no mutable data. Each validator has an engine of its own with its own database, caches and indexes. Rejected:
applying a block on execution and undoing it when it loses, because a batch can be dropped for free and a rewind cannot.
A validator can be configured to apply as early as on certification, with the same roots (`block_tree.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final, Self

import msgspec

from scheduler import POLICIES, CalendarProfile, Moment, Policy, Reach
from validators.actors import Programs
from validators.derived import Derived
from validators.execution.audit import audit_indexes
from validators.execution.block_tree import ApplyMode, BlockTree, Branch, BrokenOff, Executed, is_due
from validators.execution.blocks import VERSION, Block, Header, Transaction, header_digest
from validators.execution.derived import derive_execution, next_nonce
from validators.execution.errors import InvalidBlockError, RootMismatchError, UnknownBlockError, UnknownParentError
from validators.execution.genesis import Genesis, Policies
from validators.execution.genesis_state import build_genesis_state
from validators.execution.heights import BranchHeights, scan_buckets
from validators.execution.layer import FinalizationOutcome, ProposalContext
from validators.execution.run import BlockRun, Rules
from validators.execution.schema import CALENDAR
from validators.execution.tiers import Tiers
from validators.execution.timers import NOTHING_READ, PoolKeeper, StateTimers, TimerKeys
from validators.execution.validity import check_header, check_roots, check_transactions, seal
from validators.execution.view import StateCodec, View
from validators.state import Batch, Database, Rebuilds, Snapshot, StateAudit, verify_root
from validators.state.rules import StateRule


class Engine:
    """Executes, proposes and finalizes the blocks of one validator.

    `on_executed` gets each execution before its roots are compared with the roots that the block claims. Where they
    differ, the block has the claimed header, and `header` and `digest` are those of the execution. `on_broken_off` gets
    executions without a root.
    """

    def __init__(
        self,
        genesis: Genesis,
        *,
        programs: Programs,
        verify_transaction: Callable[[Transaction], bool],
        operations: Sequence[bytes] | None = None,
        header: Header | None = None,
        base: Snapshot | None = None,
        apply_mode: ApplyMode | None = None,
        policies: Policies = POLICIES,
    ) -> None:
        """Start from genesis, or from a log read back.

        Args:
            genesis: The chain's genesis.
            programs: Actors' programs by name.
            verify_transaction: Says whether a transaction's signature is its sender's.
            operations: All operations of the finalized blocks since genesis or since the base, oldest first.
            header: The last finalized header, which the log must lead to.
            base: The state that the operations extend, where it is not genesis.
            apply_mode: The apply mode, the number of blocks that can be rewound, and the intervals of upkeep.
            policies: The timer phases by the policy's name.

        Raises:
            InvalidGenesisError: The chain cannot start.
            CorruptLog: The operations are not a valid log.
            ForgedSnapshot: The base is not a valid snapshot.
            RootMismatchError: The log does not lead to the header's state root.
        """
        self._rules = Rules(genesis, programs, verify_transaction, policies)
        self.on_executed: Callable[[Executed], None] = _look_away
        self.on_broken_off: Callable[[BrokenOff], None] = _look_away
        self._apply_mode = apply_mode or ApplyMode()
        self._codec: Final = StateCodec()
        self._timer_keys, self._pools = TimerKeys(), PoolKeeper()
        first, genesis_header = build_genesis_state(genesis, programs, policies)
        self.genesis_digest: Final = header_digest(genesis_header)
        # The log must lead to this header, or to genesis' where nothing was finalized.
        tip = header or genesis_header
        retain = self._apply_mode.retain_blocks
        followed = operations or () if base is not None else chain(first.operations(), operations or ())
        database = Database.from_operations(followed, retain=retain, base=base)
        root = database.canonical_root
        # Checked at every start: a valid checksum is not enough to believe the disk.
        if root != tip.state_root:
            raise RootMismatchError(tip.height, tip.state_root, root)
        self._tree = BlockTree(database, self._tip(database, tip), self._apply_mode, self._execute_again)

    def _tip(self, database: Database, header: Header) -> Branch:
        return Branch(
            digest=header_digest(header),
            header=header,
            executed=None,
            batch=None,
            waiting=NOTHING_READ,
            heights=self._find_heights(database, header),
        )

    @property
    def database(self) -> Database:
        """The state, as of the finalized block or of a block above it that was applied early."""
        return self._tree.database

    @property
    def finalized(self) -> Header:
        """The last finalized header; genesis' at the start."""
        return self._tree.finalized.header

    @property
    def applied(self) -> Header:
        """The header of the block whose state the database holds."""
        return self._tree.applied.header

    @property
    def finalized_digest(self) -> bytes:
        """The digest of the last finalized block."""
        return self._tree.finalized.digest

    def watch(self, reach: Reach) -> None:
        """Note this validator's own coverage points: of its branches and of its derived data."""
        self._tree.reach = self._pools.reach = reach

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
        check_header(draft, parent.header, self._rules.genesis)
        return self._run(parent, draft, None, lambda run: run.take_valid(candidates))

    def execute(self, block: Block) -> Executed:
        """Execute a block on its parent, and keep it if its result matches its header.

        Raises:
            UnknownParentError: The parent is neither executed nor finalized here.
            InvalidBlockError: The block breaks a rule, or its roots differ from those of its execution.
        """
        # Header and whole block are compared: a known header may come with other transactions.
        known = self.executed(header_digest(block.header))
        if known is not None and known.block == block:
            return known
        parent = self._parent(block.header.parent)
        try:
            check_header(block.header, parent.header, self._rules.genesis)
            check_transactions(block, self.database.grow, is_known=known is not None)
        except InvalidBlockError as invalid:
            self.on_broken_off(BrokenOff(block, invalid))
            raise
        return self._run(parent, block.header, block, lambda run: run.take_all(block.transactions))

    def executed(self, digest: bytes) -> Executed | None:
        """Return an executed block that is not finalized yet."""
        branch = self._tree.get(digest)
        return None if branch is None else branch.executed

    def path_to(self, digest: bytes) -> list[Executed]:
        """Return the unfinalized blocks up to and including a block, oldest first.

        Raises:
            UnknownBlockError: The block was not executed here, or is finalized already.
        """
        path = [branch.executed for branch in self._tree.path_to(digest) if branch.executed is not None]
        if not path:
            raise UnknownBlockError(digest)
        return path

    def certify(self, digest: bytes) -> int:
        """Apply a certified block with its ancestors in the mode that applies early; return the number applied.

        Blocks applied on another branch are undone. A block that is not executed here any more is ignored.
        """
        return self._tree.apply_certified(digest)

    def take_undone(self) -> tuple[Executed, ...]:
        """Return the blocks that were applied and then undone since the last call, latest first."""
        return self._tree.take_undone()

    def take_reexecuted(self) -> tuple[Executed, ...]:
        """Return the blocks that were executed again, as their branch came back, since the last call."""
        return self._tree.take_reexecuted()

    def rewind_to_finalized(self) -> None:
        """Rewind the database to the finalized block, for a reader of the finalized state."""
        self._tree.rewind_to_finalized()

    def finalize(self, digest: bytes) -> FinalizationOutcome:
        """Apply a block and its ancestors to the database and drop every branch that does not lead through it.

        Raises:
            UnknownBlockError: The block was not executed here, or is finalized already.
        """
        applied = self.path_to(digest)
        before = self.finalized.height
        is_pruned = self._tree.finalize(digest)
        dropped = self._tree.drop_losers()
        is_rebuilt = is_due(self._apply_mode.rebuild_indexes_every, before, self.finalized.height)
        if is_rebuilt:
            self._rebuild_indexes()
        return FinalizationOutcome(tuple(applied), tuple(dropped), is_pruned, is_rebuilt)

    def snapshot(self) -> Snapshot:
        """Return the finalized state; blocks applied early are rewound for it."""
        self.rewind_to_finalized()
        return self.database.snapshot()

    def find_outline_fault(self, header: Header, outline: Snapshot) -> str:
        """Return why a snapshot without its operations cannot be that of a header; empty where it can."""
        if not verify_root(outline.witness, header.state_root, outline.root):
            return "witness: it does not lead to the header's state root"
        return ""

    def verify_snapshot(self, header: Header, snapshot: Snapshot) -> None:
        """Raise ForgedSnapshot unless a snapshot's operations lead to both of its roots."""
        Database.from_snapshot(snapshot, header.state_root)

    @property
    def tables(self) -> Self:
        """The state itself."""
        return self

    def live_values(self) -> Iterator[tuple[bytes, bytes]]:
        """Return every key of the database, ascending, with its value."""
        return self.database.items()

    def next_nonce(self, public_key: bytes) -> int:
        """Return the next nonce of a public key's account in the finalized state, wherever the database stands."""
        return next_nonce(self._tree, public_key)

    def due_heights(self, upto: int, digest: bytes | None = None) -> list[int]:
        """Return the heights up to `upto` that have timers, ascending, as of a block or of the finalized block."""
        branch = self._tree.finalized if digest is None else self._parent(digest)
        return branch.heights.due_heights(upto)

    def audit(self, rebuilds: Rebuilds | None = None) -> StateAudit:
        """Compare database and indexes, as of the present state, with the same data rebuilt from the operation log.

        Audits of several engines may share `rebuilds`.
        """
        applied = self._tree.applied
        policy = self._rules.policies.get(applied.waiting.policy, Policy)()
        derive = partial(policy.derive, height=applied.header.height + 1)
        return audit_indexes(
            self.database.audit(rebuilds), applied.heights, applied.waiting, self._pools, derive=derive
        )

    def release(self) -> None:
        """Let go of the state of a machine that is off; the tree and this engine lead to each other."""
        del self._tree, self._pools, self._timer_keys

    def derived(self) -> Derived:
        """Return the derived data that the audit does not compare: executed blocks."""
        return derive_execution(self._tree)

    def _parent(self, digest: bytes) -> Branch:
        branch = self._tree.get(digest)
        if branch is None:
            raise UnknownParentError(digest)
        return branch

    def _run(
        self, parent: Branch, header: Header, block: Block | None, take_transactions: Callable[[BlockRun], None]
    ) -> Executed:
        """Run a block; a given block must match its header, a draft gets its roots filled in."""
        batch = self._tree.open_batch(parent)
        view, tiers, run = self._open_run(parent, header, batch)
        try:
            summary = run.run(take_transactions)
            batch.merkleize()
            sealed = seal(header, run.transactions, run.receipts, batch.canonical_root, grow=self.database.grow)
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
                phases=tuple(run.phases),
                reached=run.reached(),
                insolvent_left=run.result.insolvent_left,
            )
            # Before the roots are compared, because observers must see refused executions too.
            self.on_executed(executed)
            if block is not None:
                check_roots(header, sealed)
        except Exception as error:
            if not isinstance(error, InvalidBlockError) or error.own_root is None:
                tried = block or Block(header, tuple(run.transactions))
                self.on_broken_off(BrokenOff(tried, error, tuple(run.receipts), dict(view.written()), batch.get))
            if isinstance(error, InvalidBlockError):
                batch.drop()
            raise
        if (known := self.executed(executed.digest)) is not None:
            # A leader proposed the same block again: the first batch and all batches on it must stay alive.
            batch.drop()
            return known
        digest, heights, waiting = executed.digest, tiers.heights, run.waiting()
        self._tree.add(
            Branch(digest=digest, header=sealed, executed=executed, batch=batch, waiting=waiting, heights=heights)
        )
        return executed

    def _open_run(self, parent: Branch, header: Header, batch: Batch) -> tuple[View, Tiers, BlockRun]:
        """Return a block's run on its parent's state, which `batch` extends, and the run's inputs."""
        genesis = self._rules.genesis
        if parent.waiting is NOTHING_READ and header.height > 1:
            self._pools.reach(StateRule.DERIVED_ANEW)
        view = View(batch, self._codec)
        moment = Moment(
            header.height, header.slot, parent.header.slot, genesis.timebase, header.timestamp_ms, genesis.slot_ms
        )
        tiers = Tiers(view, parent.heights, moment)
        timers = StateTimers(view, tiers.heights, parent.waiting, self._timer_keys, pools=self._pools)
        proposer = genesis.validators[header.proposer]
        run = BlockRun(self._rules, view=view, tiers=tiers, timers=timers, moment=moment, proposer=proposer)
        run.watch(self._tree.reach)
        return view, tiers, run

    def _execute_again(self, branch: Branch, parent: Branch) -> Batch:
        """Execute a block again, on a state that was rewound since; its result must be the same in every respect."""
        before = branch.executed
        assert before is not None, "only the finalized block was not executed"
        batch = self.database.batch(parent.batch)
        _, tiers, run = self._open_run(parent, branch.header, batch)
        run.run(lambda run: run.take_all(before.block.transactions))
        batch.merkleize()
        place = f"block {branch.digest.hex()[:16]} of height {branch.header.height}, executed again,"
        assert tuple(run.receipts) == before.receipts, f"{place} has other receipts"
        assert tuple(batch.operations) == before.operations, f"{place} makes other operations"
        assert batch.canonical_root == branch.header.state_root, f"{place} leads to {batch.canonical_root.hex()}"
        # Taken from the new run, because its pool represents its own waiting set.
        branch.waiting, branch.heights = run.waiting(), tiers.heights
        return batch

    def _rebuild_indexes(self) -> None:
        """Rebuild all derived data from the operation log alone.

        Blocks applied early are rewound first, and applied again with the next certified block.
        """
        self._tree.rewind_to_finalized()
        self.database.rebuild()
        finalized = self._find_heights(self.database, self.finalized)
        self._tree.forget_derived(finalized, scan_buckets(self.database.items()), self._present)
        self._timer_keys = TimerKeys()
        self._pools = PoolKeeper(self._pools.reach)

    def _present(self, header: Header) -> int:
        return header.slot if self._rules.genesis.timebase == "slot" else header.height

    def _find_heights(self, database: Database, header: Header) -> BranchHeights:
        """Return the heights with timers of a whole state, as of its block."""
        stored = database.get(CALENDAR.key())
        assert stored is not None, "genesis writes the calendar profile"
        profile = msgspec.msgpack.decode(stored, type=CalendarProfile)
        return BranchHeights(profile, self._present(header), scan_buckets(database.items()).items())


def _look_away(_what: object) -> None:
    """Ignore the argument: the default observer of an engine."""
