"""The facts of one run that its checks may use: known before it, expected of it, and read at its end.

Plain data from the room that runs a scenario, so that no check knows a scenario, a cluster or a file of either.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from checker.checks.audit.plan import TestBedPlan
from checker.checks.observations import NO_DISK_FAULTS, ChainRules, DiskFaults, FaultOutcome, IdleMutant, ReadBack
from checker.checks.planned import NOT_PLANNED, PlannedRun
from checker.checks.world import RunWorld
from checker.record.cold_replay import ColdReplay
from checker.record.engine_calls import RecordedLife
from checker.record.final_blocks import FinalChain
from faults.anchors.anchor import Anchor
from validators.actors import Emitted
from validators.derived import Derived
from validators.execution import Genesis
from validators.mempool.pool import Pooled
from validators.storage import Disk

_Made = TypeVar("_Made")

Need: TypeAlias = Literal["trace", "events", "receipts", "tables"]
"""Parts of a run that a check may read.

- `trace`: the log of events, blocks, roots, disks; any run has them.
- `events`: the timer events that an outside application tells.
- `receipts`: the receipts of this project's own chain.
- `tables`: its state, changes, summaries and what replicas keep in memory of them.
"""

_AN_APPLICATION: Final = "of this project's own chain, which an application does not have"

NOT_OFFERED: Final[Mapping[Need, str]] = {
    "trace": "it needs the trace, which the run does not have",
    "events": "it is about outside applications",
    "receipts": f"it needs the receipts {_AN_APPLICATION}",
    "tables": f"it needs the tables {_AN_APPLICATION}",
}
"""Why a run that does not offer a part leaves out the checks that need it."""


class ExpectedStorm(NamedTuple):
    """The least storm of dead timers that a run has to show."""

    dead_timers_min: int
    actors_min: int
    drain_blocks_min: int


class ReorgCounts(NamedTuple):
    """Reorganizations in counts: those that a run showed, or the least that it has to show.

    Attributes:
        rolled_back: Executed blocks dropped for another, over all validators.
        rolled_back_depth: Heights that one validator dropped at once.
        undone: Blocks applied early and taken back, over all validators.
        undone_depth: Heights that one validator took back at once.
        returned: Blocks of one validator that were taken back at once and are final there in the end.
        reexecuted: Blocks that were executed again when their branch came back, over all validators.
        audited: Comparisons of a validator's derived values after it dropped or took back blocks.
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


