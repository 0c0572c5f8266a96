"""The command `explain`: why a recorded run went wrong."""

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from checker.explain.answer import answer_of, name_side
from checker.explain.differences import SHOWN_DIGITS, compare, differing_fields, group_digits, in_words, shorten
from checker.explain.explanation import Explanation, KeyReport, Stall
from checker.families import full_name
from checker.record.errors import on_one_line
from checker.record.manifest import REPORT
from checker.record.run_directory import RecordReader
from checker.record.streams import Difference
from checker.results import CheckResult, ExitClass, deciding_check, verdict_of
from cluster.cli.listing import folded
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
from cluster.inspect.explain_run import REPEATS_MAX, Repetition, explain_record
from cluster.inspect.height.names import address_names
from cluster.inspect.witness import ExecutionWitness
from cluster.live.progress import LiveProgress
from cluster.live.replicas import mode_of
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
from report.words import result_of

INDENT: Final = "  "

_DIGITS: Final = re.compile(rf"\b[0-9a-f]{{{SHOWN_DIGITS}}}\b")


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
    # If the repeated run differs, only the record's own checks can be explained.
    is_of_record = replay.status != "passed" and deciding_check(reader.checks()) is not None
    checks = reader.checks() if is_of_record else checks_of(reader, result)
    if deciding_check(checks) is None:
        return _print_passed(reader, result, command, as_json=options.json)
    explanation, difference = explain_record(reader, checks, Repetition(witness, bytes(result.log)))
    confirmed = _confirm(reader, replay, checks, difference)
    verdict = verdict_of(checks, result.scenario.expect.fails).name
    answer = answer_of(explanation)
    headline = f"{verdict}: {' '.join(answer)}"
    if options.json:
        document = {
            "scenario": manifest.scenario,
            "seed": manifest.seed,
            "verdict": verdict,
            "headline": headline,
            "answer": answer,
            "repeat": command,
            "replay": confirmed.summary,
            "difference": None if difference is None else msgspec.to_builtins(difference),
            **msgspec.to_builtins(explanation),
        }
        print_json(document)
    else:
        lines = [*_unconfirmed(reader, confirmed, difference), *lines_of(explanation, result.scenario)]
        report = [f"{result_of(verdict)}:", *answer, "", *lines]
        shown = report if explanation.is_foreign else _with_names(report, result.scenario)
        print_lines([*folded(shown), *_next_lines(reader, command)])
    page = _write_page(reader, result.scenario, checks, (explanation, " ".join(answer)))
    print_lines([] if options.json else page)
    return verdict_of([confirmed]).exit_code


def _with_names(lines: Iterable[str], scenario: Scenario) -> Iterator[str]:
    """Yield lines with the scenario's names of addresses, where a name comes first with its digits behind it."""
    names = {address.hex()[:SHOWN_DIGITS]: name for address, name in address_names(scenario).items()}
    told: list[str] = []

    def name(found: re.Match[str]) -> str:
        digits = found[0]
        known = names.get(digits)
        if known is None or digits in told:
            return known or digits
        told.append(digits)
        return f"{known} ({digits})"

    for line in lines:
        yield _DIGITS.sub(name, line)


def _run_again(reader: RecordReader) -> list[str]:
    """Return the command that the record has for its run."""
    repeat = on_one_line(str(reader.verdict().get("repeat", "")))
    return [f"run it again (seed {reader.manifest.seed}):", f"{INDENT}{repeat}"] if repeat else []


def _next_lines(reader: RecordReader, command: str) -> list[str]:
    """Return what to type next, a command on a line of its own, so that it can be copied."""
    smallest = shrunk_plan_of(reader.path, reader.path.parent)
    if smallest.exists():
        plan = run_command(str(smallest), reader.manifest.seed, runs=reader.path.parent)
        shrink = [f"run the smallest plan, {smallest}:", f"{INDENT}{plan}"]
    else:
        shrink = ["find the smallest plan:", f"{INDENT}{command_line(['shrink', str(reader.path)])}"]
    return [
        *_run_again(reader),
        "hold the record against its run:",
        f"{INDENT}{command}",
        *shrink,
        "compare with the nearest seed that passes:",
        f"{INDENT}{command_line(['diff', str(reader.path)])}",
    ]


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
    """Return the replay's result, unless it confirms the record although the explained difference contradicts it.

    A run that differs from itself may by chance equal the recorded run in some or all of its repeats.
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
        print_lines([f"{result_of(result.verdict)}: {on_one_line(replay.summary)}"])
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


def lines_of(explanation: Explanation, scenario: Scenario | None = None) -> Iterator[str]:
    """Yield the evidence in the order of docs/explain.md; the scenario knows the replicas' modes."""
    yield f"cause: {explanation.cause or explanation.no_cause}"
    yield f"decided by {full_name(explanation.check)}: {group_digits(shorten(explanation.summary))}"
    yield from (f"also failed: {group_digits(shorten(line))}" for line in explanation.also)
    yield from _lines_of_place(explanation, scenario)
    yield from _lines_of_orders(explanation)
    yield from _lines_of_keys(explanation)
    yield from _lines_of_write(explanation)
    yield from (f"note: {in_words(note)}" for note in explanation.notes)
    yield from _lines_under("stalled replicas:", list(map(_describe_stall, explanation.stalls)))
    yield from _lines_under(f"evidence of {explanation.check}:", explanation.seen)
    yield from _lines_under("the last views:", explanation.views)
    yield from _lines_under("how it came to that:", explanation.chain)


