"""The command `scan`: mutants that nobody wrote by hand, in the swarm and the shipped scenarios."""

import argparse
import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from checker.record.fingerprint import this_code
from checker.record.places import OwnFile, refuse_other_file, write_own
from checker.record.program import MUTATION_TOOL
from cluster.cli.options import (
    EXIT_INCONCLUSIVE,
    RUNS,
    Parser,
    add_jobs,
    describe_command,
    parse_result_file,
    parse_runs,
    parse_seed,
    parse_seeds,
    print_json,
    print_lines,
)
from cluster.scenario.load import scenario_paths
from report.console import print_tables
from tools.mutation.scan.campaign import MutationScan
from tools.mutation.scan.mutant_runs import Trial
from tools.mutation.scan.points import PACKAGES, MutationLibrary, ScanMutant, source_files
from tools.mutation.scan.report import (
    OPEN,
    ScanProgress,
    ScanRow,
    killed_share,
    scan_lists,
    scan_page,
    scan_tables,
    scan_totals,
    survivor_lines,
)
from tools.mutation.scan.runs import SEEDS, TRIES, clean_trials
from tools.mutation.scan.sample import ROOMS, draw_sample, mutants_at
from tools.mutation.scan.triage import EQUIVALENTS_FILE, Triage, read_triage, stale_entries

SAMPLE: Final = 200
SAMPLE_MAX: Final = 100_000

PROMISED_ROOMS: Final = ("scheduler", "validators")
"""Packages of which a share of at least `KILLED_PERCENT_MIN` has to be killed."""

KILLED_PERCENT_MIN: Final = 85

PAGE: Final = OwnFile(b"# Mutation scan\n\n", "page of a scan")


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_scan,
        example="scan --rooms scheduler validators/execution --sample 50 --budget-s 1800",
        notes="needs requirements/scan.txt, else exit 6 with the command that installs it.",
    )
    names = [path.stem for path in scenario_paths()]
    parser.add_argument("--rooms", nargs="+", choices=ROOMS, default=ROOMS, metavar="ROOM", help="default: all")
    parser.add_argument(
        "--operators", nargs="+", default=[], metavar="NAME", help="kinds of operators, such as AddNot (default: all)"
    )
    parser.add_argument("--sample", type=_sample, default=SAMPLE, metavar="N", help=f"mutants (default {SAMPLE})")
    parser.add_argument(
        "--only",
        nargs="+",
        type=_place,
        default=(),
        metavar="FILE:LINE",
        help="instead of a sample, the mutants of lines",
    )
    parser.add_argument("--seed", type=parse_seed, default=0, help="of the sample (default 0)")
    parser.add_argument("--seeds", type=parse_seeds, default=SEEDS, metavar="A..B", help="of the swarm (default 0..39)")
    parser.add_argument(
        "--scenarios", nargs="*", choices=names, default=names, metavar="NAME", help="shipped scenarios (default: all)"
    )
    parser.add_argument("--tries", type=_sample, default=TRIES, metavar="N", help=f"runs a mutant (default {TRIES})")
    parser.add_argument("--budget-s", type=_sample, metavar="S", help="begin no mutant after so many real seconds")
    add_jobs(parser)
    parser.add_argument("--runs", type=parse_runs, default=RUNS, help="where results go (default runs)")
    parser.add_argument("--equivalents", type=Path, default=EQUIVALENTS_FILE, metavar="FILE", help="what is left out")
    parser.add_argument("--out", type=parse_result_file, metavar="FILE", help="write the results as a page in Markdown")
    parser.add_argument("--tables", type=Path, metavar="DIR", help="write the mutants that no check killed there")
    kept = "finished mutants are kept under --runs, and the same command goes on with the others"
    parser.set_defaults(when_interrupted=kept)


def run_scan(options: argparse.Namespace) -> int:
    """Scan, print the tables, and return 0 if enough was killed, 1 if not, 3 if mutants are left over."""
    if options.out:
        refuse_other_file(options.out, PAGE)
    library = MutationLibrary()
    library.require_families(options.operators)
    triage = read_triage(options.equivalents)
    with ScanProgress(is_quiet=options.json) as progress:
        scanned = _scan(options, library, triage, progress)
        stale = [f"stale, and to be triaged again: {entry}" for entry in stale_entries(library, triage)]
    if options.json:
        print_json(_as_json(scanned, stale))
    else:
        print_tables(scan_tables(scanned.rows))
        totals = [*scan_totals(scanned.rows), *stale]
        print_lines([*survivor_lines(scanned.rows), *totals, str(this_code()), f"results {scanned.directory}"])
    if options.out:
        write_own(options.out, _page(scanned, options).encode(), PAGE)
    if options.tables:
        options.tables.mkdir(parents=True, exist_ok=True)
        (options.tables / "mutation-scan.md").write_text(scan_lists(scanned.rows), encoding="utf-8")
    if any(row.status == OPEN for row in scanned.rows):
        return EXIT_INCONCLUSIVE
    promised = [row for row in scanned.rows if row.file.split("/")[0] in PROMISED_ROOMS]
    return int(bool(promised) and killed_share(promised) < KILLED_PERCENT_MIN)


