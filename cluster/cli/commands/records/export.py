"""The command `export`: a recorded run in the form of another tool."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Final

from checker.record.errors import ReportedError
from checker.record.manifest import MANIFEST
from checker.record.places import OwnFile, refuse_other_file, write_own
from checker.record.plain_files import resolved
from checker.record.run_directory import SUMMARIES, RecordReader, read_summaries
from cluster.cli.options import Parser, describe_command, print_json, print_lines, print_notes
from cluster.exports.parquet import refuse_other_tables, write_tables
from cluster.exports.perfetto import BEGINNING, EVENTS_MAX, PerfettoTrace, names_of
from cluster.exports.shiviz import PATTERN, READ, lines_of, part_around, shown
from cluster.exports.window import ExportWindow, first_difference_of_roots
from cluster.scenario.load import decode_scenario
from cluster.verdict.replay import unfinished_line
from network.types import MILLISECOND_US
from validators.consensus.registry import ENGINES

TRACE: Final = OwnFile(BEGINNING, "Perfetto trace of a run")
LOG: Final = OwnFile(f"{PATTERN}\n".encode(), "ShiViz log of a run")


class ExportError(ReportedError):
    """An export that cannot be meant: a window without a moment, or a place in a run directory."""


def fill_parser(parser: Parser) -> None:
    """Say what the command takes."""
    describe_command(
        parser,
        run_export,
        description="Write a recorded run as a Perfetto trace, a ShiViz log, or Parquet files.",
        notes="perfetto: at most 200,000 events; shiviz: 500 events around the first root that differs, or the last "
        "ones; parquet: a folder of events, blocks, timers and roots (needs the extra "
        "parquet of the package, else exit 6 with the command that installs it).",
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
    window = _window(options)
    reader = RecordReader(options.directory)
    suffix, write = FORMS[options.form]
    place = resolved(options.directory)
    out = options.out or place.with_name(f"{place.name}{suffix}")
    _refuse_evidence(out)
    _refuse_foreign(options.form, out)
    written = write(reader, out, window)
    print_notes([f"{options.directory}: {line}" for line in [unfinished_line(reader)] if line])
    if options.json:
        print_json({"form": options.form, "out": str(out), **written})
    else:
        figures = ", ".join(
            f"{value:,} {name.replace('_', ' ')}" for name, value in written.items() if value or "left" not in name
        )
        print_lines([f"written to {out}: {figures}"])
    return 0


def _refuse_evidence(out: Path) -> None:
    """Raise ExportError where the export would be, or be in, a run directory."""
    if any((place / MANIFEST).exists() for place in (out, out.parent)):
        raise ExportError(f"--out {out}: a run directory holds nothing but its record; give another place")


def _refuse_foreign(form: str, out: Path) -> None:
    """Raise ForeignFileError where something else than an export of the same form would be overwritten."""
    if form == "parquet":
        refuse_other_tables(out)
    elif form == "perfetto":
        refuse_other_file(out, TRACE)
    elif form == "shiviz":
        refuse_other_file(out, LOG)
    else:
        raise ValueError(f"no form of an export: {form!r}")


def _window(options: argparse.Namespace) -> ExportWindow:
    """Return the window that was asked for; raises ExportError where no event could be in it."""
    is_whole = options.from_ms == 0 and options.to_ms is None
    if options.form == "parquet" and not is_whole:
        raise ExportError("--from-ms, --to-ms: parquet has the whole run; perfetto and shiviz take a window")
    window = ExportWindow(options.from_ms * MILLISECOND_US)
    if options.to_ms is None:
        return window
    if options.to_ms <= options.from_ms:
        raise ExportError(f"--to-ms {options.to_ms}: must be above --from-ms, {options.from_ms}")
    return window._replace(to_us=options.to_ms * MILLISECOND_US)


def _write_perfetto(reader: RecordReader, out: Path, window: ExportWindow) -> dict[str, int]:
    scenario = decode_scenario(reader.scenario(), str(reader.path))
    has_summaries = (reader.path / SUMMARIES).exists()
    names = list(names_of(scenario.cluster.validators, scenario.observers, scenario.twins.values()))
    word = ENGINES[scenario.consensus.engine].view_word
    summaries = list(read_summaries(reader.path)) if has_summaries else []
    trace = PerfettoTrace(names, summaries, window, view_word=word)
    encoded = trace.encode(reader.events(trace.handlers))
    write_own(out, encoded, TRACE)
    return {"bytes": len(encoded), f"events_left_out_of_more_than_{EVENTS_MAX}": trace.left_out}


def _write_shiviz(reader: RecordReader, out: Path, window: ExportWindow) -> dict[str, int]:
    events = [event for event in shown(reader.events(READ)) if window.holds(event.at_us)]
    part = part_around(events, first_difference_of_roots(events))
    write_own(out, "".join(f"{line}\n" for line in lines_of(part)).encode(), LOG)
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
