"""The command `export`: a recorded run in the form of another tool."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

from checker.record.run_directory import SUMMARIES, RecordReader, read_events, read_summaries
from cluster.cli.options import Parser, describe_command, print_json, print_lines, print_notes
from cluster.exports.parquet import write_tables
from cluster.exports.perfetto import EVENTS_MAX, PerfettoTrace, names_of
from cluster.exports.shiviz import lines_of, part_around, shown
from cluster.exports.window import ExportWindow, first_difference_of_roots
from cluster.scenario.load import decode_scenario
from network.types import MILLISECOND_US
from validators.consensus.registry import ENGINES


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_export,
        description="Write a recorded run as a Perfetto trace, a ShiViz log, or Parquet files.",
        notes="perfetto: at most 200,000 events; shiviz: 500 events around the first root that differs, or the last "
        "ones; parquet: a folder of events, blocks, timers and roots (needs requirements/parquet.txt, else exit 6).",
        example="export runs/calm-0 perfetto --from-ms 8000 --to-ms 12000",
    )
    parser.add_argument("directory", type=Path, metavar="RUN_DIRECTORY", help="a directory that run wrote")
    parser.add_argument("form", metavar="FORM", choices=list(FORMS), help=", ".join(FORMS))
    parser.add_argument("--out", type=Path, metavar="PATH", help="the file or folder (default beside RUN_DIRECTORY)")
    parser.add_argument("--from-ms", type=_milliseconds, default=0, metavar="MS", help="virtual time to begin with")
    parser.add_argument("--to-ms", type=_milliseconds, metavar="MS", help="virtual time to end before")


def _milliseconds(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of milliseconds")
    return int(text)


def run_export(options: argparse.Namespace) -> int:
    """Write the export, say where, and return 0."""
    reader = RecordReader(options.directory)
    suffix, write = FORMS[options.form]
    out = options.out or options.directory.with_name(f"{options.directory.name}{suffix}")
    out.parent.mkdir(parents=True, exist_ok=True)
    written = write(reader, out, _window(options))
    if options.json:
        print_json({"form": options.form, "out": str(out), **written})
    else:
        figures = ", ".join(f"{value:,} {name.replace('_', ' ')}" for name, value in written.items() if value)
        print_lines([f"written to {out}: {figures}"])
    return 0


def _window(options: argparse.Namespace) -> ExportWindow:
    window = ExportWindow(options.from_ms * MILLISECOND_US)
    return window if options.to_ms is None else window._replace(to_us=options.to_ms * MILLISECOND_US)


def _write_perfetto(reader: RecordReader, out: Path, window: ExportWindow) -> dict[str, int]:
    scenario = decode_scenario(reader.scenario(), str(reader.path))
    has_summaries = (reader.path / SUMMARIES).exists()
    names = list(names_of(scenario.cluster.validators, scenario.observers))
    word = ENGINES[scenario.consensus.engine].view_word
    summaries = list(read_summaries(reader.path)) if has_summaries else []
    trace = PerfettoTrace(names, summaries, window, view_word=word)
    encoded = trace.encode(read_events(reader.path))
    out.write_bytes(encoded)
    return {"bytes": len(encoded), f"events_left_out_of_more_than_{EVENTS_MAX}": trace.left_out}


def _write_shiviz(reader: RecordReader, out: Path, window: ExportWindow) -> dict[str, int]:
    events = [event for event in shown(read_events(reader.path)) if window.holds(event.at_us)]
    part = part_around(events, first_difference_of_roots(events))
    out.write_text("".join(f"{line}\n" for line in lines_of(part)), encoding="utf-8")
    return {"events": len(part), "events_left_out": len(events) - len(part)}


def _write_parquet(reader: RecordReader, out: Path, _window: ExportWindow) -> dict[str, int]:
    refusals: list[str] = []
    counts = write_tables(reader.path, out, refusals)
    print_notes([f"timers end where this code does not execute a block as the run did: {each}" for each in refusals])
    return counts


FORMS: Final[dict[str, tuple[str, Callable[[RecordReader, Path, ExportWindow], dict[str, int]]]]] = {
    "perfetto": (".pftrace", _write_perfetto),
    "shiviz": ("-shiviz.txt", _write_shiviz),
    "parquet": ("-parquet", _write_parquet),
}
"""By the name of a form, the end of its file's name and who writes it."""
