"""The command `curve`: the turn of a failed run from which on other chance no longer saves it."""

import argparse
import hashlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from checker.families import title_of
from checker.record.errors import on_one_line
from checker.record.places import refuse_other_file
from checker.record.run_directory import RecordReader
from checker.results import deciding_check
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.shrink import SHRUNK
from cluster.campaign.tasks import TaskRunner
from cluster.campaign.workers import Workers
from cluster.causality.asking import MODES, Continuations, Mode, modes_of, turn_of
from cluster.causality.continuations import FailedRun, failed_run, run_continuation
from cluster.causality.draws import Counterfactuals, JudgedDraw
from cluster.causality.known_rise import curve_path, whole_scenario
from cluster.causality.page import CurvesOnPage, page_of_curves
from cluster.causality.rise import PROBE_RUNS, Rise, find_rise
from cluster.causality.told import CSV, curve_as_json, curve_lines, write_csv
from cluster.causality.told_draws import draw_lines, draws_as_json
from cluster.cli.commands.campaigns.shrink import recorded_signature, shrink_record
from cluster.cli.options import (
    Parser,
    add_jobs,
    add_quiet,
    describe_command,
    parse_runs,
    print_json,
    print_lines,
    run_command,
    shrunk_plan_of,
)
from cluster.live.progress import LiveProgress
from cluster.page.write import write_page
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from cluster.verdict.replay import recorded_scenario
from report.campaign import ShrinkProgress

SHRINK_RUNS: Final = 120
"""The runs after which shrinking stops: a curve takes some 200 runs, and a smaller plan has to pay for itself."""


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_curve,
        description="Repeat a failed run up to its turns, go on with other chance, and say from which turn on it fails "
        "alike.",
        notes="It shrinks the run first, writes a table and a page, and goes on where it was stopped.",
        example="curve runs/broken-refund-0 --no-shrink",
    )
    parser.add_argument("directory", type=Path, metavar="RUN_DIRECTORY", help="a run that did not pass")
    parser.add_argument("--no-shrink", action="store_true", help="take the run as it is, and not its smallest plan")
    parser.add_argument("--runs", type=parse_runs, help="where page, table and results go (default: beside the run)")
    add_jobs(parser)
    add_quiet(parser)
    kept = "the smallest plan and the continuations so far are kept; the same command goes on"
    parser.set_defaults(when_interrupted=kept)


class CurveFound(NamedTuple):
    """The curves of a run by mode, the continuations they rest on, the command of the run, and the table's path.

    `plan` is the file of the smallest plan if the run is of that. `draws` are the draws of the turns `tried` of which
    each moves the failure by itself; an unavoidable failure has no such draw.
    """

    run: FailedRun
    curves: dict[Mode, Rise]
    asked: dict[Mode, Continuations]
    repeat: str
    table: Path
    tried: tuple[int, int] | None = None
    draws: Sequence[JudgedDraw] = ()
    plan: str = ""

    @property
    def page(self) -> Path:
        """The path of the page."""
        return self.table.with_suffix(".html")

    def continuation(self) -> str:
        """Return the command of a continuation that passes because the draws of the rise are other draws."""
        low = self.curves["chance"].low
        seed = None if low is None else self.asked["chance"].example(low.turn, low.runs, fails=False)
        if low is None or seed is None or not self.repeat:
            return ""
        return f"{self.repeat} --reseed {low.turn}:{seed}"


def run_curve(options: argparse.Namespace) -> int:
    """Find the rise of a recorded failure, print it, and return 0; a run that passed is bad input."""
    reader = RecordReader(options.directory)
    runs = options.directory.parent if options.runs is None else options.runs
    recorded = recorded_scenario(reader)
    recorded_signature(reader)
    title = f"curve {options.directory.name}"
    with (
        Workers(options.jobs, run_continuation) as workers,
        ShrinkProgress(title=title, is_quiet=options.json or options.quiet) as progress,
    ):
        plan = None
        if not options.no_shrink:
            plan = shrunk_plan_of(options.directory, runs)
            refuse_other_file(plan, SHRUNK)
            if not plan.exists():
                shrink_record(
                    reader, recorded, workers, plan, jobs=options.jobs, limit=SHRINK_RUNS, on_step=progress.show
                )
        found, note = _find(_Finder(reader, runs, workers, progress), recorded, plan)
    write_csv(found.table, found.run, found.curves)
    if options.json:
        page = _write_page(found, options, note)
        print_json(_as_json(found, note) | {"page": str(found.page) if page else None})
    else:
        print_lines(_lines(found, title, note, is_quiet=options.quiet))
        print_lines([f"page    {found.page}" for _ in _write_page(found, options, note)])
    return 0


def _find(finder: "_Finder", recorded: Scenario, plan: Path | None) -> tuple[CurveFound, str]:
    """Return the curves of a record's smallest plan or of the run itself, and why it is the run itself."""
    if plan is None:
        return finder.find(whole_scenario(recorded), ""), ""
    smallest = load_scenario(str(plan))
    # Shrinking keeps what fails, and so makes failures likelier: where most continuations fail alike from the first
    # turn on, a rise is lost among them.
    if not finder.is_likely(smallest, str(plan)):
        return finder.find(smallest, str(plan)), ""
    whole = finder.find(whole_scenario(recorded), "")
    if whole.curves["chance"].is_unavoidable:
        return finder.find(smallest, str(plan)), ""
    return whole, "its smallest plan fails alike in most continuations from the first turn on; this is the run itself"


