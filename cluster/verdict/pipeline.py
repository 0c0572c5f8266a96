"""The pipeline of a run: it runs a scenario under the checks, and writes the run directory.

The order matters. After the run, genesis and finalized blocks are written to disk. Then the cold replay reads them in
its own process. Then the checks conclude, and the verdict is written. Only then does the directory get its final name.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from checker.checks.check import Check
from checker.checks.consensus import EqualConsensus
from checker.checks.context import RunEnd
from checker.checks.expected_reports import ExpectedReports
from checker.coverage.application_points import ApplicationRule
from checker.coverage.collector import RuleHit
from checker.judging import JudgingProcess
from checker.record.cold_replay import ColdReplay, ColdReplayer, run_cold_replay
from checker.record.engine_calls import encoded_calls
from checker.record.manifest import REOPENED, REPORT
from checker.record.places import scratch_directory
from checker.record.plugins import PluginError, error_of_plugin
from checker.record.run_directory import BRANCHES, ENGINE_CALLS, RecordWriter
from checker.results import PLUGINS, UNFINISHED, CheckResult, judge_expected
from cluster.live.progress import LiveProgress
from cluster.outside.hosting.calls import APPLICATION_CALLS, CallRecord
from cluster.outside.hosting.run import applications_of
from cluster.runtime.cluster import Cluster, ClusterRun
from cluster.runtime.data_directory import DataDirectory
from cluster.runtime.failures import AT_FAILURE, BY_PLUGIN
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import encode_scenario
from cluster.scenario.model import Scenario
from cluster.verdict.beside import COLD_HASH_SEED, judging_of, tell_engines
from cluster.verdict.executions import AnsweringWitness, RunWitness, hooks_of
from cluster.verdict.facts import derived_of, read_back_of
from cluster.verdict.figures import figures_of, recoveries_of, replica_modes_of, row_of, slowed_of, work_of
from cluster.verdict.monitor import Monitor, make_monitor
from cluster.verdict.result import PipelineResult
from cluster.verdict.watchdog import Watchdog, patience_seconds
from faults import FaultEffect
from network.collector import rare_collections
from network.interrupts import came_of_interrupt, interrupts_noted
from network.plugin_errors import take_notes
from network.words import counted
from validators.settings import ValidatorFactory


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
    explains: AnsweringWitness | None = None,
    calls: CallRecord | None = None,
    family: str = "",
) -> PipelineResult:
    """Run a scenario and check the run; `runs` is where the run directory goes, None writes none that stays.

    `keeps` says whether a run is worth its directory, `has_page` whether that has a page. `data` gives the validators
    real disks. `extra` adds a check before the record is written; `command` repeats the run. `replay` makes the cold
    replay; unless it is given, another process replays and judges the blocks while the run goes on. `witnesses` see
    every execution beside the checks; `explains` is one more, which says why a run went wrong. Where a
    `family` is named, only its checks judge the run.

    Raises:
        network.outcome.RunFailedError: The test bed itself broke.
        LaunchError, UnusableApplicationError: The scenario's application cannot be used.
        checker.record.run_directory.RecordExistsError: Something else stands where the run directory would go.
        KeyboardInterrupt: The run was interrupted. Its message names the unfinished record, kept for a run with a run
            directory.
    """
    take_notes()
    path, is_resumed = (None, False) if data is None else (data.path, data.start_us > 0)
    with ExitStack() as stack:
        applications = stack.enter_context(applications_of(scenario, seed, path, calls, is_resumed=is_resumed))
        cluster = Cluster(scenario, seed, factories=factories or {}, data=data, applications=applications)
        monitor = make_monitor(cluster, family)
        seen_by = witnesses if explains is None else (*witnesses, explains)
        cluster.hooks = _hooks(monitor, cluster, progress, seen_by)
        steps = _Steps(cluster, monitor, progress, replay or run_cold_replay, extra, explains)
        if replay is None:
            steps = replace(steps, judges=judging_of(cluster, steps.monitor, stack))
        name = _name_of(scenario, seed, data)
        if runs is None:
            with scratch_directory(name) as scratch, RecordWriter(scratch / name, scenario.plugins) as writer:
                return steps.judge(steps.run_into(writer), writer)
        result = _run_and_keep(steps, runs / name, keeps, lambda w, r: _write_verdict(w, r, command, has_page=has_page))
    return _finished(result)


def _finished(result: PipelineResult) -> PipelineResult:
    """Return a result; raise an error for a run that was interrupted, or that a plug-in broke off."""
    if result.unfinished:
        kept = f"the unfinished record is {result.directory}"
        if result.broken_by:
            raise PluginError(f"{result.headline}; {kept}")
        raise KeyboardInterrupt(f"{result.unfinished}; {kept}")
    return result


def _hooks(monitor: Monitor, cluster: Cluster, progress: LiveProgress, seen_by: Sequence[RunWitness]) -> RunHooks:
    """Return the hooks that let the checks see a run that has not begun."""
    on_event, on_applied = hooks_of(cluster, monitor, progress, seen_by)
    return RunHooks(
        on_event=on_event,
        on_applied=on_applied,
        on_progress=progress.show,
        on_reorg=monitor.reorganized,
        on_leave=monitor.situations.leave,
    )


def _run_and_keep(
    steps: "_Steps",
    place: Path,
    keeps: Callable[[PipelineResult], bool],
    write: Callable[[RecordWriter, PipelineResult], None],
) -> PipelineResult:
    """Run, judge, and keep the run directory of a run that is worth it, or was interrupted."""
    cluster = steps.cluster
    with ExitStack() as noting:
        # Before the directory is there: a run that can be seen keeps what it has.
        are_noted = noting.enter_context(interrupts_noted(cluster.interrupt))
        with RecordWriter(place, cluster.scenario.plugins) as writer:
            run = steps.run_into(writer)
            noting.close()
            result = steps.judge_or_break_off(run, writer, are_noted=are_noted)
            if not result.unfinished and not keeps(result):
                return result
            steps.progress.note("writing the run directory")
            write(writer, result)
            if result.unfinished:
                # At another path, so that an unfinished run never replaces a finished run.
                writer.path = writer.path.with_name(f"{writer.path.name}-{UNFINISHED}")
            name, verdict = cluster.scenario.name, result.verdict
            directory = writer.finish(scenario=name, seed=cluster.seed, digest=result.digest, verdict=verdict)
    return replace(result, directory=directory)


def _name_of(scenario: Scenario, seed: int, data: DataDirectory | None) -> str:
    # A reopened run does not repeat the run that it continues, so both keep their places.
    reopened = f"-at-{data.start_us // 1_000}" if data is not None and data.start_us else ""
    return f"{scenario.name}-{seed}{scenario.run.continuation}{reopened}"


def _write_verdict(writer: RecordWriter, result: PipelineResult, command: str, *, has_page: bool) -> None:
    writer.write_verdict(document := result.as_json(command))
    if has_page:
        from cluster.page.write import as_extra, page_of  # noqa: PLC0415 - the run need not wait for it

        writer.flush()
        page = b""
        with as_extra(writer.path / REPORT):
            page = page_of(writer.directory, document, result.scenario, result.checks, place=writer.path)
        if page:
            writer.write_file(REPORT, page)


@dataclass(frozen=True, slots=True)
class _Steps:
    """The pipeline of one run, in the order of its steps."""

    cluster: Cluster
    monitor: Monitor
    progress: LiveProgress
    replay: ColdReplayer
    repeat: Callable[[PipelineResult], CheckResult] | None
    explains: AnsweringWitness | None = None
    judges: JudgingProcess | None = None

    def run_into(self, writer: RecordWriter) -> ClusterRun:
        """Run, and write what the run was."""
        scenario = self.cluster.scenario
        self.monitor.keep.append(writer.add_branch)
        with Watchdog(self._count, f"{scenario.name} seed {self.cluster.seed}", seconds=patience_seconds(scenario)):
            run = self.cluster.run()
        self._write_chain(run, writer)
        return run

    def _count(self) -> int:
        """Return the steps so far, including calls of an application, because a call may take long."""
        asked = self.cluster.applications
        return self.cluster.steps + (0 if asked is None else asked.replicas.log.calls)

    def judge_or_break_off(self, run: ClusterRun, writer: RecordWriter, *, are_noted: bool) -> PipelineResult:
        """Check a written run; after an interrupt or an error of a plug-in, return it unfinished.

        Args:
            run: The run.
            writer: The record.
            are_noted: Whether interrupts are answered with an unfinished record.
        """
        broken_by = ""
        try:
            if not self.cluster.is_interrupted:
                return self.judge(run, writer)
        except BaseException as error:
            if came_of_interrupt(error):
                if not are_noted:
                    raise
            elif not (broken_by := error_of_plugin(error)):
                raise
        at_ms, heights = run.outcome.now_us // 1_000, len(self.monitor.chain)
        said = f"at virtual time {at_ms / 1_000:,.3f} s, {counted(heights, 'heights')}"
        self._keep_application_calls(writer)
        return replace(self._outcome_of(run, (), writer), unfinished=said, broken_by=broken_by)

    def judge(self, run: ClusterRun, writer: RecordWriter) -> PipelineResult:
        """Check a run that is written; raises PluginError where a plug-in ended it."""
        if run.outcome.reason == BY_PLUGIN:
            raise PluginError(run.outcome.detail)
        scenario, data = self.cluster.scenario, self.cluster.data
        checks = self._finish(run, writer.directory)
        if data is not None:
            data.raise_refusal()
            checks = [data.remember(run.outcome.now_us, check) for check in checks]
        checks += _plugin_errors(take_notes())
        if scenario.expect.fails:
            checks.append(judge_expected(checks, scenario.expect.fails, self.monitor.suite.not_asked))
        self._keep_engine_calls(writer)
        self._keep_application_calls(writer)
        result = self._outcome_of(run, checks, writer)
        if self.repeat is not None:
            self.progress.note("repeating the run in another process")
            result = result.with_check(self.repeat(result))
        if self.explains is not None:
            self.progress.note("explaining")
            answer = self.explains.answer(result.decisive, result.checks, result.log)
            result = replace(result, answer=answer, because=self.explains.because)
        return result

    def _outcome_of(self, run: ClusterRun, checks: Iterable[CheckResult], writer: RecordWriter) -> PipelineResult:
        """Return the result of a run that is written; where the run went on with real disks, the record says so."""
        data = self.cluster.data
        result = replace(self._result_of(run, checks), branches=writer.digest_of(BRANCHES))
        if data is None or not data.start_us:
            return result
        writer.write_file(REOPENED, data.opening())
        return replace(result, reopened=_describe_reopening(data, run.effects))

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

    def _keep_engine_calls(self, writer: RecordWriter) -> None:
        """Write the calls of each engine that differs from its specification, up to the difference."""
        context = self.monitor.context
        if differences := context.check(EqualConsensus).differences:
            kept = (
                encoded_calls(context.engine_calls[each.replica][each.life - 1], each.life, each.number)
                for each in differences
            )
            writer.write_file(ENGINE_CALLS, b"".join(kept))

    def _keep_application_calls(self, writer: RecordWriter) -> None:
        """Write all that applications were asked and answered, and what they said on standard error."""
        if (applications := self.cluster.applications) is not None:
            writer.write_file(APPLICATION_CALLS, applications.replicas.log.encoded())
            for node in range(self.cluster.scenario.replicas):
                if said := applications.replicas.stderr_of(node):
                    writer.write_file(f"application-{node}.log", said)

    def _finish(self, run: ClusterRun, record: Path) -> list[CheckResult]:
        """Read back what is left of the run, and return the results of all checks."""
        if self.judges is not None:
            # Before reading back, which goes on meanwhile.
            tell_engines(self.judges, self.monitor.context)
        self.progress.note("reading back what every validator holds")
        derived = derived_of(run)
        readbacks, unreadable = read_back_of(run)
        self.progress.note("replaying the chain in a fresh process")
        heights = {readback.height for readback in readbacks}
        judged = None if self.judges is None else self.judges.result(heights)
        cold = self._replay_cold(record, heights) if judged is None else judged.cold
        self.progress.note("judging")
        if (asked := self.cluster.applications) is not None:
            self.progress.note("asking the application again")
            asked.ask_again(asks_all=self.repeat is not None)
        end = RunEnd(
            reason=run.outcome.reason,
            failure=run.outcome.detail if run.outcome.reason == AT_FAILURE else "",
            now_us=run.outcome.now_us,
            faults=run.effects,
            readbacks=readbacks,
            derived=derived,
            unreadable=unreadable,
            cold=cold,
            cold_by_build=self._replay_by_builds(record),
            oracle=None if judged is None else judged.oracle,
            consensus=None if judged is None else judged.consensus,
            record=record,
            recoveries=recoveries_of(run),
            replica_modes=replica_modes_of(run),
            duties=work_of(run, self.monitor),
            rules={hit.point: hit.hits for hit in self._reached(run)},
            idle_mutants=self.cluster.mutants.idle(),
            application_faults=() if asked is None else tuple(asked.replicas.faults),
            application_requests=0 if asked is None else asked.replicas.log.calls,
            lost={} if asked is None else asked.replicas.lost,
            slowed=slowed_of(run),
        )
        return self.monitor.suite.finish(end, self._timed)

    def _replay_cold(self, record: Path, heights: Collection[int]) -> ColdReplay:
        applications = self.cluster.applications
        if applications is None or applications.is_judged_as_own:
            return self.replay(record, COLD_HASH_SEED, heights)
        self.monitor.rules.reach(ApplicationRule.COLD_REPLAYED)
        return applications.replay_cold(record, applications.planned.builds.newest, COLD_HASH_SEED)

    def _replay_by_builds(self, record: Path) -> dict[str, ColdReplay]:
        """Return the cold replays by all builds of an application except the build that judges the run."""
        if (applications := self.cluster.applications) is None:
            return {}
        builds = applications.planned.builds
        others = [build for build in builds.named if build != builds.newest]
        return {build: applications.replay_cold(record, build, COLD_HASH_SEED) for build in others}

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
        monitor, applications = self.monitor, self.cluster.applications
        return PipelineResult(
            scenario=run.scenario,
            seed=run.seed,
            digest=run.trace.digest,
            checks=tuple(checks),
            validators=tuple(row_of(run, slot, monitor) for slot in run.slots),
            figures=figures_of(run, monitor),
            evidence=monitor.context.check(ExpectedReports).evidence(),
            points=run.points,
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
            calls=b"" if applications is None else applications.replicas.log.encoded(),
            application="" if applications is None else applications.description,
        )


def _plugin_errors(errors: Sequence[str]) -> Iterator[CheckResult]:
    """Yield the result about errors that code of plug-ins raised in validators; none of a run without any."""
    if errors:
        named = tuple((f"error {number}", error) for number, error in enumerate(errors, 1))
        more = f" (and {len(errors) - 1:,} more)" if len(errors) > 1 else ""
        yield CheckResult(PLUGINS, "inconclusive", "inconclusive", f"{errors[0]}{more}", named)


def _describe_reopening(data: DataDirectory, effects: Iterable[FaultEffect]) -> str:
    past = ", ".join(effect.name for effect in effects if effect.is_past)
    return (
        f"reopened at height {data.height} at {data.start_us // 1_000} ms: what lies below was read from the disks and "
        f"its skipped views are not judged{f', faults done earlier: {past}' if past else ''}, no other run is the same"
    )
