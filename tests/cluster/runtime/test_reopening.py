"""A data directory that is reopened: at any height, any number of times, with faults past, straddling and future."""

from contextlib import closing, suppress
from itertools import pairwise

import pytest

from checker.checks.faults_effective import FaultsEffective
from checker.expected import Expectations
from checker.record.cold_replay import ColdReplayWorker
from checker.results import CheckResult
from cluster.live.progress import LiveProgress
from cluster.runtime.cluster import Cluster
from cluster.runtime.data_directory import open_data_directory
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from cluster.verdict.beside import COLD_HASH_SEED
from cluster.verdict.pipeline import run_pipeline
from faults import FaultEffect
from faults.events import Crashed, Restarted
from faults.injection.steps import Edge
from faults.kinds.clock import ClockDrift, ClockSwing
from network.clock import ClockSetting, MachineClock
from network.events import events_of_type
from network.outcome import RunFailedError
from tests.support.checks import finish, make_run
from tests.support.cluster_runs import check_named, judge
from tests.support.keystones import first_of, rest_in_soak

CRASH = 'faults.it={kind="crash", validator=1, at_ms=6_300, restart_ms=9_000}'
PARTITION = 'faults.it={kind="partition", groups=[[0, 1], [2, 3]], start_ms=3_000, stop_ms=12_000}'
BLACKOUT = 'faults.it={kind="blackout", validators=[0, 2], at_ms=5_300, restart_ms=7_000, restart_every_ms=3_000}'
STORM = 'faults.it={kind="restart-storm", start_ms=3_000, stop_ms=12_000, every_ms=[900, 900], down_ms=[2_100, 2_100]}'
FLAPPING = (
    'faults.it={kind="flapping", groups=[[0], [1, 2, 3]], start_ms=2_000, stop_ms=12_000, cut_ms=1_500, open_ms=1_500}'
)
DRIFT = 'faults.it={kind="clock-drift", validators=[2], ppm=20_000, start_ms=2_000, stop_ms=12_000}'


class KilledError(Exception):
    """The process ends here."""


def scenario_with(*settings, until=5):
    return load_scenario("calm", ('requires=["it"]', f"run.until_height={until}", *settings))


@pytest.fixture(scope="module")
def run_on():
    """Judge runs on a directory, with one replay process for all of them."""
    worker, quiet = ColdReplayWorker(COLD_HASH_SEED), LiveProgress(title="", is_quiet=True)

    def run(path, scenario):
        data = open_data_directory(path, scenario, 0)
        try:
            return run_pipeline(scenario, 0, runs=None, progress=quiet, data=data, replay=worker.run)
        finally:
            data.close()

    with closing(worker):
        yield run


def kill_at(path, scenario, at_us):
    """Run on a directory until a virtual time, and end without a word; return the events seen."""
    events = []

    def see(event):
        if event.at_us >= at_us:
            raise KilledError
        events.append(event)

    data = open_data_directory(path, scenario, 0)
    with suppress(RunFailedError):
        Cluster(scenario, 0, data=data, hooks=RunHooks(on_event=see)).run()
    data.close()
    return events


def events_after(path, scenario):
    """Go on to the end; return the events."""
    events = []
    data = open_data_directory(path, scenario, 0)
    Cluster(scenario, 0, data=data, hooks=RunHooks(on_event=events.append)).run()
    data.close()
    return events


