"""The shipped scenarios on each engine: as a program it prints docs/scenarios-by-engine.md, or runs what loads."""

import argparse
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, get_args

from cluster.authoring.small_sizes import small_settings
from cluster.campaign.tasks import Task
from cluster.campaign.workers import Workers
from cluster.scenario.load import SCENARIO_DIRECTORY, encode_scenario, load_scenario, scenario_paths
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import ENGINE_FORMS, EngineName

TABLE: Final = "scenarios-by-engine.md"
"""The file with the verdict of each scenario on each engine."""

_HEAD: Final = """\
# Scenarios by engine

Which shipped scenarios run on which consensus engine.
`python -m cluster.authoring.engines_page > docs/scenarios-by-engine.md` writes this page by loading; do not edit it.

`--set consensus.engine=ENGINE` gives a scenario another engine, and leaves out times of `[consensus]` that the engine
does not use. Every scenario that loads passes or fails as expected, at its small size and for seed 0:
`python -m tests.soak --parts engines` runs all. A refused scenario ends with exit code 2; `check SCENARIO --set
consensus.engine=ENGINE` prints the reason.

`python -m cluster.authoring.engines_page --out dist [SCENARIO ...]` runs the scenarios and writes a table with the
verdict or the reason for each engine, a file of a release."""

_NOT_FOR: Final = "cannot show what this promises"
"""A part of the refusals of `not_for`."""


class Variant(NamedTuple):
    """A form of an engine, and the settings that give it to a scenario."""

    name: str
    settings: tuple[str, ...]


def _forms() -> Iterator[Variant]:
    for engine in get_args(EngineName):
        profiles = [form.partition(" ")[2] for form in ENGINE_FORMS if form.startswith(f"{engine} ")]
        for profile in profiles or [""]:
            setting = [f"consensus.{engine}.profile={profile}"] if profile else []
            yield Variant(f"{engine} {profile}".strip(), (f"consensus.engine={engine}", *setting))


VARIANTS: Final = tuple(_forms())
"""In the order of the table's columns."""


def settings_for(name: str, variant: Variant) -> tuple[str, ...]:
    """Return the settings that give a shipped scenario its small size and an engine."""
    return (*small_settings(name), *variant.settings)


def refusal_of(name: str, variant: Variant) -> str:
    """Return why a scenario cannot have an engine, in the loader's words; empty where it can."""
    try:
        load_scenario(name, settings_for(name, variant))
    except ScenarioError as error:
        return str(error).removeprefix(f"{SCENARIO_DIRECTORY / name}.toml: ")
    return ""


class EnginePoint(NamedTuple):
    """The verdict of a scenario with an engine, empty where it is refused, and why it is not `passed`."""

    verdict: str
    reason: str = ""


EnginePoints: TypeAlias = Mapping[str, Sequence[EnginePoint]]
"""By scenario a cell for each engine."""


def measure(names: Sequence[str], jobs: int) -> EnginePoints:
    """Return the points of scenarios, run where they are not refused."""
    points = {name: [EnginePoint("", refusal_of(name, variant)) for variant in VARIANTS] for name in names}
    tasks = [
        Task(encode_scenario(load_scenario(name, settings_for(name, variant))), 0, label=f"{name} {column}")
        for name in names
        for column, variant in enumerate(VARIANTS)
        if not points[name][column].reason
    ]
    with Workers(jobs) as workers:
        for done, (task, result) in enumerate(workers.results(tasks), 1):
            name, _, column = task.label.partition(" ")
            lacking = "" if result.exit_code == 0 else result.headline
            points[name][int(column)] = EnginePoint(result.verdict, " ".join(lacking.split()))
            sys.stderr.write(f"{done} of {len(tasks)}: {name}, {VARIANTS[int(column)].name}: {result.verdict}\n")
    return points


def page() -> Iterator[str]:
    """Yield the lines of docs/scenarios-by-engine.md."""
    names = [path.stem for path in scenario_paths()]
    yield from _HEAD.splitlines()
    yield from ("", "| engine | loads | lacks the means | cannot show the promise |", "| --- | --- | --- | --- |")
    refused = {variant.name: {name: refusal_of(name, variant) for name in names} for variant in VARIANTS}
    listed = []
    for engine, reasons in refused.items():
        without = [name for name, reason in reasons.items() if reason and _NOT_FOR not in reason]
        not_for = [name for name, reason in reasons.items() if _NOT_FOR in reason]
        yield f"| {engine} | {len(names) - len(without) - len(not_for)} | {len(without)} | {len(not_for)} |"
        listed += ["", f"## Refused with {engine}", ""]
        listed += _wrapped(f"- Lacks the means: {_quoted(without)}.")
        listed += _wrapped(f"- Cannot show the promise: {_quoted(not_for)}.")
    yield ""
    yield from _wrapped(
        "*Lacks the means*: a fault, a behaviour, a kind of message or a key belongs to another engine. *Cannot show "
        "the promise*: `[not_for]` of the scenario has the reason."
    )
    yield from listed


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def table(points: EnginePoints) -> Iterator[str]:
    """Yield the lines of the table of verdicts."""
    reasons = dict.fromkeys(cell.reason for row in points.values() for cell in row if cell.reason)
    numbers = {reason: number for number, reason in enumerate(reasons, 1)}
    yield from ("# Verdicts by engine", "", f"| scenario | {' | '.join(variant.name for variant in VARIANTS)} |")
    yield f"| --- |{' --- |' * len(VARIANTS)}"
    for name, row in points.items():
        texts = (f"{cell.verdict} ({numbers[cell.reason]})".strip() if cell.reason else cell.verdict for cell in row)
        yield f"| `{name}` | {' | '.join(texts)} |"
    yield from ("", "## Reasons", "")
    for reason, number in numbers.items():
        yield from _wrapped(f"- {number}: {reason}")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 120, subsequent_indent="  " * text.startswith("- "), break_on_hyphens=False)


def main(arguments: Sequence[str]) -> int:
    """Print the page, or run what is asked for and write the table."""
    known = [path.stem for path in scenario_paths()]
    parser = argparse.ArgumentParser(prog="python -m cluster.authoring.engines_page", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="SCENARIO", help="with --out: left out, all")
    parser.add_argument("--out", type=Path, metavar="DIR", help="run the scenarios, and write the table there")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    if strangers := [name for name in options.names if name not in known]:
        parser.error(f"no scenario is named {', '.join(strangers)}")
    if options.names and options.out is None:
        parser.error("names of scenarios need --out")
    if options.out is None:
        sys.stdout.write("".join(f"{line}\n" for line in page()))
        return 0
    points = measure(options.names or known, options.jobs)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / TABLE).write_text("".join(f"{line}\n" for line in table(points)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
