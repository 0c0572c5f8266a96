"""Checks of other packages: added by name, made in the runs whose scenario names the plug-in, and held to the rules."""

import tomllib

import pytest

from checker.checks import CHECKS, DuplicateCheckError, with_plugins
from cluster.scenario.load import convert_scenario
from cluster.scenario.messages import ScenarioError
from tests.support.checks import finish, make_run
from tests.support.cluster_runs import judge_in_process
from tests.support.examples import blocks_of, scenario_of
from tests.support.plugins import install_module

ENTRIES = {"checks": {"finality-lag": "punctual:FinalityLag"}}


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    """The classes of the page, in a package that is installed."""
    source = "\n".join(blocks_of("check.md", "python"))
    return install_module(tmp_path, monkeypatch, "punctual", source, ENTRIES)


@pytest.fixture
def check(module):
    return module.FinalityLag


def convert(**changes):
    """Convert the page's scenario."""
    return convert_scenario({**scenario_of("check.md"), "run": {"until_height": 6}, **changes}, "on-time.toml")


def test_the_example_of_the_page_passes_behind_all_others():
    last = judge_in_process(convert()).checks[-1]

    assert (last.name, last.status) == ("finality-lag", "passed")


def test_the_example_fails_over_the_outage_of_the_page():
    outage = tomllib.loads(blocks_of("check.md", "toml")[1])
    found = judge_in_process(convert(**outage, expect={"fails": ["finality-lag"]}))

    assert found.verdict == "failed as expected"
    assert "validator 3 finalized height" in found.checks[-2].summary


def test_the_example_is_inconclusive_where_nothing_happened(check):
    assert finish(check(make_run())).status == "inconclusive"


def test_a_scenario_that_names_no_plugin_has_no_such_check():
    with pytest.raises(ScenarioError, match="'finality-lag' is no check that can fail"):
        convert(plugins=[], expect={"fails": ["finality-lag"]})


def test_checks_of_plugins_stand_behind_all_others_by_name(check):
    class Again(check):
        """The same under another name."""

        name = "early"

    assert with_plugins([check, Again]) == (*CHECKS, Again, check)


@pytest.mark.parametrize("taken", ["supply", "determinism"])
def test_a_name_that_a_result_has_already_is_refused(check, taken):
    class Another(check):
        """The same under a name that is taken."""

        name = taken

    with pytest.raises(DuplicateCheckError, match=f"two checks are named {taken}"):
        with_plugins([Another])
