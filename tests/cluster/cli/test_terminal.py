r"""No text speaks to the terminal: what is not printable is shown by its code, whoever prints it."""

import ast
import io
import json
import re
import shutil
import sys
import tomllib
from contextlib import contextmanager, redirect_stdout

import pytest
from rich.table import Table
from rich.text import Text

from checker.record.fingerprint import this_code
from checker.record.root import PROJECT_ROOT
from cluster.campaign.results_db import ResultsFile, SeedResult
from cluster.cli.main import main
from cluster.cli.options import print_json, print_lines
from cluster.cli.standard_streams import run_on_standard_streams
from cluster.scenario.load import encode_scenario, load_scenario
from report.layout import VisibleConsole
from report.visible import VisibleStream, visible
from tests.support.hostile_records import HOSTILE, change_document, records_of, seal, with_text, write_records
from tests.support.keystones import rest_in_soak
from tests.support.layers import LAYERS

SHORT = "run.until_height=3"

CODES = {
    "\x1b[2J": r"\x1b[2J",
    "\u202eabc": r"\u202eabc",
    "a\u200bb": r"a\u200bb",
    "\x9b1m": r"\x9b1m",
    "\x7f": r"\x7f",
    "\ud800": r"\ud800",
    "\U000e0041": r"\U000e0041",
    "two\nlines\r\tand": r"two\nlines\r\tand",
    "é → \U0001f600": "é → \U0001f600",
}


@pytest.mark.parametrize("text", CODES)
def test_what_is_not_printable_is_shown_by_its_code(text):
    assert visible(text) == CODES[text]


@contextmanager
def standard_output():
    """Standard output as a command has it, over bytes; pytest sets its own between the steps of a test."""
    with redirect_stdout(
        VisibleStream(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)
    ) as stream:
        yield stream


def said(stream):
    return stream.buffer.getvalue().decode()


def test_nothing_that_is_written_to_a_stream_goes_round_it():
    with standard_output() as stream:
        stream.write(HOSTILE)
        stream.writelines([HOSTILE, HOSTILE])
        print(HOSTILE)  # noqa: T201 - it is one of the ways

    assert said(stream).replace("\n", "").isprintable()
    assert said(stream).count(r"\x1b[31mred\u202eleft") == 4


def test_a_console_keeps_its_colours_and_shows_the_codes_of_its_text():
    """Neither text nor plain cells, titles and captions: what looks like a mark-up is text too."""
    table = Table(title=f"[red]{HOSTILE}[/]", caption=Text(HOSTILE))
    table.add_column(f"[/]{HOSTILE}")
    table.add_row(Text(f"{HOSTILE}", style="green"))
    table.add_row(f"[link=x]:smile:{HOSTILE}")
    with standard_output() as stream:
        VisibleConsole(force_terminal=True, color_system="standard", width=200).print(table, HOSTILE)

    assert "\x1b[32m" in said(stream)
    without_colours = re.sub(r"\x1b\[(0|1|3|32)m", "", said(stream))
    assert without_colours.replace("\n", "").isprintable()
    assert ":smile:" in without_colours
    assert without_colours.count(r"\x1b[2J") == 6


def test_a_line_of_a_command_is_one_line():
    with standard_output() as stream:
        print_lines([HOSTILE, "and another"])

    first, second, _ = said(stream).split("\n")
    assert first.isprintable()
    assert second == "and another"


def test_json_has_codes_of_its_own():
    with standard_output() as stream:
        print_json({HOSTILE: [HOSTILE, "é\U0001f600"]})

    assert said(stream)[:-1].isascii()
    assert said(stream)[:-1].isprintable()
    assert json.loads(said(stream)) == {HOSTILE: [HOSTILE, "é\U0001f600"]}


# -- what goes round it ------------------------------------------------------------------------

WAYS = {
    "checker/judging.py": ["os.write", "sys.stdout.buffer"],
    "checker/record/cold_replay.py": ["sys.stdout.buffer", "sys.stdout.buffer"],
    "cluster/campaign/dask_workers.py": ["import logging"],
    "cluster/cli/standard_streams.py": ["io.FileIO"],
    "cluster/verdict/determinism.py": ["sys.stdout.buffer"],
    "report/layout.py": ["Console"],
    "report/visible.py": ["io.TextIOWrapper", "io.TextIOWrapper", "stream.buffer"],
    "run_cluster.py": ["sys.stderr"],
    "stampede_testbed/_command.py": ["sys.stderr"],
}
"""Ways past the stream by file: pipes between processes, a library kept silent, the stream itself, what comes first."""

BEFORE_THE_STREAM = ("run_cluster.py", "stampede_testbed/_command.py")

ATTRIBUTES = {"buffer", "fdopen", "dup", "dup2", "FileIO", "TextIOWrapper", "__stdout__", "__stderr__", "print_exc"}
CALLS = {"Console", "os.write"}
LIBRARIES = {"logging", "curses", "rich", "faulthandler"}


def dotted(node):
    """Return a name with dots as it is written; another expression has none."""
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def ways_of(name):
    """Yield what a file has to write to a terminal with, past the standard streams of a command."""
    for node in ast.walk(ast.parse((PROJECT_ROOT / name).read_text())):
        if isinstance(node, ast.Import):
            yield from (f"import {each.name}" for each in node.names if each.name in LIBRARIES)
        elif isinstance(node, ast.ClassDef):
            yield from (base for base in map(ast.unparse, node.bases) if base in CALLS)
        elif isinstance(node, ast.Call) and dotted(node.func) in CALLS:
            yield dotted(node.func)
        elif isinstance(node, ast.Call) and name in BEFORE_THE_STREAM and dotted(node.func) == "sys.stderr.write":
            yield "sys.stderr"
        elif isinstance(node, ast.Attribute) and node.attr in ATTRIBUTES and ast.unparse(node) != "sys.stdin.buffer":
            yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and re.match("/dev/(tty|std|fd|pts)", str(node.value)):
            yield str(node.value)


