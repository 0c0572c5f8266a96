"""Runs a scenario, lets the checks see it, and writes the run directory.

The order matters: the run; then genesis and finalized blocks go to disk; then the cold replay reads
them there in a process of its own; then the checks of the end; then the verdict. The directory gets
its name only when all of that is written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from checker.cold_replay import ColdReplayer, run_cold_replay
from checker.observations import AppliedBlock, rules_of
from checker.oracle import OracleBlock, judge_oracle
from checker.promises import Promises
from checker.readback import read_back
from checker.record import DamagedRecordError, RecordReader, RecordWriter
from checker.reorg import ReorgWatch
from checker.results import CheckResult, verdict_of
from checker.storm import StormWatch
from checker.streams import first_difference, iterate_events
from checker.suite import Suite
from checker.workloads import judge_workloads
from cluster.power import Place
from cluster.run import Cluster, ClusterRun, RunHooks
from cluster.scenario import Scenario, decode_scenario, encode_scenario
from cluster.watchdog import Watchdog
from cluster.workload import promised_workloads
from faults import span_ms
from network.trace import Event
from report.console import LiveProgress, ValidatorRow
from report.picture import BlockPoint, FaultBand, draw_run
from validators.execution import Executed, Genesis
from validators.execution.blocks import encode_block
from validators.settings import ValidatorFactory, make_engine

COLD_HASH_SEED: Final = 90_125
"""The cold replay's PYTHONHASHSEED: any but the run's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A run with its verdict."""

    scenario: Scenario
    seed: int
    digest: bytes
    checks: tuple[CheckResult, ...]
    validators: tuple[ValidatorRow, ...]
    figures: Mapping[str, int | str]
    log: bytearray = field(repr=False)
    genesis: Genesis = field(repr=False)
    chain: list[Executed] = field(repr=False)
    roots: list[tuple[int, int, bytes, bytes]] = field(repr=False)
    directory: Path | None = None

    @property
    def verdict(self) -> str:
        """The verdict in one word."""
        return verdict_of(self.checks).name

    @property
    def exit_code(self) -> int:
        """The exit code that belongs to the verdict."""
        return verdict_of(self.checks).exit_code

    @property
    def headline(self) -> str:
        """The first thing to know: what failed first, or what was shown."""
        for check in self.checks:
            if check.status == "failed":
                return f"{check.name}: {check.summary}"
        for check in self.checks:
            if check.status == "inconclusive":
                return f"{check.name}: {check.summary}"
        height = max((row.finalized_height for row in self.validators), default=0)
        return f"{len(self.validators)} validators hold one state root at every height up to {height}"

    def with_check(self, check: CheckResult) -> "Judged":
        """Return the same run with one more check."""
        return replace(self, checks=(*self.checks, check))

    def as_json(self, command: str) -> dict[str, object]:
        """Return the whole verdict as plain data."""
        return {
            "scenario": self.scenario.name,
            "seed": self.seed,
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "headline": self.headline,
            "digest": self.digest.hex(),
            "checks": [msgspec.to_builtins(check) for check in self.checks],
            "validators": [msgspec.to_builtins(row) for row in self.validators],
            "figures": dict(self.figures),
            "directory": None if self.directory is None else str(self.directory),
            "repeat": command,
        }


@dataclass(slots=True)
class Jury:
    """Everything that watches one run: the checks, and the canonical chain for the record."""

    suite: Suite
    storm: StormWatch | None
    promises: Promises | None
    reorg: ReorgWatch | None = None
    chain: list[Executed] = field(default_factory=list)
    roots: list[tuple[int, int, bytes, bytes]] = field(default_factory=list)
    last: dict[int, Executed] = field(default_factory=dict)
    exits: dict[int, list[int]] = field(default_factory=dict)
    replay: ColdReplayer | None = None

    def observe(self, event: Event) -> None:
        """See an event of the run."""
        self.suite.observe(event)
        if self.reorg is not None:
            self.reorg.observe(event)

    def applied(self, node: int, executed: Executed) -> None:
        """See a block that a validator applied."""
        header, summary = executed.header, executed.summary
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
        )
        self.suite.applied(block)
        if self.storm is not None:
            self.storm.applied(block)
        if self.promises is not None:
            self.promises.applied(block)
        if header.height == len(self.chain) + 1:
            self.chain.append(executed)
        self.roots.append((node, header.height, executed.digest, executed.batch.canonical_root))
        self.last[node] = executed
        tally = self.exits.setdefault(node, [0, 0, 0])
        for index, count in enumerate((summary.fired, summary.expired, summary.insolvent)):
            tally[index] += count


def judge(
    scenario: Scenario,
    seed: int,
    *,
    runs: Path | None,
    progress: LiveProgress,
    factories: Mapping[int, ValidatorFactory] | None = None,
    extra: Callable[["Judged"], CheckResult] | None = None,
    command: str = "",
    variant: str = "",
    replay: ColdReplayer | None = None,
) -> Judged:
    """Run and judge; ``runs`` is where the run directory goes, None writes none that stays.

    ``variant`` goes into the directory's name, so that a changed scenario does not take the place of the unchanged one.
    ``extra`` adds a check of its own before the record is written; ``command`` is what repeats the run; ``replay``
    makes the cold replay, in a fresh process unless it is given.

    Raises:
        network.kernel.RunFailedError: The test bed itself broke.
        checker.record.RecordExistsError: Something else stands where the run directory would go.
    """
    cluster = Cluster(scenario, seed, factories=factories or {})
    jury = make_jury(cluster)
    jury.replay = replay
    cluster.hooks = RunHooks(on_event=jury.observe, on_applied=jury.applied, on_progress=progress.show)
    name = "-".join([scenario.name, str(seed), *([variant] if variant else [])])
    if runs is None:
        with TemporaryDirectory(prefix="stampede-") as scratch:
            return replace(_judge_into(Path(scratch) / name, cluster, jury, progress, extra, command), directory=None)
    return _judge_into(runs / name, cluster, jury, progress, extra, command)


def _judge_into(  # noqa: PLR0917 - the two halves of judge
    path: Path,
    cluster: Cluster,
    jury: Jury,
    progress: LiveProgress,
    extra: Callable[["Judged"], CheckResult] | None,
    command: str,
) -> Judged:
    """Run, judge, and leave the run directory at ``path``."""
    scenario, seed = cluster.scenario, cluster.seed
    with RecordWriter(path) as writer:
        with Watchdog(lambda: cluster.steps, f"{scenario.name} seed {seed}"):
            run = cluster.run()
        progress.note("replaying the chain in a fresh process, comparing what every validator holds")
        checks = _finish(run, jury, writer)
        judged = _judged(run, jury, checks)
        if extra is not None:
            progress.note("repeating the run in another process")
            judged = judged.with_check(extra(judged))
        writer.write_verdict(judged.as_json(command))
        writer.write_file("picture.svg", picture_of(run, jury).encode())
        directory = writer.finish(scenario=scenario.name, seed=seed, digest=judged.digest, verdict=judged.verdict)
    return replace(judged, directory=directory)


def replay_record(reader: RecordReader, *, progress: LiveProgress) -> Judged:
    """Run a recorded scenario again and compare it event by event with the record."""
    scenario = decode_scenario(reader.scenario(), str(reader.path / "scenario.json"))
    judged = judge(scenario, reader.manifest.seed, runs=None, progress=progress)
    _compare_chain(reader, judged)
    is_same = judged.digest.hex() == reader.manifest.digest
    difference = None if is_same else first_difference(reader.events(), iterate_events(bytes(judged.log)))
    summary = (
        f"the same digest {judged.digest.hex()[:16]} as recorded"
        if difference is None
        else f"event {difference.index} was {difference.first}, is {difference.second}"
    )
    return judged.with_check(CheckResult("replay", "passed" if is_same else "failed", "determinism", summary, (), 1))


def _compare_chain(reader: RecordReader, judged: Judged) -> None:
    """Refuse a record whose chain is not the one that its own events tell of; raises DamagedRecordError.

    Judged only where the fresh run has the recorded digest: otherwise the events differ, and that is the finding.
    """
    if judged.digest.hex() != reader.manifest.digest:
        return
    if reader.genesis() != msgspec.msgpack.encode(judged.genesis):
        raise DamagedRecordError(reader.path, "genesis.msgpack", "is not the genesis of the recorded scenario")
    recorded = [(block.height, block.digest, block.block) for block in reader.blocks()]
    if recorded != [(each.header.height, each.digest, encode_block(each.block)) for each in judged.chain]:
        raise DamagedRecordError(reader.path, "blocks.msgpack", "holds other blocks than the recorded run finalized")
    if [(each.node, each.height, each.digest, each.root) for each in reader.roots()] != judged.roots:
        raise DamagedRecordError(
            reader.path, "roots.msgpack", "holds other roots than the recorded run's validators had"
        )


def make_jury(cluster: Cluster) -> Jury:
    """Return the checks for a cluster that has not run yet."""
    scenario = cluster.scenario
    blank = make_engine(cluster.genesis, lambda _transaction: False, None, None)
    suite = Suite(
        genesis_values=dict(blank.database.items()),
        rules=rules_of(cluster.genesis, digest=blank.genesis_digest, root=blank.database.canonical_root),
        validators=scenario.cluster.validators,
        honest=range(scenario.cluster.validators),
        requires=tuple(name for name in scenario.requires if name in scenario.faults),
        finality_views_max=scenario.expect.finality_views_max,
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
        )
    expect = scenario.expect
    reorg = None
    if expect.rolled_back_min or expect.rolled_back_depth_min:
        reorg = ReorgWatch(rolled_back_min=expect.rolled_back_min, depth_min=expect.rolled_back_depth_min)
    promises = Promises(scenario.expect.counts, config) if scenario.expect.counts else None
    return Jury(suite, watch, promises, reorg)


def consult_oracle(genesis: Genesis, chain: Iterable[Executed]) -> CheckResult:
    """Judge a chain by the oracle, which gets bytes and numbers and nothing of the validators' types."""
    blocks = (
        OracleBlock(
            block=encode_block(executed.block),
            receipts=executed.receipts,
            changes=executed.changes,
            counts=msgspec.structs.asdict(executed.summary),
        )
        for executed in chain
    )
    return judge_oracle(msgspec.msgpack.encode(genesis), blocks)


