"""The blocks that validators applied, and their memory and disks at the end, as the checks see them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from scheduler import Timebase
from validators.execution.genesis import Genesis, PolicyEntry
from validators.execution.phases import PhaseEntry
from validators.execution.summary import BlockSummary
from validators.state import StateAudit

ORDINALS: Final = (1 << 48) - 1
"""The part of an ordinal that a message shares with its copies."""


NO_SUMMARY: Final = BlockSummary(**dict.fromkeys(BlockSummary.__struct_fields__, 0))
"""The summary of a block of an outside application, which reports no counts."""


class AppliedBlock(NamedTuple):
    """A block that one validator finalized and applied.

    `block` is encoded. `changes` maps a state key to its encoded value, or to None if the block deleted it. `receipts`
    are encoded records in the order of the block; `phases` is the ledger of the block's phases.

    The receipts of an outside application are any bytes, and it has neither changes nor a summary. `told` has the
    events that it reported for the block, `included` the digests of the block's pooled transactions by its report.
    """

    node: int
    height: int
    view: int
    digest: bytes
    root: bytes
    block: bytes
    changes: Mapping[bytes, bytes | None] = MappingProxyType({})
    receipts: tuple[bytes, ...] = ()
    summary: BlockSummary = NO_SUMMARY
    phases: Sequence[PhaseEntry] = ()
    told: Sequence[Mapping[str, object]] = ()
    included: Sequence[bytes] = ()


class ProvedState(NamedTuple):
    """Proofs about the finalized state of a validator: of `log_root`, of (key, value) and of (location, operation).

    `superseded` are false proofs: of earlier values of keys, at the operations that wrote these values.
    """

    log_root: bytes
    root: bytes
    keys: Sequence[tuple[bytes, bytes, bytes]]
    operations: Sequence[tuple[int, bytes, bytes]]
    superseded: Sequence[tuple[bytes, bytes, bytes]] = ()


NO_AUDIT: Final = StateAudit(b"", MappingProxyType({}), (), 0, MappingProxyType({}), ())
"""The audit of a replica without tables."""


class ReadBack(NamedTuple):
    """A validator's memory and disk, read at the end of a run.

    `live` has its live values, encoded again. `operations` has the encoded operations of its log, read from its disk,
    with or without the operations of genesis; `error` is the reason if they could not be read. If the log stands on a
    peer's snapshot, `base_height` is the snapshot's height, and the operations begin with the snapshot's. `root` is
    the root in the header at its height. `audit` compares all derived values with the log. `served` has the answers,
    of encoded blocks, that it would give a peer without blocks. An outside application has no values, operations and
    audit.
    """

    node: int
    height: int
    root: bytes
    live: Mapping[bytes, bytes] = MappingProxyType({})
    operations: Sequence[bytes] = ()
    audit: StateAudit = NO_AUDIT
    error: str = ""
    base_height: int = 0
    proved: ProvedState | None = None
    served: Sequence[Sequence[bytes]] = ()


class DiskFaults(NamedTuple):
    """Validators whose disks the plan's faults touch, and the validators among them that may lose synced data."""

    touched: Collection[int] = ()
    destroyed: Collection[int] = ()


class IdleMutant(NamedTuple):
    """A mutant of a run, the attributes that it replaces, and its replicas; without replicas it is in the test bed."""

    name: str
    replaces: Sequence[str]
    holders: Sequence[int]


NO_DISK_FAULTS: Final = DiskFaults()
"""A plan without a fault of any disk."""


class FaultOutcome(Protocol):
    """The effect of one fault of the plan; `faults.FaultEffect` is one."""

    @property
    def name(self) -> str:
        """The fault's name in the plan."""

    @property
    def is_enabled(self) -> bool:
        """Return whether the plan enables the fault."""

    @property
    def may_be_idle(self) -> bool:
        """Return whether the run is conclusive without the fault's effect as well."""

    @property
    def count(self) -> int:
        """The number of effects on the run: messages, or validators stopped and restarted."""

    @property
    def is_past(self) -> bool:
        """Return whether the fault ended before this process began, in a run that goes on from real disks."""


class ChainRules(NamedTuple):
    """The rules of the chain, known before its first block. Limits are per block; `timestamp_ms` is genesis' time."""

    genesis_digest: bytes
    genesis_root: bytes
    timebase: Timebase
    policies: tuple[PolicyEntry, ...]
    block_cycles: int
    block_cells: int
    mailbox_cycles: int
    slot_ms: int
    timestamp_ms: int = 0

    def policy(self, height: int) -> str:
        """Return the policy of a block."""
        return [entry.policy for entry in self.policies if entry.height <= height][-1]

    @property
    def activation_height(self) -> int:
        """The height of the chain's last change of policy; 0 without one."""
        return self.policies[-1].height if len(self.policies) > 1 else 0


def rules_of(genesis: Genesis, *, digest: bytes, root: bytes) -> ChainRules:
    """Return the rules of a chain, whose block 0 has this digest and root."""
    return ChainRules(
        genesis_digest=digest,
        genesis_root=root,
        timebase=genesis.timebase,
        policies=genesis.policies,
        block_cycles=genesis.block_cycles,
        block_cells=genesis.block_cells,
        mailbox_cycles=genesis.mailbox_cycles,
        slot_ms=genesis.slot_ms,
        timestamp_ms=genesis.timestamp_ms,
    )


def short(digest: bytes) -> str:
    """Return the first six bytes of a digest or root in hexadecimal, for a line that a person reads."""
    return digest[:6].hex()


def name_signers_of_both(first: Sequence[int], second: Sequence[int]) -> str:
    """Return who signed both of two certificates: two quorums share a third of all signers."""
    return f"{name_validators(each for each in dict.fromkeys(first) if each in second)} signed both"


def name_validators(nodes: Iterable[int]) -> str:
    """Return `validator 2` or `validators 0, 2`, in ascending order."""
    listed = sorted(nodes)
    return f"validator{'s' if len(listed) != 1 else ''} {', '.join(map(str, listed))}"