class _Scanned(NamedTuple):
    """The rows of a scan, those of mutants without a result at the end, and where they are kept."""

    rows: Sequence[ScanRow]
    directory: Path


def _scan(options: argparse.Namespace, library: MutationLibrary, triage: Triage, progress: ScanProgress) -> _Scanned:
    """Draw the sample, probe, and try mutants as long as the budget lasts."""
    ends_s = progress.seconds + (options.budget_s or float("inf"))
    progress.say("drawing the sample")
    mutants, trials = list(_drawn(options, library, triage)), list(clean_trials(options.seeds, options.scenarios))
    directory = options.runs / f"scan-{this_code().fingerprint[:6]}-{_digest(trials)}"
    limits = {"jobs": options.jobs, "tries": options.tries}
    with MutationScan(mutants, trials, directory=directory, **limits, equivalents=triage.equivalent) as scan:
        for row in _rows_of_rounds(scan, progress):
            progress.tell(row)
            if progress.seconds > ends_s:
                break
    return _Scanned([*(row for _, row in sorted(scan.rows.items())), *scan.open_rows], directory)


def _drawn(options: argparse.Namespace, library: MutationLibrary, triage: Triage) -> Iterator[ScanMutant]:
    families = options.operators
    if options.only:
        return mutants_at(library, options.only, families)
    return draw_sample(library, options.sample, options.seed, rooms=options.rooms, families=families, triage=triage)


def _rows_of_rounds(scan: MutationScan, progress: ScanProgress) -> Iterator[ScanRow]:
    for trials in scan.rounds():
        progress.say(f"{len(scan.rows)} mutants have a result, {len(scan.open_rows)} not; probing {len(trials)} runs")
        for outcome in scan.probe(trials):
            progress.show(f"probed {outcome.name}")
        yield from scan.run()


def _page(scanned: _Scanned, options: argparse.Namespace) -> str:
    narrowed = [
        *([f"--rooms {' '.join(options.rooms)}"] if tuple(options.rooms) != ROOMS else []),
        *([f"--operators {' '.join(options.operators)}"] if options.operators else []),
        *([f"--tries {options.tries}"] if options.tries != TRIES else []),
        *([f"--seeds {options.seeds[0]}..{options.seeds[-1]}"] if options.seeds != SEEDS else []),
        *(
            [f"--scenarios {' '.join(options.scenarios)}".strip()]
            if len(options.scenarios) < len(scenario_paths())
            else []
        ),
    ]
    drawn = f"--sample {options.sample} --seed {options.seed}"
    if options.only:
        drawn = f"--only {' '.join(f'{file}:{line}' for file, line in options.only)}"
    words = ["scan", *narrowed, drawn, f"--out {options.out}"]
    command, seeds = f"{MUTATION_TOOL} {' '.join(words)}", options.seeds
    runs = (
        f"the swarm's seeds {seeds[0]} to {seeds[-1]} and then in {len(options.scenarios)} shipped scenarios, "
        f"the quickest that can show it first and {options.tries} of them at most"
    )
    return scan_page(scanned.rows, command=command, runs=runs, code=str(this_code()))


def _sample(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= SAMPLE_MAX):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {SAMPLE_MAX:,}")
    return int(text)


def _place(text: str) -> tuple[str, int]:
    file, _, line = text.rpartition(":")
    if not (line.isascii() and line.isdigit() and file in source_files()):
        raise argparse.ArgumentTypeError(f"{text!r} is not FILE:LINE of a source in {', '.join(PACKAGES)}")
    return file, int(line)


def _digest(trials: Sequence[Trial]) -> str:
    return hashlib.sha256(b"".join(trial.scenario for trial in trials)).hexdigest()[:6]


def _as_json(scanned: _Scanned, stale: Sequence[str]) -> dict[str, object]:
    return {
        "code": this_code()._asdict(),
        "killed_percent": killed_share(scanned.rows),
        "mutants": [row._asdict() for row in scanned.rows],
        "stale": stale,
        "results": str(scanned.directory),
    }
