"""The command `serve`: the pages of runs in a browser, on this machine only."""

import argparse
import sys
from pathlib import Path
from typing import Final

from cluster.cli.options import RUNS, Parser, describe_command, parse_runs, print_json
from cluster.page.serving import LOOPBACK, make_server
from cluster.scenario.messages import ScenarioError

PORT: Final = 8737
PORT_MAX: Final = 65_535


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_serve,
        description="Show the pages of a folder of runs in a browser: on the loopback address, read only.",
        notes="Ctrl-C ends it with exit code 0; 6 if the port is taken.",
        example="serve --port 8000",
    )
    parser.add_argument("--runs", type=parse_runs, default=RUNS, help="the folder of runs (default runs)")
    parser.add_argument("--port", type=_port, default=PORT, metavar="N", help=f"default {PORT}; 0 is any free one")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= PORT_MAX):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to {PORT_MAX:,}")
    return int(text)


def run_serve(options: argparse.Namespace) -> int:
    """Serve until an interrupt."""
    runs: Path = options.runs
    if not runs.is_dir():
        raise ScenarioError("--runs", f"{runs} is no folder; a run makes it")
    try:
        server = make_server(runs, options.port)
    except OSError as error:
        error.filename = f"port {options.port}"
        raise
    address = f"http://{LOOPBACK}:{server.server_port}/"
    if options.json:
        print_json({"address": address, "runs": str(runs)})
    else:
        sys.stdout.write(f"{address} shows the runs in {runs}; Ctrl-C ends it\n")
    sys.stdout.flush()
    with server:
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0
