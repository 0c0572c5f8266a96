"""Every argument of every command that names a file, read off the command line's own parsers, and a line that uses it.

An argument names a file where its parser makes a path of it. A plain text does so where `SCENARIO_TEXTS` has it, and
`OTHER_TEXTS` has the rest, so that a new argument has to be put somewhere.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, get_type_hints

from cluster.cli.main import COMMANDS, load_command
from cluster.cli.options import Parser
from cluster.outside.new import EXAMPLES
from tests.support.applications import ADDER

SCENARIO_TEXTS = {
    "run scenario",
    "sweep scenario",
    "check scenario",
    "scenarios name",
    "reorgs scenario",
    "study study",
    "incident incident",
    "fixtures words",
}
"""Texts that may be the path of a file: a scenario by its name or its file, a program, or a run directory."""

OTHER_TEXTS = {
    *("run --set", "sweep --set", "check --set", "scenarios --set", "reorgs --set", "study --set"),
    *("run --application", "sweep --application", "check --application"),
    *("run --build", "sweep --build", "check --build"),
    *("faults name", "faults --plugin", "workloads name", "workloads --plugin", "checks name", "checks --plugin"),
    *("docs name", "new name", "prove key", "application target", "reorgs --application"),
    *("fixtures --policy", "fixtures --case"),
}
"""Texts that name no file."""

READ_ONLY = {
    "scenario",
    "study",
    "incident",
    "name",
    "directory",
    "first",
    "second",
    "file",
    "--failing",
    "--run",
    "--case",
    "--parameters",
    "--fixtures",
    "words",
}
"""Arguments at which a command reads; only the page of a run is written there."""

SHORT = "run.until_height=2"

LINES: Mapping[str, Mapping[str, str | None]] = {
    "run": {"scenario": "plan.toml", "--runs": "runs", "--data-dir": "data"},
    "replay": {"directory": "record"},
    "sweep": {
        "scenario": "plan.toml",
        "--seeds": "0",
        "--jobs": "1",
        "--runs": "runs",
        "--results": "results.sqlite",
        "--junit": "junit.xml",
        "--failing": "plans",
    },
    "sweep of the swarm": {
        "--swarm": None,
        "--set": SHORT,
        "--seeds": "0",
        "--jobs": "1",
        "--runs": "runs",
        "--corpus": "corpus",
    },
    "differential": {"--seeds": "0", "--jobs": "1", "--runs": "runs", "--results": "chains.sqlite"},
    "differential of a case": {"--case": "case.json"},
    "shrink": {"directory": "record", "--out": "small.toml", "--jobs": "1", "--limit": "1", "--runs": "runs"},
    "curve": {"directory": "record", "--no-shrink": None, "--jobs": "1", "--runs": "runs"},
    "explain": {"directory": "record"},
    "show": {"directory": "record", "height": "2"},
    "diff": {"first": "record", "second": "other", "--no-verify": None},
    "check": {"scenario": "plan.toml"},
    "scenarios": {"what": "show", "name": "plan.toml"},
    "application": {
        "what": "check",
        "target": f"{sys.executable} {EXAMPLES / 'python' / 'ledger.py'}",
        "--parameters": "plan.toml",
    },
    "fixtures": {
        "what": "run",
        "words": ADDER[0],
        "its script": ADDER[1],
        "--fixtures": "cases",
        "--junit": "cases.xml",
    },
    "fixtures of a run": {"what": "export", "words": "record", "its height": "2", "--out": "made-cases"},
    "new": {"name": "my-plan", "--out": "new.toml"},
    "study": {"study": "study.toml", "--quick": None, "--jobs": "1", "--runs": "runs"},
    "incident": {"incident": "incident.toml", "--runs": "runs"},
    "reorgs": {"scenario": "plan.toml", "--depths": "1"},
    "reorgs of an application": {
        "--application": f"{sys.executable} {EXAMPLES / 'python' / 'ledger.py'}",
        "--depths": "1",
    },
    "export": {"directory": "record", "form": "perfetto", "--out": "trace.pftrace"},
    "export of tables": {"directory": "record", "form": "parquet", "--out": "tables"},
    "export of a log": {"directory": "record", "form": "shiviz", "--out": "log.shiviz"},
    "serve": {"--runs": "runs", "--port": "0"},
    "prove": {"directory": "record", "height": "2", "key": "burned", "--out": "out.json"},
    "verify": {"file": "proof.json", "--run": "record"},
}
"""Command lines that end well in the folder of a campaign, by their command; words behind it tell several apart."""


class FileArgument(NamedTuple):
    """An argument of a command that names a file or a folder."""

    command: str
    name: str


def arguments_of(command: str) -> Iterator[tuple[str, argparse.Action]]:
    """Yield the arguments of a command that take a value, by option or destination."""
    module = load_command([command])
    assert module is not None, f"{command} is a command"
    parser = Parser()
    module.fill_parser(parser)
    for action in parser._actions:
        if action.nargs != 0 and not isinstance(action, argparse.BooleanOptionalAction):
            yield (action.option_strings or [action.dest])[0], action


def file_arguments() -> list[FileArgument]:
    """Return the file arguments of all commands, in the order of the help."""
    return [
        FileArgument(command, name)
        for command in COMMANDS
        for name, action in arguments_of(command)
        if f"{command} {name}" in SCENARIO_TEXTS or _makes_path(action)
    ]


def texts() -> set[str]:
    """Return the arguments of all commands whose value is a text of any kind."""
    return {
        f"{command} {name}"
        for command in COMMANDS
        for name, action in arguments_of(command)
        if action.type is None and action.choices is None
    }


def _makes_path(action: argparse.Action) -> bool:
    made_by = action.type
    return made_by is Path or (callable(made_by) and get_type_hints(made_by).get("return") is Path)


def typed(line: str, values: Mapping[str, str]) -> list[str]:
    """Return the words of one of `LINES` with other values of some arguments."""
    words = [line.partition(" ")[0]]
    for name, value in (LINES[line] | values).items():
        words += [name] * name.startswith("-") + ([] if value is None else [value])
    return words


def written_by(line: str, values: Mapping[str, str]) -> list[str]:
    """Return the paths that one of `LINES` names to be written at."""
    command = line.partition(" ")[0]
    names = [name for owner, name in file_arguments() if owner == command and name not in READ_ONLY]
    return [value for name, value in (LINES[line] | values).items() if name in names and value is not None]
