"""The listed bugs do what `curve` is measured by: some fail by chance, and some in every seed."""

import os

import pytest

from cluster.campaign.tasks import Task, run_task
from cluster.scenario.load import encode_scenario, load_scenario
from tests.causality.cases import ALWAYS, BASE, PLUGIN, TRIGGERED, always

pytestmark = pytest.mark.soak


@pytest.fixture(autouse=True)
def plugin_on_the_path(monkeypatch):
    """The plug-in of the bugs, for this process and for the fresh process of the replay."""
    monkeypatch.syspath_prepend(str(PLUGIN))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PLUGIN), os.environ.get("PYTHONPATH", "")]))


def verdict_of(scenario, seed):
    return run_task(Task(encode_scenario(scenario), seed)).verdict


@pytest.mark.parametrize("case", TRIGGERED, ids=lambda case: case.name)
def test_a_triggered_bug_fails_in_its_seed_and_passes_in_another(case):
    other = [verdict_of(case.scenario(), seed) for seed in range(8) if seed != case.seed]

    assert verdict_of(case.scenario(), case.seed) == "safety"
    assert "passed" in other


@pytest.mark.parametrize("name", ALWAYS)
@pytest.mark.parametrize("seed", [0, 7])
def test_a_bug_that_needs_no_chance_fails_in_every_seed(name, seed):
    assert verdict_of(load_scenario(BASE, always(name)), seed) in {"safety", "liveness"}
