"""Runs a scenario, lets the checks see it, and writes the run directory.

The order matters: the run; then genesis and finalized blocks go to disk; then the cold replay reads them there in a
process of its own; then the checks of the end; then the verdict. The directory gets its name when that is written.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import msgspec

from checker.checks.check import Check
from checker.checks.context import RunEnd
from checker.checks.reports import Contradiction, ExpectedReports
from checker.coverage.collector import RuleHit
from checker.record.cold_replay import ColdReplayer, run_cold_replay
from checker.record.final_blocks import FinalBlock
from checker.record.fingerprint import this_code
from checker.record.manifest import REOPENED, REPORT
from checker.record.places import scratch_directory
from checker.record.plugins import code_with, plugin_codes
from checker.record.run_directory import BRANCHES, RecordWriter
from checker.record.streams import OldestWait
from checker.results import CheckResult, Verdict, deciding_check, judge_expected, verdict_of
from cluster.live.progress import LiveProgress
from cluster.runtime.cluster import Cluster, ClusterRun, RunHooks
from cluster.runtime.data_directory import DataDirectory
from cluster.runtime.failures import AT_FAILURE
from cluster.runtime.watchdog import Watchdog
from cluster.scenario.load import encode_scenario
from cluster.scenario.model import Scenario
from cluster.verdict.executions import RunWitness, watch_executions
from cluster.verdict.facts import derived_of, read_back_of
from cluster.verdict.figures import figures_of, recoveries_of, replica_modes_of, row_of, work_of
from cluster.verdict.monitor import Monitor, make_monitor
from faults import Cell, FaultEffect
from network.collector import rare_collections
from network.events import Event
from network.trace import Trace
from report.console import ValidatorRow
from validators.execution import Executed, Genesis
from validators.settings import ValidatorFactory

COLD_HASH_SEED: Final = 90_125
"""The cold replay's PYTHONHASHSEED: any but the run's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineResult:
    """A run with its verdict."""

    scenario: Scenario
    seed: int
    digest: bytes
    checks: tuple[CheckResult, ...]
    validators: tuple[ValidatorRow, ...]
    figures: Mapping[str, int | str]
    evidence: tuple[Contradiction, ...]
    cells: tuple[Cell, ...]
    rules: tuple[RuleHit, ...]
    pairs: tuple[str, ...]
    workloads: Mapping[str, int]
    """Acts by workload; 0 for one that had no effect."""
    scripts: Mapping[str, int]
    trace: Trace = field(repr=False)
    genesis: Genesis = field(repr=False)
    chain: Sequence[FinalBlock] = field(repr=False)
    roots: list[tuple[int, int, bytes, bytes]] = field(repr=False)
    waits: list[tuple[OldestWait, ...]] = field(repr=False)
    directory: Path | None = None
    reopened: str = ""
    not_applicable: tuple[str, ...] = ()
    not_asked: Mapping[str, str] = field(default_factory=dict)
    not_judged: tuple[str, ...] = ()
    """Checks that could not say anything because a failure ended the run early."""
    branches: str = ""
    """The SHA-256 of the executed blocks as the record has them."""

    @property
    def log(self) -> bytes:
        """The event log, in one piece."""
        return self.trace.log

    @property
    def verdict(self) -> str:
        """The verdict in one word."""
        return self._verdict.name

    @property
    def exit_code(self) -> int:
        """The exit code that belongs to the verdict."""
        return self._verdict.exit_code

    @property
    def _verdict(self) -> Verdict:
        return verdict_of(self.checks, self.scenario.expect.fails)

    @property
    def decisive(self) -> CheckResult | None:
        """The check that decides the verdict: where that is *failed as expected*, the worst that was expected."""
        return deciding_check(self.checks, self.scenario.expect.fails) or deciding_check(self.checks)

    @property
    def headline(self) -> str:
        """The first thing to know: the failure that decides the verdict, or what was shown."""
        unjudged = self._unjudged
        if self.decisive is not None:
            return f"{self.decisive.name}: {self.decisive.summary}{self._stop}{unjudged}"
        height = max((row.finalized_height for row in self.validators), default=0)
        statuses = [row.status for row in self.validators]
        voters = statuses.count("voter")
        holders = f"{voters} validator{'s' if voters != 1 else ''}"
        if observers := statuses.count("observer"):
            holders += f" and {observers} observer{'s' if observers > 1 else ''}"
        if adversaries := statuses.count("byzantine"):
            holders += f" beside {adversaries} Byzantine"
        stopped = f"; {count} stopped over a disk" if (count := statuses.count("stopped")) else ""
        again = f"; {self.reopened}" if self.reopened else ""
        hold = "hold" if len(statuses) > 1 else "holds"
        return f"{holders} {hold} one state root at every height up to {height}{stopped}{again}{unjudged}"

    @property
    def _stop(self) -> str:
        if self.figures.get("end") != AT_FAILURE:
            return ""
        left_out = f", not judged: {', '.join(self.not_judged)}" if self.not_judged else ""
        return f"; stopped at {self.figures['end_detail']}{left_out}"

    @property
    def _unjudged(self) -> str:
        """The end of the headline: the checks that were left out."""
        without_oracle = "; no oracle judged it" if self.scenario.oracle == "off" else ""
        names, engine = ", ".join(self.not_applicable), self.scenario.consensus.engine
        return without_oracle + (f"; not checked with the engine {engine}: {names}" if names else "")

    @property
    def made_by(self) -> list[str]:
        """The code that ran, and the plug-ins, a line each."""
        return [str(this_code()), *(f"with {plugin}" for plugin in plugin_codes(self.scenario.plugins))]

    def with_check(self, check: CheckResult) -> "PipelineResult":
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
            "code": code_with(self.scenario.plugins)._asdict(),
            "plugins": [msgspec.to_builtins(code) for code in plugin_codes(self.scenario.plugins)],
            "checks": [msgspec.to_builtins(check) for check in self.checks],
            "not_applicable": list(self.not_applicable),
            "not_asked": dict(self.not_asked),
            "not_judged": list(self.not_judged),
            "validators": [msgspec.to_builtins(row) for row in self.validators],
            "figures": dict(self.figures),
            "evidence": [msgspec.to_builtins(each) for each in self.evidence],
            "coverage": [cell._asdict() for cell in self.cells],
            "rules": {hit.cell: hit.hits for hit in self.rules},
            "workloads": dict(self.workloads),
            "reopened": self.reopened,
            "directory": None if self.directory is None else str(self.directory),
            "repeat": command,
        }