def test_no_file_has_a_way_round_the_streams():
    """Beside the ways that are named here with their reasons."""
    files = [
        str(path.relative_to(PROJECT_ROOT))
        for top in (*LAYERS, "stampede_testbed")
        for path in sorted((PROJECT_ROOT / top).rglob("*.py"))
    ]
    found = {name: sorted(ways_of(name)) for name in [*files, "run_cluster.py"]}

    assert {name: ways for name, ways in found.items() if ways} == WAYS


# -- whole commands ----------------------------------------------------------------------------


@pytest.fixture
def typed(monkeypatch, capfd):
    """Return a function that runs a command line on the streams of a process, and returns all that it printed."""

    def run(*arguments):
        with monkeypatch.context() as streams:
            for name in ("stdin", "stdout", "stderr"):
                streams.setattr(sys, name, getattr(sys, name))
            run_on_standard_streams(main, [str(argument) for argument in arguments])
            sys.stdout.flush()
            sys.stderr.flush()
        printed = capfd.readouterr()
        return printed.out + printed.err

    return run


def is_harmless(printed):
    """Return whether a terminal is told nothing and no line is somebody's own."""
    return printed.replace("\n", "").isprintable() and not re.search("^::error::forged", printed, re.MULTILINE)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """A short run that passed."""
    runs = tmp_path_factory.mktemp("runs")
    assert main(["run", "calm", "--set", SHORT, "--quiet", "--runs", str(runs)]) == 0
    return runs / "calm-0"


def change_events(directory):
    """Put text behind every text of the events, their kinds among them, from the tenth event on."""
    path = directory / "events.msgpack"
    first, rest = records_of(path)[:10], records_of(path)[10:]
    write_records(path, [*first, *with_text(rest, HOSTILE)])


def change_verdict(directory):
    change_document(directory / "verdict.json", lambda verdict: with_text(verdict, HOSTILE))


def change_manifest(directory):
    change_document(directory / "manifest.json", lambda manifest: manifest | {"verdict": HOSTILE})


def change_scenario(directory):
    change_document(directory / "scenario.json", lambda scenario: scenario | {"title": f"\u202e\u200b{HOSTILE[-1]}"})


CHANGES = (change_events, change_verdict, change_manifest, change_scenario)
SHOWS_CODES = {change_events: ("replay", "diff"), change_verdict: ("explain",)}
"""Commands that show something of a change, so that the test has something to see."""


@pytest.mark.parametrize("change", rest_in_soak(CHANGES, CHANGES[:1]), ids=lambda change: change.__name__)
def test_a_record_says_nothing_to_the_terminal(change, record, tmp_path, typed):
    """By none of the commands that read it."""
    directory = shutil.copytree(record, tmp_path / "calm-0")
    change(directory)
    seal(directory)
    commands = {
        "replay": ("replay", directory),
        "explain": ("explain", directory),
        "show": ("show", directory, "2"),
        "diff": ("diff", record, directory, "--no-verify"),
        "shiviz": ("export", directory, "shiviz"),
        "perfetto": ("export", directory, "perfetto"),
        "prove": ("prove", directory, "2", "burned", "--out", tmp_path / "proof.json"),
        "shrink": ("shrink", directory, "--jobs", "1", "--limit", "1", "--runs", tmp_path),
    }
    printed = {name: typed(*arguments) for name, arguments in commands.items()}

    assert [name for name, text in printed.items() if not is_harmless(text)] == []
    assert all(r"\u202e" in printed[name] for name in SHOWS_CODES.get(change, ()))


def test_a_title_turns_no_reading_direction(tmp_path, typed):
    """Also where a scenario is shown as TOML and JSON, which read back as they were."""
    title = "left \u202e right \xa0 \U000e0041"
    path = tmp_path / "turned.toml"
    path.write_text(f'name = "turned"\ntitle = "{title}"\n')
    toml, document = typed("scenarios", "show", path), typed("scenarios", "show", path, "--json")

    assert is_harmless(typed("check", path))
    assert is_harmless(toml)
    assert is_harmless(document)
    assert tomllib.loads(toml)["title"] == json.loads(document)["title"] == title


def test_a_results_file_says_nothing_to_the_terminal(tmp_path, typed):
    """Neither in the table of signatures nor in an annotation, which stays one line."""
    path = tmp_path / "results.sqlite"
    result = SeedResult(0, 1, "safety", HOSTILE, HOSTILE, "ab", 5, HOSTILE, fingerprint=this_code().fingerprint)
    with ResultsFile(path, encode_scenario(load_scenario("calm", [SHORT])).decode()) as file:
        file.add(result._replace(points=((HOSTILE, "quiet", "leader", 1),)))
    printed = typed(
        *("sweep", "calm", "--set", SHORT, "--seeds", "0..1", "--jobs", "1", "--annotate"),
        *("--runs", tmp_path, "--results", path, "--junit", tmp_path / "out.xml"),
    )

    assert is_harmless(printed)
    assert printed.count(r"\x1b[2J") > 3
    assert re.search(r"^::error title=.*::\\x1b\[2J.*%0A::error::forged", printed, re.MULTILINE)
    assert (tmp_path / "out.xml").read_text().replace("\n", "").isprintable()
