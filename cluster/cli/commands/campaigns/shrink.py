"""The command `shrink`: the smallest scenario that goes wrong as a recorded run did, written for a person to read."""

import argparse
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from checker.record.host import make_folder
from checker.record.places import refuse_other_file
from checker.record.run_directory import RecordReader
from checker.results import deciding_check
from cluster.campaign.shrink import (
    RUNS_MAX,
    SHRUNK,
    Shrinker,
    Shrunk,
    named_after,
    without_expected,
    write_scenario_file,
)
from cluster.campaign.tasks import Task, TaskRunner, signature_of
from cluster.campaign.workers import Workers
from cluster.causality.known_rise import idle_at_rise
from cluster.cli.options import (
    Parser,
    add_jobs,
    describe_command,
    parse_runs,
    print_json,
    print_lines,
    run_command,
    shrunk_plan_of,
)
from cluster.scenario.load import encode_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario
from cluster.verdict.replay import recorded_scenario
from network.words import counted
from report.campaign import ShrinkProgress

LIMIT_MAX: Final = 100_000


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_shrink,
        description="Make the scenario of a failed run smaller while it fails alike.",
        notes="After `curve RUN_DIRECTORY --no-shrink` the faults not at work at the rise are the first to go.",
        example="shrink runs/broken-refund-0 --out smallest.toml",
    )
    parser.add_argument("directory", type=Path, metavar="RUN_DIRECTORY", help="a run that did not pass")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="the scenario file (default RUN_DIRECTORY-shrunk.toml, in RUNS)"
    )
    parser.add_argument(
        "--runs", type=parse_runs, help="where the smaller scenario and its runs go (default: where RUN_DIRECTORY is)"
    )
    add_jobs(parser)
    parser.add_argument(
        "--limit",
        type=_parse_limit,
        default=RUNS_MAX,
        metavar="N",
        help=f"stop after this many runs with what there is (default {RUNS_MAX})",
    )
    kept = "the smallest scenario so far is written, if there is a smaller one"
    parser.set_defaults(when_interrupted=kept)


def _parse_limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= LIMIT_MAX):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {LIMIT_MAX:,}")
    return int(text)


def run_shrink(options: argparse.Namespace) -> int:
    """Shrink, write the scenario, and return 0; a run that passed is bad input.

    The file is there from the first reduction on, and holds the smallest scenario so far if shrinking is killed.
    """
    reader = RecordReader(options.directory)
    recorded = recorded_scenario(reader)
    seed, signature, is_thorough = reader.manifest.seed, recorded_signature(reader), _is_thorough(reader)
    runs = options.directory.parent if options.runs is None else options.runs
    out = options.out or shrunk_plan_of(options.directory, runs)
    if out.suffix != ".toml":
        raise ScenarioError(str(out), "a scenario file's name ends in .toml")
    refuse_other_file(out, SHRUNK)
    make_folder(out.parent)
    with (
        Workers(options.jobs) as workers,
        ShrinkProgress(title=f"shrink {options.directory.name}", is_quiet=options.json) as progress,
    ):
        scenario, shrunk = shrink_record(
            reader,
            recorded,
            workers,
            out,
            jobs=options.jobs,
            limit=options.limit,
            on_step=progress.show,
            first=idle_at_rise(recorded, reader.path.name, runs),
        )
    if options.json:
        print_json(_as_json(shrunk, signature, seed, out))
    else:
        repeat = run_command(str(out), seed, runs=runs, is_repeated=is_thorough)
        _print(
            scenario, shrunk, signature, [f"written to {out}", *_application_lines(scenario), f"repeat with: {repeat}"]
        )
    return 0