class _Finder:
    """Finds curves of a recorded failure, of the run itself or of its smallest plan."""

    def __init__(self, reader: RecordReader, runs: Path, workers: TaskRunner, progress: ShrinkProgress) -> None:
        self._reader, self._runs, self._workers, self._progress = reader, runs, workers, progress
        self._done = 0

    def is_likely(self, scenario: Scenario, plan: str) -> bool:
        """Return whether most continuations from the first turn on fail as recorded."""
        with self._open(scenario, plan) as (run, results):
            (first,) = self._continuations(run, "chance", results).points([(1, PROBE_RUNS)])
        return 2 * first.same > first.runs

    def find(self, scenario: Scenario, plan: str) -> CurveFound:
        """Return the curves of a scenario that fails as recorded; `plan` is its file, empty for that of the record."""
        curves: dict[Mode, Rise] = {}
        asked: dict[Mode, Continuations] = {}
        with self._open(scenario, plan) as (run, results):
            for mode in modes_of(scenario):
                asked[mode] = self._continuations(run, mode, results)
                curves[mode] = find_rise(asked[mode].points, run.turns, run.times_us[-1])
            tried, draws = self._judge_draws(run, curves["chance"], results)
            table = results.path.with_suffix(".csv")
        repeat = run_command(plan, run.seed) if plan else on_one_line(str(self._reader.verdict().get("repeat", "")))
        return CurveFound(run, curves, asked, repeat, table, tried, draws, plan)

    @contextmanager
    def _open(self, scenario: Scenario, plan: str) -> Iterator[tuple[FailedRun, ResultsFile]]:
        """Run a scenario again that fails as recorded, and open the file of its continuations."""
        reader = self._reader
        again = failed_run(scenario, reader.manifest.seed, reader.checks())
        run = _refuse_other_failure(reader, again, is_whole=not plan)
        identity = hashlib.sha256(encode_scenario(scenario)).hexdigest()
        path = curve_path(self._runs, reader.path.name, scenario)
        refuse_other_file(path.with_suffix(".csv"), CSV)
        with ResultsFile(path, f"curve 1 {identity} {run.seed}") as results:
            try:
                yield run, results
            except KeyboardInterrupt:
                raise KeyboardInterrupt(f"finished continuations are in {path}; the same command goes on") from None

    def _continuations(self, run: FailedRun, mode: Mode, results: ResultsFile) -> Continuations:
        return Continuations(run, mode, runner=self._workers, results=results, on_result=partial(self._show, mode))

    def _judge_draws(
        self, run: FailedRun, rise: Rise, results: ResultsFile
    ) -> tuple[tuple[int, int] | None, Sequence[JudgedDraw]]:
        """Return the turns whose single draws were changed, and the draws that move the failure."""
        if rise.is_unavoidable:
            return None, ()
        show = partial(self._show, "value of a draw")
        return Counterfactuals(run, "chance", runner=self._workers, results=results, on_result=show).judge_rise(rise)

    def _show(self, changed: str, result: SeedResult) -> None:
        self._done += 1
        place = f" from turn {turn_of(result.seed):,} on" if changed in MODES else ""
        self._progress.show(f"other {changed}{place}: {result.verdict}", self._done)


def _refuse_other_failure(reader: RecordReader, run: FailedRun | None, *, is_whole: bool) -> FailedRun:
    """Return a failed run; raise ScenarioError where it is not the failure of its record."""
    decisive = deciding_check(reader.checks())
    title = "" if decisive is None else title_of(decisive)
    if run is None or run.title != title:
        found = "it passes" if run is None else f"it fails in {run.title}"
        raise ScenarioError(str(reader.path), f"does not fail as recorded any more: {found}; recorded was {title}")
    if is_whole and hashlib.sha256(run.log).hexdigest() != reader.manifest.digest:
        raise ScenarioError(str(reader.path), "is not what its run gives: `replay` names the first difference")
    return run


def _lines(found: CurveFound, title: str, note: str, *, is_quiet: bool) -> list[str]:
    run = found.run
    lines = [f"{title}: {run.title}, {run.turns:,} turns, {run.times_us[-1] / 1_000_000:,.3f} s of virtual time"]
    lines += [note] * bool(note)
    for mode, rise in found.curves.items():
        lines += curve_lines(run, mode, rise, is_quiet=is_quiet)
        if mode == "chance" and found.tried is not None:
            lines += draw_lines(found.draws, *found.tried)
        if mode == "chance" and (command := found.continuation()):
            lines.append(f"  a continuation that passes: {command}")
    return [*lines, f"table   {found.table}"]


def _write_page(found: CurveFound, options: argparse.Namespace, note: str) -> list[str]:
    """Write the page of the run that the curves are of, and return a line if there is a page."""
    name = options.directory.name
    whose = f"{found.plan}, the smallest plan of {name}" if found.plan else f"{name}: {note or 'the run itself'}"
    command = found.continuation()
    # A log of the run says nothing that the record has not said; a picture says that something goes on.
    is_quiet = options.json or options.quiet or not sys.stderr.isatty()
    progress = LiveProgress(title=f"curve {name}: the page", is_quiet=is_quiet)

    def make() -> bytes:
        return page_of_curves(
            CurvesOnPage(found.run, found.curves, found.tried, found.draws),
            progress,
            note=f"The curve is of {whose}.",
            repeat=found.repeat,
            commands={"run a continuation that passes": command} if command else {},
        )

    try:
        return write_page(found.page, make)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"the curve is in {found.table}, without a page") from None


def _as_json(found: CurveFound, note: str) -> dict[str, object]:
    run = found.run
    return {
        "scenario": run.scenario.name,
        "seed": run.seed,
        "failure": run.title,
        "place": run.place,
        "answer": run.answer,
        "note": note,
        "turns": run.turns,
        "virtual_us": run.times_us[-1],
        "curves": {mode: curve_as_json(run, rise) for mode, rise in found.curves.items()},
        "draws": draws_as_json(found.draws),
        "table": str(found.table),
    }
