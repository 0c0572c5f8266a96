"""The command `study`: its answer for people and programs, its exit codes, and its refusals in a line."""

import json

import pytest

from cluster.cli.main import main
from cluster.studies.load import study_files
from tests.support.study_text import write_study


@pytest.fixture
def small(tmp_path):
    return str(write_study(tmp_path))


def study(*words, runs):
    return main(["study", *words, "--runs", str(runs), "--jobs", "1"])


def test_the_answer_has_question_table_findings_and_limits(small, tmp_path, capsys):
    assert study(small, "--quick", runs=tmp_path) == 0

    said = capsys.readouterr()
    assert "6 trials" not in said.err
    assert "4 trials, about" in said.err
    lines = said.out.splitlines()
    assert lines[0] == "Three timers for two places"
    assert lines[1] == "a test: Who waits where three timers want two places?"
    assert any("high.wait_mean" in line for line in lines)
    assert any(line.startswith("holds: The payment rule leaves the order alone.") for line in lines)
    assert "limits  Two groups, one chain." in lines
    assert f"page    {tmp_path / 'study-small.html'}" in lines
    assert {path.suffix for path in tmp_path.iterdir() if path.stem == "study-small"} == {".html", ".csv", ".sqlite"}
    assert said.err.count("page") == 0
    assert max(map(len, lines)) < 200


def test_the_answer_as_data(small, tmp_path, capsys):
    assert study(small, "--quick", "--json", runs=tmp_path) == 0

    said = capsys.readouterr()
    answer = json.loads(said.out)
    assert said.err == ""
    assert answer["verdict"] == "passed"
    assert [arm["values"] for arm in answer["arms"]] == [{"pay": "vcg-critical"}, {"pay": "first-price"}]
    assert answer["arms"][0]["figures"]["congested"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert [finding["status"] for finding in answer["findings"]] == ["holds"]


def test_a_study_that_does_not_congest_ends_with_inconclusive(small, tmp_path, capsys):
    wide = ["--set", "scenario.chain.timers.lane_timer_cycles=900_000"]

    assert study(small, "--quick", *wide, runs=tmp_path) == 3
    assert "inconclusive: the answer does not count: congested must be at least 0.9" in capsys.readouterr().out


def test_a_foreign_file_in_the_way_is_refused_before_the_first_trial(small, tmp_path, capsys):
    (tmp_path / "study-small.csv").write_text("mine")

    assert study(small, "--quick", runs=tmp_path) == 2
    assert "study-small.csv" in capsys.readouterr().err
    assert (tmp_path / "study-small.csv").read_text() == "mine"
    assert not (tmp_path / "study-small.sqlite").exists()


def test_the_page_stands_in_the_list_of_runs(small, tmp_path):
    study(small, "--quick", "--json", runs=tmp_path)

    assert "study-small.html" in (tmp_path / "index.html").read_text()


def test_a_second_call_runs_nothing_again(small, tmp_path, capsys):
    study(small, "--quick", "--json", runs=tmp_path)
    first = json.loads(capsys.readouterr().out)
    study(small, "--quick", "--json", runs=tmp_path)
    second = json.loads(capsys.readouterr().out)

    assert first["arms"] == second["arms"]
    assert float(second["facts"]["time"].split()[0]) < 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no-such-study"], "no such study"),
        (["SMALL", "--set", "pay=vcg"], "arm vcg"),
        (["SMALL", "--set", "blocks"], "must read AXIS=VALUE"),
        (["SMALL", "--seeds", "5..1"], "is not A..B"),
        (["SMALL", "--seeds", "2000000"], "below 1,048,576"),
    ],
)
def test_bad_parameters_are_one_line(small, tmp_path, capsys, words, said):
    try:
        code = study(*(word.replace("SMALL", small) for word in words), runs=tmp_path)
    except SystemExit as left:
        code = left.code

    told = capsys.readouterr()
    assert code == 2
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert said in told.err


def test_without_a_name_the_studies_are_listed(capsys):
    assert main(["study"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == list(study_files())


def test_the_list_as_data(capsys):
    assert main(["study", "--json"]) == 0

    assert [each["name"] for each in json.loads(capsys.readouterr().out)["studies"]] == list(study_files())