def picture_of(run: ClusterRun, jury: Jury) -> str:
    """Return the run's picture as SVG."""
    points = [
        BlockPoint(
            executed.header.timestamp_ms,
            executed.summary.waiting_live + executed.summary.waiting_dead,
            executed.summary.fired,
            executed.summary.expired + executed.summary.insolvent,
        )
        for executed in jury.chain
    ]
    bands = [FaultBand(name, *span_ms(fault)) for name, fault in run.scenario.faults.items() if fault.enabled]
    return draw_run(f"{run.scenario.name}, seed {run.seed}: {run.scenario.title}", points, bands)


def _finish(run: ClusterRun, jury: Jury, writer: RecordWriter) -> tuple[CheckResult, ...]:
    _write_chain(run, jury, writer)
    readbacks = [
        read_back(place.node, engine, place.disk)
        for place in run.places
        # A halted validator is read back like any other: what it holds may be why it halted.
        if place.validator is not None and (engine := place.validator.engine) is not None
    ]
    cold = (jury.replay or run_cold_replay)(
        writer.directory, COLD_HASH_SEED, {readback.height for readback in readbacks}
    )
    results = jury.suite.finish(run_reason=run.outcome.reason, readbacks=readbacks, cold=cold, faults=run.effects)
    results.append(consult_oracle(run.genesis, jury.chain))
    if jury.storm is not None:
        results.append(jury.storm.result())
    if jury.reorg is not None:
        results.append(jury.reorg.result())
    if jury.promises is not None:
        results.append(jury.promises.result())
    promised = list(promised_workloads(run.scenario))
    if promised:
        blocks = ((len(executed.block.transactions), executed.receipts) for executed in jury.chain)
        results.append(judge_workloads(promised, blocks))
    return tuple(results)


