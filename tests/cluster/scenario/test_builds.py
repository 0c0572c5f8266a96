"""Builds of an application: from files and the command line into a scenario, and what is refused."""

import json
import sys

import pytest

from cluster.scenario.defaults import without_defaults
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.scenario.sections.commands import refuse_unnamed_application

HEAD = 'name = "theirs"\ntitle = "somebody else\'s chain"\n'
CALLS = '[workload.calls]\nkind = "application"\ncount = 3\n'
OTHER = '[application.builds.other]\ncommand = ["./other", "-x"]\nframing = "msgpack"\n'


def program(folder, name):
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def write(tmp_path):
    """Write a scenario beside three programs, and return its path."""
    for name in ("ledger", "other", "third"):
        program(tmp_path, name)

    def scenario(text):
        path = tmp_path / "theirs.toml"
        path.write_text(f'{HEAD}[application]\ncommand = ["./ledger"]\n{text}{CALLS}')
        return path

    return scenario


def refusal(path, *settings, **more):
    with pytest.raises(ScenarioError) as refused:
        load_scenario(str(path), settings, **more)
    return str(refused.value)


def test_a_build_has_its_own_program_and_framing(write):
    path = write(OTHER)
    main, other = load_scenario(str(path)).application.all_builds

    assert (main.name, main.command, main.framing) == ("main", (str(path.parent / "ledger"),), "json")
    assert (other.name, other.framing, other.folder) == ("other", "msgpack", str(path.parent))
    assert other.command == (str(path.parent / "other"), "-x")


def test_a_replica_names_a_build_or_a_command_of_its_own(write):
    path = write(
        f'{OTHER}[validators.1.application]\nbuild = "other"\n[validators.2.application]\ncommand = ["./third"]\n'
    )
    scenario = load_scenario(str(path))

    assert scenario.validators["1"].application.build == "other"
    assert scenario.validators["2"].application.build == "replica-2"
    assert scenario.application.builds["replica-2"].command == (str(path.parent / "third"),)


def test_the_command_line_names_builds_in_its_own_folder(write, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    program(here, "mine")
    monkeypatch.chdir(here)
    path = write(OTHER)
    scenario = load_scenario(str(path), builds=("other=./mine 'two words'", "third=./mine"))

    assert [each.name for each in scenario.application.all_builds] == ["main", "other", "third"]
    assert scenario.application.builds["other"].command == (str(here / "mine"), "two words")
    assert scenario.application.builds["other"].framing == "msgpack"
    assert scenario.application.folder == str(path.parent)


def test_a_builds_file_is_a_file_of_the_record(write):
    path = write(OTHER)

    assert sorted(load_scenario(str(path)).application.file_digests()) == [
        str(path.parent / "ledger"),
        str(path.parent / "other"),
    ]


def test_a_plan_written_out_has_the_builds(write):
    plain = without_defaults(json.loads(encode_scenario(load_scenario(str(write(OTHER))))))

    assert list(plain["application"]["builds"]) == ["other"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '[validators.1.application]\nbuild = "oter"\n',
            "validators.1.application.build: no build is named 'oter' (did you mean other?); there are main, other",
        ),
        (
            '[faults.up]\nkind = "replace"\nbuild = "next"\nat_ms = 1\nrestart_ms = 2\n',
            "faults.up.build: no build is named 'next'; there are main, other",
        ),
        (
            '[application.builds.main]\ncommand = ["./other"]\n',
            "application.builds.main: is the build of [application]",
        ),
        ('[application.builds.third]\ncommand = ["./none"]\n', "application.builds.third.command: there is no program"),
        (
            '[validators.1.application]\nbuild = "other"\ncommand = ["./third"]\n',
            "validators.1.application.command: and build exclude each other",
        ),
    ],
)
def test_a_build_that_cannot_be_is_refused(write, text, reason):
    assert reason in refusal(write(OTHER + text))


def test_a_build_needs_an_application(tmp_path):
    upgrade = 'faults.up={kind="replace",build="new",at_ms=1000,restart_ms=2000}'

    assert "faults.up.build: is about an application" in refusal("calm", upgrade)


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("other", "--build 'other': is not of the form NAME=COMMAND"),
        ("=./other", "--build '=./other': is not of the form NAME=COMMAND"),
        ("other='", "is no command: No closing quotation"),
        ("other= ", "names no program"),
        ("other=./none", "--build other=./none: application.builds.other.command: there is no program"),
    ],
)
def test_an_option_that_names_no_build_is_refused(write, option, reason):
    assert reason in refusal(write(OTHER), builds=(option,))


def test_a_build_of_no_application_is_refused():
    assert "--build 'new=./new': is a build of no application: name one by --application" in refusal(
        "calm", builds=("new=./new",)
    )


def test_a_build_without_a_program_is_named_by_the_option():
    scenario = load_scenario("application/upgrade", application=f"{sys.executable} ledger.py")

    with pytest.raises(
        ScenarioError, match=r"application\.builds\.new\.command: name the build by --build new=COMMAND"
    ):
        refuse_unnamed_application(scenario)
