"""The command `export`, over a recorded run; Parquet with a library that stands in for the real one."""

import json
import os
import sys

import pytest

from cluster.cli.main import main
from cluster.exports.parquet import tables_of
from cluster.scenario.load import load_scenario
from tests.support.arrow import stand_in_for_arrow
from tests.support.cluster_runs import judge
from tests.support.protobuf import decode


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return judge(load_scenario("calm", ("run.until_height=3",)), runs=tmp_path_factory.mktemp("runs")).directory


def test_a_trace_and_a_log_are_written_beside_the_run(recorded, capsys):
    for form, name in (("perfetto", "calm-0.pftrace"), ("shiviz", "calm-0-shiviz.txt")):
        assert main(["export", str(recorded), form, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["out"] == str(recorded.with_name(name))
    assert len(decode(recorded.with_name("calm-0.pftrace").read_bytes())[1]) > 100


def test_the_working_directory_is_a_run_too(recorded, capsys, monkeypatch):
    monkeypatch.chdir(recorded)

    assert main(["export", ".", "shiviz", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["out"] == str(recorded.with_name("calm-0-shiviz.txt"))


def test_a_window_makes_it_smaller(recorded, tmp_path, capsys):
    sizes = []
    for window in ([], ["--from-ms", "1000", "--to-ms", "1200"]):
        assert main(["export", str(recorded), "perfetto", "--out", str(tmp_path / "x"), *window]) == 0
        sizes.append((tmp_path / "x").stat().st_size)

    assert sizes[1] < sizes[0]


def test_without_the_library_parquet_is_one_line_and_exit_6(recorded, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    assert main(["export", str(recorded), "parquet"]) == 6
    said = capsys.readouterr().err
    assert said.endswith("pyarrow is not installed: pip install --require-hashes -r requirements/parquet.txt\n")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(("option", "value"), [("--from-ms", "-1"), ("--to-ms", "soon")])
def test_a_moment_that_is_none_is_refused(recorded, capsys, option, value):
    with pytest.raises(SystemExit) as left:
        main(["export", str(recorded), "shiviz", option, value])
    assert left.value.code == 2


@pytest.mark.parametrize(("form", "window"), [("shiviz", (5, 4)), ("perfetto", (5, 5)), ("parquet", (0, 9))])
def test_a_window_that_can_hold_nothing_is_refused(recorded, tmp_path, capsys, form, window):
    first, last = map(str, window)
    out = tmp_path / "out"

    assert main(["export", str(recorded), form, "--from-ms", first, "--to-ms", last, "--out", str(out)]) == 2
    assert "-ms" in capsys.readouterr().err
    assert not out.exists()


def test_a_window_after_the_run_says_that_it_has_no_event(recorded, tmp_path, capsys):
    assert main(["export", str(recorded), "shiviz", "--from-ms", "9000000", "--out", str(tmp_path / "x")]) == 0
    assert capsys.readouterr().out.endswith("x: 0 events\n")


@pytest.mark.parametrize("name", ["events.msgpack", "new.txt", "."])
def test_an_export_goes_into_no_run_directory(recorded, capsys, name):
    before = {path.name: path.read_bytes() for path in recorded.iterdir()}

    assert main(["export", str(recorded), "shiviz", "--out", str(recorded / name)]) == 2
    assert "run directory" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in recorded.iterdir()} == before


def test_an_export_replaces_no_device(recorded, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")

    assert main(["export", str(recorded), "perfetto", "--out", str(tmp_path / "pipe")]) == 2
    assert "exists and is no Perfetto trace of a run; give another path" in capsys.readouterr().err
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("form", ["perfetto", "shiviz", "parquet"])
def test_an_export_replaces_its_own_kind_of_file_alone(recorded, tmp_path, capsys, form):
    notes = tmp_path / "notes"
    notes.write_text("mine")

    assert main(["export", str(recorded), form, "--out", str(notes)]) == 2
    assert f"{notes} exists and is no " in capsys.readouterr().err
    assert notes.read_text() == "mine"


@pytest.mark.parametrize("form", ["perfetto", "shiviz"])
def test_an_export_replaces_an_older_one(recorded, tmp_path, form):
    out, sizes = tmp_path / "out", []
    for last_ms in ("1200", "1400"):
        assert main(["export", str(recorded), form, "--to-ms", last_ms, "--out", str(out)]) == 0
        sizes.append(out.stat().st_size)

    assert sizes[0] < sizes[1]


class TestParquet:
    """Four tables of plain values."""

    def test_their_rows_have_the_same_columns_and_plain_values(self, recorded):
        tables = {name: list(rows) for name, rows in tables_of(recorded, []).items()}

        assert {name: len({tuple(row) for row in rows}) for name, rows in tables.items()} == dict.fromkeys(tables, 1)
        assert {type(value) for rows in tables.values() for row in rows for value in row.values()} == {int, str}
        assert [row["fired"] for row in tables["blocks"]] == [
            sum(row["exit_height"] == height and row["exit"] == "fired" for row in tables["timers"])
            for height in range(1, len(tables["blocks"]) + 1)
        ]
        assert len(tables["roots"]) >= 4 * 3

    @pytest.fixture
    def written(self, monkeypatch):
        """The groups of each file, by a library that stands in for pyarrow."""
        return stand_in_for_arrow(monkeypatch)

    def test_each_is_written_in_groups_of_one_schema(self, recorded, tmp_path, capsys, monkeypatch, written):
        monkeypatch.setattr("cluster.exports.parquet.ROWS_AT_ONCE", 100)

        assert main(["export", str(recorded), "parquet", "--out", str(tmp_path / "out"), "--json"]) == 0

        answer = json.loads(capsys.readouterr().out)
        assert sorted(written) == ["blocks.parquet", "events.parquet", "roots.parquet", "timers.parquet"]
        assert sum(written["events.parquet"]) == answer["events"] > 100
        assert max(written["events.parquet"]) == 100

    def test_an_expiry_may_lie_above_63_bits(self, tmp_path, written):
        """docs/chain.md allows it, and nothing else that a table has."""
        settings = ["--set", "chain.timers.max_ttl_blocks=9_223_372_036_854_775_807", "--set", "run.until_height=4"]
        assert main(["run", "calm", "--quiet", *settings, "--runs", str(tmp_path)]) == 0
        (made,) = tmp_path.glob("calm-0*")

        assert main(["export", str(made), "parquet", "--out", str(tmp_path / "out")]) == 0
        assert written["timers.parquet"]

    def test_a_file_of_another_kind_in_the_folder_stays(self, recorded, tmp_path, capsys, written):
        (tmp_path / "timers.parquet").write_text("mine")

        assert main(["export", str(recorded), "parquet", "--out", str(tmp_path)]) == 2
        assert "timers.parquet exists and is no Parquet file" in capsys.readouterr().err
        assert ([path.name for path in tmp_path.iterdir()], written) == (["timers.parquet"], {})

    def test_a_table_without_rows_leaves_none_of_another_run(self, recorded, tmp_path, monkeypatch, written):
        assert main(["export", str(recorded), "parquet", "--out", str(tmp_path / "out")]) == 0
        monkeypatch.setattr("cluster.exports.parquet._timers", lambda *_: iter(()))

        assert main(["export", str(recorded), "parquet", "--out", str(tmp_path / "out")]) == 0
        assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
            "blocks.parquet",
            "events.parquet",
            "roots.parquet",
        ]


def test_timers_of_a_known_bug_end_where_sound_code_differs(tmp_path):
    settings = ("run.until_height=4", "mutants.refund-rounded-down=[0, 1, 2, 3]")
    directory = judge(load_scenario("calm", settings), runs=tmp_path).directory
    refusals = []

    rows = list(tables_of(directory, refusals)["timers"])

    assert rows
    assert len(refusals) == 1
    assert "InvalidBlockError" in refusals[0]