@rare_collections()
def run_pipeline(
    scenario: Scenario,
    seed: int,
    *,
    runs: Path | None,
    progress: LiveProgress,
    factories: Mapping[int, ValidatorFactory] | None = None,
    extra: Callable[["PipelineResult"], CheckResult] | None = None,
    command: str = "",
    keeps: "Callable[[PipelineResult], bool]" = lambda _: True,
    replay: ColdReplayer | None = None,
    data: DataDirectory | None = None,
    has_page: bool = True,
    witnesses: Sequence[RunWitness] = (),
) -> PipelineResult:
    """Run a scenario and check the run; `runs` is where the run directory goes, None writes none that stays.

    `keeps` says whether a run is worth its directory, `has_page` whether that has a page. `data` gives the validators
    real disks. `extra` adds a check before the record is written; `command` repeats the run; `replay` makes the cold
    replay, in a fresh process unless it is given. `witnesses` see every execution beside the checks.

    Raises:
        network.outcome.RunFailedError: The test bed itself broke.
        checker.record.run_directory.RecordExistsError: Something else stands where the run directory would go.
    """
    cluster = Cluster(scenario, seed, factories=factories or {}, data=data)
    monitor = make_monitor(cluster)
    on_event, on_applied = _hooks_of(cluster, monitor, progress, witnesses)
    cluster.hooks = RunHooks(
        on_event=on_event,
        on_applied=on_applied,
        on_progress=progress.show,
        on_reorg=monitor.reorganized,
        on_leave=monitor.situations.leave,
    )
    steps = _Steps(cluster, monitor, progress, replay or run_cold_replay, extra)
    name = _name_of(scenario, seed, data)
    if runs is None:
        with scratch_directory(name) as scratch, RecordWriter(scratch / name, scenario.plugins) as writer:
            return steps.run_into(writer)
    with RecordWriter(runs / name, scenario.plugins) as writer:
        result = steps.run_into(writer)
        if not keeps(result):
            return result
        progress.note("writing the run directory")
        _write_verdict(writer, result, command, has_page=has_page)
        directory = writer.finish(scenario=scenario.name, seed=seed, digest=result.digest, verdict=result.verdict)
    return replace(result, directory=directory)


def _name_of(scenario: Scenario, seed: int, data: DataDirectory | None) -> str:
    # A reopened run is no repetition of the one that it goes on with, which keeps its place.
    reopened = f"-at-{data.start_us // 1_000}" if data is not None and data.start_us else ""
    return f"{scenario.name}-{seed}{reopened}"


def _hooks_of(
    cluster: Cluster, monitor: Monitor, progress: LiveProgress, witnesses: Sequence[RunWitness]
) -> tuple[Callable[[Event], None], Callable[[int, Executed], None]]:
    """Return who sees events and applied blocks: the checks, witnesses, and then a person if one looks."""
    for witness in witnesses:
        witness.attach(cluster)
    watch_executions(cluster, monitor.context.honest, monitor.executed, *witnesses)
    progress.begin(cluster.scenario)

    def observe(event: Event) -> None:
        monitor.suite.observe(event)
        progress.observe(event)

    def apply(node: int, executed: Executed) -> None:
        monitor.applied(node, executed)
        for witness in witnesses:
            witness.applied(node, executed)
        progress.applied(node, executed.summary.waiting_live, executed.summary.waiting_dead)

    return observe if progress.is_watching else monitor.suite.observe, apply


def _write_verdict(writer: RecordWriter, result: PipelineResult, command: str, *, has_page: bool) -> None:
    writer.write_verdict(document := result.as_json(command))
    if has_page:
        from cluster.page.write import page_of  # noqa: PLC0415 - the run need not wait for it

        writer.flush()
        page = page_of(writer.directory, document, result.scenario, result.checks, place=writer.path)
        writer.write_file(REPORT, page)


