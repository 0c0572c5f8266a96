"""The command `check`: the faults of a scenario in plain words, and the cost of its run; nothing is run."""

import argparse
from dataclasses import dataclass

import msgspec

from cluster.authoring.fault_levels import with_faults
from cluster.cli.listing import folded
from cluster.cli.options import (
    Parser,
    add_application,
    add_faults,
    add_settings,
    describe_command,
    parse_seed,
    print_json,
    print_lines,
)
from cluster.scenario.cost import cost_warnings, estimate_cost, guesses_of, refuse_impossible
from cluster.scenario.load import load_scenario
from cluster.scenario.model import Scenario
from cluster.verdict.facts import why_no_view_ends
from faults import kind_of
from faults.quorums import consequence, joint_consequences
from network.words import counted


@dataclass(frozen=True, slots=True)
class ExplainedFault:
    """A fault of a plan: its times in virtual milliseconds, and sentences for its effect.

    `quorum` is a sentence for the remaining quorum, empty if it takes no validator and no link away.
    """

    name: str
    kind: str
    is_enabled: bool
    is_required: bool
    start_ms: int
    stop_ms: int
    sentence: str
    quorum: str


def explain_plan(scenario: Scenario) -> list[ExplainedFault]:
    """Return what each fault of the scenario does, in the plan's order."""
    return [
        ExplainedFault(
            name,
            kind_of(fault),
            fault.enabled,
            name in scenario.requires,
            *fault.bounds(),
            fault.sentence(),
            consequence(fault, scenario.electorate),
        )
        for name, fault in scenario.faults.items()
    ]


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        check,
        example="check lossy --set faults.weather.loss_ppm=100_000",
    )
    parser.add_argument("scenario", metavar="SCENARIO", help="a scenario's name, or a path to a .toml file")
    add_settings(parser)
    add_application(parser)
    add_faults(parser)
    parser.add_argument("--seed", type=parse_seed, default=0, help="with --faults: which run (default 0)")


def check(options: argparse.Namespace) -> int:
    """Explain a plan and return 0; a plan that costs too much is bad input."""
    scenario = load_scenario(options.scenario, options.settings, options.application, options.builds)
    scenario = with_faults(scenario, options.faults, options.seed)
    explained, cost = explain_plan(scenario), estimate_cost(scenario)
    refuse_impossible(scenario, cost)
    joint = list(joint_consequences(scenario.faults.values(), scenario.electorate))
    guesses = list(guesses_of(scenario))
    unending = why_no_view_ends(scenario)
    warnings = [*cost_warnings(scenario, cost), *[unending] * bool(unending)]
    if options.json:
        answer = {
            "scenario": scenario.name,
            "title": scenario.title,
            "faults": [msgspec.to_builtins(each) for each in explained],
            "joint": joint,
            "cost": cost._asdict(),
            "guesses": guesses,
            "warnings": warnings,
        }
        print_json(answer)
        return 0
    lines = [f"{scenario.name}: {scenario.title}"]
    for each in explained:
        notes = ["must take effect"] * each.is_required + ["switched off"] * (not each.is_enabled)
        lines.append(
            f"  {each.name} ({', '.join([f'kind {each.kind}', *notes])}): {each.sentence} {each.quorum}".rstrip()
        )
    lines += [f"  all together: {sentence}" for sentence in joint]
    lines += [f"  needs the workload {name} to take effect" for name in scenario.requires if name in scenario.workload]
    lines += [f"estimate: {cost.describe()}", *[f"the estimate guesses {'; '.join(guesses)}"] * bool(guesses)]
    lines += [f"warning: {warning}" for warning in warnings]
    counts = ((len(explained), "faults"), (len(scenario.workload), "workloads"))
    found = "plan shows nothing" if unending else "plan ok"
    lines.append(f"{found}: {', '.join(counted(count, what) for count, what in counts)}")
    print_lines([*folded(lines)])
    return 0
