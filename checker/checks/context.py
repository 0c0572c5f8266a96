"""The facts of a run that its checks may use: known before it, expected of it, and read at its end.

The package that runs a scenario fills in this plain data, so that no check knows a scenario, a cluster or their files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from checker.applications import ApplicationFacts, ApplicationFault, Need
from checker.checks.audit.plan import TestBedPlan
from checker.checks.planned import NOT_PLANNED, PlannedRun
from checker.checks.world import RunWorld
from checker.expected import Expectations
from checker.observations import NO_DISK_FAULTS, ChainRules, DiskFaults, FaultOutcome, IdleMutant, ReadBack
from checker.oracle.consensus.compare import Comparison
from checker.record.cold_replay import ColdReplay
from checker.record.engine_calls import RecordedLife
from checker.record.final_blocks import FinalChain
from checker.results import CheckResult
from validators.derived import Derived
from validators.execution import Genesis
from validators.mempool.pool import Pooled
from validators.storage import Disk

_Made = TypeVar("_Made")


class WrittenDisk(Protocol):
    """A disk that can be read beside its validator, like `SimulatedDisk` and `DirectoryDisk`."""

    def written(self) -> Disk:
        """Return a read-only view that always shows the bytes written to the disk."""

    def scarred(self) -> Disk:
        """Return a read-only view of the bytes that a replica would read now; reading it ages no fault."""


class Sample(NamedTuple):
    """Transactions pooled at a time, by digest, for each honest validator that serves, and the validators' numbers."""

    at_us: int
    pools: Sequence[Mapping[bytes, Pooled]]
    nodes: Sequence[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """The state in which a run ended.

    Attributes:
        reason: The reason why it ended; `stopped` means that it reached its goal.
        failure: The failure that ended the run before its goal, or empty.
        now_us: The virtual time at its end.
        faults: The effect of each fault of the plan.
        readbacks: The memory and disk of each replica that still runs.
        derived: The derived state of each replica that serves, by number.
        unreadable: Replicas whose memory could not be read, and why.
        cold: The cold replay, or None if there was none.
        cold_by_build: The cold replays by further builds of an outside application.
        oracle: The oracle's result where the judging process has asked it beside the run, otherwise None.
        consensus: The comparisons of engines with their specifications, likewise.
        record: The run directory as it is being written, with the executed blocks, or None.
        recoveries: Counts of recovery events of all replicas, by name.
        replica_modes: By observer, the number of acts of its replica mode.
        duties: By replica and kind of act, the acts of each replica mode that may not be idle.
        rules: By label, how often each coverage point was reached.
        idle_mutants: The mutants of the run, if they replace callables of which none was called.
        application_faults: The wrong acts of outside applications, in the order of time.
        application_requests: The requests that outside applications answered.
        lost: By replica whose application was not started again, the reason with the end of its standard error.
        slowed: By replica at work that a fault has made longer, the time at which that work began.
    """

    reason: str = ""
    failure: str = ""
    now_us: int = 0
    faults: Sequence[FaultOutcome] = ()
    readbacks: Sequence[ReadBack] = ()
    derived: Mapping[int, Sequence[Derived]] = field(default_factory=dict)
    unreadable: Mapping[int, str] = field(default_factory=dict)
    cold: ColdReplay | None = None
    cold_by_build: Mapping[str, ColdReplay] = field(default_factory=dict)
    oracle: CheckResult | None = None
    consensus: Sequence[Comparison] | None = None
    record: Path | None = None
    recoveries: Mapping[str, int] = field(default_factory=dict)
    replica_modes: Mapping[str, int] = field(default_factory=dict)
    duties: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)
    idle_mutants: Sequence[IdleMutant] = ()
    application_faults: Sequence[ApplicationFault] = ()
    application_requests: int = 0
    lost: Mapping[int, str] = field(default_factory=dict)
    slowed: Mapping[int, int] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class RunContext:
    """A run as its checks know it.

    Attributes:
        rules: The rules of the chain, known before its first block.
        validators: The number of validators; replicas with a greater number are observers.
        honest: Numbers of the replicas that the checks cover, ascending.
        twins: By further machine, the Byzantine validator under whose number it sends and receives.
        engine: The name of the consensus engine.
        offers: The parts of the run that checks may read.
        application: The outside application behind the replicas, or None.
        genesis: The chain's genesis; None in a test of a check that does not read it.
        genesis_values: The state before the first block, state key to encoded value.
        expect: The scenario's expectations.
        disk_faults: Replicas whose disks the plan touches.
        plan: The faults of the plan and when they are at work, and the times and limits that were set.
        max_skew_ms: The most that a block may be ahead of the clocks of its voters.
        finality_depth: The number of blocks on a block that makes it final, in an engine with finality by depth.
        view_retention: A journal keeps the entries of this many views below its floor.
        public_keys: The public key of each validator, by number.
        disks: The disk of each replica, by number.
        sample_pools: Samples the mempools of the honest validators.
        submissions: Returns the transactions that clients submit, encoded, by digest.
        test_bed: The part of the scenario that the test bed follows; None in a test that does not read it.
        differential: Yields the differences of a differential chain, empty texts included; None without this chain.
        watched: Returns a context in which a count has to grow; otherwise the process ends and reports the name.
            Faulty code may compute for ever.
        engine_calls: By replica whose consensus is judged, the lives of its engine in this process.
        earlier_height: The greatest height made by an earlier process; the chain up to it is read from disks.
        is_reopened: Whether an earlier process began the run; it may have finalized no block.
        chain: The final blocks so far, as the first honest replica executed each of them.
        state: The state after the last block that was settled, state key to encoded value.
        end: The state in which the run ended; empty before.
        world: The replicas and messages, by the trace so far.
    """

    rules: ChainRules
    validators: int
    honest: Sequence[int]
    engine: str
    twins: Mapping[int, int] = field(default_factory=dict)
    offers: Sequence[Need] = ("trace", "receipts", "tables")
    application: ApplicationFacts | None = None
    genesis: Genesis | None = None
    genesis_values: Mapping[bytes, bytes] = field(default_factory=dict)
    expect: Expectations = field(default_factory=Expectations)
    disk_faults: DiskFaults = NO_DISK_FAULTS
    plan: PlannedRun = NOT_PLANNED
    max_skew_ms: int = 0
    finality_depth: int = 0
    view_retention: int = 0
    public_keys: Sequence[bytes] = ()
    disks: Sequence[WrittenDisk] = ()
    sample_pools: Callable[[], Sample] = lambda: Sample(0, ())
    submissions: Callable[[], Mapping[bytes, bytes]] = dict
    test_bed: TestBedPlan | None = None
    differential: Callable[[], Iterator[str]] | None = None
    watched: Callable[[Callable[[], int], str], AbstractContextManager[object]] = lambda _count, _what: nullcontext()
    engine_calls: Mapping[int, Sequence[RecordedLife]] = field(default_factory=dict)
    earlier_height: int = 0
    is_reopened: bool = False
    chain: FinalChain = field(default_factory=FinalChain)
    state: Mapping[bytes, bytes] = field(default_factory=dict)
    end: RunEnd = field(default_factory=RunEnd)
    world: RunWorld = field(init=False)
    _made: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world = RunWorld(self.plan, self.honest)

    def check(self, kind: "Callable[[RunContext], _Made]") -> _Made:
        """Return the check of a class, made on first use: a check may read results of another check."""
        if kind not in self._made:
            self._made[kind] = kind(self)
        made: _Made = self._made[kind]
        return made