def shrink_record(
    reader: RecordReader,
    recorded: Scenario,
    workers: TaskRunner,
    out: Path,
    *,
    jobs: int,
    limit: int,
    on_step: Callable[[str, int], None],
    first: Sequence[str] = (),
) -> tuple[Scenario, Shrunk]:
    """Write the smallest scenario of a recorded failure; return the scenario as recorded, and the smallest.

    Args:
        reader: The record.
        recorded: Its scenario.
        workers: Run the candidates.
        out: The file, which holds the smallest scenario so far from the first reduction on.
        jobs: The number of candidates at a time.
        limit: The number of runs after which it stops.
        on_step: Called with each reduction and the runs so far.
        first: The faults that are left out together before anything else is tried.

    Raises:
        ScenarioError: The run does not fail any more as recorded.
    """
    seed, signature, is_thorough = reader.manifest.seed, recorded_signature(reader), _is_thorough(reader)
    scenario = named_after(without_expected(recorded), seed, signature)
    ((_, again),) = workers.results(
        [Task(encode_scenario(scenario), seed, is_thorough=is_thorough, is_explained=False)]
    )
    if again.signature != signature:
        raise ScenarioError(str(reader.path), _drift(signature, again.signature))
    shrunk = Shrinker(
        scenario,
        seed,
        signature,
        run=workers.results,
        jobs=jobs,
        on_step=on_step,
        on_smaller=lambda smaller, made: write_scenario_file(out, smaller, seed, signature, runs=made),
        runs_max=limit,
        is_thorough=is_thorough,
        height=_height_of(reader),
        first=first,
    ).shrink()
    write_scenario_file(out, shrunk.scenario, seed, signature, runs=shrunk.runs)
    return scenario, shrunk


def _is_thorough(reader: RecordReader) -> bool:
    """Return whether a record fails only when it is repeated in another process."""
    return any(check.name == "determinism" and check.status == "failed" for check in reader.checks())


def _drift(before: str, now: str) -> str:
    """Return a message that a recorded run does not repeat, because other code recorded it."""
    if not now:
        return f"does not go wrong any more: it passes; recorded was {before!r}"
    return f"goes wrong otherwise than recorded: {now!r}; recorded was {before!r}"


def recorded_signature(reader: RecordReader) -> str:
    """Return the signature of a recorded run, whatever was expected of it; raises ScenarioError where all passed."""
    signature = signature_of(reader.checks())
    if not signature:
        raise ScenarioError(str(reader.path), "is a run that passed; there is nothing to shrink")
    return signature


def _height_of(reader: RecordReader) -> int:
    """Return the height that the deciding check names, 0 where it names none."""
    decisive = deciding_check(reader.checks())
    height = dict(decisive.evidence).get("height") if decisive is not None else None
    return height if isinstance(height, int) else 0


def _application_lines(scenario: Scenario) -> list[str]:
    """Say which application the written scenario runs; none of a run without."""
    if scenario.application is None:
        return []
    return [f"it runs {shlex.join(scenario.application.command)}; --application runs another in its place"]


def _print(before: Scenario, shrunk: Shrunk, signature: str, where: Sequence[str]) -> None:
    after = shrunk.scenario
    limit = "; stopped at the limit of runs" if shrunk.is_cut_off else ""
    sizes = [
        f"faults {len(before.faults)} -> {len(after.faults)}",
        f"workloads {len(before.workload)} -> {len(after.workload)}",
        f"validators {before.cluster.validators} -> {after.cluster.validators}",
    ]
    lines = [
        signature,
        f"{', '.join(sizes)} ({counted(shrunk.runs, 'runs')}{limit})",
        *where,
    ]
    print_lines(lines)


def _as_json(shrunk: Shrunk, signature: str, seed: int, out: Path) -> dict[str, object]:
    return {
        "signature": signature,
        "seed": seed,
        "runs": shrunk.runs,
        "is_cut_off": shrunk.is_cut_off,
        "faults": len(shrunk.scenario.faults),
        "workloads": len(shrunk.scenario.workload),
        "validators": shrunk.scenario.cluster.validators,
        "steps": shrunk.steps,
        "scenario": str(out),
    }
