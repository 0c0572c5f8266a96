"""The cost of a plan, estimated before anything is built."""

import msgspec
import pytest

from cluster.runtime.cluster import Cluster, RunHooks
from cluster.scenario.cost import cost_warnings, estimate_cost, refuse_impossible
from cluster.scenario.load import load_scenario, scenario_paths
from cluster.scenario.messages import ScenarioError
from cluster.swarm.generator import draw_scenario
from cluster.workloads.planned import transactions_of


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
    """Every shipped scenario runs on a small machine."""
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
    """The plain data is the output of `check --json`."""
    assert "events" in msgspec.json.decode(msgspec.json.encode(cost_of()[1]._asdict()))


def edgy(fault):
    """Return calm with a fault of 10^8 ms, and its cost."""
    return cost_of(
        f"faults.edgy={{{fault}, start_ms=0, stop_ms=100_000_000}}", "run.time_limit_ms=200_000_000", name="calm"
    )


@pytest.mark.parametrize(
    ("fault", "on", "off"),
    [
        ('kind="flapping", groups=[[3], [0, 1, 2]]', "cut_ms", "open_ms"),
        ('kind="isolate-leader"', "cut_ms", "open_ms"),
        ('kind="pause", validator=3', "pause_ms", "run_ms"),
    ],
)
def test_a_fault_with_a_hundred_million_edges_is_warned_of(fault, on, off):
    """Each edge is an event of the supervisor, and waits in memory."""
    scenario, cost = edgy(f"{fault}, {on}=1, {off}=1")
    _, seldom = edgy(f"{fault}, {on}=50_000, {off}=50_000")

    warnings = " ".join(cost_warnings(scenario, cost))

    assert cost.events - seldom.events > 99_000_000
    assert cost.seconds > seldom.seconds + 1_000
    assert all(word in warnings for word in ("may take", "of memory", "run.step_limit"))


def test_a_storm_of_restarts_beyond_a_day_is_refused():
    """A start costs many times what an edge does."""
    scenario, cost = edgy('kind="restart-storm", every_ms=[1, 1], down_ms=[1, 1]')

    with pytest.raises(ScenarioError, match="costs too much"):
        refuse_impossible(scenario, cost)


@pytest.mark.parametrize("name", ["flapping-leader", "restart-storm", "wrong-clocks"])
def test_the_edges_that_are_counted_are_about_those_there_are(name):
    """Within a factor of two."""
    scenario = load_scenario(name)
    cluster, seen = Cluster(scenario, 0), []
    cluster.hooks = RunHooks(on_event=lambda event: seen.append(event.kind))
    cluster.run()
    faults = scenario.faults.values()

    counted = sum(fault.moments() + 2 * fault.outages(scenario.replicas) for fault in faults)

    assert counted / 2 <= seen.count("fault") <= 2 * counted


@pytest.mark.parametrize(
    ("setting", "warned"),
    [
        ("chain.slot_ms=100_000", ["no timer of workload pulse comes due: the first is for slot 1, the run ends at 0"]),
        ("workload.pulse.interval_slots=20", []),
        (
            "workload.pulse.interval_slots=21",
            ["no timer of workload pulse comes due: the first is for slot 21, the run ends at 20"],
        ),
    ],
)
def test_a_workload_of_which_nothing_comes_due_is_named(setting, warned):
    scenario = load_scenario("calm", [setting])

    assert list(cost_warnings(scenario, estimate_cost(scenario))) == warned
