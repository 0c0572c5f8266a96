"""The command `application`: check an application in another process, or write a first application."""

import argparse
import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from checker.record.plain_files import read_plain
from cluster.cli.options import Parser, command_line, describe_command, print_json, print_lines
from cluster.outside.conformance.script import StepResult, play
from cluster.outside.frames import FRAMINGS, Value
from cluster.outside.new import APPLICATIONS, LANGUAGES, write_application
from cluster.outside.process import CALL_TIMEOUT_MS, launch_of
from cluster.scenario.messages import ScenarioError
from cluster.scenario.toml_file import BYTES_MAX, parse_toml
from network.words import counted

EXIT_SAFETY: Final = 1
SHOWN_MAX: Final = 400
"""Most characters of a request or an answer that are shown."""


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_application,
        example="application check 'python3 ledger.py'",
        description="Check an outside application by a fixed script of calls, or write a first one. The command "
        "`docs application` prints the protocol.",
    )
    parser.add_argument("what", choices=("check", "new"), help="play the script against a command, or write a folder")
    parser.add_argument("target", metavar="COMMAND|DIR", help="the command, split like a shell's; for `new` the folder")
    parser.add_argument("--framing", choices=tuple(FRAMINGS), default="json", help="the form of frames (default json)")
    parser.add_argument(
        "--call-timeout-ms",
        type=_milliseconds,
        default=CALL_TIMEOUT_MS,
        metavar="MS",
        help=f"time for each answer, by the wall clock (default {CALL_TIMEOUT_MS:_})",
    )
    parser.add_argument("--parameters", type=Path, metavar="FILE", help="a TOML file with the application's parameters")
    parser.add_argument("--language", choices=LANGUAGES, default="python", help="of `new` (default python)")


def run_application(options: argparse.Namespace) -> int:
    """Check or write an application; return 0, or 1 if a step of the script failed."""
    return _write(options) if options.what == "new" else _check(options)


def _check(options: argparse.Namespace) -> int:
    launch = launch_of(options.target, Path.cwd(), FRAMINGS[options.framing], options.call_timeout_ms)
    results: list[StepResult] = []
    for result in play(launch, _parameters(options.parameters)):
        results.append(result)
        if not options.json:
            # As each comes: a whole script takes seconds.
            print_lines(_lines_of(result))
    counts = {status: sum(each.status == status for each in results) for status in ("passed", "failed", "not asked")}
    if options.json:
        print_json({"command": options.target, "steps": [_plain(result) for result in results], **counts})
    else:
        print_lines([", ".join(f"{counted(count, 'steps')} {status}" for status, count in counts.items() if count)])
    return EXIT_SAFETY if counts["failed"] else 0


def _write(options: argparse.Namespace) -> int:
    files, example = write_application(Path(options.target), options.language), APPLICATIONS[options.language]
    build, command = (each.format(folder=shlex.quote(options.target)) for each in (example.build, example.command))
    check = command_line(["application", "check", command, *example.options])
    if options.json:
        print_json({"folder": options.target, "files": list(files), "build": build, "check": check})
    else:
        built = [f"build it: {build}"] if build else []
        print_lines([f"written to {options.target}: {', '.join(files)}", *built, f"check it: {check}"])
    return 0


def _milliseconds(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= 600_000):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of milliseconds from 1 to 600000")
    return int(text)


def _parameters(path: Path | None) -> Mapping[str, Value]:
    if path is None:
        return {}
    if not path.exists():
        raise ScenarioError(str(path), "there is no such file")
    try:
        found: Any = parse_toml(read_plain(path, BYTES_MAX).decode())
    except ValueError as error:
        raise ScenarioError(str(path), f"is no TOML: {error}") from None
    return msgspec.to_builtins(found)  # type: ignore[no-any-return]


def _lines_of(result: StepResult) -> list[str]:
    lines = [f"{result.status:10} {result.step}: {result.summary}"]
    if result.exchange is not None:
        call, fields, answer = result.exchange
        lines.append(f"{'':10} the last request: {_short({'call': call, **fields})}")
        lines.append(f"{'':10} its answer: {'none' if answer is None else _short(answer)}")
    if result.stderr:
        lines.append(f"{'':10} standard error ends with: {result.stderr}")
    return lines


def _short(content: Mapping[str, object]) -> str:
    text = json.dumps(content, default=bytes.hex)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}... ({len(text):,} characters)"


def _plain(result: StepResult) -> dict[str, object]:
    plain: dict[str, object] = {"step": result.step, "status": result.status, "summary": result.summary}
    if result.exchange is not None:
        call, fields, answer = result.exchange
        plain |= {"request": json.loads(json.dumps({"call": call, **fields}, default=bytes.hex))}
        plain |= {"answer": json.loads(json.dumps(answer, default=bytes.hex)), "stderr": result.stderr}
    return plain
