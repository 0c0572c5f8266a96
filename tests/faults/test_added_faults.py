"""Faults of other packages: added by name, decoded where the scenario names the plug-in, injected, counted, judged."""

import msgspec
import pytest

from cluster.campaign.fewer_validators import with_validators
from cluster.cli.commands.runs.check import explain_plan
from cluster.cli.main import main
from cluster.scenario.defaults import without_defaults
from cluster.scenario.load import convert_scenario, encode_scenario
from cluster.scenario.messages import ScenarioError
from faults import FAULTS
from faults.kinds.base import Fault, Windowed
from faults.kinds.registry import decode_fault
from tests.support.cluster_runs import check_named, judge_in_process
from tests.support.examples import blocks_of, scenario_of
from tests.support.plugins import install_module

IDLE = """
class Idle(Deaf, tag="idle", frozen=True, kw_only=True):
    '''A fault that begins and ends, and does nothing in between.'''

    def inject(self, context):
        yield from context.metered_window(self.span(), list, list, meter=lambda _node: 0, nodes=self.targets())
"""
ENTRIES = {"faults": {"deaf": "deaf:Deaf", "idle": "deaf:Idle"}}


@pytest.fixture(autouse=True)
def deaf(tmp_path, monkeypatch):
    """The class of the page, in a package that is installed."""
    monkeypatch.setattr(FAULTS, "_known", dict(FAULTS._known))
    source = "\n".join([*blocks_of("fault.md", "python"), IDLE])
    return install_module(tmp_path, monkeypatch, "deaf", source, ENTRIES).Deaf


def convert(**changes):
    """Convert the page's scenario."""
    raw = {**scenario_of("fault.md"), "run": {"until_height": 6}, **changes}
    return convert_scenario(raw, "deaf.toml")


def test_the_example_of_the_page_takes_effect():
    found = judge_in_process(convert())

    assert (found.verdict, found.figures["fault_deaf-3"] > 10) == ("passed", True), found.headline
    assert check_named(found, "faults-effective").status == "passed"
    assert check_named(found, "audit").summary.endswith("; not audited: links from 2,000,000 us on (fault deaf-3)")


def test_a_fault_without_effect_is_inconclusive():
    idle = {"deaf-3": {**scenario_of("fault.md")["faults"]["deaf-3"], "kind": "idle"}}

    found = judge_in_process(convert(faults=idle))

    assert (found.verdict, check_named(found, "faults-effective").status) == ("inconclusive", "inconclusive")


def test_the_scenario_is_written_and_read_back():
    scenario = convert()

    plain = msgspec.json.decode(encode_scenario(scenario))

    assert convert_scenario(plain, "again") == scenario
    assert without_defaults(plain)["faults"] == scenario_of("fault.md")["faults"]


def test_the_plan_is_explained_in_its_sentence():
    (explained,) = explain_plan(convert())

    assert explained.sentence == "From 2 s to 6 s validator 3 hears nothing."


def test_the_command_lists_it_where_the_plugin_is_named(capsys):
    assert main(["faults", "deaf"]) == 2
    assert main(["faults", "deaf", "--plugin", "deaf"]) == 0
    assert capsys.readouterr().out.startswith("deaf (network): One validator hears nothing")


def test_a_smaller_cluster_renumbers_its_validators():
    plain = msgspec.json.decode(encode_scenario(convert()))

    assert with_validators(plain, 3)["faults"]["deaf-3"]["validator"] == 0


def test_a_scenario_that_names_no_plugin_does_not_know_the_kind():
    with pytest.raises(ScenarioError, match=r"faults\.deaf-3\.kind: Invalid value 'deaf'; the kinds are bit-rot"):
        convert(plugins=[])


def test_a_rule_of_every_fault_holds_for_it_too():
    wrong = {"deaf-3": {"kind": "deaf", "validator": 9, "start_ms": 1, "stop_ms": 5}}

    with pytest.raises(ScenarioError, match=r"faults\.deaf-3: unknown validator 9"):
        convert(faults=wrong)


class TestAddFault:
    def test_adding_a_kind_twice_changes_nothing(self, deaf):
        FAULTS.add(deaf, plugin="deaf")
        FAULTS.add(deaf, plugin="deaf")

        assert deaf in FAULTS.kinds(["deaf"])
        assert deaf not in FAULTS.kinds()

    @pytest.mark.parametrize("name", ["crash", "deaf"])
    def test_a_name_that_is_taken_is_refused(self, name, deaf):
        FAULTS.add(deaf, plugin="deaf")

        class Other(deaf, tag=name, frozen=True, kw_only=True):
            """Another kind of that name."""

        with pytest.raises(ValueError, match=f"'{name}' of other is a kind of"):
            FAULTS.add(Other, plugin="other")

    def test_a_kind_without_inject_does_not_load(self):
        class Mute(Windowed, tag="mute", frozen=True, kw_only=True):
            """A fault that cannot be put to work."""

            def describe(self):
                return "Nothing."

        with pytest.raises(ValueError, match="'mute' of other has no inject"):
            FAULTS.add(Mute, plugin="other")

    @pytest.mark.parametrize("reaches", ["links", ("link",), ("links", 3)])
    def test_a_kind_that_reaches_what_there_is_not_is_refused(self, reaches, deaf):
        other = type("Other", (deaf,), {"reaches": reaches}, tag="other", frozen=True, kw_only=True)

        with pytest.raises(ValueError, match=r"'other' of other reaches .* it must be a tuple of links, power, pace,"):
            FAULTS.add(other, plugin="other")

    @pytest.mark.parametrize("kind", [Fault, int, "Deaf"])
    def test_a_class_that_is_no_kind_is_refused(self, kind):
        with pytest.raises(ValueError, match="is no kind of fault"):
            FAULTS.add(kind, plugin="other")


def test_a_moment_that_no_run_can_reach_is_refused():
    with pytest.raises(msgspec.ValidationError, match="Expected `int` <= "):
        decode_fault({"kind": "crash", "validator": 0, "at_ms": 0, "restart_ms": 1 << 63})
