"""Mutants that are in place from a height on."""

import json
from types import SimpleNamespace

import pytest

from checker.mutants.mutant import Gated, Swaps
from cluster.cli.main import main
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from tests.support.cluster_runs import result_of


class Clerk:
    """Says what a replacement changes."""

    def said(self):
        return "before"

    @property
    def name(self):
        return "before"


def test_the_failure_names_the_height_that_the_bug_came_at(tmp_path, capsys):
    result = result_of("bug-from-a-height", runs=tmp_path)
    assert main(["explain", "--json", str(result.directory)]) == 0

    explained = json.loads(capsys.readouterr().out)
    assert (result.verdict, explained["height"]) == ("failed as expected", 5)


def test_a_mutant_whose_height_is_never_reached_is_idle():
    result = result_of("bug-from-a-height", "mutants_from_height.refund-rounded-down=9", "expect.fails=[]")

    assert (result.verdict, result.headline.split(": ")[0]) == ("inconclusive", "test-bed/mutants-effective")


@pytest.mark.parametrize("named", ["said", "name"])
def test_a_gated_replacement_is_in_place_while_its_gate_is_open(named):
    gate = SimpleNamespace(is_open=False)
    after = (lambda _self: "after") if named == "said" else property(lambda _self: "after")
    swaps = Swaps([(Clerk, named, Gated(after, lambda: gate.is_open))])

    def read():
        with swaps:
            value = getattr(Clerk(), named)
            return value() if callable(value) else value

    assert (read(), swaps.is_called) == ("before", False)
    gate.is_open = True
    assert (read(), swaps.is_called, read()) == ("after", True, "after")
    gate.is_open = False
    assert read() == "before"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (("mutants={}",), "mutants_from_height.refund-rounded-down: is no mutant of this scenario"),
        (("mutants_from_height.refund-rounded-down=0",), "mutants_from_height.refund-rounded-down"),
    ],
)
def test_a_height_of_no_mutant_is_refused(settings, reason):
    with pytest.raises(ScenarioError, match=reason):
        load_scenario("bug-from-a-height", settings)


def test_a_height_of_a_mutant_is_refused_beside_an_application():
    with pytest.raises(ScenarioError, match="heights of the project's own execution"):
        load_scenario("application/outage", ("mutants_from_height={refund-rounded-down=3}",))
