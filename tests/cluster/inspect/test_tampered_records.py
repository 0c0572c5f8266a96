"""Records that were tampered with and sealed anew: a part that is not as its schema is bad input, with its place."""

import msgspec
import pytest

from checker.record.run_directory import BLOCKS, BRANCHES, EVENTS, GENESIS, ROOTS, SUMMARIES, VERDICT, WAITS
from cluster.cli.main import main
from cluster.live.progress import LiveProgress
from cluster.scenario.load import load_scenario
from cluster.verdict.pipeline import run_pipeline
from tests.support.arrow import stand_in_for_arrow
from tests.support.keystones import third_of
from tests.support.tampered import records_of, tampered
from validators.execution.blocks import decode_block, encode_block

EDGE, ABOVE = (1 << 63) - 1, (1 << 64) - 1


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The record of a short run."""
    scenario = load_scenario("calm", ("run.until_height=2",))
    progress = LiveProgress(title="", is_quiet=True)
    return run_pipeline(scenario, 0, runs=tmp_path_factory.mktemp("runs"), progress=progress).directory


@pytest.fixture(autouse=True)
def _library(monkeypatch):
    stand_in_for_arrow(monkeypatch)


def commands(run, record):
    """Return by name the commands that read a record, each with its arguments; none of them runs it again."""
    out = record.parent
    return {
        "diff": ("diff", record, run, "--no-verify"),
        "perfetto": ("export", record, "perfetto", "--out", out / "trace.pftrace"),
        "shiviz": ("export", record, "shiviz", "--out", out / "log-shiviz.txt"),
        "parquet": ("export", record, "parquet", "--out", out / "tables"),
        "show": ("show", record, 1),
        "prove": ("prove", record, 1, "burned", "--out", out / "proof.json"),
        "replay": ("replay", record),
        "explain": ("explain", record),
        "shrink": ("shrink", record, "--out", out / "plan.toml"),
    }


def said_by(capsys, arguments):
    """Run a command, and return its exit code and what it said on standard error."""
    code = main([str(argument) for argument in arguments])
    return code, capsys.readouterr().err


def last_record(index, value):
    """Return what replaces one field of the last record."""

    def change(records):
        records[-1][index] = value
        return records

    return change


def value_of(kind, index, value):
    """Return what replaces one field of the first event of a kind, or cuts it off there where it is None."""

    def change(events):
        place = next(place for place, event in enumerate(events) if event[2] == kind)
        events[place] = events[place][:index] + ([] if value is None else [value, *events[place][index + 1 :]])
        return events

    return change


def header_with(**changes):
    """Return what replaces numbers in the header of the last block."""

    def change(records):
        block = decode_block(records[-1][3])
        header = msgspec.structs.replace(block.header, **changes)
        records[-1][3] = encode_block(msgspec.structs.replace(block, header=header))
        return records

    return change


def part(name, value):
    """Return what replaces a part of a verdict."""
    return lambda document: {**document, name: value}


EVENT_READERS = ("perfetto", "shiviz", "show")
ALL_EVENTS = ("diff", "parquet", "replay", "explain", "shrink", *EVENT_READERS)

REFUSED = {
    "an empty block": (BLOCKS, last_record(3, b""), ("parquet", "prove of 2")),
    "a block of another height": (BLOCKS, header_with(height=7), ("parquet", "prove of 2")),
    "a view at the end of 64 bits": (BLOCKS, header_with(view=ABOVE), ("parquet",)),
    "a time of a block at the end of 64 bits": (BLOCKS, header_with(timestamp_ms=ABOVE), ("parquet",)),
    "a height of a block": (BLOCKS, last_record(0, 9), ("diff", "parquet", "show", "prove of 2", "replay", "explain")),
    "a digest of a block": (BLOCKS, last_record(1, b"x"), ("diff", "parquet", "show", "replay", "explain")),
    "a time of an event": (EVENTS, last_record(0, ABOVE), ALL_EVENTS),
    "a time of an event in centuries": (EVENTS, last_record(0, 1 << 53), ALL_EVENTS),
    "a replica of an event": (EVENTS, last_record(1, ABOVE), ALL_EVENTS),
    "a replica that is text": (EVENTS, last_record(1, "x"), ALL_EVENTS),
    "a final block without a height": (EVENTS, value_of("finalized", 3, None), ("perfetto", "show")),
    "a final block of a height that is text": (EVENTS, value_of("finalized", 3, "x"), ("perfetto", "show")),
    "an execution of a digest that is none": (EVENTS, value_of("executed", 5, 5), EVENT_READERS),
    "a message to text": (EVENTS, value_of("send", 3, "x"), ("perfetto", "shiviz")),
    "a root of a height": (ROOTS, last_record(1, ABOVE), ("diff", "parquet", "show", "replay")),
    "a root of a replica": (ROOTS, last_record(0, ABOVE), ("diff", "parquet", "show", "replay")),
    "a root of no digest": (ROOTS, last_record(3, b""), ("diff", "parquet", "show", "replay")),
    "a branch of a replica": (BRANCHES, last_record(2, ABOVE), ("show", "replay")),
    "a number of a summary": (SUMMARIES, last_record(0, ABOVE), ("perfetto", "parquet", "replay")),
    "a number of a summary that is none": (SUMMARIES, last_record(5, "x"), ("perfetto", "parquet", "replay")),
    "a wait": (WAITS, last_record(0, [[0, ABOVE]]), ("replay",)),
    "a genesis of a number": (GENESIS, lambda _records: [7], ("show", "prove", "replay")),
    "a genesis of a chain that is a number": (GENESIS, lambda records: [[7, *records[0][1:]]], ("show", "replay")),
    **{
        f"{name} {value!r} in the verdict": (VERDICT, part(name, value), ("diff", "replay", "explain"))
        for name, value in {
            "checks": [5],
            "figures": {"virtual_us": []},
            "validators": [{"node": ABOVE}],
            "coverage": [{"kind": "pause"}],
            "headline": 5,
            "repeat": ["x"],
            "seed": "x",
            "reopened": [1],
        }.items()
    },
}
"""By what was changed, the file, what changes it, and the commands that read it."""


@pytest.mark.parametrize("what", third_of(REFUSED))
def test_a_part_that_is_not_as_its_schema_is_bad_input(what, run, tmp_path, capsys):
    name, change, readers = REFUSED[what]
    record = tampered(run, tmp_path / "record", name, change)
    given = commands(run, record) | {"prove of 2": ("prove", record, 2, "burned", "--out", tmp_path / "proof.json")}

    for reader in readers:
        code, said = said_by(capsys, given[reader])
        assert (code, said.count("\n")) == (2, 1), (reader, said)
        assert f"{record}: {name}" in said, reader


ALLOWED = {
    "a height of a final block below 1": (EVENTS, value_of("finalized", 3, -5)),
    "a height of a final block at the edge": (EVENTS, value_of("finalized", 3, EDGE)),
    "a view at the edge": (EVENTS, value_of("enter", 3, ABOVE)),
    "a number of a message at the edge": (EVENTS, value_of("send", 4, ABOVE)),
    "an event of the last moment": (EVENTS, last_record(0, (1 << 53) - 1)),
    "a root of the last height": (ROOTS, last_record(1, EDGE)),
    "a number of a summary at the edge": (SUMMARIES, last_record(0, EDGE)),
    "a view of a block at the edge": (BLOCKS, header_with(view=EDGE)),
    "a figure at the edge": (VERDICT, part("figures", {"virtual_us": EDGE})),
    "a root of a replica that there is not": (ROOTS, last_record(0, 99)),
    "an event of a replica that there is not": (EVENTS, last_record(1, 99)),
}


@pytest.mark.parametrize("what", third_of(ALLOWED))
def test_numbers_at_the_edge_break_no_command(what, run, tmp_path, capsys):
    """A number that the schema allows is written or shown, or refused with its place."""
    name, change = ALLOWED[what]
    record = tampered(run, tmp_path / "record", name, change)

    for reader in ("diff", "perfetto", "shiviz", "parquet", "show"):
        code, said = said_by(capsys, commands(run, record)[reader])
        assert code in ((0, 1) if reader != "show" else (0, 2, 3)), (reader, said)
        # A page is an extra, and the numbers that it draws are of 32 bits.
        assert [line for line in said.splitlines() if not line.startswith("no page: ")] == [] or code, (reader, said)


def test_a_replica_that_the_scenario_does_not_have_is_named_by_show(run, tmp_path, capsys):
    assert records_of(run, ROOTS)[-1][1] == 2
    record = tampered(run, tmp_path / "record", ROOTS, last_record(0, 99))

    code, said = said_by(capsys, ("show", record, 2))

    assert code == 2
    assert "replica 99; its scenario.json has replicas 0 to 3" in said


def test_an_empty_block_is_a_difference_of_two_runs(run, tmp_path, capsys):
    """Blocks of other code cannot be read either, and are compared byte by byte."""
    record = tampered(run, tmp_path / "record", BLOCKS, last_record(3, b""))

    code, said = said_by(capsys, commands(run, record)["diff"])

    assert code == 1
    assert f"no page: {record}: {BLOCKS} at height 2: holds no block" in said
