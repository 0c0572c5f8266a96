"""The command `application`: the examples pass the script, a bug is shown with its exchange, a folder is written."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cluster.cli.main import main
from cluster.outside.conformance.script import STEPS
from cluster.outside.new import APPLICATIONS
from tests.support.applications import bad_command
from tests.support.keystones import rest_in_soak

LACKING = {
    "python": set(),
    "javascript": set(),
    "rust": {"branches", "drop", "reorg", "apply early, and rewind", "snapshot and restore"},
}
"""By language, the steps that its ledger is not asked for."""


def check(capsys, *arguments):
    """Return the exit code of `application check` and its JSON object."""
    code = main(["application", "check", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def command_of(language, folder):
    """Return the command of an example that was written to a folder, built where it has to be."""
    example = APPLICATIONS[language]
    if example.build:
        subprocess.run(example.build.format(folder=folder).split(), check=True)
    if language == "python":
        return f"{sys.executable} {folder}/{example.file}"
    return example.command.format(folder=folder)


PROGRAMS = {"python": sys.executable, "javascript": "node", "rust": "rustc"}


@pytest.mark.parametrize("language", rest_in_soak(PROGRAMS, ["python", "rust"]))
def test_an_example_as_it_is_written_passes_the_script_and_a_run(language, tmp_path, capsys, monkeypatch):
    if shutil.which(PROGRAMS[language]) is None:
        pytest.skip(f"no {PROGRAMS[language]} on this machine: the ledger in {language} is not tried")
    assert main(["application", "new", str(tmp_path / "mine"), "--language", language, "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert [(tmp_path / "mine" / name).is_file() for name in written["files"]] == [True, True, True]
    code, found = check(capsys, command_of(language, tmp_path / "mine"), *APPLICATIONS[language].options)

    assert {step["step"] for step in found["steps"] if step["status"] == "not asked"} == LACKING[language]
    assert (code, found["failed"], len(found["steps"])) == (0, 0, len(STEPS)), found

    # The scenario says `python3`, which has to be this one.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    short = ["--set", "run.until_height=12", "--json", "--runs", str(tmp_path / "runs")]
    code = main(["run", str(tmp_path / "mine" / "outage.toml"), *short])
    assert (code, json.loads(capsys.readouterr().out)["verdict"]) == (0, "passed")


def test_a_failure_is_shown_with_its_request_and_its_answer(capsys):
    code, found = check(capsys, " ".join(bad_command("short-root")))

    (failed,) = (step for step in found["steps"] if step["status"] == "failed")
    assert (code, failed["step"], failed["request"]["call"]) == (1, "genesis", "genesis")
    assert len(failed["answer"]["root"]) == 62


def test_steps_are_lines_for_a_person(capsys):
    assert main(["application", "check", " ".join(bad_command("banner"))]) == 1
    lines = capsys.readouterr().out.splitlines()

    assert lines[0].startswith("failed     hello: request 1, `hello`: the line `welcome to the ledger` is no JSON")
    assert lines[1].startswith('           the last request: {"call": "hello", "protocol": 1')
    assert lines[2:] == ["           its answer: none", "1 step failed"]


def test_a_folder_with_something_in_it_is_left_alone(tmp_path, capsys):
    (tmp_path / "mine").write_text("it")

    assert main(["application", "new", str(tmp_path)]) == 2
    assert "is there already, and nothing in it is written over" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "no-such-program"], "PATH has no program 'no-such-program'"),
        (["check", "cat", "--parameters", "{}/no.toml"], "no.toml"),
        (["check", "cat", "--parameters", "{}/bad.toml"], "bad.toml: is no TOML"),
    ],
)
def test_bad_input_is_one_line(arguments, said, tmp_path, capsys):
    (tmp_path / "bad.toml").write_text("it = = 3")

    assert main(["application", *(each.format(tmp_path) for each in arguments)]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "soon", "600001"])
def test_a_timeout_that_is_none_is_refused(text, capsys):
    with pytest.raises(SystemExit) as left:
        main(["application", "check", "cat", "--call-timeout-ms", text])
    assert left.value.code == 2
    assert "milliseconds from 1 to 600000" in capsys.readouterr().err


def test_parameters_come_from_a_file(tmp_path, capsys):
    (tmp_path / "it.toml").write_text("depth = 7\n[fees]\nbase = 3\n")
    echo = tmp_path / "echo.py"
    echo.write_text("import sys; print(input(), file=sys.stderr)")
    check(capsys, f"{sys.executable} {echo}", "--parameters", str(tmp_path / "it.toml"))
    _, found = check(capsys, f"{sys.executable} {echo}", "--parameters", str(tmp_path / "it.toml"))

    assert found["steps"][0]["request"]["parameters"] == {"depth": 7, "fees": {"base": 3}}
