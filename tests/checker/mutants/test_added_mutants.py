"""Mutants of other packages, first the example of docs/extend/mutant.md: scenarios name their plug-in."""

import tomllib

import pytest

from cluster.scenario.load import convert_scenario
from cluster.scenario.messages import ScenarioError
from tests.support.cluster_runs import judge_in_process
from tests.support.examples import blocks_of
from tests.support.plugins import install_module, write_distribution

NAME = "last-scheduled-first"
SOURCE = "\n".join(blocks_of("mutant.md", "python"))
PROJECT, SCENARIO = map(tomllib.loads, blocks_of("mutant.md", "toml"))
ENTRIES = {"mutants": PROJECT["project"]["entry-points"]["stampede_testbed.mutants"]}

PLAIN = """
from stampede_testbed.plugin.mutants import mutant
from scheduler.policies import fifo

@mutant((fifo, "classify"), area="scheduler", kills=("oracle",))
def {name}(classify):
    '''No timer ever fires, as of an error.'''
    def classify_nothing(*_given, **_named):
        raise ValueError("there is nothing")
    return classify_nothing

def no_mutant(classify):
    return classify
"""

CONSTANT = """
from stampede_testbed.plugin.mutants import mutant
from validators.execution import phases

@mutant((phases, "__doc__"), area="execution", kills=("oracle",))
def other_text(_text):
    '''A text is another.'''
    return "another"
"""


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """The mutants of this process as they are without those of a test."""
    from checker.mutants import registry

    for name in ("_MUTANTS", "_PLUGINS"):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    monkeypatch.setattr(registry, "MUTANTS", registry._MUTANTS)
    monkeypatch.setattr("checker.mutants.placed.MUTANTS", registry._MUTANTS)


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Return what installs a package of one module for the test."""

    def install_one(source, entries):
        return install_module(tmp_path, monkeypatch, "backwards", source, {"mutants": entries})

    return install_one


def convert(**changes):
    return convert_scenario({**SCENARIO, **changes}, "backwards.toml")


def refusal_of(**changes):
    with pytest.raises(ScenarioError) as refused:
        convert(**changes)
    return str(refused.value)


def test_the_example_of_the_page_fails_as_the_page_says(install):
    install(SOURCE, ENTRIES["mutants"])
    result = judge_in_process(convert())

    assert result.verdict == "failed as expected"
    assert "timer-delivery" in [check.name for check in result.checks if check.status == "failed"]


def test_a_scenario_without_the_plugin_is_told_which_one_it_needs(install):
    """Whether or not another scenario of the process has loaded it."""
    install(SOURCE, ENTRIES["mutants"])
    words = f"mutants.{NAME}: is a known bug of the plug-in backwards: add this plug-in to the scenario's plugins"

    assert words in refusal_of(plugins=[])
    convert()
    assert words in refusal_of(plugins=[])


def test_a_mutant_whose_target_is_gone_is_refused_with_the_target(install):
    with pytest.raises(LookupError):
        install(SOURCE.replace('"classify"', '"classified"'), ENTRIES["mutants"])

    said = refusal_of()
    assert "backwards: backwards:last_scheduled_first cannot be loaded: " in said
    assert "MissingTargetError" in said
    assert "scheduler.policies.fifo has no 'classified' of its own to be replaced" in said


@pytest.mark.parametrize(
    ("entry", "function", "words"),
    [
        ("fires-last", "fires_late", "the entry point 'fires-last' of backwards names 'fires-late': both must be"),
        ("fires-late", "no_mutant", "of backwards is no mutant: the decorator `mutant` makes one"),
        ("tip-burned", "tip_burned", "mutant 'tip-burned' of backwards is a mutant of the test bed already"),
    ],
)
def test_what_is_no_mutant_of_its_name_is_refused(entry, function, words, install):
    name = "fires_late" if function == "no_mutant" else function
    install(PLAIN.format(name=name), {entry: f"backwards:{function}"})

    assert words in refusal_of(mutants={})


def test_a_name_of_another_plugin_is_refused_with_that(install, tmp_path):
    install(PLAIN.format(name="fires_late"), {"fires-late": "backwards:fires_late"})
    (tmp_path / "once_more.py").write_text(PLAIN.format(name="fires_late"))
    write_distribution(tmp_path, "once-more", {"mutants": {"fires-late": "once_more:fires_late"}})

    said = refusal_of(mutants={}, plugins=["backwards", "once-more"])
    assert "mutant 'fires-late' of once-more is a mutant of backwards already" in said


def test_an_error_of_a_mutant_is_its_validators_own(install):
    """The run goes on and is judged: nobody blames the plug-in."""
    install(PLAIN.format(name="fires_late"), {"fires-late": "backwards:fires_late"})
    result = judge_in_process(convert(mutants={"fires-late": [1]}, expect={}, run={"until_height": 4}))

    assert result.verdict in {"safety", "liveness"}
    assert "plug-ins" not in [check.name for check in result.checks]
    assert "plug-in" not in result.headline


def test_a_constant_has_no_height_from_which_it_is_replaced(install):
    install(CONSTANT, {"other-text": "backwards:other_text"})

    said = refusal_of(mutants={"other-text": [0]}, mutants_from_height={"other-text": 3})
    assert "mutants_from_height.other-text: replaces validators.execution.phases.__doc__, which is no function" in said
