"""Builds a cluster from a scenario and a seed, and runs it to its end.

The parts meet here; no rule of any part is repeated. The run is over when no fault is at work any more and every
validator has finalized the scenario's height. With ``until_drained`` it goes on a few blocks beyond the first block
without dead timers. The kernel may end it earlier: step limit, time limit, deadlock. The run does not wait for a halted
validator until it is restarted. After a failure it is over sooner; see cluster.runtime.failures.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from checker.checks.context import Sample
from checker.record.engine_calls import RecordedLife
from checker.record.fingerprint import CodeChangedError
from checker.record.plugins import code_with
from cluster.outside.hosting.run import RunApplications, outdated_in, with_numbers
from cluster.runtime.clients import Clients, ClientStatistics
from cluster.runtime.data_directory import WATCHED, DataDirectory
from cluster.runtime.directory_disk import DirectoryDisk
from cluster.runtime.failures import FailureMonitor, run_kernel
from cluster.runtime.genesis import ClusterKeys, genesis_of, keys_of
from cluster.runtime.hooks import AppliedResult, RunHooks
from cluster.runtime.machines import MachineController, MachineSlot
from cluster.runtime.observers import ObserverController
from cluster.runtime.progress import Progress, progress_of
from cluster.runtime.reexecute import ReexecutionError, final_blocks, reexecute, sources_of
from cluster.runtime.replicas import (
    RunMutants,
    adversaries_of,
    factories_of,
    place_mutants,
    settings_of,
    topology_of,
    with_recording,
)
from cluster.scenario.model import Scenario
from cluster.workloads.planned import transactions_of
from cluster.workloads.submission import TimedTransaction
from faults import Adversary, FaultEffect, FaultPoint, Injector
from faults.events import FaultEdge, Healed, Restarted
from network.bus import Bus
from network.chance import Chance
from network.events import Event, EventRouter, Handlers
from network.kernel import Delivery, Kernel
from network.outcome import BusStatistics, KernelOutcome
from network.port import Port
from network.reseeding import ConsumedDraw, KernelLimits, chance_of, kernel_of
from network.trace import Trace
from network.types import MILLISECOND_US, SUPERVISOR
from scheduler import MAX_U63
from validators.consensus.registry import ENGINES
from validators.events import BlockFinalized, BlockRolledBack, BlockUndone, Booted, Halted
from validators.execution import Executed, ExecutedBlock, Genesis
from validators.identity import journal_head
from validators.messages import BLOCK_BYTES_MAX
from validators.node import Validator
from validators.settings import ValidatorFactory
from validators.storage import Disk, DiskHandle, SimulatedDisk, provision

_HEEDED: Final = (BlockFinalized.kind, Booted.kind, Halted.kind, BlockUndone.kind, BlockRolledBack.kind)
"""Kinds of events that show a reorganization, or switch an observer; nine of ten events are messages and work."""

RECORDING: Final = (*WATCHED, FaultEdge.kind)
"""Events after which a data directory records the effects of the faults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRun:
    """A finished run."""

    scenario: Scenario
    seed: int
    genesis: Genesis
    outcome: KernelOutcome
    trace: Trace
    slots: list[MachineSlot]
    effects: tuple[FaultEffect, ...]
    points: tuple[FaultPoint, ...]
    clients: ClientStatistics
    observers: ObserverController
    bus: BusStatistics
    progress: Progress