def _write_chain(run: ClusterRun, jury: Jury, writer: RecordWriter) -> None:
    writer.write_scenario(encode_scenario(run.scenario))
    writer.write_genesis(msgspec.msgpack.encode(run.genesis))
    writer.add_events(run.trace.log)
    for executed in jury.chain:
        header = executed.header
        writer.add_block(
            height=header.height, digest=executed.digest, root=header.state_root, block=encode_block(executed.block)
        )
    for node, height, digest, root in jury.roots:
        writer.add_root(node=node, height=height, digest=digest, root=root)
    writer.flush()


def _judged(run: ClusterRun, jury: Jury, checks: tuple[CheckResult, ...]) -> Judged:
    return Judged(
        scenario=run.scenario,
        seed=run.seed,
        digest=run.trace.digest,
        checks=checks,
        validators=tuple(_row(place, jury) for place in run.places),
        figures=_figures(run, jury),
        log=run.trace.log,
        genesis=run.genesis,
        chain=jury.chain,
        roots=jury.roots,
    )


def _row(place: Place, jury: Jury) -> ValidatorRow:
    fired, expired, insolvent = jury.exits.get(place.node, (0, 0, 0))
    last = jury.last.get(place.node)
    note = place.counts.halted or ("" if place.is_running else "down")
    return ValidatorRow(
        node=place.node,
        height=place.counts.height,
        finalized_height=last.header.height if last else 0,
        state_root=last.header.state_root.hex() if last else "",
        executed=place.counts.executed,
        rolled_back=place.counts.rolled_back,
        fired=fired,
        expired=expired,
        insolvent=insolvent,
        waiting=last.summary.waiting_live + last.summary.waiting_dead if last else 0,
        note=note,
    )


def _figures(run: ClusterRun, jury: Jury) -> dict[str, int | str]:
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
        "transactions_submitted": run.clients.submitted,
        "transactions_refused": run.clients.refused,
    }
    figures.update({f"fault_{effect.name}": effect.count for effect in run.effects})
    figures.update({f"timers_{name}": count for name, count in asdict(jury.suite.figures).items()})
    return figures
