"""The lists of scenarios by policy, on the page and of `make soak`, are of scenarios that load."""

import pytest

from cluster.authoring.policies_page import PROMISES, letter_of, verdicts
from cluster.scenario.load import load_scenario
from tests.soak import plan_of
from tests.support.replica_modes import MODES, RUNS


@pytest.fixture(scope="module")
def rows():
    return dict(verdicts())


def test_a_refusal_without_a_reason_has_no_place_on_the_page():
    with pytest.raises(LookupError, match="no reason for"):
        letter_of("chain.policy: it rains")


@pytest.mark.parametrize("policy", PROMISES)
def test_what_differs_is_said_of_scenarios_that_load(policy, rows):
    assert [name for name in PROMISES[policy] if rows[name][policy] != "runs"] == []


@pytest.mark.parametrize(("name", "settings"), RUNS)
def test_a_run_in_every_mode_is_a_sound_scenario(name, settings):
    scenario = load_scenario(name, settings)

    modes = load_scenario("all-roads").observers.values()
    assert {type(mode) for mode in modes} <= {type(mode) for mode in scenario.observers.values()}
    assert len(scenario.observers) == len(MODES) == len(modes)


@pytest.mark.soak
def test_a_soak_of_policies_runs_each_scenario_that_loads(rows):
    planned = [(each.scenario, each.settings[0]) for each in plan_of("policies", ())]

    expected = [
        (name, f"chain.policy={policy}") for name, row in rows.items() for policy in PROMISES if row[policy] == "runs"
    ]
    assert planned == expected
