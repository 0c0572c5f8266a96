"""The cost of a plan, estimated before anything is built."""

from typing import Final

import msgspec
import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.cost import cost_warnings, estimate_cost, refuse_impossible
from cluster.scenario.load import load_scenario, scenario_paths
from cluster.scenario.messages import ScenarioError
from cluster.swarm.generator import draw_scenario
from cluster.workloads.planned import transactions_of
from tests.support.keystones import third_of


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

    # Without its drain the run is shorter too, and heartbeats are fewer.
    assert 24 * 900 <= cost.timers - without.timers < 24 * 950


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


@pytest.mark.parametrize("name", third_of(["flapping-leader", "restart-storm", "wrong-clocks"]))
@pytest.mark.soak
def test_the_edges_that_are_counted_are_about_those_there_are(name):
    """Within a factor of two."""
    scenario = load_scenario(name)
    cluster, seen = Cluster(scenario, 0), []
    cluster.hooks = RunHooks(on_event=lambda event: seen.append(event.kind))
    cluster.run()
    faults = scenario.faults.values()

    counted = sum(fault.moments() + 2 * fault.outages(scenario.replicas) for fault in faults)

    assert counted / 2 <= seen.count("fault") <= 2 * counted


def late_names(*settings, name="calm"):
    """Return the workloads that the warnings name as without a timer that comes due."""
    scenario = load_scenario(name, settings)
    warnings = cost_warnings(scenario, estimate_cost(scenario))
    return [warning.split()[4] for warning in warnings if "comes due" in warning]


@pytest.mark.parametrize(
    ("setting", "warned"),
    [
        ("chain.slot_ms=100_000", "the first could at slot 1, the run ends at 0"),
        ("workload.pulse.interval_slots=20", ""),
        ("workload.pulse.interval_slots=21", "the first could at slot 21, the run ends at 20"),
    ],
)
def test_a_workload_of_which_nothing_comes_due_is_named(setting, warned):
    scenario = load_scenario("calm", [setting])
    expected = [f"no timer of workload pulse comes due or leaves: {warned}"] if warned else []

    assert list(cost_warnings(scenario, estimate_cost(scenario))) == expected


STORM = "actors=2, timers_per_actor=3, spread_slots=1, ttl_slots=2"


@pytest.mark.parametrize(
    ("keys", "is_warned"),
    [
        ("first_slot=20", False),
        ("first_slot=21", True),
        ("first_slot=4, start_ms=21_000", True),
        ("first_slot=21, may_be_idle=true", False),
        ("first_slot=21, cancel_ms=9_000, cancels_per_actor=1", False),
        ("first_slot=21, cancel_ms=21_000, cancels_per_actor=1", True),
    ],
)
def test_a_storm_beyond_the_end_is_named_unless_it_is_meant(keys, is_warned):
    """The heartbeats beside it come due."""
    assert late_names(f'workload.late={{kind="storm", {STORM}, {keys}}}') == ["late"] * is_warned


@pytest.mark.parametrize(
    "keys",
    [
        'kind="heartbeats", actors=1',
        'kind="games", games=1',
        'kind="liquidations", bots=1',
        'kind="oracle-feeds", feeds=1',
        'kind="subscriptions", subscriptions=1',
    ],
)
def test_actors_that_schedule_themselves_late_are_named(keys):
    """Governance is no excuse: it cancels no timer of theirs."""
    council = 'workload.council={kind="governance", actions=[{do="configure", at_ms=9_000, set={cancel_cycles=205}}]}'

    assert late_names(council, f"workload.late={{{keys}, interval_slots=18, start_ms=2_000}}") == []
    assert late_names(council, f"workload.late={{{keys}, interval_slots=19, start_ms=2_000}}") == ["late"]
    assert late_names(council, f"workload.late={{{keys}, interval_slots=19, start_ms=2_000, enabled=false}}") == []


@pytest.mark.parametrize(
    ("keys", "is_warned"),
    [
        ("write_ms=18_000", False),
        ("write_ms=19_000", True),
        ("write_ms=19_000, cancel_ms=9_000", True),
        ("write_ms=19_000, cancel_ms=9_000, cancels=1", False),
        ("write_ms=9_000, writes=0", True),
        ("write_ms=19_000, ttl_slots=18", False),
    ],
)
def test_watchers_of_values_that_change_late_are_named(keys, is_warned):
    late = f'workload.late={{kind="watchers", actors=1, start_ms=2_000, {keys}}}'

    assert late_names(late) == ["late"] * is_warned


def test_a_storm_that_governance_may_cancel_is_named_only_alone():
    council = 'workload.council={kind="governance", actions=[{do="cancel", at_ms=9_000, workload="late"}]}'
    late = f'workload.late={{kind="storm", {STORM}, first_slot=21}}'

    assert late_names(council, late) == []
    assert late_names(council, late, "workload.council.enabled=false") == ["late"]
    assert late_names(council, late, "workload.pulse.interval_slots=21") == ["pulse", "late"]


def test_a_run_until_its_timers_are_drained_has_no_late_ones():
    late = f'workload.late={{kind="storm", {STORM}, first_slot=21}}'

    assert late_names(late, "run.until_drained=true") == []


def test_a_late_storm_is_counted_in_heights_where_the_chain_is():
    """Twenty blocks of half a second are ten slots."""
    late, fast = f'workload.late={{kind="storm", {STORM}, first_slot=11}}', "chain.block_interval_ms=500"

    assert late_names(late, fast) == ["late"]
    assert late_names(late, fast, 'chain.timebase="height"') == []


def test_the_time_after_the_last_fault_belongs_to_the_run():
    """Its blocks come without a goal."""
    late = f'workload.late={{kind="storm", {STORM}, first_slot=40}}'
    cut = 'faults.cut={kind="partition", groups=[[0, 1], [2, 3]], start_ms=1_000, stop_ms=21_000}'

    assert late_names(late) == ["late"]
    assert late_names(late, cut) == []


BLOCKS: Final = {
    "outage-storm": 90,
    "calm": 20,
    "all-roads": 30,
    "clock-storm": 34,
    "deep-reorg": 47,
    "deep-rewind": 25,
    "deep-reorg-longest": 80,
    "hotstuff-halves": 8,
    "hotstuff-one-ahead": 16,
    "lossy": 12,
    "minority-isolated": 40,
    "mixed-trouble": 30,
    "restart-storm": 30,
    "resume-in-waves": 41,
    "snapshot-join-during-storm": 46,
}
"""Final blocks of recorded runs with seed 0; `tests/test_scenarios.py` compares all scenarios with their runs."""


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_foreseen_within_a_factor_of_two(name):
    _, cost = cost_of(name=name)

    assert BLOCKS[name] / 2 <= cost.blocks <= 2 * BLOCKS[name]


@pytest.mark.parametrize(("engine", "blocks"), [("simplex", 32), ("hotstuff", 32), ("longest-chain", 21)])
@pytest.mark.parametrize("one_way", ["false", "true"])
def test_a_partition_costs_the_blocks_of_its_time(engine, blocks, one_way):
    """Their runs make 31, 30 and 21, either way."""
    span = f"start_ms=30_000, stop_ms=40_000, one_way={one_way}"
    split = f'faults.split={{kind="partition", groups=[[0, 1], [2, 3]], {span}}}'
    _, cost = cost_of("run.until_height=1", f"consensus.engine={engine}", split, name="calm")

    assert cost.blocks == blocks
