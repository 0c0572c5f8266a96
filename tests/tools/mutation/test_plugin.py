"""The catalogue as a plug-in: found by its tool alone, named by records, and never needed by the product."""

import json
import os
import subprocess
import sys

import pytest

from checker.explain.explanation import Cause
from checker.mutants import TEACHING
from checker.record.root import PROJECT_ROOT
from cluster.cli.main import COMMANDS, main
from cluster.scenario.load import load_scenario, scenario_paths
from tests.support.mutation import tool_main
from tools.mutation import FOLDER, PLUGIN
from tools.mutation.__main__ import COMMANDS as MORE
from tools.mutation.campaign import campaign_scenario
from tools.mutation.catalogue import CATALOGUE, ENTRY_POINTS, MUTANTS, entry_points

PLAIN = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
"""An environment in which no plug-in is found."""

BUG = "refund-forgotten"
SHORT = ("--set", "run.until_height=3", "--set", f"mutants.{BUG}=[0,1,2,3]", "--runs", "runs")
NAMED = ("--set", f'plugins=["{PLUGIN}"]')


def run(tmp_path, *words):
    """Run a command of the clone in a folder of its own: `run_cluster.py`, or a module of tools."""
    environment = {**PLAIN, "PYTHONPATH": str(PROJECT_ROOT)}
    return subprocess.run(
        [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )


SCRIPT = (str(PROJECT_ROOT / "run_cluster.py"),)
TOOL = ("-m", "tools.mutation")


def test_the_entry_points_are_the_mutants_of_the_files():
    """`python -m tools.mutation.catalogue` writes them."""
    assert ENTRY_POINTS.read_text().splitlines() == list(entry_points())
    assert len(MUTANTS) == len(CATALOGUE) == len(TEACHING) + len(list(entry_points())) - 1


def test_about_twenty_mutants_teach_each_cause_and_each_area():
    assert 15 <= len(TEACHING) <= 25
    # Our own engine has one answer to a request: only an application has the last cause.
    assert {each.cause for each in TEACHING.values()} == {*Cause.__args__, None} - {"not deterministic"}
    assert {each.area for each in TEACHING.values()} == {each.area for each in MUTANTS}
    assert {on_all for each in TEACHING.values() for on_all in [each.on_all]} == {True, False}


FAMILIES = {
    "agreement": ("certificates", "agreement"),
    "equal roots": ("equal-roots",),
    "oracle": ("oracle", "supply", "budgets"),
    "timers": ("timer-delivery",),
    "storm": ("storm-accounting",),
    "consensus": ("consensus", "leaders"),
    "durability": ("write-ahead",),
    "memory": ("live-values", "operation-log"),
    "service": ("inclusion", "refusals"),
    "liveness": ("finality-regained",),
    "test bed": ("audit", "determinism"),
}
"""By the question that a family of checks answers, checks of it."""


@pytest.mark.parametrize("family", FAMILIES)
def test_a_teaching_mutant_is_there_for_each_family_of_checks(family):
    assert [name for name, each in TEACHING.items() if {*each.kills} & {*FAMILIES[family]}]


def test_shipped_scenarios_need_no_catalogue():
    scenarios = [load_scenario(str(path)) for path in scenario_paths()]

    assert [each.name for each in scenarios if {*each.mutants} - {*TEACHING} or PLUGIN in each.plugins] == []
    assert {name for each in scenarios for name in each.mutants} == {
        "refund-rounded-down",
        "leader-for-two-views",
        "offers-not-all",
    }


@pytest.mark.parametrize(("name", "plugins"), [(BUG, (PLUGIN,)), ("tip-burned", ())])
def test_a_scenario_of_the_campaign_names_the_plugin_that_it_needs(name, plugins):
    assert campaign_scenario(CATALOGUE[name], 1).plugins == plugins


@pytest.mark.long
@pytest.mark.soak
def test_the_tool_runs_explains_and_replays_a_record_that_names_it(tmp_path):
    done = run(tmp_path, *TOOL, "run", "calm", *SHORT, *NAMED, "--quiet")
    explained = run(tmp_path, *TOOL, "explain", "runs/calm-0")
    replayed = run(tmp_path, *TOOL, "replay", "runs/calm-0", "--json")
    without = run(tmp_path, *SCRIPT, "replay", "runs/calm-0")

    assert done.returncode == 1, done.stderr
    assert "-m tools.mutation run calm" in done.stdout
    assert "cause: execution" in explained.stdout, explained.stderr
    checks = {check["name"]: check["status"] for check in json.loads(replayed.stdout)["checks"]}
    assert checks["replay"] == "passed"
    assert (without.returncode, without.stderr.count("\n")) == (2, 1)
    assert f"no plug-in named {PLUGIN} is installed" in without.stderr
    assert "`python -m tools.mutation COMMAND` runs with it" in without.stderr


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (
            SCRIPT,
            f"the plug-in {PLUGIN} has many more; in a clone of the repository `python -m tools.mutation",
        ),
        (TOOL, f"is a known bug of the plug-in {PLUGIN}: add this plug-in to the scenario's plugins"),
    ],
)
def test_a_mutant_of_the_catalogue_without_the_plugin_names_it(program, words, tmp_path):
    done = run(tmp_path, *program, "run", "calm", *SHORT)

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"mutants.{BUG}: " in done.stderr
    assert words in done.stderr


@pytest.mark.parametrize("command", ["mutants", "scan", "teeth"])
@pytest.mark.parametrize("option", ["--help", "--json", "--only"])
def test_a_command_that_has_moved_says_where(command, option, capsys):
    assert main([command, option]) == 2
    now = "scan" if command == "scan" else "mutants"
    assert capsys.readouterr() == ("", f"run_cluster.py: {command} is a tool now: python -m tools.mutation {now}\n")


def test_in_the_wheel_it_says_how_to_run_a_known_bug(capsys, monkeypatch):
    monkeypatch.setattr("cluster.cli.main.IS_INSTALLED", True)

    assert main(["mutants"]) == 2
    assert "stampede run SCENARIO --set mutants.NAME=[0,1,2,3] runs a known bug" in capsys.readouterr().err


def test_the_help_has_the_commands_of_the_tool_in_the_tool_alone(capsys):
    for run_main, lists in ((main, False), (tool_main, True)):
        with pytest.raises(SystemExit):
            run_main(["--help"])
        assert ("run known bugs one by one" in capsys.readouterr().out) is lists
    assert not COMMANDS.keys() & MORE.keys()


def test_the_tool_puts_the_plugin_behind_all_else_on_the_path():
    assert sys.path.index(FOLDER) > sys.path.index(str(PROJECT_ROOT))
    assert os.environ["PYTHONPATH"].split(os.pathsep)[-1] == FOLDER