@dataclass(slots=True)
class Cluster:
    """One run: ``Cluster(scenario, seed).run()``.

    ``factories`` gives chosen validators other parts, and replaces their replica mode. ``data`` gives all validators
    real disks. ``applications`` are the applications of the scenario, if it has one. ``delivery`` names the caller of
    their handlers. With ``is_sharing`` they share results of pure functions. Without ``recording``, for measurements
    only, there is no digest. ``draws`` takes each draw that is used.
    """

    scenario: Scenario
    seed: int
    factories: Mapping[int, ValidatorFactory] = field(default_factory=dict)
    hooks: RunHooks = field(default_factory=RunHooks)
    data: DataDirectory | None = None
    applications: RunApplications | None = None
    recording: bool = True
    delivery: Delivery = "direct"
    is_sharing: bool = True
    draws: list[ConsumedDraw] | None = None
    chance: Chance = field(init=False)
    disks: Sequence[SimulatedDisk | DirectoryDisk] = field(init=False)
    engine_calls: dict[int, list[RecordedLife]] = field(init=False, default_factory=dict)
    submissions: Sequence[TimedTransaction] = field(init=False)
    mutants: RunMutants = field(init=False)
    _applied: list[deque[ExecutedBlock]] = field(init=False)
    _progress: Progress = field(init=False)
    _keys: ClusterKeys = field(init=False)
    _genesis: Genesis = field(init=False)
    _kernel: Kernel = field(init=False)
    _machines: MachineController = field(init=False)
    _injector: Injector = field(init=False)
    _observers: ObserverController = field(init=False)
    _router: EventRouter = field(init=False)
    _reported_height: int = field(init=False, default=0)
    _adversaries: dict[int, Adversary] = field(init=False)
    _reorganizing: dict[int, None] = field(init=False, default_factory=dict)
    is_interrupted: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        replicas = self.scenario.replicas
        self._applied = [deque() for _ in range(replicas)]
        self._progress = progress_of(self.scenario, 0 if self.data is None else self.data.height)
        self.submissions = transactions_of(self.scenario, {} if self.applications is None else self.applications.made)
        self._keys = keys_of(self.scenario)
        self._genesis = genesis_of(self.scenario, self._keys)
        self.chance = chance_of(self.seed, self.scenario.run.reseed, self.scenario.run.redraw, self.draws)
        self._adversaries = adversaries_of(self.scenario, self._keys, self.chance)
        self.disks = self._make_disks()
        self.mutants = place_mutants(self.scenario)
        own = factories_of(self.scenario, self.mutants, self._adversaries, is_sharing=self.is_sharing)
        if self.applications is not None:
            own = self.applications.parts(own, self._adversaries)
        self.factories = {**own, **self.factories}

    @property
    def genesis(self) -> Genesis:
        """The chain's genesis, a function of the scenario."""
        return self._genesis

    @property
    def validator_keys(self) -> tuple[bytes, ...]:
        """The validators' public keys, by number."""
        return self._keys.validator_keys

    @property
    def sample(self) -> Sample:
        """The contents of the mempools of honest validators that serve now."""
        slots = self._machines.slots[: self.scenario.cluster.validators]
        serving = [slot for slot in slots if slot.is_serving and slot.node not in self._adversaries]
        pools = {slot.node: slot.validator.pooled for slot in serving if slot.validator}
        return Sample(self._progress.now_us, list(pools.values()), list(pools))

    @property
    def steps(self) -> int:
        """The rounds of trio's loop so far; 0 before the run."""
        return self._kernel.statistics().steps if hasattr(self, "_kernel") else 0

    def interrupt(self) -> None:
        """End the run after its next event; a signal handler may call this."""
        self.is_interrupted = True

    def run(self) -> ClusterRun:
        """Run to the end; raises network.outcome.RunFailedError when the test bed itself breaks.

        Raises CodeChangedError where other code made what is final in the data directory, and this cannot execute it.
        """
        with self.mutants.of_run:
            return self._run()

    def _run(self) -> ClusterRun:
        scenario = self.scenario
        if self.data is not None:
            self._accept(self.data)
        trace, kernel = self._begin_trace()
        bus, clients = self._build_parts(kernel, trace)
        self._injector.schedule()
        self._progress.faults_end_us = self._injector.last_edge_us
        clients.schedule(self.submissions)
        outcome = run_kernel(kernel, self._machines.host_all)
        if self.data is not None:
            self.data.record_faults(outcome.now_us, self._injector.touched())
        return ClusterRun(
            scenario=scenario,
            seed=self.seed,
            genesis=self._genesis,
            outcome=outcome,
            trace=trace,
            slots=self._machines.slots,
            effects=tuple(self._injector.effects()),
            points=self._injector.points(),
            clients=clients.statistics(),
            observers=self._observers,
            bus=bus.statistics(),
            progress=self._progress,
        )

    def _begin_trace(self) -> tuple[Trace, Kernel]:
        sinks = (self._observe,) if self.data is None else (self.data.observe, self._observe, self._record_faults)
        trace = Trace(range(self.scenario.replicas), sinks=sinks, recording=self.recording)
        start_us = 0 if self.data is None else self.data.start_us
        # When a run continues, each process has its own time.
        limit_us = start_us + self.scenario.run.time_limit_ms * MILLISECOND_US
        limits = KernelLimits(self.scenario.run.step_limit, limit_us, start_us, self.delivery)
        self._kernel = kernel_of(self.chance, trace, limits)
        return trace, self._kernel

    def _build_parts(self, kernel: Kernel, trace: Trace) -> tuple[Bus, Clients]:
        """Put the machines, the faults and the observing parts onto a kernel."""
        scenario = self.scenario
        bus = Bus(kernel, topology_of(scenario), self.chance, trace, size_limit=2 * BLOCK_BYTES_MAX)
        machines = self._machines = MachineController(
            kernel=kernel,
            bus=bus,
            trace=trace,
            disks=self.disks,
            build=self._build,
            begin_journal=self._provision,
            votes=ENGINES[scenario.consensus.engine].names_of("vote"),
            adversaries=self._adversaries,
            applications=None if self.applications is None else self.applications.replicas,
        )
        self._injector = Injector(
            scenario.faults,
            kernel=kernel,
            bus=bus,
            power=machines,
            chain=trace.chain(SUPERVISOR),
            chance=self.chance,
            engine=scenario.consensus.engine,
            validators=scenario.identities,
            adversaries=self._adversaries,
            observers=len(scenario.observers),
            earlier={} if self.data is None else self.data.touched,
        )
        handlers: Handlers = {
            BlockFinalized: self._note_final,
            Booted: self._note_boot,
            Healed: self._note_healed,
            Halted: self._note_halted,
            Restarted: self._note_restart,
            FaultEdge: self._note_edge,
        }
        self._injector.watch_phases(lambda node, status: self.hooks.on_leave(kernel.now_us, node, status))
        watch = FailureMonitor(self._adversaries, kernel.stop, outdated_in(self.applications)).handlers
        self._router = EventRouter(handlers, *self._injector.handlers, watch if scenario.stops_at_failure else {})
        self._observers = ObserverController(
            scenario.observers_by_number,
            kernel=kernel,
            machines=machines,
            chain=trace.chain(SUPERVISOR),
            provision=self._provision,
        )
        return bus, Clients(kernel, trace.chain(SUPERVISOR), machines.slots[: scenario.cluster.validators])

    def _make_disks(self) -> Sequence[SimulatedDisk | DirectoryDisk]:
        """Return the disks of all replicas, provisioned."""
        if self.data is not None:
            return self.data.disks
        disks = [SimulatedDisk(node, self.chance) for node in range(self.scenario.replicas)]
        for node, disk in enumerate(disks):
            self._provision(node, disk)
        return disks

    def _provision(self, node: int, disk: Disk) -> None:
        provision(disk, journal_head(self._genesis, self.scenario.identity_of(node), self._keys.validator_keys))

    def _build(self, slot: MachineSlot, port: Port, handle: DiskHandle) -> Validator:
        node, settings = slot.node, settings_of(self.scenario, slot.node)
        if self.applications is not None and not self.applications.joins:
            settings = replace(settings, snapshot_gap_blocks=MAX_U63)
        if (lives := self.engine_calls.get(node)) is not None:
            settings = with_recording(settings, lives, self._keys.validator_keys, self._kernel)
        return Validator(
            port=port,
            disk=handle,
            genesis=self._genesis,
            seed=self._keys.seeds[node],
            public_keys=self._keys.validator_keys,
            settings=settings,
            factory=self.factories[node],
            counts=slot.counts,
            incarnation=slot.incarnation,
            on_applied=self._applied[node].append,
        )

    def _observe(self, event: Event) -> None:
        """See an event in the order of the log; a validator's applied blocks stay in its queue until then."""
        progress = self._progress
        progress.now_us = event.at_us
        progress.events += 1
        if self.is_interrupted:
            self._kernel.stop("interrupted", "interrupted")
        kind = event.body.kind
        if kind in self._router.kinds:
            self._router.route(event)
        if kind in _HEEDED:
            self._show_reorg(event)
            self._observers.observe(event, is_wanted=not progress.is_goal(progress.finalized_heights[event.node]))
        elif self._reorganizing:
            self._reorganizing.pop(event.node, None)
        self.hooks.on_event(event)
        if kind == BlockFinalized.kind:
            self.hooks.on_progress(progress)
            if self._is_over():
                self._kernel.stop("stopped", "every validator finalized what the scenario asks for")

    def _note_final(self, event: Event, _block: BlockFinalized) -> None:
        # Its own queue: the event names the block, and its result must be the result that this validator applied.
        executed = with_numbers(self._applied[event.node].popleft(), self.applications)
        if event.node not in self._adversaries:
            events = executed.events if isinstance(executed, Executed) else ()
            self._injector.note_block(executed.header.height, executed.summary, events)
            self._reported_height = max(self._reported_height, executed.header.height)
        self._progress.finalized_heights[event.node] = executed.header.height
        is_after_faults = executed.header.timestamp_ms * MILLISECOND_US >= self._injector.last_edge_us
        self._progress.note_block(executed.header.height, executed.summary, is_after_faults=is_after_faults)
        self.hooks.on_applied(event.node, executed)

    def _note_healed(self, event: Event, _healed: Healed) -> None:
        self._progress.note_healed(event.at_us)

    def _note_halted(self, event: Event, _halted: Halted) -> None:
        self._progress.halted[event.node] = None

    def _note_edge(self, _event: Event, edge: FaultEdge) -> None:
        self._progress.fault_edge = f"{edge.fault} {edge.edge}s"
        self._progress.faults_end_us = self._injector.last_edge_us

    def _record_faults(self, event: Event) -> None:
        if self.data is not None and event.kind in RECORDING:
            self.data.record_faults(event.at_us, self._injector.touched(), only_new=event.kind != FaultEdge.kind)

    def _show_reorg(self, event: Event) -> None:
        """Show a validator that dropped or rewound blocks, once for all successive events of this.

        The events are shown when it rests, so that its structures have their final form.
        """
        if event.node == SUPERVISOR or self.hooks.on_reorg is None:
            return
        if event.kind not in {BlockUndone.kind, BlockRolledBack.kind}:
            self._reorganizing.pop(event.node, None)
            return
        validator = self._machines.slots[event.node].validator
        is_known = event.node in self._reorganizing or event.node in self._adversaries
        if not is_known and validator is not None and validator.layer is not None:
            self._reorganizing[event.node] = None
            self.hooks.on_reorg(self._machines.slots[event.node], validator.layer)

    def _note_restart(self, _event: Event, restarted: Restarted) -> None:
        # From here on, not from the end of its recovery: the run waits for the validator's own recovery.
        self._progress.halted.pop(restarted.machine, None)

    def _note_boot(self, event: Event, booted: Booted) -> None:
        if event.node not in self._adversaries:
            self._report_unreported(event.node, booted.finalized_height)

    def _report_unreported(self, node: int, height: int) -> None:
        """Report a restarted validator's final blocks that were never reported to the checks."""
        heights = self._progress.finalized_heights
        heights[node] = max(heights[node], height)
        if height > self._reported_height:
            # Copies without faults: reading the real disks would draw chance, and damage them further.
            disks = [slot.disk.pristine() for slot in self._machines.slots]
            for executed in self._execute_again(disks, node, height):
                self._reported_height = executed.header.height
                self.hooks.on_applied(node, executed)

    def _execute_again(self, disks: Sequence[Disk], first: int, height: int) -> Iterable[AppliedResult]:
        if self.applications is not None:
            return self.applications.execute_again(final_blocks(disks, height), self._reported_height)
        sources = sources_of(disks, self.factories, self._adversaries, first)
        return reexecute(self._genesis, sources, self._reported_height, height)

    def _accept(self, data: DataDirectory) -> None:
        """Continue another code version's data only if this code can execute it; until then nothing is written."""
        before, code = data.written_by, code_with(self.scenario.plugins)
        if before is not None and before.fingerprint != code.fingerprint:
            try:
                list(self._execute_again(data.disks, 0, data.height))
            except ReexecutionError as error:
                change = f"the code changed since: last written by {before}; this is {code}"
                raise CodeChangedError(f"{data.path}: {change}; {error}; go on with that code") from error
        data.note_code(code)

    def _is_over(self) -> bool:
        # Checks judge a halted validator; waiting for it would only make the run as long as its limit. A Byzantine
        # validator promises nothing either.
        lost = {} if self.applications is None else self.applications.replicas.lost
        gone = {**self._progress.halted, **self._adversaries, **lost}
        heights = enumerate(self._progress.finalized_heights)
        lowest = min((height for node, height in heights if node not in gone), default=0)
        return self._progress.is_goal(lowest) and not self._observers.is_under_way
