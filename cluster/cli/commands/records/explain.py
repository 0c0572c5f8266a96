"""The command `explain`: why a recorded run went wrong."""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from checker.explain import Explanation
from checker.record.errors import on_one_line
from checker.record.manifest import REPORT
from checker.record.run_directory import RecordReader
from checker.record.streams import Difference
from checker.results import CheckResult, ExitClass, deciding_check, verdict_of
from cluster.cli.options import (
    EXIT_INCONCLUSIVE,
    EXIT_USAGE,
    Parser,
    command_line,
    describe_command,
    print_json,
    print_lines,
    run_command,
    shrunk_plan_of,
)
from cluster.inspect.explain_run import REPEATS_MAX, ExecutionWitness, Repetition, explain_record
from cluster.inspect.headline import headline_of
from cluster.live.progress import LiveProgress
from cluster.page.write import page_of, write_page
from cluster.scenario.model import Scenario
from cluster.verdict.replay import (
    CHECK,
    checks_of,
    describe_change,
    is_made_by_this_code,
    replay_record,
    unfinished_line,
)
from cluster.verdict.result import PipelineResult

INDENT: Final = "  "


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_explain,
        description="Run a recorded scenario again, look at every execution, and print the failure report.",
        notes="exit code 0 explained or passed, 2 damaged or not what its run gives; where the repeated run differs "
        "from the recorded one, 3 the code changed since, 5 it did not.",
        example="explain runs/broken-refund-0",
    )
    parser.add_argument("directory", type=Path, metavar="RUN_DIRECTORY", help="a run that did not pass")


def run_explain(options: argparse.Namespace) -> int:
    """Explain a run directory once it was held against its run, as `replay` does; 0, or 3 or 5 where it is another."""
    reader = RecordReader(options.directory)
    if line := unfinished_line(reader):
        return _print_unfinished(reader, line, as_json=options.json)
    command = command_line(["replay", str(options.directory)])
    manifest = reader.manifest
    witness = ExecutionWitness()
    result = repeat(reader, witness, is_quiet=options.json)
    replay = result.checks[-1]
    # Where the run is another one, what the record says of its own is all that there is.
    is_of_record = replay.status != "passed" and deciding_check(reader.checks()) is not None
    checks = reader.checks() if is_of_record else checks_of(reader, result)
    if deciding_check(checks) is None:
        return _print_passed(reader, result, command, as_json=options.json)
    explanation, difference = explain_record(reader, checks, Repetition(witness, bytes(result.log)))
    confirmed = _confirm(reader, replay, checks, difference)
    verdict = verdict_of(checks, result.scenario.expect.fails).name
    headline = f"{verdict}: {headline_of(explanation, result.scenario, plan_of(reader))}"
    if options.json:
        answer = {
            "scenario": manifest.scenario,
            "seed": manifest.seed,
            "verdict": verdict,
            "headline": headline,
            "repeat": command,
            "replay": confirmed.summary,
            "difference": None if difference is None else msgspec.to_builtins(difference),
            **msgspec.to_builtins(explanation),
        }
        print_json(answer)
    else:
        lines = [
            headline,
            f"{explanation.check}: {explanation.summary}",
            f"seed {manifest.seed}, repeat with: {command}",
            f"beside the nearest seed that passes: {command_line(['diff', str(options.directory)])}",
            *_unconfirmed(reader, confirmed, difference),
            *lines_of(explanation),
        ]
        print_lines(lines)
    page = _write_page(reader, result.scenario, checks, (explanation, headline))
    print_lines([] if options.json else page)
    return verdict_of([confirmed]).exit_code


def plan_of(reader: RecordReader) -> str:
    """Return the smallest plan that `shrink` has left beside a record, with its command, or the command for it."""
    smallest = shrunk_plan_of(reader.path, reader.path.parent)
    if smallest.exists():
        return f"plan {smallest}: {run_command(str(smallest), reader.manifest.seed, runs=reader.path.parent)}"
    return f"smallest plan by: {command_line(['shrink', str(reader.path)])}"


def _write_page(
    reader: RecordReader, scenario: Scenario, checks: Sequence[CheckResult], explanation: tuple[Explanation, str]
) -> list[str]:
    """Put the explanation into the page of the run, and return the line that says where."""

    def make() -> bytes:
        return page_of(reader.path, reader.verdict(), scenario, checks, place=reader.path, explanation=explanation)

    return write_page(reader.path / REPORT, make)


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


