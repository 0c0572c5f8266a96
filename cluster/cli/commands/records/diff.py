"""The command `diff`: where two recorded runs differ."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from checker.record.errors import on_one_line
from checker.record.fingerprint import CodeChangedError
from checker.record.run_directory import RecordReader
from checker.results import CheckResult, verdict_of
from cluster.campaign.results_db import SeedResult
from cluster.cli.commands.records.explain import INDENT, repeat
from cluster.cli.options import EXIT_INCONCLUSIVE, Parser, add_jobs, describe_command, print_json, print_lines
from cluster.inspect import nearest as nearest_seeds
from cluster.inspect.diff import Diff, compare_records
from cluster.inspect.nearest import Nearest, nearest_passing
from cluster.page.compare import page_of_two
from cluster.page.write import write_page
from cluster.verdict.replay import CHECK, refuse_unfinished
from report.campaign import SweepCounts, SweepProgress


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_diff,
        description="Repeat two recorded runs, and compare them: events, blocks and roots by height, values, figures. "
        "Without a second one a run is set beside the nearest that passes.",
        notes="exit code 0 the same run, 1 they differ, 2 damaged, 3 the same and not verified because the code "
        "changed since, 5 one of them is not repeated by the code that made it.",
        example="diff runs/lossy-17",
    )
    parser.add_argument("first", type=Path, metavar="RUN_A", help="a directory that run wrote")
    parser.add_argument(
        "second",
        type=Path,
        nargs="?",
        metavar="RUN_B",
        help=f"another one; without it the nearest of {nearest_seeds.SEEDS} seeds: it passes, and its events agree "
        "with those of RUN_A longest",
    )
    add_jobs(parser)
    parser.add_argument("--no-verify", action="store_true", help="believe both as recorded, and run nothing")


def run_diff(options: argparse.Namespace) -> int:
    """Compare two run directories; 0 the same run, 1 not, 3 or 5 where one of them is not repeated."""
    first, nearest = RecordReader(options.first), None
    refuse_unfinished(first)
    if options.second is None:
        nearest = _find_nearest(first, options)
        if nearest is None:
            return _say_that_none_passes(options)
        options.second = nearest.directory
    readers = first, RecordReader(options.second)
    refuse_unfinished(*readers)
    # The nearest run was made a moment ago.
    wanted = readers if nearest is None else readers[:1]
    doubts = {} if options.no_verify else _verify(wanted, is_quiet=options.json)
    found = compare_records(*readers)
    if options.json:
        answer = {"is_verified": not options.no_verify and not doubts, "doubts": doubts, **msgspec.to_builtins(found)}
        beside = {} if nearest is None else {"nearest": {**nearest._asdict(), "directory": str(nearest.directory)}}
        print_json(answer | beside)
    else:
        lines = ["as recorded, not verified"] * options.no_verify
        lines += [] if nearest is None else [_describe_nearest(nearest)]
        lines += [
            f"{name} is as recorded, not verified: {on_one_line(doubt.summary)}" for name, doubt in doubts.items()
        ]
        print_lines([*lines, *_lines_of_diff(found, options)])
    page = [] if found.is_same else _write_page(readers, found)
    print_lines([] if options.json else page)
    difference = CheckResult("diff", "passed" if found.is_same else "failed", "safety", "", (), 1)
    return verdict_of([difference, *doubts.values()]).exit_code


def _find_nearest(reader: RecordReader, options: argparse.Namespace) -> Nearest | None:
    verdicts: dict[str, int] = {}
    title = f"{reader.manifest.scenario}: the nearest passing seed"
    with SweepProgress(title=title, is_quiet=options.json) as progress:

        def show(result: SeedResult) -> None:
            verdicts[result.verdict] = verdicts.get(result.verdict, 0) + 1
            progress.show(SweepCounts(nearest_seeds.SEEDS, sum(verdicts.values()), 0, verdicts), {}, result.verdict)

        return nearest_passing(reader, runs=options.first.resolve().parent, jobs=options.jobs, on_result=show)


def _describe_nearest(nearest: Nearest) -> str:
    return (
        f"seed {nearest.seed} is the nearest of {nearest.passed} that passed of {nearest_seeds.SEEDS}: "
        f"{nearest.events:,} events are the same from the beginning"
    )


def _say_that_none_passes(options: argparse.Namespace) -> int:
    line = f"none of {nearest_seeds.SEEDS} other seeds passes: it does not take this seed to go wrong"
    if options.json:
        print_json({"nearest": None, "headline": line})
    else:
        print_lines([line])
    return EXIT_INCONCLUSIVE


def _write_page(readers: tuple[RecordReader, RecordReader], found: Diff) -> list[str]:
    """Write the page of two runs that differ beside the first, and return the line that says where."""
    first, second = (reader.path.resolve() for reader in readers)
    place = first.with_name(f"diff-{first.name}-{second.name}.html")
    # A record of other code can be compared byte by byte, but drawn only if this code can read it.
    return write_page(place, lambda: page_of_two(*readers, found))


def _verify(readers: Sequence[RecordReader], *, is_quiet: bool) -> dict[str, CheckResult]:
    """Repeat the runs, and return by name why a record is not its run's; raises DamagedRecordError."""
    names = dict(zip("AB", readers, strict=False))
    if len(readers) > 1 and readers[0].manifest == readers[1].manifest:
        del names["B"]
    replays = {name: _verified(reader, is_quiet=is_quiet) for name, reader in names.items()}
    return {name: replay for name, replay in replays.items() if replay.status != "passed"}


def _verified(reader: RecordReader, *, is_quiet: bool) -> CheckResult:
    try:
        return repeat(reader, is_quiet=is_quiet).checks[-1]
    except CodeChangedError as error:
        return CheckResult(CHECK, "failed", "inconclusive", str(error))


def _lines_of_diff(found: Diff, options: argparse.Namespace) -> Iterator[str]:
    if found.is_same:
        yield f"the same run: digest {found.digests[0]}"
        return
    yield f"A is {options.first}, digest {found.digests[0]}"
    yield f"B is {options.second}, digest {found.digests[1]}"
    for name, pair in found.settings.items():
        yield f"{name}: A {pair[0]}, B {pair[1]}"
    if found.event is not None:
        yield f"first event that differs: {found.event.index}"
        yield f"{INDENT}A {found.event.first}"
        yield f"{INDENT}B {found.event.second}"
    else:
        yield "all events are the same"
    if found.height is not None:
        yield f"first height that differs: {found.height}"
        yield from (f"{INDENT}{name}: A {pair[0]}, B {pair[1]}" for name, pair in found.block.items())
        if not found.notes:
            yield f"{INDENT}values that differ there: {found.keys_differing:,}"
    else:
        yield "all blocks and roots are the same"
    for key in found.keys:
        yield f"{2 * INDENT}{key.name}: A {key.first}, B {key.second}"
    if found.keys_differing > len(found.keys):
        yield f"{2 * INDENT}... {found.keys_differing - len(found.keys):,} more"
    yield from (f"{note}" for note in found.notes)
    if found.figures:
        yield "figures that differ:"
        yield from (f"{INDENT}{name}: A {pair[0]}, B {pair[1]}" for name, pair in found.figures.items())
