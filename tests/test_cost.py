"""The cost of a plan, estimated before anything is built."""

import msgspec
import pytest

from cluster.cost import cost_warnings, estimate_cost, refuse_impossible
from cluster.scenario import ScenarioError, load_scenario, scenario_paths
from cluster.swarm import draw_scenario
from cluster.workload import transactions_of


def cost_of(*settings, name="outage-storm"):
    scenario = load_scenario(name, settings)
    return scenario, estimate_cost(scenario)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (["workload.storm.timers_per_actor=100_000_000"], "costs too much"),
        (["run.until_height=1_000_000_000_000_000_000"], "run.time_limit_ms allows for 600 blocks"),
        (["workload.storm.timers_per_actor=1_000_000", "workload.storm.payload_bytes=60_000"], "costs too much"),
    ],
)
def test_a_plan_that_no_machine_finishes_is_refused(settings, reason):
    """Timers by the hundred million, a height beyond the time limit, payloads by the terabyte."""
    scenario, cost = cost_of(*settings)

    with pytest.raises(ScenarioError, match=reason):
        refuse_impossible(scenario, cost)


def test_ten_gigabytes_of_payload_are_warned_of():
    """Each replica keeps what it is given."""
    settings = ["timers_per_actor=7_000", "payload_bytes=60_000"]
    scenario, cost = cost_of(*(f"workload.storm.{setting}" for setting in settings))

    assert cost.payload_bytes > 10_000_000_000
    assert any("GiB of memory" in warning for warning in cost_warnings(scenario, cost))


def test_a_workload_that_is_switched_off_costs_nothing():
    """The estimate is of the run, not of the file."""
    _, cost = cost_of()
    _, without = cost_of("workload.storm.enabled=false")

    assert cost.timers - without.timers == 24 * 900


@pytest.mark.parametrize("path", scenario_paths(), ids=lambda path: path.stem)
def test_no_shipped_scenario_is_refused_or_warned_of(path):
    """What comes with the project runs on a small machine."""
    scenario = load_scenario(str(path))
    cost = estimate_cost(scenario)

    refuse_impossible(scenario, cost)

    assert list(cost_warnings(scenario, cost)) == []


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_the_estimate_counts_at_least_the_transactions_there_are(seed):
    """The volume of each workload kind against what it really submits, within a factor of three above."""
    scenario = draw_scenario(seed)
    real = len(transactions_of(scenario))

    assert real <= estimate_cost(scenario).transactions <= 3 * real + 60


def test_the_estimate_is_plain_data():
    """What `check --json` prints."""
    assert "events" in msgspec.json.decode(msgspec.json.encode(cost_of()[1]._asdict()))
