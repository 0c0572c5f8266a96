"""The command `incident`: an outage of a real chain as two runs, without and with its fault, beside its source."""

import argparse
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from checker.record.manifest import REPORT
from checker.results import EXIT_CODES
from cluster.cli.options import (
    RUNS,
    Parser,
    add_quiet,
    command_line,
    describe_command,
    parse_runs,
    print_json,
    print_lines,
)
from cluster.incidents.incident import SHAPES, load_incident
from cluster.incidents.sides import MeasureRow, SideRow, ThenAndHere, compare
from cluster.live.progress import LiveProgress


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_incident,
        example="incident n03",
        notes="It exits 0 if both runs end as the incident states and its ratio is kept, and 3 otherwise.",
    )
    parser.add_argument("incident", metavar="NAME", help="an incident's name or number, or a path to a .toml file")
    add_quiet(parser)
    parser.add_argument("--runs", type=parse_runs, default=RUNS, help="where run directories go (default runs)")


def run_incident(options: argparse.Namespace) -> int:
    """Run both sides, print them beside the source, and return the exit code."""
    loaded = load_incident(options.incident)
    is_quiet, command = options.json or options.quiet, command_line(["incident", options.incident])
    found = compare(
        loaded, runs=options.runs, progress=lambda title: LiveProgress(title=title, is_quiet=is_quiet), command=command
    )
    _write_pages(found, command)
    exit_code = EXIT_CODES["inconclusive" if found.wrong else "passed"]
    if options.json:
        print_json(_as_json(found, exit_code))
    elif options.quiet:
        print_lines([_ending(found)])
    else:
        print_lines([*_lines(found)])
    return exit_code


def _write_pages(found: ThenAndHere, command: str) -> None:
    """Write the page of each run, with the figures of then beside those of here."""
    from cluster.page.write import page_of, write_page  # noqa: PLC0415 - the help need not wait for it

    figures = [cells for cells in (*map(_cells, found.measures), _ratio(found)) if cells[2]]
    for side in found.sides:
        directory, result = Path(side.directory), side.result
        document = result.as_json(command) | {"incident": figures}
        write_page(
            directory / REPORT,
            partial(page_of, directory, document, result.scenario, result.checks, place=directory),
        )


def _lines(found: ThenAndHere) -> Iterator[str]:
    incident, source = found.loaded.incident, found.loaded.incident.source
    yield f"{found.loaded.name}: {incident.title}"
    yield f"source  {source.chain}, {source.date}: {source.title}, {source.page}"
    yield f"shape   {incident.shape}: {SHAPES[incident.shape]}"
    yield f"fault   {incident.fault}"
    yield ""
    yield from _table([("", "then", "here"), *map(_cells, found.measures), _ratio(found)])
    yield ""
    for side in found.sides:
        failed = f" (fails: {', '.join(side.failed)})" if side.failed else ""
        yield f"{side.side:8}{side.result.verdict}{failed}: {side.result.headline}"
    yield from (f"page    {Path(side.directory) / REPORT}" for side in found.sides)
    if incident.scale.difference:
        yield f"scale   {incident.scale.difference}"
    yield from (f"explain with: {command_line(['explain', found.sides[1].directory])}" for _ in found.sides[1:])
    yield _ending(found)


def _ending(found: ThenAndHere) -> str:
    if found.wrong:
        return f"not as stated: {'; '.join(found.wrong)}"
    healthy, planted = found.sides
    return f"as stated: the healthy run {healthy.result.verdict}, and {', '.join(planted.failed)} found the fault"


def _cells(row: MeasureRow) -> tuple[str, str, str]:
    return row.what, _shown(row.then), "" if row.here is None else _shown(row.here)


def _ratio(found: ThenAndHere) -> tuple[str, str, str]:
    here = "" if found.here is None else _shown(found.here)
    return f"kept: {found.loaded.incident.scale.kept}", _shown(found.then), here


def _shown(value: float | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3g}" if value < 1_000 else f"{value:,.0f}"


def _table(rows: list[tuple[str, str, str]]) -> list[str]:
    what, then = (max(len(row[place]) for row in rows) for place in (0, 1))
    return [f"{row[0]:{what}}  {row[1]:>{then}}  {row[2]}".rstrip() for row in rows]


def _as_json(found: ThenAndHere, exit_code: int) -> dict[str, object]:
    incident = found.loaded.incident
    return {
        "incident": found.loaded.name,
        "shape": incident.shape,
        "exit_code": exit_code,
        "wrong": found.wrong,
        "source": incident.source,
        "measures": [row._asdict() for row in found.measures],
        "ratio": {"kept": incident.scale.kept, "then": found.then, "here": found.here},
        "sides": [_as_row(side) for side in found.sides],
    }


def _as_row(side: SideRow) -> dict[str, object]:
    result = side.result
    return {
        "side": side.side,
        "verdict": result.verdict,
        "headline": result.headline,
        "failed": side.failed,
        "wrong": side.wrong,
        "directory": side.directory,
    }