def _lines_under(title: str, lines: Sequence[str]) -> Iterator[str]:
    yield from [title] * bool(lines)
    yield from (f"{INDENT}{in_words(line)}" for line in lines)


def _describe_stall(stall: Stall) -> str:
    return (
        f"replica {stall.validator}: last final height {stall.height} at {stall.since_us / 1_000_000:,.3f} s; "
        f"{stall.waits_for}"
    )


def _lines_of_place(explanation: Explanation, scenario: Scenario | None) -> Iterator[str]:
    if explanation.height is not None:
        block = f", block {shorten(explanation.block)}" if explanation.block else ""
        leader = "" if explanation.leader is None else f", view {explanation.view}, leader {explanation.leader}"
        yield f"first difference: height {explanation.height}{leader}{block}"
    for side in explanation.sides:
        block = f"block {side.block} " if side.block else ""
        modes = "" if scenario is None else _modes_of(side.validators, scenario)
        said = f"root {side.root}" if side.root else in_words(side.says)
        yield f"{INDENT}{side.who}{modes}: {shorten(f'{block}{said}')}"


def _modes_of(validators: Sequence[int], scenario: Scenario) -> str:
    modes = ", ".join(dict.fromkeys(mode_of(scenario, node) for node in sorted(validators)))
    return f" ({modes})" if modes else ""


def _lines_of_orders(explanation: Explanation) -> Iterator[str]:
    """Yield the two orders side by side."""
    if not explanation.orders:
        return
    names = [name_side(side) for side in explanation.sides[:2]]
    rows = [(str(row.place), *map(shorten, row.values)) for row in explanation.orders]
    width = max(len(each) for row in [("", *names), *rows] for each in row[1:])
    what = "orders" if explanation.cause == "order" else "lists of events"
    yield f"the two {what} (an arrow marks each place that differs):"
    yield f"{INDENT}  place  {names[0]:<{width}}  {names[1]}"
    for place, right, wrong in rows:
        yield f"{INDENT}{'> ' if right != wrong else '  '}{place:>5}  {right:<{width}}  {wrong}"


def _lines_of_keys(explanation: Explanation) -> Iterator[str]:
    if explanation.keys:
        yield f"keys that differ: {explanation.keys_differing:,}"
    for key in explanation.keys:
        yield f"{INDENT}{shorten(key.name)}"
        yield from _lines_of_key(explanation, key)
    if explanation.keys_differing > len(explanation.keys):
        yield f"{INDENT}... {explanation.keys_differing - len(explanation.keys):,} more"


def _lines_of_key(explanation: Explanation, key: KeyReport) -> Iterator[str]:
    """Yield the fields of a key that differ, with each side's value, and how far it is from the first side's."""
    for name, (before, *values) in differing_fields((key.before, *key.values)):
        yield f"{2 * INDENT}{name.replace('_', ' ')} before: {in_words(before)}"
        for side, value in zip(explanation.sides, values, strict=True):
            figure = compare(name, values[0], value)
            by = f" ({figure})" if figure and value != values[0] else ""
            yield f"{2 * INDENT}{side.who}: {in_words(value)}{by}"
    for side, said in zip(explanation.sides, key.says[1:], strict=False):
        if said:
            yield f"{2 * INDENT}{side.who}, as the application says: {said}"


def _lines_of_write(explanation: Explanation) -> Iterator[str]:
    """Yield the step that made the difference, what each side says of it, and its timer."""
    if explanation.write:
        is_same = len(dict.fromkeys(explanation.told)) < 2
        yield f"made by: {in_words(explanation.write if is_same else explanation.origin)}"
        if not is_same:
            place = "" if explanation.receipt is None else f"receipt {explanation.receipt}: "
            for side, told in zip(explanation.sides, explanation.told, strict=False):
                yield f"{INDENT}{side.who}: {place}{in_words(told)}"
        elif explanation.receipt is not None and explanation.keys:
            yield from _lines_of_equal_receipts(explanation, explanation.keys[0])
    if explanation.actor:
        yield f"{INDENT}handler {explanation.handler or 'unknown'} of actor {shorten(explanation.actor)}"
    if explanation.transaction:
        yield f"{INDENT}transaction {shorten(explanation.transaction)}"
    if explanation.timer:
        yield f"timer {shorten(explanation.timer)}:"
        record = explanation.timer_record or "neither in the state before the block nor written by it"
        yield f"{INDENT}{in_words(record)}"


def _lines_of_equal_receipts(explanation: Explanation, key: KeyReport) -> Iterator[str]:
    """Yield by how much each side changes the first key that differs, where all sides have the same receipt."""
    for name, (before, *values) in differing_fields((key.before, *key.values)):
        figures = [compare(name, before, value) for value in values]
        if all(figures):
            yield f"{INDENT}the receipts are equal, the writes differ; {name} of {shorten(key.name)} after the block:"
            for side, figure in zip(explanation.sides, figures, strict=True):
                yield f"{2 * INDENT}{side.who}: {figure} than before"
