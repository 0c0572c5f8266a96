"""The command `study`: a replicated experiment on the chain, with intervals, a page, and files for notebooks."""

import argparse
from functools import partial
from pathlib import Path

from checker.record.errors import ReportedError
from checker.record.fingerprint import this_code
from checker.record.places import refuse_other_file
from checker.results import EXIT_CODES
from cluster.campaign.dask_workers import DaskWorkers
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.campaign.sweep import SweepTally
from cluster.campaign.tasks import TaskRunner
from cluster.campaign.workers import Workers
from cluster.cli.options import (
    RUNS,
    Parser,
    add_jobs,
    add_quiet,
    command_line,
    describe_command,
    parse_address,
    parse_runs,
    parse_seeds,
    print_json,
    print_lines,
    print_notes,
)
from cluster.exports.parquet import PARQUET, library
from cluster.page.index import write_index
from cluster.page.write import write_page
from cluster.scenario.messages import ScenarioError
from cluster.studies.answer import StudyAnswer
from cluster.studies.load import Trials, load_study, study_files
from cluster.studies.tables import CSV, table_lines, write_csv, write_parquet
from cluster.studies.trials import SEEDS_MAX, estimate_seconds, run_trial, run_trials
from network.words import counted
from report.campaign import SweepProgress
from report.page.render import study_page
from report.page.study_rows import StudyRows


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_command,
        example="study fairness-window --set blocks=100,1000 --seeds 0..19",
        notes="Without NAME it lists the studies. --set AXIS=VALUE,VALUE narrows or replaces the values of an axis, "
        "--set KEY=VALUE changes any other key of the study file.",
    )
    parser.add_argument("study", metavar="NAME", nargs="?", help="a study's name, or a path to a .toml file")
    parser.add_argument(
        "--set", action="append", default=[], metavar="AXIS=VALUES", help="change an axis or a key; may be repeated"
    )
    parser.add_argument("--seeds", type=parse_seeds, metavar="A..B", help="both ends included (default: the study's)")
    parser.add_argument("--quick", action="store_true", help="the study's quick form: fewer blocks, arms and seeds")
    add_jobs(parser)
    parser.add_argument(
        "--dask",
        type=parse_address,
        metavar="ADDRESS",
        help="run trials on the workers of the Dask cluster whose scheduler is at ADDRESS",
    )
    add_quiet(parser)
    parser.add_argument("--runs", type=parse_runs, default=RUNS, help="where results and page go (default runs)")
    parser.add_argument("--parquet", action="store_true", help="also write the table as a Parquet file")
    parser.add_argument("--fresh", action="store_true", help="run trials again that were there")


def run_command(options: argparse.Namespace) -> int:
    """Run a study, print its answer, and return the exit code: 0, or 3 where its validity check fails."""
    if options.study is None:
        return _list(options)
    trials = load_study(options.study, options.set, is_quick=options.quick)
    seeds = range(trials.study.seeds) if options.seeds is None else options.seeds
    if seeds[-1] >= SEEDS_MAX:
        raise ScenarioError("--seeds", f"seeds of a study are below {SEEDS_MAX:,}")
    _refuse_foreign_files(options, trials.name)
    path = _file(options, trials.name, "sqlite")
    is_quiet = options.json or options.quiet
    count, seconds = len(trials.arms) * len(seeds), estimate_seconds(trials, seeds)
    print_notes([] if is_quiet else [f"{counted(count, 'trials')}, about {seconds:,.0f} s of processor time"])
    runner: TaskRunner = DaskWorkers(options.dask, run_trial) if options.dask else Workers(options.jobs, run_trial)
    with ResultsFile(path, f"study 1 {trials.name}") as results:
        try:
            with SweepProgress(title=f"study {trials.name}", is_quiet=is_quiet) as progress:
                found = run_trials(
                    trials,
                    seeds,
                    results=results,
                    jobs=options.jobs,
                    workers=runner,
                    on_result=partial(_show, progress),
                    is_fresh=options.fresh,
                )
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"finished trials are in {path}; the same command goes on") from None
        rows = StudyAnswer(trials, seeds, found).rows(_facts(trials, seeds, progress.seconds))
    return _tell(options, rows)


