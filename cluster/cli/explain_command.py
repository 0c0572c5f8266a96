"""The commands ``explain`` and ``diff``: why a recorded run went wrong, and where two recorded runs part."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from checker.explain import Explanation
from checker.explain.formatting import on_one_line
from checker.record.fingerprint import CodeChangedError
from checker.record.run_directory import RecordReader
from checker.record.streams import Difference
from checker.results import CheckResult, ExitClass, deciding_check, verdict_of
from cluster.cli.command_lines import command_line
from cluster.inspect.diff import Diff, compare_records
from cluster.inspect.explain_run import REPEATS_MAX, explain_record
from cluster.verdict.pipeline import Judged
from cluster.verdict.replay import CHECK, checks_of, describe_change, is_made_by_this_code, replay_record
from report.console import LiveProgress

_Parser = TypeVar("_Parser", bound=argparse.ArgumentParser)

_INDENT: Final = "  "


def add_explain_parsers(commands: "argparse._SubParsersAction[_Parser]") -> None:
    """Add both commands to the command line."""
    explain = commands.add_parser(
        "explain",
        help="say why a recorded run went wrong: where, on whose side, by which write, from what cause",
        description="Run a recorded scenario again, look at every execution, and print the failure report.",
        epilog="exit code 0 explained or passed, 2 damaged or not what its run gives; where the repeated run differs "
        "from the recorded one, 3 the code changed since, 5 it did not. "
        "example: run_cluster.py explain runs/broken-refund-0",
    )
    explain.add_argument("directory", type=Path, metavar="RUN_DIRECTORY", help="a run that did not pass")
    explain.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    explain.set_defaults(command=run_explain)
    diff = commands.add_parser(
        "diff",
        help="say where two recorded runs part",
        description="Repeat two recorded runs, and compare them: events, blocks and roots by height, values, figures.",
        epilog="exit code 0 the same run, 1 they differ, 2 damaged, 3 the same and not verified because the code "
        "changed since, 5 one of them is not repeated by the code that made it. "
        "example: run_cluster.py diff runs/calm-0 runs/calm-1",
    )
    diff.add_argument("first", type=Path, metavar="RUN_A", help="a directory that run wrote")
    diff.add_argument("second", type=Path, metavar="RUN_B", help="another one")
    diff.add_argument("--no-verify", action="store_true", help="believe both as recorded, and run nothing")
    diff.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    diff.set_defaults(command=run_diff)


def run_explain(options: argparse.Namespace) -> int:
    """Explain a run directory once it was held against its run, as `replay` does; 0, or 3 or 5 where it is another."""
    reader = RecordReader(options.directory)
    repeat = command_line(["replay", str(options.directory)])
    manifest = reader.manifest
    judged = _repeat(reader, is_quiet=options.json)
    replay = judged.checks[-1]
    # Where the run is another one, what the record says of its own is all that there is.
    is_of_record = replay.status != "passed" and deciding_check(reader.checks()) is not None
    checks = reader.checks() if is_of_record else checks_of(reader, judged)
    if deciding_check(checks) is None:
        return _print_passed(reader, judged, repeat, as_json=options.json)
    explanation, difference = explain_record(reader, checks)
    confirmed = _confirm(reader, replay, checks, difference)
    verdict = verdict_of(checks, judged.scenario.expect.fails).name
    if options.json:
        told = {
            "scenario": manifest.scenario,
            "seed": manifest.seed,
            "verdict": verdict,
            "repeat": repeat,
            "replay": confirmed.summary,
            "difference": None if difference is None else msgspec.to_builtins(difference),
            **msgspec.to_builtins(explanation),
        }
        sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
    else:
        lines = [
            f"{verdict}: {explanation.check}: {explanation.summary}",
            f"seed {manifest.seed}, repeat with: {repeat}",
            *_unconfirmed(reader, confirmed, difference),
            *lines_of(explanation),
        ]
        sys.stdout.write("\n".join(lines) + "\n")
    return verdict_of([confirmed]).exit_code


def _confirm(
    reader: RecordReader, replay: CheckResult, checks: Sequence[CheckResult], difference: Difference | None
) -> CheckResult:
    """Return the replay's result, unless it says that the run is the recorded one and what is explained is not.

    A run that differs from itself may by chance be the recorded one in some of its repeats, or in all of them.
    """
    if replay.status != "passed":
        return replay
    if difference is not None:
        kind: ExitClass = "determinism" if is_made_by_this_code(reader) else "inconclusive"
        return CheckResult(CHECK, "failed", kind, "the repeated run is not the recorded one", (), 1)
    if any(check.name == "determinism" and check.status == "failed" for check in checks):
        summary = f"the same run in all of {REPEATS_MAX + 1} repeats: that it differs from itself is not verified"
        return CheckResult(CHECK, "failed", "inconclusive", summary, (), REPEATS_MAX + 1)
    return replay


def _unconfirmed(reader: RecordReader, confirmed: CheckResult, difference: Difference | None) -> list[str]:
    if difference is not None:
        return _unrepeated(reader, difference)
    return [] if confirmed.status == "passed" else [on_one_line(confirmed.summary)]


def _repeat(reader: RecordReader, *, is_quiet: bool) -> Judged:
    with LiveProgress(title=f"replay of {reader.path}", is_quiet=is_quiet) as progress:
        return replay_record(reader, progress=progress)


def _print_passed(reader: RecordReader, judged: Judged, repeat: str, *, as_json: bool) -> int:
    """Say that nothing went wrong, or why that cannot be said of the record, and return the exit code."""
    manifest, replay = reader.manifest, judged.checks[-1]
    if as_json:
        told = {"scenario": manifest.scenario, "seed": manifest.seed, "verdict": judged.verdict, "repeat": repeat}
        sys.stdout.write(msgspec.json.encode({**told, "replay": replay.summary}).decode() + "\n")
    elif replay.status == "passed":
        name = on_one_line(manifest.scenario)
        sys.stdout.write(f"passed: nothing went wrong in {name} with seed {manifest.seed}: {replay.summary}\n")
    else:
        sys.stdout.write(f"{judged.verdict}: {on_one_line(replay.summary)}\n")
    return judged.exit_code


def _unrepeated(reader: RecordReader, difference: Difference) -> list[str]:
    return [
        *([] if is_made_by_this_code(reader) else [describe_change(reader)]),
        "the repeated run is not the recorded one; what follows is about the repeated one",
        f"{_INDENT}event {difference.index} was {difference.first}",
        f"{_INDENT}event {difference.index} is  {difference.second}",
    ]


def lines_of(explanation: Explanation) -> Iterator[str]:
    """Yield the report in the order of docs/explain.md."""
    yield from (f"also: {line}" for line in explanation.also)
    yield from _lines_under(f"what {explanation.check} saw:", explanation.seen)
    yield from _lines_of_place(explanation)
    yield from _lines_of_keys(explanation)
    if explanation.write:
        yield f"written by: {explanation.write}"
    if explanation.actor:
        yield f"{_INDENT}handler {explanation.handler or 'unknown'} of actor {explanation.actor}"
    if explanation.transaction:
        yield f"{_INDENT}transaction {explanation.transaction}"
    yield f"cause: {explanation.cause or 'states do not differ'}"
    yield from (f"note: {note}" for note in explanation.notes)
    yield from _lines_under("the last views:", explanation.views)
    yield from _lines_under("how it came to that:", explanation.chain)


def _lines_under(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield from [title] * bool(lines)
    yield from (f"{_INDENT}{line}" for line in lines)


def _lines_of_place(explanation: Explanation) -> Iterator[str]:
    if explanation.height is not None:
        block = f", block {explanation.block}" if explanation.block else ""
        leader = "" if explanation.leader is None else f", view {explanation.view}, by validator {explanation.leader}"
        yield f"first difference: height {explanation.height}{leader}{block}"
    for side in explanation.sides:
        block = f"block {side.block} " if side.block else ""
        yield f"{_INDENT}{side.who}: {block}{f'root {side.root}' if side.root else side.says}"
    if explanation.timer:
        yield f"timer {explanation.timer}"
        yield f"{_INDENT}{explanation.timer_record or 'neither in the state before the block nor written by it'}"


def _lines_of_keys(explanation: Explanation) -> Iterator[str]:
    if explanation.keys:
        yield f"keys that differ: {explanation.keys_differing:,}"
    for key in explanation.keys:
        yield f"{_INDENT}{key.name}"
        yield f"{2 * _INDENT}before: {key.before}"
        for side, value in zip(explanation.sides, key.values, strict=True):
            yield f"{2 * _INDENT}{side.who}: {value}"
    if explanation.keys_differing > len(explanation.keys):
        yield f"{_INDENT}... {explanation.keys_differing - len(explanation.keys):,} more"


def run_diff(options: argparse.Namespace) -> int:
    """Compare two run directories; 0 the same run, 1 not, 3 or 5 where one of them is not repeated."""
    readers = RecordReader(options.first), RecordReader(options.second)
    doubts = {} if options.no_verify else _verify(readers, is_quiet=options.json)
    found = compare_records(*readers)
    if options.json:
        told = {"is_verified": not options.no_verify and not doubts, "doubts": doubts, **msgspec.to_builtins(found)}
        sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
    else:
        lines = ["as recorded, not verified"] * options.no_verify
        lines += [
            f"{name} is as recorded, not verified: {on_one_line(doubt.summary)}" for name, doubt in doubts.items()
        ]
        sys.stdout.write("\n".join([*lines, *_lines_of_diff(found, options)]) + "\n")
    difference = CheckResult("diff", "passed" if found.is_same else "failed", "safety", "", (), 1)
    return verdict_of([difference, *doubts.values()]).exit_code


def _verify(readers: tuple[RecordReader, RecordReader], *, is_quiet: bool) -> dict[str, CheckResult]:
    """Repeat both runs, and return by name why a record is not its run's; raises DamagedRecordError."""
    names = {"A": readers[0], "B": readers[1]}
    if readers[0].manifest == readers[1].manifest:
        del names["B"]
    replays = {name: _verified(reader, is_quiet=is_quiet) for name, reader in names.items()}
    return {name: replay for name, replay in replays.items() if replay.status != "passed"}


def _verified(reader: RecordReader, *, is_quiet: bool) -> CheckResult:
    try:
        return _repeat(reader, is_quiet=is_quiet).checks[-1]
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
        yield f"{_INDENT}A {found.event.first}"
        yield f"{_INDENT}B {found.event.second}"
    else:
        yield "all events are the same"
    if found.height is not None:
        yield f"first height that differs: {found.height}"
        yield from (f"{_INDENT}{name}: A {pair[0]}, B {pair[1]}" for name, pair in found.block.items())
        yield f"{_INDENT}values that differ there: {found.keys_differing:,}"
    else:
        yield "all blocks and roots are the same"
    for key in found.keys:
        yield f"{2 * _INDENT}{key.name}: A {key.first}, B {key.second}"
    if found.keys_differing > len(found.keys):
        yield f"{2 * _INDENT}... {found.keys_differing - len(found.keys):,} more"
    yield from (f"{note}" for note in found.notes)
    if found.figures:
        yield "figures that differ:"
        yield from (f"{_INDENT}{name}: A {pair[0]}, B {pair[1]}" for name, pair in found.figures.items())
