"""The commands that list what there is: scenarios, kinds of workloads, checks and pages."""

import json

import msgspec
import pytest

from checker.checks import BESIDE_A_RUN, CHECKS
from checker.record.root import PROJECT_ROOT
from cluster.authoring.pages import MADE, page_paths, scenario_groups, sentence_of
from cluster.cli.listing import WIDTH, name_lines
from cluster.cli.main import main
from cluster.scenario.load import scenario_files
from cluster.workloads.registry import WORKLOADS
from faults import kind_of


def listed(capsys, *arguments):
    assert main(arguments) == 0
    return capsys.readouterr().out


def answered(capsys, *arguments):
    return json.loads(listed(capsys, *arguments, "--json"))


def refused(capsys, *arguments):
    """Return the one line by which a command refuses its arguments."""
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


def test_scenarios_stand_under_what_they_show(capsys):
    *lines, _, hint = listed(capsys, "scenarios").splitlines()
    headings = [line.rstrip(":") for line in lines if line and not line.startswith(" ")]
    names = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]

    assert hint == "what is seen in one: run_cluster.py scenarios show NAME"
    assert headings == list(scenario_groups())
    assert sorted(names) == sorted(scenario_files())
    assert max(map(len, lines)) <= WIDTH == 80
    assert sum("(default)" in line for line in lines) == 1


def test_every_scenario_has_a_group_as_data(capsys):
    found = answered(capsys, "scenarios")["scenarios"]

    assert {each["group"] for each in found} == set(scenario_groups())
    assert sorted(each["name"] for each in found) == sorted(scenario_files())


@pytest.mark.parametrize("command", [("run",), ("check",), ("scenarios", "show"), ("sweep",)])
def test_a_misspelt_scenario_gets_the_nearest_and_no_list(capsys, command):
    said = refused(capsys, *command, "outage-strom")

    assert "no such scenario (did you mean outage-storm?); `run_cluster.py scenarios` lists all" in said
    assert "partition-heal" not in said


def test_every_kind_of_workload_is_listed_with_every_key(capsys):
    found = answered(capsys, "workloads")["workloads"]

    assert [entry["kind"] for entry in found] == [kind_of(kind) for kind in WORKLOADS.built_in]
    for entry, kind in zip(found, WORKLOADS.built_in, strict=True):
        keys = [field.encode_name for field in msgspec.structs.fields(kind)]
        assert sorted([*(each["name"] for each in entry["parameters"]), "enabled", "may_be_idle"]) == sorted(keys)
        assert all(each["takes"] and each["meaning"].endswith(".") for each in entry["parameters"])


def test_one_workload_is_listed_with_its_actions(capsys):
    lines = listed(capsys, "workloads", "governance").splitlines()

    assert lines[0] == "governance: System instructions at their times, from one account."
    for beginning in (
        "    actions: list of tables with `do`; required. ",
        "        count: whole number from 1 on; default 1. ",
    ):
        assert sum(line.startswith(beginning) for line in lines) >= 1, beginning
    assert sum(line.startswith("    do = ") for line in lines) == 5


def test_every_check_is_listed_with_its_sentence_and_class(capsys):
    found = answered(capsys, "checks")["checks"]

    assert [entry["name"] for entry in found] == [*(check.name for check in CHECKS), *BESIDE_A_RUN]
    assert [
        entry["name"] for entry in found if not entry["sentence"].endswith(".") or len(entry["sentence"]) < 30
    ] == []
    assert [entry["exit_class"] for entry in found[: len(CHECKS)]] == [check.exit_class for check in CHECKS]


def test_one_check_is_listed_with_all_there_is_to_say(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")
    first, notes = listed(capsys, "checks", "agreement").splitlines()

    assert first.startswith("agreement (safety): At most one block is final at each height")
    assert notes.startswith("A replica repeats heights only after a fault of its disk")
    assert listed(capsys, "checks", "quorum-certificates").startswith("quorum-certificates (safety, hotstuff): ")


@pytest.mark.parametrize(
    ("command", "typed", "nearest"),
    [("workloads", "strom", "storm"), ("checks", "agrement", "agreement"), ("docs", "tutorail", "tutorial")],
)
def test_a_misspelt_entry_gets_the_nearest_and_no_list(capsys, command, typed, nearest):
    said = refused(capsys, command, typed)

    assert said == (
        f"run_cluster.py: {command}: there is no {typed!r} (did you mean {nearest}?); "
        f"`run_cluster.py {command}` lists all\n"
    )


def test_a_plug_in_that_is_not_there_is_one_line(capsys):
    for command in ("workloads", "checks"):
        assert "--plugin: no plug-in named nowhere is installed" in refused(capsys, command, "--plugin", "nowhere")


def test_every_page_has_a_name_and_a_sentence(capsys):
    found = {each["name"]: each["sentence"] for each in answered(capsys, "docs")["pages"]}

    assert list(found) == sorted([*page_paths(), *MADE])
    assert [name for name, sentence in found.items() if not 20 < len(sentence) < 200 or sentence[-1] != "."] == []
    assert [name for name, sentence in found.items() if "python -m" in sentence or "](" in sentence] == []
    assert max(map(len, listed(capsys, "docs").splitlines())) <= WIDTH


@pytest.mark.parametrize("typed", ["tutorial", "tutorial.md", "docs/tutorial.md"])
def test_a_page_is_printed_as_it_is(capsys, typed):
    """By its name, or as a message or another page gives it."""
    text = (PROJECT_ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")

    assert listed(capsys, "docs", typed) == text
    assert answered(capsys, "docs", typed) == {"name": "tutorial", "text": text}


@pytest.mark.parametrize("name", MADE)
def test_a_page_that_the_code_makes_is_printed(capsys, name):
    """Also where the site has left a file of it, which may be of an older code."""
    assert listed(capsys, "docs", name).splitlines() == list(MADE[name]())
    assert name not in page_paths()


def test_the_workflow_is_printed_to_be_copied(capsys):
    workflow = (PROJECT_ROOT / "docs" / "ci" / "stampede.yml").read_text(encoding="utf-8")

    assert listed(capsys, "docs", "ci/stampede.yml") == workflow


def test_a_sentence_ends_where_the_first_one_does():
    assert sentence_of("# A page\n\nIt has [a link](there.md) and\nmore. And more.\n") == "It has a link and more."
    assert sentence_of("# A file to copy: all of it.\nname: x\n") == "A file to copy: all of it."


def test_a_long_name_has_a_line_of_its_own():
    assert list(name_lines([("a", "x"), ("n" * 24, "y")])) == [f"a{'':23}x", "n" * 24, f"{'':24}y"]
