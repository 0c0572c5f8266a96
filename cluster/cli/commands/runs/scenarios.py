"""The command `scenarios`: the scenarios that come with the project."""

import argparse

from cluster.cli.options import DEFAULT_SCENARIO, Parser, describe_command, print_json, print_lines
from cluster.scenario.load import load_scenario, scenario_paths


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(parser, list_scenarios, example="scenarios")


def list_scenarios(options: argparse.Namespace) -> int:
    """Print every scenario with its title, and return 0."""
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
