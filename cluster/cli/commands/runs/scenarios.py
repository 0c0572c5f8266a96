"""The command `scenarios`: the scenarios that come with the project."""

import argparse
import json
import sys
from collections.abc import Collection
from typing import Any

import tomli_w

from checker.record.program import program_name
from cluster.authoring.pages import scenario_groups
from cluster.authoring.schema import scenario_schema
from cluster.cli.listing import name_lines
from cluster.cli.options import (
    DEFAULT_SCENARIO,
    Parser,
    add_settings,
    describe_command,
    print_encoded_json,
    print_json,
    print_lines,
)
from cluster.scenario.load import encode_scenario, head_comment, load_scenario, scenario_files
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import Scenario


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(parser, list_scenarios, example="scenarios show lossy")
    parser.add_argument(
        "what",
        metavar="show",
        nargs="?",
        choices=["show"],
        help="show one: its comment, and every key with its default",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="its name, or a path to a .toml file")
    add_settings(parser)
    parser.add_argument("--schema", action="store_true", help="print the JSON schema of scenario files, for editors")


def list_scenarios(options: argparse.Namespace) -> int:
    """Print every scenario by what it shows, one of them resolved, or the schema, and return 0."""
    if options.settings and options.what != "show":
        raise ScenarioError("scenarios --set", "changes a scenario that is shown: scenarios show NAME --set KEY=VALUE")
    if options.schema:
        print_json(scenario_schema())
        return 0
    if options.what == "show":
        return _show(options)
    found = {name: load_scenario(str(path)) for name, path in scenario_files().items()}
    if options.json:
        print_json({"scenarios": [_plain(name, found[name], group) for name, group in _groups_of(found)]})
        return 0
    lines, heading = [], ""
    for name, group in _groups_of(found):
        if group != heading:
            lines += [*[""] * bool(heading), f"{group}:"]
            heading = group
        mark = " (default)" if name == DEFAULT_SCENARIO else ""
        lines += name_lines([(f"  {name}", f"{found[name].title}{mark}")])
    print_lines([*lines, "", f"what is seen in one: {program_name()} scenarios show NAME"])
    return 0


def _groups_of(names: Collection[str]) -> list[tuple[str, str]]:
    """Return the names with the heading of what each shows, in the order of the headings."""
    grouped = [(name, group) for group, listed in scenario_groups().items() for name in listed if name in names]
    known = dict(grouped)
    return [*grouped, *((name, "Others") for name in names if name not in known)]


def _plain(name: str, scenario: Scenario, group: str) -> dict[str, Any]:
    return {
        "name": name,
        "title": scenario.title,
        "comment": _without_marks(head_comment(name)),
        "group": group,
        "faults": list(scenario.faults),
        "requires": list(scenario.requires),
    }


def _without_marks(comment: str) -> str:
    """Return the text of a comment in one line."""
    return " ".join(line.removeprefix("#").strip() for line in comment.splitlines())


def _show(options: argparse.Namespace) -> int:
    """Print the comment of a scenario, and the scenario with every default written out."""
    if options.name is None:
        raise ScenarioError("scenarios show", "needs the name of a scenario, such as lossy")
    encoded = encode_scenario(load_scenario(options.name, options.settings))
    if options.json:
        print_encoded_json(encoded)
    else:
        text = head_comment(options.name) + tomli_w.dumps(_without_none(json.loads(encoded)))
        # The codes of the stream are not TOML's.
        sys.stdout.write("".join(it if it.isprintable() or it == "\n" else f"\\U{ord(it):08x}" for it in text))
    return 0


def _without_none(value: Any) -> Any:  # noqa: ANN401 - plain data
    """Leave out keys without a value, for which TOML has no word."""
    if isinstance(value, dict):
        return {key: _without_none(inner) for key, inner in value.items() if inner is not None}
    return [_without_none(inner) for inner in value] if isinstance(value, list) else value