@dataclass(frozen=True, slots=True)
class _Steps:
    """The pipeline of one run, in the order of its steps."""

    cluster: Cluster
    monitor: Monitor
    progress: LiveProgress
    replay: ColdReplayer
    repeat: Callable[[PipelineResult], CheckResult] | None

    def run_into(self, writer: RecordWriter) -> PipelineResult:
        """Run, write what the run was, and check it."""
        scenario, data = self.cluster.scenario, self.cluster.data
        self.monitor.keep = writer.add_branch
        with Watchdog(lambda: self.cluster.steps, f"{scenario.name} seed {self.cluster.seed}"):
            run = self.cluster.run()
        self._write_chain(run, writer)
        checks = self._finish(run, writer.directory)
        if data is not None:
            data.raise_refusal()
            checks = [data.remember(run.outcome.now_us, check) for check in checks]
        if scenario.expect.fails:
            checks.append(judge_expected(checks, scenario.expect.fails, self.monitor.suite.not_asked))
        result = replace(self._result_of(run, checks), branches=writer.digest_of(BRANCHES))
        if data is not None and data.start_us:
            result = replace(result, reopened=_describe_reopening(data, run.effects))
            writer.write_file(REOPENED, data.opening())
        if self.repeat is not None:
            self.progress.note("repeating the run in another process")
            result = result.with_check(self.repeat(result))
        return result

    def _write_chain(self, run: ClusterRun, writer: RecordWriter) -> None:
        writer.write_scenario(encode_scenario(run.scenario))
        writer.write_genesis(msgspec.msgpack.encode(run.genesis))
        for piece in run.trace.pieces():
            writer.add_events(piece)
        for final, waits in zip(self.monitor.chain, self.monitor.waits, strict=True):
            writer.add_block(height=final.height, digest=final.digest, root=final.state_root, block=final.encoded)
            writer.add_summary(final.summary)
            writer.add_waits(waits)
        for node, height, digest, root in self.monitor.roots:
            writer.add_root(node=node, height=height, digest=digest, root=root)
        self.monitor.keep_executed()
        writer.flush()

    def _finish(self, run: ClusterRun, record: Path) -> list[CheckResult]:
        """Read back what is left of the run, and return the results of all checks."""
        self.progress.note("reading back what every validator holds")
        derived = derived_of(run)
        readbacks, unreadable = read_back_of(run)
        self.progress.note("replaying the chain in a fresh process")
        cold = self.replay(record, COLD_HASH_SEED, {readback.height for readback in readbacks})
        self.progress.note("judging")
        end = RunEnd(
            reason=run.outcome.reason,
            failure=run.outcome.detail if run.outcome.reason == AT_FAILURE else "",
            now_us=run.outcome.now_us,
            faults=run.effects,
            readbacks=readbacks,
            derived=derived,
            unreadable=unreadable,
            cold=cold,
            record=record,
            recoveries=recoveries_of(run),
            replica_modes=replica_modes_of(run),
            duties=work_of(run, self.monitor),
            rules={hit.cell: hit.hits for hit in self._reached(run)},
            idle_mutants=self.cluster.mutants.idle(),
        )
        return self.monitor.suite.finish(end, self._timed)

    def _reached(self, run: ClusterRun) -> tuple[RuleHit, ...]:
        return self.monitor.rules.hits(slot.counts for slot in run.slots if self.monitor.is_honest(slot.node))

    @contextmanager
    def _timed(self, check: Check) -> Iterator[None]:
        """Show a person what takes long, and how long it took."""
        if not check.activity:
            yield
            return
        self.progress.note(f"asking {check.activity}")
        with self.progress.timed(check.activity):
            yield

    def _result_of(self, run: ClusterRun, checks: Iterable[CheckResult]) -> PipelineResult:
        monitor = self.monitor
        return PipelineResult(
            scenario=run.scenario,
            seed=run.seed,
            digest=run.trace.digest,
            checks=tuple(checks),
            validators=tuple(row_of(run, slot, monitor) for slot in run.slots),
            figures=figures_of(run, monitor),
            evidence=monitor.context.check(ExpectedReports).evidence(),
            cells=run.cells,
            not_applicable=monitor.suite.not_applicable,
            not_asked=monitor.suite.not_asked,
            not_judged=monitor.suite.not_judged,
            rules=self._reached(run),
            pairs=monitor.situations.pairs(),
            workloads=monitor.effects.counts,
            scripts=monitor.script.counts,
            trace=run.trace,
            genesis=run.genesis,
            chain=monitor.chain,
            roots=monitor.roots,
            waits=monitor.waits,
        )


def _describe_reopening(data: DataDirectory, effects: Iterable[FaultEffect]) -> str:
    past = ", ".join(effect.name for effect in effects if effect.is_past)
    return (
        f"reopened at height {data.height} at {data.start_us // 1_000} ms: what lies below was read from the disks and "
        f"its skipped views are not judged{f', faults done earlier: {past}' if past else ''}, no other run is the same"
    )
