"""The command `scenarios`: the scenarios that come with the project."""

import argparse
import json
import sys
from typing import Any

import tomli_w

from cluster.authoring.schema import scenario_schema
from cluster.cli.options import DEFAULT_SCENARIO, Parser, add_settings, describe_command, print_json, print_lines
from cluster.scenario.load import encode_scenario, load_scenario, scenario_paths
from cluster.scenario.messages import ScenarioError


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(parser, list_scenarios, example="scenarios show lossy")
    parser.add_argument("what", metavar="show", nargs="?", choices=["show"], help="show one with every default")
    parser.add_argument("name", metavar="NAME", nargs="?", help="its name, or a path to a .toml file")
    add_settings(parser)
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of scenario files, for editors")


def list_scenarios(options: argparse.Namespace) -> int:
    """Print every scenario with its title, one of them resolved, or the schema, and return 0."""
    if options.settings and options.what != "show":
        raise ScenarioError("scenarios --set", "changes a scenario that is shown: scenarios show NAME --set KEY=VALUE")
    if options.schema:
        print_json(scenario_schema())
        return 0
    if options.what == "show":
        return _show(options)
    found = [load_scenario(str(path)) for path in scenario_paths()]
    if options.json:
        plain = [
            {"name": each.name, "title": each.title, "faults": list(each.faults), "requires": list(each.requires)}
            for each in found
        ]
        print_json({"scenarios": plain})
        return 0
    width = max(len(each.name) for each in found)
    marks = {DEFAULT_SCENARIO: " (default)"}
    print_lines([f"{each.name:{width}} {each.title}{marks.get(each.name, '')}" for each in found])
    return 0


def _show(options: argparse.Namespace) -> int:
    """Print a scenario with every default written out."""
    if options.name is None:
        raise ScenarioError("scenarios show", "needs the name of a scenario, such as lossy")
    encoded = encode_scenario(load_scenario(options.name, options.settings))
    if options.json:
        sys.stdout.write(encoded.decode())
    else:
        sys.stdout.write(tomli_w.dumps(_without_none(json.loads(encoded))))
    return 0


def _without_none(value: Any) -> Any:  # noqa: ANN401 - plain data
    """Leave out keys without a value, for which TOML has no word."""
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value
