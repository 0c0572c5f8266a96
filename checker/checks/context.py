"""The facts of one run that its checks may use: known before it, expected of it, and read at its end.

Plain data from the room that runs a scenario, so that no check knows a scenario, a cluster or a file of either.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, final

from checker.checks.observations import NO_DISK_FAULTS, ChainRules, DiskFaults, FaultOutcome, ReadBack
from checker.record.cold_replay import ColdReplay
from validators.execution import Executed, Genesis
from validators.mempool.pool import Pooled
from validators.storage import Disk

_Made = TypeVar("_Made")


@final
class ExpectedStorm(NamedTuple):
    """The least storm of dead timers that a run has to show."""

    dead_timers_min: int
    actors_min: int
    drain_blocks_min: int


@final
class ReorgCounts(NamedTuple):
    """Reorganizations in counts: what a run showed, or has to show at least.

    Attributes:
        rolled_back: Executed blocks dropped for another, over all validators.
        rolled_back_depth: Heights that one validator dropped at once.
        undone: Blocks applied early and taken back, over all validators.
        undone_depth: Heights that one validator took back at once.
        returned: Blocks of one validator that were taken back at once and are final there in the end.
        reexecuted: Blocks that were executed again when their branch came back, over all validators.
        audited: How often what a validator derives from its state was compared after it dropped or took back blocks.
        crossed: Validators that dropped heights on both sides of an activation at once.
    """

    rolled_back: int = 0
    rolled_back_depth: int = 0
    undone: int = 0
    undone_depth: int = 0
    returned: int = 0
    reexecuted: int = 0
    audited: int = 0
    crossed: int = 0


@final
@dataclass(frozen=True, slots=True)
class ExpectedWorkload:
    """A workload that may not be idle.

    Attributes:
        name: What the scenario calls it.
        is_enabled: Whether it was on.
        is_required: Whether every transaction in `digests` must succeed, and not just any.
        digests: Hashes of its transactions.
        uncertain: Hashes of those that may fail; where there are no others, one of them must stand in the chain.
    """

    name: str
    is_enabled: bool
    is_required: bool
    digests: tuple[bytes, ...]
    uncertain: tuple[bytes, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """What a scenario expects of its run.

    Attributes:
        requires: Names of faults that must take effect; an enabled one that may not be idle must as well.
        workloads: Workloads that may not be idle.
        storm: The storm of dead timers, None where none is expected.
        reorg: Least counts of reorganizations.
        counts: Least counts of what happens on the chain.
        at_most: Greatest counts of the same.
        fired_by: By workload the least fires of each of its actors.
        recovery: Least counts of what replicas make of their disks.
        reports: Least counts of why views are left and of evidence.
        replica_modes: By observer how often it does at least what its replica mode is about.
        finality_views_max: Views within which finality must come back.
        finality_gap_max_us: The longest time between two new final blocks, None where the plan may stop finality.
    """

    requires: Sequence[str] = ()
    workloads: Sequence[ExpectedWorkload] = ()
    storm: ExpectedStorm | None = None
    reorg: ReorgCounts = field(default_factory=ReorgCounts)
    counts: Mapping[str, int] = field(default_factory=dict)
    at_most: Mapping[str, int] = field(default_factory=dict)
    fired_by: Mapping[str, tuple[int, tuple[bytes, ...]]] = field(default_factory=dict)
    recovery: Mapping[str, int] = field(default_factory=dict)
    reports: Mapping[str, int] = field(default_factory=dict)
    replica_modes: Mapping[str, int] = field(default_factory=dict)
    finality_views_max: int = 20
    finality_gap_max_us: int | None = None


class WrittenDisk(Protocol):
    """A disk that can be read beside its validator: `SimulatedDisk` and `DirectoryDisk` are such."""

    def written(self) -> Disk:
        """Return a view of it, for reading, that always shows the bytes that were written to it."""


class Sample(NamedTuple):
    """Transactions that are pooled at a time, by digest, for each honest validator that serves."""

    at_us: int
    pools: Sequence[Mapping[bytes, Pooled]]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """What is left when a run is over.

    Attributes:
        reason: What ended it: `stopped` is its own goal.
        faults: What each fault of the plan came to.
        readbacks: What each replica that still runs holds.
        unreadable: Replicas whose memory could not be read, and why.
        cold: The cold replay, or None where none was made.
        record: The run directory as it is being written, with the executed blocks, or None.
        recoveries: Counts of what all replicas made of their disks, by name.
        replica_modes: By observer how often it did what its replica mode is about.
        duties: By replica and deed how often each replica mode that may not be idle did what it is about.
    """

    reason: str = ""
    faults: Sequence[FaultOutcome] = ()
    readbacks: Sequence[ReadBack] = ()
    unreadable: Mapping[int, str] = field(default_factory=dict)
    cold: ColdReplay | None = None
    record: Path | None = None
    recoveries: Mapping[str, int] = field(default_factory=dict)
    replica_modes: Mapping[str, int] = field(default_factory=dict)
    duties: Mapping[str, int] = field(default_factory=dict)


@final
@dataclass(slots=True, kw_only=True)
class RunContext:
    """One run as its checks know it.

    Attributes:
        rules: What is known of the chain before its first block.
        validators: How many validators there are; replicas with a greater number are observers.
        honest: Numbers of the replicas that are judged, ascending.
        genesis: The chain's genesis, None in a test of a check that does not look at it.
        genesis_values: The state before the first block, state key to encoded value.
        expect: What the scenario expects.
        disk_faults: Replicas whose disks the plan touches.
        max_skew_ms: How far a block may be ahead of the clocks of those that notarize it.
        view_retention: A journal keeps the entries of this many views below its floor.
        engine: The name of the consensus engine.
        public_keys: Of each validator, by number.
        disks: Of each replica, by number.
        sample_pools: Looks into the mempools of the honest validators.
        earlier_height: Up to here the chain was made by another process, and is read from its disks.
        chain: The final blocks so far, as the first honest replica executed each of them.
        state: The state after the last block that was settled, state key to encoded value.
        end: What is left when the run is over; empty before.
    """

    rules: ChainRules
    validators: int
    honest: Sequence[int]
    genesis: Genesis | None = None
    genesis_values: Mapping[bytes, bytes] = field(default_factory=dict)
    expect: Expectations = field(default_factory=Expectations)
    disk_faults: DiskFaults = NO_DISK_FAULTS
    max_skew_ms: int = 0
    view_retention: int = 0
    engine: str = "simplex"
    public_keys: Sequence[bytes] = ()
    disks: Sequence[WrittenDisk] = ()
    sample_pools: Callable[[], Sample] = lambda: Sample(0, ())
    earlier_height: int = 0
    chain: list[Executed] = field(default_factory=list)
    state: Mapping[bytes, bytes] = field(default_factory=dict)
    end: RunEnd = field(default_factory=RunEnd)
    _made: dict[Any, Any] = field(default_factory=dict)

    def check(self, kind: "Callable[[RunContext], _Made]") -> _Made:
        """Return the check of a class, made when it is first asked for: one may read what another knows."""
        if kind not in self._made:
            self._made[kind] = kind(self)
        made: _Made = self._made[kind]
        return made