def _show(progress: SweepProgress, tally: SweepTally, result: SeedResult) -> None:
    progress.show(tally.counts, {}, result.verdict)


def _facts(trials: Trials, seeds: range, seconds: float) -> list[tuple[str, str]]:
    study = trials.study
    count = len(trials.arms) * len(seeds)
    return [
        ("trials", f"{count:,}: {counted(len(trials.arms), 'arms')} of {counted(len(seeds), 'seeds')}"),
        ("blocks", f"{count * study.blocks:,}: {study.blocks:,} a trial" if study.engine == "chain" else "whole runs"),
        ("time", f"{seconds:.1f} s"),
        ("code", str(this_code())),
    ]


def _tell(options: argparse.Namespace, rows: StudyRows) -> int:
    page, table, parquet = (_file(options, rows.name, ending) for ending in ("html", "csv", "parquet"))
    write_csv(table, rows)
    if options.parquet:
        write_parquet(parquet, rows)
    has_page = bool(write_page(page, lambda: study_page(rows)))
    write_index(options.runs)
    exit_code = EXIT_CODES[rows.verdict]
    if options.json:
        print_json(_as_json(rows, exit_code))
        return exit_code
    lines = [f"{rows.title} ({rows.place})"] if options.quiet else _lines(rows)
    print_lines([*lines, f"{'answered' if rows.verdict == 'passed' else rows.verdict}: {rows.headline}"])
    print_lines([] if options.quiet else [*([f"page    {page}"] if has_page else []), f"table   {table}"])
    return exit_code


def _file(options: argparse.Namespace, name: str, ending: str) -> Path:
    return Path(options.runs) / f"study-{name}.{ending}"


def _refuse_foreign_files(options: argparse.Namespace, name: str) -> None:
    """Refuse before the first trial what would end the study after its last."""
    refuse_other_file(_file(options, name, "csv"), CSV)
    if options.parquet:
        library()
        refuse_other_file(_file(options, name, "parquet"), PARQUET)


def _lines(rows: StudyRows) -> list[str]:
    return [
        f"{rows.title}",
        f"{rows.place}: {rows.question}",
        "",
        *table_lines(rows),
        "",
        *(f"valid   {figure} {bound}: {value}" for figure, bound, value in rows.validity),
        *(f"{row.status}: {row.sentence}" for row in rows.findings),
        *rows.sentences,
        *(f"limits  {limit}" for limit in rows.limits),
        *(f"{name}  {value}" for name, value in rows.facts),
    ]


def _as_json(rows: StudyRows, exit_code: int) -> dict[str, object]:
    return {
        "study": rows.name,
        "verdict": rows.verdict,
        "exit_code": exit_code,
        "headline": rows.headline,
        "findings": [row._asdict() for row in rows.findings],
        "validity": [dict(zip(("figure", "bound", "found"), row, strict=True)) for row in rows.validity],
        "arms": [
            {
                "values": dict(zip(rows.axes, arm.values, strict=True)),
                "figures": {
                    name: None if spread is None else spread._asdict()
                    for name, spread in zip(rows.figures, arm.spreads, strict=True)
                },
            }
            for arm in rows.arms
        ],
        "facts": dict(rows.facts),
    }


def _list(options: argparse.Namespace) -> int:
    """List the studies that come with the project."""
    found = []
    for name in study_files():
        try:
            study = load_study(name).study
        except ReportedError as error:
            raise ScenarioError(name, str(error)) from None
        found.append((name, study.title, study.place))
    if options.json:
        print_json({"studies": [dict(zip(("name", "title", "place"), each, strict=True)) for each in found]})
    else:
        width = max(len(name) for name, _, _ in found)
        print_lines([f"{name:{width}}  {title} ({place})" for name, title, place in found])
        print_lines([f"{command_line(['study', 'NAME'])} runs one; with --quick in under a minute"])
    return 0
