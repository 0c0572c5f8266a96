"""The seam between a validator and its state machine, for consensus, sync, finality and recovery.

Invariants: a block can be executed on the finalized block, or on any executed block that was not dropped. An executed
block's root is its header's. Branches share no mutable data. `LayerTables` has the parts that only this project's own
state has (a database with an operation log, proofs, audits); a layer may offer it besides.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from scheduler import Reach
from validators.costs import Costs
from validators.derived import Derived
from validators.execution.blocks import Block, Header
from validators.state import Database, Rebuilds, Snapshot, StateAudit


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalContext:
    """A leader's input for a block: the parent's digest, the view, its own index, its clock in milliseconds."""

    parent: bytes
    view: int
    proposer: int
    timestamp_ms: int


class ExecutedBlock(Protocol):
    """A block with the result of its execution; `root` is the state root after the execution, 32 bytes."""

    @property
    def block(self) -> Block: ...  # noqa: D102
    @property
    def digest(self) -> bytes: ...  # noqa: D102
    @property
    def header(self) -> Header: ...  # noqa: D102
    @property
    def root(self) -> bytes: ...  # noqa: D102
    @property
    def log_entry(self) -> tuple[bytes, ...]:
        """The part that the finalized log keeps with its header: the state is opened again from it."""

    def cost_us(self, costs: Costs, signatures: int) -> int:
        """Return the virtual microseconds of an execution with this number of verified signatures."""


@dataclass(frozen=True, slots=True)
class FinalizationOutcome:
    """The result of finalizing: applied blocks, oldest first, executed blocks that lost, and upkeep that was due."""

    applied: tuple[ExecutedBlock, ...]
    dropped: tuple[ExecutedBlock, ...]
    is_pruned: bool
    is_rebuilt: bool


class ExecutionLayer(Protocol):
    """Executes, proposes and finalizes the blocks of one life of one validator."""

    @property
    def genesis_digest(self) -> bytes:
        """The digest of the genesis block."""

    @property
    def finalized(self) -> Header:
        """The last finalized header; genesis' at the start."""

    @property
    def finalized_digest(self) -> bytes:
        """The digest of the last finalized block."""

    @property
    def applied(self) -> Header:
        """The header of the block at which the state stands: finalized, or above it and applied early."""

    @property
    def tables(self) -> "LayerTables | None":
        """This layer's state for the checks; None where the layer does not have these tables."""

    def watch(self, reach: Reach) -> None:
        """Note this validator's own coverage points."""

    def propose(self, context: ProposalContext, candidates: Iterable[Any]) -> ExecutedBlock:
        """Build a block from the candidates that are valid in their order, and keep it as executed.

        Raises:
            UnknownParentError: The parent is neither executed nor finalized here.
            InvalidBlockError: The clock or the proposer's index make no valid header.
        """

    def execute(self, block: Block) -> ExecutedBlock:
        """Execute a block on its parent, and keep it if its result matches its header.

        Raises:
            UnknownParentError: The parent is neither executed nor finalized here.
            InvalidBlockError: The block breaks a rule, or its roots differ from those of its execution.
        """

    def executed(self, digest: bytes) -> ExecutedBlock | None:
        """Return an executed block that is not finalized yet."""

    def path_to(self, digest: bytes) -> Sequence[ExecutedBlock]:
        """Return the unfinalized blocks up to and including a block, oldest first.

        Raises:
            UnknownBlockError: The block was not executed here, or is finalized already.
        """

    def certify(self, digest: bytes) -> int:
        """Apply a certified block with its ancestors, where blocks are applied early; return the number applied."""

    def finalize(self, digest: bytes) -> FinalizationOutcome:
        """Make a block and its ancestors final, and drop every branch that does not lead through it.

        Raises:
            UnknownBlockError: The block was not executed here, or is finalized already.
        """

    def take_undone(self) -> tuple[ExecutedBlock, ...]:
        """Return the blocks that were applied and then undone since the last call, latest first."""

    def take_reexecuted(self) -> tuple[ExecutedBlock, ...]:
        """Return the blocks that were executed again, as their branch came back, since the last call."""

    def snapshot(self) -> Snapshot:
        """Return the finalized state in pieces; blocks applied early are rewound for it."""

    def find_outline_fault(self, header: Header, outline: Snapshot) -> str:
        """Return why a snapshot without its pieces cannot be that of a header; empty where it can."""

    def verify_snapshot(self, header: Header, snapshot: Snapshot) -> None:
        """Raise ForgedSnapshot unless a snapshot's pieces add up to the header's state root."""

    def next_nonce(self, public_key: bytes) -> int:
        """Return the next nonce of a public key's account in the finalized state, for the pool of transactions."""

    def derived(self) -> Derived:
        """Return the layer's derived data, beside the same data from its source."""

    def release(self) -> None:
        """Let go of the state of a machine that is off: its next start makes a layer of its own."""


class LayerTables(Protocol):
    """The state of the project's own chain, for the checks and for the explanation of a difference.

    `on_executed` and `on_broken_off` get every execution, before its roots are compared with the header's.
    """

    on_executed: Callable[[Any], None]
    on_broken_off: Callable[[Any], None]

    @property
    def database(self) -> Database:
        """The state, as of the finalized block or of a block above it that was applied early."""

    @property
    def finalized(self) -> Header:
        """The last finalized header."""

    @property
    def applied(self) -> Header:
        """The header of the block whose state the database holds."""

    def rewind_to_finalized(self) -> None:
        """Rewind the database to the finalized block."""

    def live_values(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield every key of the database, ascending, with its value as this validator holds it."""

    def audit(self, rebuilds: Rebuilds | None = None) -> StateAudit:
        """Compare database and indexes with the same data rebuilt from the operation log."""
