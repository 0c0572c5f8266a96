"""The shipped scenarios on each engine: as a program it runs what loads, and writes docs/scenarios-by-engine.md."""

import argparse
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, get_args

from checker.record.root import PROJECT_ROOT
from cluster.authoring.small_sizes import small_settings
from cluster.campaign.tasks import Task
from cluster.campaign.workers import Workers
from cluster.scenario.load import SCENARIO_DIRECTORY, encode_scenario, load_scenario, scenario_paths
from cluster.scenario.messages import ScenarioError
from cluster.scenario.model import ENGINE_FORMS, EngineName

PAGE: Final = PROJECT_ROOT / "docs" / "scenarios-by-engine.md"

_HEAD: Final = """\
# Scenarios by engine

What each shipped scenario shows on each consensus engine.
`python -m cluster.authoring.engines_page` runs every scenario on every engine and writes this page; do not edit it.
With names of scenarios it runs those anew and keeps the other rows.

Each shipped scenario, at its small size and for seed 0, with `--set consensus.engine=ENGINE`. A number alone stands for
the reason why the scenario is refused with that engine: the line that the loader gives, with exit code 2. It comes from
the kind of fault, the behaviour or the key that needs another engine, or from the scenario itself (`not_for`). A number
beside a verdict says what the run did not show; `runs` loads, and is run by `python -m tests.soak --parts engines`.
Times of `[consensus]` that the engine does not use are left out where the engine is set from outside."""


class Variant(NamedTuple):
    """An engine in one of its forms, and the settings that give it to a scenario."""

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

_NUMBERED: Final = re.compile(r"(.*?) ?\((\d+)\)")


def read_page(path: Path = PAGE) -> dict[str, list[EnginePoint]]:
    """Return the cells of a written page; nothing where there is no page."""
    table, _, listed = (path.read_text() if path.exists() else "").partition("\n## Reasons\n")
    items = (" ".join(item.split()).partition(": ") for item in listed.split("\n- ")[1:])
    reasons = {number: reason for number, _, reason in items}
    rows = (line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `"))
    return {name.strip("`"): [_read(cell, reasons) for cell in cells] for name, *cells in rows}


def _read(text: str, reasons: Mapping[str, str]) -> EnginePoint:
    found = _NUMBERED.fullmatch(text)
    return EnginePoint(text) if found is None else EnginePoint(found[1], reasons[found[2]])


def measure(names: Sequence[str], jobs: int) -> EnginePoints:
    """Return the cells of scenarios, run where they are not refused."""
    cells = {name: [EnginePoint("", refusal_of(name, variant)) for variant in VARIANTS] for name in names}
    tasks = [
        Task(encode_scenario(load_scenario(name, settings_for(name, variant))), 0, label=f"{name} {column}")
        for name in names
        for column, variant in enumerate(VARIANTS)
        if not cells[name][column].reason
    ]
    with Workers(jobs) as workers:
        for done, (task, result) in enumerate(workers.results(tasks), 1):
            name, _, column = task.label.partition(" ")
            lacking = "" if result.exit_code == 0 else result.headline
            cells[name][int(column)] = EnginePoint(result.verdict, " ".join(lacking.split()))
            sys.stderr.write(f"{done} of {len(tasks)}: {name}, {VARIANTS[int(column)].name}: {result.verdict}\n")
    return cells


def write_page(cells: EnginePoints) -> Iterator[str]:
    """Yield the lines of the page."""
    reasons = dict.fromkeys(cell.reason for row in cells.values() for cell in row if cell.reason)
    numbers = {reason: number for number, reason in enumerate(reasons, 1)}
    yield from _HEAD.splitlines()
    yield from ("", f"| scenario | {' | '.join(variant.name for variant in VARIANTS)} |")
    yield f"| --- |{' --- |' * len(VARIANTS)}"
    for name, row in cells.items():
        texts = (f"{cell.verdict} ({numbers[cell.reason]})".strip() if cell.reason else cell.verdict for cell in row)
        yield f"| `{name}` | {' | '.join(texts)} |"
    yield from ("", "## Reasons", "")
    for reason, number in numbers.items():
        yield from _wrapped(f"- {number}: {reason}")


def _wrapped(text: str) -> Iterable[str]:
    return textwrap.wrap(text, 120, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def main(arguments: Sequence[str]) -> int:
    """Run what is asked for, and write the page."""
    known = [path.stem for path in scenario_paths()]
    parser = argparse.ArgumentParser(prog="python -m cluster.authoring.engines_page", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="SCENARIO", help="left out: all")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    if strangers := [name for name in options.names if name not in known]:
        parser.error(f"no scenario is named {', '.join(strangers)}")
    before = read_page() if options.names else {}
    cells = {**before, **measure(options.names or known, options.jobs)}
    PAGE.write_text("\n".join(write_page({name: cells[name] for name in known if name in cells})) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
