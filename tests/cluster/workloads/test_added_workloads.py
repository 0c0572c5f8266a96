"""Workloads of other packages: added by name, decoded where the scenario names the plug-in, run and judged."""

import msgspec
import pytest

from cluster.scenario.defaults import without_defaults
from cluster.scenario.load import convert_scenario, encode_scenario
from cluster.scenario.messages import ScenarioError
from cluster.workloads.registry import WORKLOADS
from cluster.workloads.submission import WorkloadKind
from tests.support.cluster_runs import judge_in_process
from tests.support.examples import blocks_of, scenario_of
from tests.support.plugins import install_module

ENTRIES = {"workloads": {"salaries": "salaries:Salaries"}}


@pytest.fixture(autouse=True)
def salaries(tmp_path, monkeypatch):
    """The class of the page, in a package that is installed."""
    monkeypatch.setattr(WORKLOADS, "_known", dict(WORKLOADS._known))
    source = "\n".join(blocks_of("workload.md", "python"))
    return install_module(tmp_path, monkeypatch, "salaries", source, ENTRIES).Salaries


def convert(**changes):
    """Convert the page's scenario."""
    raw = {**scenario_of("workload.md"), "run": {"until_height": 6}, **changes}
    return convert_scenario(raw, "payday.toml")


def test_the_example_of_the_page_passes():
    found = judge_in_process(convert(requires=["payday"]))

    effective = next(check for check in found.checks if check.name == "workloads-effective")
    assert (found.verdict, effective.summary.rpartition(": ")[2]) == ("passed", "payday 6")


def test_a_workload_without_effect_is_inconclusive():
    assert judge_in_process(
        convert(workload={"late": {"kind": "salaries", "workers": 1, "start_ms": 10**6}})
    ).verdict == ("inconclusive")


def test_the_scenario_is_written_and_read_back():
    scenario = convert()

    plain = msgspec.json.decode(encode_scenario(scenario))

    assert convert_scenario(plain, "again") == scenario
    assert without_defaults(plain)["workload"] == {"payday": {"kind": "salaries", "workers": 3}}


def test_a_scenario_that_names_no_plugin_does_not_know_the_kind():
    listed = r"\(did you mean lines\?\); the kinds are application, boundary-cases"
    with pytest.raises(ScenarioError, match=rf"workload\.payday\.kind: Invalid value 'salaries' {listed}"):
        convert(plugins=[])


def test_a_value_out_of_range_is_refused_with_its_key():
    with pytest.raises(ScenarioError, match=r"workload\.payday\.workers: Expected `int` >= 1"):
        convert(workload={"payday": {"kind": "salaries", "workers": 0}})


def test_a_plugin_that_is_not_installed_is_refused():
    with pytest.raises(ScenarioError, match="plugins: "):
        convert_scenario(scenario_of("workload.md") | {"plugins": ["not-there"]}, "payday.toml")


class TestAddWorkload:
    def test_adding_a_kind_twice_changes_nothing(self, salaries):
        WORKLOADS.add(salaries, plugin="salaries")
        WORKLOADS.add(salaries, plugin="salaries")

        assert WORKLOADS.kinds(["salaries"])[-1] is salaries
        assert salaries not in WORKLOADS.kinds()

    @pytest.mark.parametrize("name", ["storm", "salaries"])
    def test_a_name_that_is_taken_is_refused(self, name, salaries):
        WORKLOADS.add(salaries, plugin="salaries")

        class Other(WorkloadKind, tag=name, frozen=True, kw_only=True):
            """Another kind of that name."""

        with pytest.raises(ValueError, match=f"'{name}' of other is a kind of"):
            WORKLOADS.add(Other, plugin="other")

    @pytest.mark.parametrize("kind", [WorkloadKind, int, "Salaries"])
    def test_what_is_no_kind_is_refused(self, kind):
        with pytest.raises(ValueError, match="is no kind of workload"):
            WORKLOADS.add(kind, plugin="other")