@dataclass(frozen=True, slots=True)
class ExpectedWorkload:
    """A workload that may not be idle.

    Attributes:
        name: Its name in the scenario.
        is_enabled: Whether it was on.
        is_required: Whether every transaction in `digests` must succeed, instead of at least one.
        digests: Hashes of its transactions.
        uncertain: Hashes of those that may fail; where there are no others, one of them must stand in the chain.
        recurring: Addresses of actors that schedule themselves, one fire of which has to succeed; empty where none do.
        firing: Addresses of other actors with timers, one of which has to come due or to leave where any is scheduled.
        told: Events that its actors have to emit.
    """

    name: str
    is_enabled: bool
    is_required: bool
    digests: tuple[bytes, ...]
    uncertain: tuple[bytes, ...] = ()
    recurring: tuple[bytes, ...] = ()
    firing: tuple[bytes, ...] = ()
    told: tuple[Emitted, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """The expectations of a scenario for its run.

    Attributes:
        requires: Names of faults that must take effect, besides enabled ones that may not be idle.
        workloads: Workloads that may not be idle.
        storm: The expected storm of dead timers, or None.
        reorg: Least counts of reorganizations.
        counts: Least counts of events on the chain.
        at_most: Greatest counts of the same.
        fired_by: By workload the least fires of each of its actors.
        recovery: Least counts of damage found, repairs, observers and joins.
        reports: Least counts of reasons to leave a view and of evidence.
        answers_from: By validator, the least number of its answers that arrive.
        replica_modes: By observer, the least number of acts of its replica mode.
        rules: By label, how often the run has to reach a cell of the rule coverage at least.
        arrival: The moment that the run has to reach, or None.
        finality_views_max: Views within which finality must come back; None for the engine's own.
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
    answers_from: Mapping[str, int] = field(default_factory=dict)
    replica_modes: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)
    arrival: Anchor | None = None
    finality_views_max: int | None = None
    finality_gap_max_us: int | None = None


class WrittenDisk(Protocol):
    """A disk that can be read beside its validator: `SimulatedDisk` and `DirectoryDisk` are such."""

    def written(self) -> Disk:
        """Return a view for reading that always shows the bytes written to the disk."""

    def scarred(self) -> Disk:
        """Return a view for reading that shows what a replica would read now, and ages nothing."""


class Sample(NamedTuple):
    """Transactions that are pooled at a time, by digest, for each honest validator that serves, and their numbers."""

    at_us: int
    pools: Sequence[Mapping[bytes, Pooled]]
    nodes: Sequence[int] = ()


FaultKind: TypeAlias = Literal["answers-twice", "not-deterministic", "kept-block", "crashes-on-block"]
"""Kinds of wrong answers of an application, beside wrong roots."""


class ApplicationFault(NamedTuple):
    """A wrong act of an outside application, beside wrong roots and timers.

    Attributes:
        kind: It gave another answer to the same question, in this process or in a fresh one; it came back with
            another final block than it may have kept; it crashed twice at the same call and block.
        node: The replica.
        request: The number of the request in that replica's sequence.
        call: The call.
        height: The height of the block that the call was about, -1 where it was about none.
        sentence: One line that names what was expected and found.
    """

    kind: FaultKind
    node: int
    request: int
    call: str
    height: int
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd:
    """The state in which a run ended.

    Attributes:
        reason: The reason why it ended; `stopped` means that it reached its goal.
        failure: The failure that ended the run before its goal, or empty.
        now_us: The virtual time at its end.
        faults: The effect of each fault of the plan.
        readbacks: The memory and disk of each replica that still runs.
        derived: What each replica that serves derives, by number.
        unreadable: Replicas whose memory could not be read, and why.
        cold: The cold replay, or None without one.
        record: The run directory as it is being written, with the executed blocks, or None.
        recoveries: Counts of recovery events of all replicas, by name.
        replica_modes: By observer, the number of acts of its replica mode.
        duties: By replica and kind of act, the acts of each replica mode that may not be idle.
        rules: By label, how often each cell of the rule coverage was reached.
        idle_mutants: The mutants of the run, if they replace callables and none of these was called.
        application_faults: The wrong acts of outside applications, in the order of time.
        application_requests: The requests that outside applications answered.
        lost: By replica whose application was not started again, the reason with the end of its standard error.
    """

    reason: str = ""
    failure: str = ""
    now_us: int = 0
    faults: Sequence[FaultOutcome] = ()
    readbacks: Sequence[ReadBack] = ()
    derived: Mapping[int, Sequence[Derived]] = field(default_factory=dict)
    unreadable: Mapping[int, str] = field(default_factory=dict)
    cold: ColdReplay | None = None
    record: Path | None = None
    recoveries: Mapping[str, int] = field(default_factory=dict)
    replica_modes: Mapping[str, int] = field(default_factory=dict)
    duties: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, int] = field(default_factory=dict)
    idle_mutants: Sequence[IdleMutant] = ()
    application_faults: Sequence[ApplicationFault] = ()
    application_requests: int = 0
    lost: Mapping[int, str] = field(default_factory=dict)


class ApplicationFacts(NamedTuple):
    """An outside application as its greeting describes it.

    Attributes:
        name: Its name.
        version: Its version.
        order: The order in which its timers fire, as stated; `fifo` or empty.
        dead_per_block: The most dead timers that it removes in a block, None where it states no rate.
        live_per_block: The most timers that it fires in a block, likewise.
        features: The features that it offers.
        told_at_genesis: The events that it told for genesis.
    """

    name: str = ""
    version: str = ""
    order: str = ""
    dead_per_block: int | None = None
    live_per_block: int | None = None
    features: tuple[str, ...] = ()
    told_at_genesis: Sequence[Mapping[str, object]] = ()


@dataclass(slots=True, kw_only=True)
class RunContext:
    """One run as its checks know it.

    Attributes:
        rules: The rules of the chain, known before its first block.
        validators: The number of validators; replicas with a greater number are observers.
        honest: Numbers of the replicas that the checks cover, ascending.
        engine: The name of the consensus engine.
        offers: The parts of the run that checks may read.
        application: The outside application behind the replicas, or None.
        genesis: The chain's genesis, None in a test of a check that does not look at it.
        genesis_values: The state before the first block, state key to encoded value.
        expect: The scenario's expectations.
        disk_faults: Replicas whose disks the plan touches.
        plan: The faults of the plan and when they are at work, and the times and limits that were set.
        max_skew_ms: The most that a block may be ahead of the clocks of its voters.
        finality_depth: The blocks on a block that make it final, in an engine that goes by depth.
        view_retention: A journal keeps the entries of this many views below its floor.
        public_keys: Of each validator, by number.
        disks: Of each replica, by number.
        sample_pools: Looks into the mempools of the honest validators.
        submissions: Returns the transactions that clients hand in, encoded, by digest.
        test_bed: The part of the scenario that the test bed follows, None in a test that does not look at it.
        differential: Yields the differences of a differential chain, empty texts included; None where the run has none.
        watched: Returns the context in which a count has to grow, or the process ends with this name: what is wrong
            with a part may have it compute for ever.
        engine_calls: By replica whose consensus is judged, the lives of its engine in this process.
        earlier_height: Up to here the chain was made by another process, and is read from its disks.
        is_reopened: Whether another process began the run; it may have come to no final height.
        chain: The final blocks so far, as the first honest replica executed each of them.
        state: The state after the last block that was settled, state key to encoded value.
        end: The state in which the run ended; empty before.
        world: The replicas and messages as the trace has told of them so far.
    """

    rules: ChainRules
    validators: int
    honest: Sequence[int]
    engine: str
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
        """Return the check of a class, made on first use: a check may read results of another."""
        if kind not in self._made:
            self._made[kind] = kind(self)
        made: _Made = self._made[kind]
        return made
