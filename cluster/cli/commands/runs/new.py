"""The command `new`: a commented scenario file to begin with."""

import argparse
import os
import re
from pathlib import Path
from typing import Final

from checker.record.places import write_whole
from cluster.authoring.template import template_of
from cluster.cli.options import Parser, command_line, describe_command, print_json, print_lines
from cluster.scenario.load import convert_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.toml_file import parse_toml

NAMES: Final = "a name has small letters, digits and hyphens, the first no hyphen; --out says where the file goes"


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(parser, write_new, example="new my-outage")
    parser.add_argument("name", metavar="NAME", help="small letters, digits and hyphens")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the file (default NAME.toml, here)")


def write_new(options: argparse.Namespace) -> int:
    """Write the file and return 0; a name that cannot be, and a file that is there, are bad input."""
    if re.fullmatch(r"[a-z0-9][a-z0-9-]*", options.name) is None:
        raise ScenarioError(repr(options.name), NAMES)
    path = options.out or Path(f"{options.name}.toml")
    text = template_of(options.name, str(path))
    convert_scenario(_parsed(text, options.name), options.name)
    if path.suffix != ".toml":
        raise ScenarioError(str(path), "a scenario file's name ends in .toml")
    if os.path.lexists(path):
        raise ScenarioError(str(path), "is there already, and is not written over")
    write_whole(path, text.encode())
    check = command_line(["check", str(path)])
    if options.json:
        print_json({"name": options.name, "file": str(path), "check": check})
    else:
        print_lines([f"written to {path}", f"what it will do: {check}"])
    return 0


def _parsed(text: str, name: str) -> object:
    try:
        return parse_toml(text)
    except ValueError:
        raise ScenarioError(repr(name), NAMES) from None