def repeat(reader: RecordReader, *witnesses: ExecutionWitness, is_quiet: bool) -> PipelineResult:
    """Run a recorded run once more, with its progress; witnesses see it."""
    with LiveProgress(title=f"replay of {reader.path}", is_quiet=is_quiet) as progress:
        return replay_record(reader, progress=progress, witnesses=witnesses)


def _print_passed(reader: RecordReader, result: PipelineResult, command: str, *, as_json: bool) -> int:
    """Say that nothing went wrong, or why that cannot be said of the record, and return the exit code."""
    manifest, replay = reader.manifest, result.checks[-1]
    if as_json:
        answer = {"scenario": manifest.scenario, "seed": manifest.seed, "verdict": result.verdict, "repeat": command}
        print_json({**answer, "replay": replay.summary})
    elif replay.status == "passed":
        name = on_one_line(manifest.scenario)
        print_lines([f"passed: nothing went wrong in {name} with seed {manifest.seed}: {replay.summary}"])
    else:
        print_lines([f"{result.verdict}: {on_one_line(replay.summary)}"])
    return result.exit_code


def _print_unfinished(reader: RecordReader, line: str, *, as_json: bool) -> int:
    """Say how far an unfinished run came, replica by replica, and return the exit code."""
    manifest, document = reader.manifest, reader.verdict()
    heights = {root.node: root.height for root in reader.roots()}
    repeat = on_one_line(str(document.get("repeat", "")))
    is_broken = document.get("exit_code") == EXIT_USAGE
    if as_json:
        answer = {"scenario": manifest.scenario, "seed": manifest.seed, "verdict": manifest.verdict, "headline": line}
        print_json({**answer, "repeat": repeat, "heights": {str(node): heights[node] for node in sorted(heights)}})
    else:
        print_lines(
            [
                f"{line}; no check has judged it",
                *(f"{INDENT}replica {node}: final up to height {heights[node]}" for node in sorted(heights)),
                f"{'repeat' if is_broken else 'run it to its end'} with: {repeat}",
                *[f"page {reader.path / REPORT}"] * (reader.path / REPORT).exists(),
            ]
        )
    return EXIT_INCONCLUSIVE


def _unrepeated(reader: RecordReader, difference: Difference) -> list[str]:
    return [
        *([] if is_made_by_this_code(reader) else [describe_change(reader)]),
        "the repeated run is not the recorded one; what follows is about the repeated one",
        f"{INDENT}event {difference.index} was {difference.first}",
        f"{INDENT}event {difference.index} is  {difference.second}",
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
        yield f"{INDENT}handler {explanation.handler or 'unknown'} of actor {explanation.actor}"
    if explanation.transaction:
        yield f"{INDENT}transaction {explanation.transaction}"
    yield f"cause: {explanation.cause or explanation.no_cause}"
    yield from (f"note: {note}" for note in explanation.notes)
    yield from _lines_under("the last views:", explanation.views)
    yield from _lines_under("how it came to that:", explanation.chain)


def _lines_under(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield from [title] * bool(lines)
    yield from (f"{INDENT}{line}" for line in lines)


def _lines_of_place(explanation: Explanation) -> Iterator[str]:
    if explanation.height is not None:
        block = f", block {explanation.block}" if explanation.block else ""
        leader = "" if explanation.leader is None else f", view {explanation.view}, by validator {explanation.leader}"
        yield f"first difference: height {explanation.height}{leader}{block}"
    for side in explanation.sides:
        block = f"block {side.block} " if side.block else ""
        yield f"{INDENT}{side.who}: {block}{f'root {side.root}' if side.root else side.says}"
    if explanation.timer:
        yield f"timer {explanation.timer}"
        yield f"{INDENT}{explanation.timer_record or 'neither in the state before the block nor written by it'}"


def _lines_of_keys(explanation: Explanation) -> Iterator[str]:
    if explanation.keys:
        yield f"keys that differ: {explanation.keys_differing:,}"
    for key in explanation.keys:
        yield f"{INDENT}{key.name}"
        yield f"{2 * INDENT}before: {key.before}"
        for side, value in zip(explanation.sides, key.values, strict=True):
            yield f"{2 * INDENT}{side.who}: {value}"
    if explanation.keys_differing > len(explanation.keys):
        yield f"{INDENT}... {explanation.keys_differing - len(explanation.keys):,} more"
