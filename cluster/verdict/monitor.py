"""The jury of a run: all that watches it, and what it tells of each validator and of the run when that is over."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from checker.checks.expectations import Promises
from checker.checks.inclusion import IncludedBlock, Inclusion
from checker.checks.leaders import Leaders
from checker.checks.observations import AppliedBlock, ChainRules, DiskFaults, rules_of
from checker.checks.reorg import ReorgPromise, ReorgWatch
from checker.checks.reports import EVIDENCE, Reports
from checker.checks.storm import StormWatch
from checker.checks.suite import Suite
from checker.checks.write_ahead import WriteAhead
from checker.record.branches import ExecutedBlocks
from checker.record.cold_replay import ColdReplayer
from checker.record.streams import BranchRecord
from cluster.runtime.cluster import Cluster, ClusterRun
from cluster.runtime.machines import Place
from cluster.scenario.model import Scenario
from cluster.scenario.replicas_section import count_of_road, deeds_of_road, kind_of_observer, loses_its_state
from cluster.workloads.registry import promised_counts
from faults import Crash, byzantine_validators
from network.events import Event, read_event
from report.console import ValidatorRow
from validators.consensus.quorum import faults_of
from validators.events import SnapshotJoined
from validators.execution import Engine, Executed, Genesis
from validators.execution.blocks import encode_block
from validators.settings import make_engine


@dataclass(slots=True)
class Jury:
    """Everything that watches one run: the checks, and the canonical chain for the record."""

    suite: Suite
    write_ahead: WriteAhead
    storm: StormWatch | None
    promises: Promises | None
    reorg: ReorgWatch | None = None
    dishonest: tuple[int, ...] = ()
    reports: Reports = field(default_factory=Reports)
    is_reopened: bool = False
    """Whether the run goes on from a data directory that another process has filled."""
    chain: list[Executed] = field(default_factory=list)
    roots: list[tuple[int, int, bytes, bytes]] = field(default_factory=list)
    last: dict[int, Executed] = field(default_factory=dict)
    exits: dict[int, list[int]] = field(default_factory=dict)
    joined_heights: list[int] = field(default_factory=list)
    replay: ColdReplayer | None = None
    leaders: Leaders | None = None
    inclusion: Inclusion | None = None
    executed: ExecutedBlocks = field(default_factory=ExecutedBlocks)
    keep: Callable[[BranchRecord], object] = field(default=lambda _record: None)
    """Where the executed blocks go, final or not, as soon as one more is final; they are not held in memory."""

    def observe(self, event: Event) -> None:
        """See an event of the run."""
        self.recall(event)
        if event.node in self.dishonest:
            return
        self.reports.observe(event)
        self.write_ahead.observe(event)

    def recall(self, event: Event) -> None:
        """See an event of the run, or one that an earlier process watched."""
        self.suite.observe(event)
        if event.node in self.dishonest:
            return
        if (joined := read_event(event, SnapshotJoined)) is not None:
            self.joined_heights.append(joined.height)
        if self.reorg is not None:
            self.reorg.observe(event)
        for each in (self.leaders, self.inclusion):
            if each is not None:
                each.observe(event)

    def keep_executed(self) -> None:
        """Hand on the blocks that were executed since the last time."""
        for record in self.executed.take():
            self.keep(record)

    def applied(self, node: int, executed: Executed) -> None:
        """See a block that a validator applied."""
        header, summary = executed.header, executed.summary
        self.keep_executed()
        if node in self.dishonest:
            self.last[node] = executed
            return
        block = AppliedBlock(
            node=node,
            height=header.height,
            view=header.view,
            digest=executed.digest,
            root=executed.batch.canonical_root,
            block=encode_block(executed.block),
            changes=executed.changes,
            receipts=executed.receipts,
            summary=summary,
            phases=executed.phases,
        )
        if header.height == len(self.chain) + 1:
            self._judge_proposal(block, executed)
        self.suite.applied(block)
        if self.storm is not None:
            self.storm.applied(block, slot=header.slot)
        if self.promises is not None:
            self.promises.applied(block)
        if header.height == len(self.chain) + 1:
            self.chain.append(executed)
        self.roots.append((node, header.height, executed.digest, executed.batch.canonical_root))
        if node in self.last and header.height <= self.last[node].header.height:
            # Applied before, by an earlier life whose disk has lost it.
            return
        self.last[node] = executed
        tally = self.exits.setdefault(node, [0, 0, 0])
        for index, count in enumerate((summary.fired, summary.expired, summary.insolvent)):
            tally[index] += count

    def _judge_proposal(self, block: AppliedBlock, executed: Executed) -> None:
        if self.leaders is not None:
            self.leaders.settle(executed.header)
        if self.inclusion is not None:
            parts = executed.header, executed.block.transactions, len(block.block), block.summary
            self.inclusion.settle(IncludedBlock(*parts, before=self.suite.state))

    def reorganized(self, node: int, engine: Engine) -> None:
        """See a validator that has just dropped blocks or taken them back."""
        self.suite.reorganized(node, engine.standing, engine.audit())
        if self.reorg is not None:
            self.reorg.audited += 1


def _genesis_state(genesis: Genesis) -> tuple[dict[bytes, bytes], ChainRules]:
    """Return the state before the first block, and what else the checks know of it."""
    try:
        blank = make_engine(genesis, lambda _transaction: False, None, None)
        values, root = dict(blank.database.items()), blank.database.canonical_root
    except Exception:  # noqa: BLE001 - each validator halts over the same at its start, and the checks name the place
        return {}, rules_of(genesis, digest=b"", root=b"")
    return values, rules_of(genesis, digest=blank.genesis_digest, root=root)


def make_jury(cluster: Cluster) -> Jury:
    """Return the checks for a cluster that has not run yet."""
    scenario = cluster.scenario
    values, rules = _genesis_state(cluster.genesis)
    dishonest = byzantine_validators(scenario.faults)
    honest = [node for node in range(scenario.replicas) if node not in dishonest]
    disk_faults = _disk_faults(scenario)
    suite = Suite(
        genesis_values=values,
        rules=rules,
        validators=scenario.cluster.validators,
        honest=honest,
        max_skew_ms=scenario.chain.max_skew_ms,
        requires=tuple(name for name in scenario.requires if name in scenario.faults),
        finality_views_max=scenario.expect.finality_views_max,
        disk_faults=disk_faults,
        still_max_us=None if cluster.data else still_max_us(scenario),
        retold_height=0 if cluster.data is None else cluster.data.height,
    )
    storm = scenario.expect.storm
    config = cluster.genesis.timer_config
    watch = None
    if storm is not None:
        watch = StormWatch(
            dead_timers_min=storm.dead_timers_min,
            actors_min=storm.actors_min,
            drain_blocks_min=storm.drain_blocks_min,
            config=config,
            timebase=cluster.genesis.timebase,
        )
    expect = scenario.expect
    promised = ReorgPromise(
        rolled_back=expect.rolled_back_min,
        rolled_back_depth=expect.rolled_back_depth_min,
        undone=expect.undone_min,
        undone_depth=expect.undone_depth_min,
        returned=expect.returned_min,
        reexecuted=expect.reexecuted_min,
        audited=expect.audited_min,
        crossed=expect.activation_crossed_min,
    )
    reorg = ReorgWatch(promised, cluster.genesis.activation_height) if any(promised) else None
    counted = promised_counts(scenario)
    promises = Promises(counted, config, cluster.genesis.timebase) if counted else None
    write_ahead = WriteAhead(
        cluster.disks,
        honest=honest,
        public_keys=cluster.validator_keys,
        view_retention=scenario.consensus.view_retention,
        disk_faults=disk_faults,
    )
    jury = Jury(suite, write_ahead, watch, promises, reorg, dishonest)
    jury.leaders = Leaders(scenario.cluster.validators)
    jury.inclusion = Inclusion(rules, honest, lambda: cluster.sample)
    jury.is_reopened = cluster.data is not None and cluster.data.start_us > 0
    for event in () if cluster.data is None else cluster.data.history():
        jury.recall(event)
    return jury


def still_max_us(scenario: Scenario) -> int | None:
    """Return for how many microseconds finality may stand still where at most f validators crash, None in other plans.

    Each of those who are down may lead a view in a row, and none lasts longer than its certification may take.
    """
    faults = [fault for fault in scenario.faults.values() if fault.enabled]
    crashed = {fault.validator: None for fault in faults if isinstance(fault, Crash)}
    faulty_max = faults_of(scenario.cluster.validators)
    is_whole = not scenario.network.loss_ppm and all(isinstance(fault, Crash) for fault in faults)
    if not crashed or not is_whole or len(crashed) > faulty_max:
        return None
    return (faulty_max + 1) * scenario.consensus.certification_timeout_ms * 1_000


def _disk_faults(scenario: Scenario) -> DiskFaults:
    enabled = [fault for fault in scenario.faults.values() if fault.enabled]
    touching = [fault for fault in enabled if fault.touches_disk]
    destroying = [fault for fault in enabled if fault.destroys_synced]
    touched, destroyed = (
        sorted({node for fault in faults for node in fault.targets()}) for faults in (touching, destroying)
    )
    # What a road takes from an observer's disk is gone as well; nothing else may be wrong with it.
    lost = [node for node, observer in scenario.observers_by_number.items() if loses_its_state(observer)]
    return DiskFaults(touched, [*destroyed, *lost])


def row_of(run: ClusterRun, place: Place, jury: Jury) -> ValidatorRow:
    """Return what the verdict says of one replica."""
    fired, expired, insolvent = jury.exits.get(place.node, (0, 0, 0))
    last = jury.last.get(place.node)
    counts = place.counts
    is_dishonest = place.node in jury.dishonest
    standing = "stopped" if counts.halted else "observer" if counts.observes else "voter"
    notes = [
        "dishonest" if is_dishonest else "",
        counts.halted,
        "" if place.is_running else "down",
        _describe_observer(run, place),
        f"snapshots joined: {counts.snapshots_joined}" if counts.snapshots_joined else "",
        f"{counts.damaged} damaged, {counts.repaired} repaired" if counts.damaged else "",
    ]
    return ValidatorRow(
        node=place.node,
        height=place.counts.height,
        finalized_height=last.header.height if last else 0,
        state_root=last.header.state_root.hex() if last else "",
        executed=place.counts.executed,
        rolled_back=place.counts.rolled_back,
        undone=place.counts.undone,
        fired=fired,
        expired=expired,
        insolvent=insolvent,
        waiting=last.summary.waiting_live + last.summary.waiting_dead if last else 0,
        note="; ".join(note for note in notes if note),
        standing="dishonest" if is_dishonest else standing,
    )


def _describe_observer(run: ClusterRun, place: Place) -> str:
    """Return why a validator observes, or which observer this is and how often it went by its road."""
    observer = run.scenario.observers_by_number.get(place.node)
    if observer is None:
        return f"observer: {place.counts.observes}" if place.counts.observes else ""
    name = list(run.scenario.observers)[place.node - run.scenario.cluster.validators]
    what, count = count_of_road(observer, place.counts, run.roads.rounds(place.node))
    return f"observer {name}, {kind_of_observer(observer)}: {what} {count:,} times"


def roads_of(run: ClusterRun) -> dict[str, int]:
    """Return by name how often each observer did what its road is about."""
    numbered = zip(run.scenario.observers, run.scenario.observers_by_number.items(), strict=True)
    return {
        name: count_of_road(observer, run.places[node].counts, run.roads.rounds(node))[1]
        for name, (node, observer) in numbered
    }


def deeds_of(run: ClusterRun, jury: Jury) -> dict[str, int]:
    """Return how often each replica with a road of its own did what the road is about, unless it may be idle.

    A run that goes on from a data directory knows the deeds of its own process only, so that nothing is asked of it.
    """
    sections = {
        **{f"validator {name}": (int(name), section) for name, section in run.scenario.validators.items()},
        **{
            f"observer {name}": (node, run.scenario.observers_by_number[node])
            for node, name in enumerate(run.scenario.observers, run.scenario.cluster.validators)
        },
    }
    return {
        f"{name} {deed}": count
        for name, (node, section) in sections.items()
        if not section.may_be_idle and node not in jury.dishonest and not jury.is_reopened
        for deed, count in deeds_of_road(section, run.places[node].counts, run.roads.rounds(node)).items()
    }


def recoveries_of(run: ClusterRun, jury: Jury) -> dict[str, int]:
    """Return what all replicas made of their disks; only validators become observers."""
    counts = [place.counts for place in run.places]
    return {
        "damaged": sum(each.damaged for each in counts),
        "repaired": sum(each.repaired for each in counts),
        "observers": sum(bool(each.observes) for each in counts[: run.scenario.cluster.validators]),
        "snapshots_joined": len(jury.joined_heights),
        "snapshots_joined_in_storm": sum(
            jury.chain[height - 1].summary.waiting_dead > 0 for height in jury.joined_heights
        ),
    }


def figures_of(run: ClusterRun, jury: Jury) -> dict[str, int | str]:
    """Return the run's figures by name."""
    figures: dict[str, int | str] = {
        "end": run.outcome.reason,
        "end_detail": run.outcome.detail,
        "virtual_us": run.outcome.now_us,
        "turns": run.outcome.turns,
        "events": run.trace.count,
        "blocks": len(jury.chain),
        "messages_sent": run.bus.sent,
        "messages_delivered": run.bus.delivered,
        "messages_refused": sum(place.counts.refused for place in run.places),
        "rolled_back": sum(place.counts.rolled_back for place in run.places),
        **recoveries_of(run, jury),
        "undone": sum(place.counts.undone for place in run.places),
        "evidence": sum(jury.reports.counts[name] for name in EVIDENCE),
        "transactions_submitted": run.clients.submitted,
        "transactions_refused": run.clients.refused,
    }
    figures.update({f"road_{name}": count for name, count in roads_of(run).items()})
    figures.update({f"reported_{name}": count for name, count in jury.reports.counts.items()})
    figures.update({f"fault_{effect.name}": effect.count for effect in run.effects})
    figures.update({f"timers_{name}": count for name, count in asdict(jury.suite.figures).items()})
    return figures
