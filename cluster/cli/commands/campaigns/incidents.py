"""The command `incidents`: the outages of real chains, by the shape of their fault."""

import argparse
from collections.abc import Iterator

from cluster.cli.options import Parser, command_line, describe_command, print_json, print_lines
from cluster.incidents.incident import SHAPES, Incident, incident_files, read_incident


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(parser, list_incidents, example="incidents")


def list_incidents(options: argparse.Namespace) -> int:
    """Print the incidents by shape, and return 0."""
    found = {name: read_incident(str(path)) for name, path in incident_files().items()}
    if options.json:
        print_json({"incidents": [_entry(name, incident) for name, incident in found.items()]})
        return 0
    print_lines([*_lines(found), "", f"{command_line(['incident', 'NAME'])} runs one, without and with its fault"])
    return 0


def _lines(found: dict[str, Incident]) -> Iterator[str]:
    width = max(map(len, found), default=0)
    for place, (shape, sentence) in enumerate(SHAPES.items()):
        yield from [""] * bool(place)
        yield f"{shape}: {sentence}"
        for name, incident in found.items():
            if incident.shape == shape:
                source = incident.source
                yield f"  {name:{width}}  {incident.title} ({source.chain}, {source.date})"


def _entry(name: str, incident: Incident) -> dict[str, object]:
    source = incident.source
    return {
        "name": name,
        "shape": incident.shape,
        "title": incident.title,
        "chain": source.chain,
        "date": source.date,
        "source": f"{source.title}, {source.page}",
        "fault": incident.fault,
    }