def moments(events, expected, node):
    return [event.at_us // 1_000 for event, body in events_of_type(events, expected) if body.machine == node]


@pytest.mark.parametrize("until", rest_in_soak([3, 14], [3]))
@pytest.mark.soak
def test_a_finished_run_is_reopened_again_and_again(tmp_path, run_on, until):
    """The views of earlier processes do not count against the later ones: the 2nd, 3rd, 4th and 10th time."""
    scenario = load_scenario("calm", (f"run.until_height={until}",))
    results = []
    for number in range(1, 11):
        if number in {2, 3, 4, 10}:
            results.append(run_on(tmp_path / "data", scenario))
        else:
            events_after(tmp_path / "data", scenario)

    assert [result.verdict for result in results] == ["passed"] * 4, [result.headline for result in results]
    heights = [len(result.chain) for result in results]
    assert all(later >= before + 3 for before, later in pairwise([until, *heights]))


def test_validators_with_a_mutant_are_judged_again(tmp_path, run_on):
    """Blocks that they made final can be executed by their own code only."""
    scenario = load_scenario("broken-refund")
    first, second = (run_on(tmp_path / "data", scenario) for _ in range(2))

    assert (first.verdict, second.verdict) == ("failed as expected", "failed as expected")


@pytest.mark.soak
def test_a_process_has_the_whole_time_limit_for_itself(tmp_path, run_on):
    """However far the chain has come."""
    scenario = load_scenario("calm", ("run.until_height=4", "run.time_limit_ms=6_000"))

    assert [run_on(tmp_path / "data", scenario).verdict for _ in range(3)] == ["passed"] * 3


@pytest.mark.parametrize("fault", [CRASH, FLAPPING])
@pytest.mark.soak
def test_a_fault_that_was_over_is_done_earlier(tmp_path, run_on, fault):
    """It is not put to work again, and counts as often as it was recorded to have."""
    scenario = scenario_with(fault, until=14)
    first, second, third = [run_on(tmp_path / "data", scenario) for _ in range(3)]

    assert [result.verdict for result in (first, second, third)] == ["passed"] * 3, second.headline
    assert second.figures["fault_it"] == third.figures["fault_it"] == first.figures["fault_it"] > 0
    assert "faults done earlier: it" in second.headline
    assert "it " in check_named(third, "faults-effective").summary
    assert "times (done earlier)" in check_named(third, "faults-effective").summary


@pytest.mark.soak
def test_a_fault_without_a_record_of_its_effect_is_inconclusive(tmp_path, run_on):
    """A directory that was written before effects were recorded."""
    scenario = scenario_with(CRASH, until=12)
    run_on(tmp_path / "data", scenario)
    (tmp_path / "data" / "watch-faults" / "watch").write_bytes(b"")
    result = run_on(tmp_path / "data", scenario)

    assert result.exit_code == 3
    summary = check_named(result, "faults-effective").summary
    assert "it was done earlier, and the data directory has no record of its effect" in summary


@pytest.mark.parametrize(
    ("fault", "killed_us"),
    rest_in_soak(
        [(each, 7_500_000) for each in (CRASH, PARTITION, BLACKOUT, STORM, FLAPPING, DRIFT)] + [(CRASH, 2_500_000)],
        [(PARTITION, 7_500_000)],
    ),
)
def test_a_fault_is_gone_on_with_where_the_process_ended(tmp_path, run_on, fault, killed_us):
    """In its midst it resumes for its rest, before its start it happens as planned; then it is done earlier."""
    scenario = scenario_with(fault)
    kill_at(tmp_path / "data", scenario, killed_us)
    results = [run_on(tmp_path / "data", scenario) for _ in range(2)]

    assert [result.verdict for result in results] == ["passed"] * 2, [result.headline for result in results]
    assert "(done earlier)" not in check_named(results[0], "faults-effective").summary
    assert "(done earlier)" in check_named(results[1], "faults-effective").summary


def test_a_validator_that_was_down_stays_down_until_its_restart(tmp_path):
    """One that was back already does not go down once more."""
    scenario = scenario_with(BLACKOUT)
    kill_at(tmp_path / "data", scenario, 8_500_000)
    events = events_after(tmp_path / "data", scenario)

    assert (moments(events, Crashed, 0), moments(events, Restarted, 0)) == ([], [])
    assert len(moments(events, Crashed, 2)) == 1
    assert moments(events, Restarted, 2) == [10_000]


@pytest.mark.soak
def test_outages_of_a_storm_that_were_over_do_not_come_back(tmp_path):
    """Those to come are the same as without the end of the process."""
    scenario = scenario_with(STORM)
    all_of_them = events_after(tmp_path / "whole", scenario)
    before = kill_at(tmp_path / "data", scenario, 7_500_000)
    after = events_after(tmp_path / "data", scenario)

    reopened_ms = after[0].at_us // 1_000
    assert sum(event.kind == "crash" for event in before) > 2
    for node in range(4):
        planned = [at_ms for at_ms in moments(all_of_them, Crashed, node) if at_ms > reopened_ms]
        assert [at_ms for at_ms in moments(after, Crashed, node) if at_ms > reopened_ms] == planned


def test_a_crash_that_a_process_did_not_live_to_end_was_one(tmp_path, run_on):
    """The next process starts the validator again when the time of its restart is past."""
    scenario = scenario_with('faults.it={kind="crash", validator=1, at_ms=6_300, restart_ms=6_900}')
    kill_at(tmp_path / "data", scenario, 6_850_000)
    result = run_on(tmp_path / "data", scenario)

    assert result.verdict == "passed", result.headline
    assert "it 1 times (done earlier)" in check_named(result, "faults-effective").summary


def test_a_promise_that_was_kept_is_done_earlier(tmp_path):
    """Counts of acts in one process are not asked of each; a failure stays, and so does an expectation never met."""
    kept, broken = (CheckResult("reorg", status, "safety", "", (), 1) for status in ("passed", "failed"))
    lacking = [
        CheckResult(name, "inconclusive", "inconclusive", "none")
        for name in ("reorg", "expected-replica-modes", "oracle")
    ]
    for is_reopened in (False, True):
        data = open_data_directory(tmp_path / "data", scenario_with(CRASH), 0)
        found = [data.remember(5, check) for check in (*(() if is_reopened else (kept,)), *lacking, broken)]
        data.close()

        statuses = [check.status for check in found[-4:]]
        assert statuses == ["passed", "inconclusive", "inconclusive", "failed"]
        assert found[-4].summary == "done earlier, by the directory's record"
    assert data.touched == {}


def test_what_is_past_is_told_from_what_had_no_effect():
    """Both are inconclusive, for different reasons."""
    effects = [FaultEffect(name, "crash", True, False, 0, name == "first") for name in ("first", "second")]
    check = FaultsEffective(make_run(expect=Expectations(requires=["first", "second"])))
    summary = finish(check, faults=effects).summary

    assert "first was done earlier, and the data directory has no record of its effect" in summary
    assert "second had no effect" in summary


class TestEdges:
    @pytest.mark.parametrize(
        ("begin_us", "at_us"), [(0, 5_000), (4_000, 5_000), (5_500, 5_500), (9_000, 9_000), (9_001, None)]
    )
    def test_one_happens_at_its_time_or_at_the_start_or_not_at_all(self, begin_us, at_us):
        assert Edge(5, 9, "start", lambda: None).at_us(begin_us) == at_us

    @pytest.mark.parametrize(
        "fault",
        [
            ClockDrift(validators=(0,), ppm=-3_000, start_ms=1_000, stop_ms=90_000),
            ClockSwing(validators=(0,), ppm=5_000, period_ms=14_000, start_ms=1_000, stop_ms=90_000),
        ],
    )
    @pytest.mark.parametrize("elapsed_ms", [0, 6_000, 7_000, 9_000, 16_000, 23_000])
    def test_a_clock_that_is_set_in_its_midst_shows_what_it_would_have(self, fault, elapsed_ms):
        whole, resumed = MachineClock(), MachineClock()
        whole.set(1_000_000, fault.setting_after(0))
        for at_ms, ppm in fault.turns():
            if at_ms <= 1_000 + elapsed_ms:
                whole.set(at_ms * 1_000, ClockSetting(offset_us=None, ppm=ppm))
        now_us = (1_000 + elapsed_ms) * 1_000
        resumed.set(now_us, fault.setting_after(elapsed_ms))

        for later_us in (now_us, now_us + 400_000):
            assert resumed.wall_us(later_us) == whole.wall_us(later_us)


@pytest.mark.parametrize(
    "crash",
    first_of(
        [
            'kind="crash", validator=1, at_ms=4_100, restart_ms=4_700',
            (
                'kind="crash-at-boundary", validator=1, boundary="after-append", every=4, '
                "start_ms=2_000, stop_ms=6_000, restart_after_ms=250"
            ),
        ]
    ),
)
def test_a_crash_costs_a_real_disk_what_it_costs_a_simulated_one(run_on, tmp_path, crash):
    """So that both have one digest: what was not synced is gone."""
    scenario = load_scenario("calm", ("run.until_height=8", f"faults.it={{{crash}}}"))

    assert run_on(tmp_path / "data", scenario).digest == judge(scenario).digest
