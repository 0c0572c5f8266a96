"""Replicas without a vote: each in its own mode with the same roots, unnoticed by the validators, checked like them."""

from functools import cache

import pytest

from checker.checks.finality_regained import FinalityRegained
from checker.observations import DiskFaults
from cluster.live.progress import LiveProgress
from cluster.runtime.cluster import Cluster
from cluster.runtime.data_directory import open_data_directory
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.verdict.pipeline import run_pipeline
from faults import PlanError, check_plan
from faults.kinds.registry import decode_fault
from faults.plan import all_over_ms
from network.events import Event, Sent, TimerElapsed, events_of_type, read_event
from tests.support.checks import finish, make_run, show
from tests.support.cluster_runs import check_named, result_of
from tests.support.mutation import WITH_CATALOGUE
from validators.events import BlockExecuted, BlockFinalized, Booted, SnapshotJoined, StoppedVoting
from validators.identity import NEVER_VOTED
from validators.settings import ValidatorFactory, make_scheme

FIRST = 4
"""The number of the first observer behind four validators."""

SHORT = ("workload.payments.enabled=false", "run.until_height=12")
MODES = (
    'observers.plain={kind="finalized-only"}',
    'observers.early={kind="apply-early"}',
    'observers.off={kind="restart", every_blocks=3}',
    'observers.joined={kind="snapshot-join", every_blocks=5}',
    'observers.own={kind="cold-replay", every_blocks=5}',
    'observers.peers={kind="cold-replay", every_blocks=5, blocks="peers"}',
    'observers.rebuilt={kind="rebuild-indexes"}',
    'observers.pruned={kind="own-cadence"}',
)
NUMBERS = {text.partition(".")[2].partition("=")[0]: FIRST + place for place, text in enumerate(MODES)}


@cache
def events_of(name, *settings):
    """Run a scenario and return all its events."""
    events = []
    Cluster(load_scenario(name, settings), 0, hooks=RunHooks(on_event=events.append)).run()
    return events


def of(name, *kinds):
    """Return the events of these kinds of one observer of the run with every mode."""
    return [event for event in events_of("calm", *SHORT, *MODES) if event.node == NUMBERS[name] and event.kind in kinds]


def lives(name):
    """Return the events of the state's life of one observer, one list for each time it was on."""
    found = []
    for event in of(name, "boot", "executed", "finalized", "snapshot-joined"):
        if event.kind == "boot":
            found.append([])
        found[-1].append(event)
    return found


class TestWithoutAVote:
    @pytest.mark.soak
    def test_validators_do_not_notice_observers_but_for_what_they_ask(self):
        """Every vote, certificate, block and root of the validators is at its time what it is without observers.

        What a validator serves takes its time, and it limits that by a timer: neither is there where serving is free.
        """
        asked = ("send", "deliver", "drop", "work")

        def seen(settings):
            return [
                event
                for event in events_of("calm", "costs.serve_block_us=0", *SHORT, *settings)
                if 0 <= event.node < FIRST and event.kind not in asked and event.at_us < 11_000_000
                if not isinstance(event.body, TimerElapsed) or event.body.key != ("answers",)
            ]

        assert len(seen(())) > 300
        assert seen(MODES) == seen(())

    @pytest.mark.soak
    def test_an_observer_says_nothing_and_asks_for_what_it_lacks(self):
        """It sends requests alone, and none of its events is a vote."""
        events = [event for event in events_of("calm", *SHORT, *MODES) if event.node >= FIRST]
        sent = {body.label for _, body in events_of_type(events, Sent)}

        assert sorted(sent) == ["BlockRequest", "SnapshotChunkRequest", "SnapshotRequest"]
        assert [event for event in events if event.kind == "vote"] == []
        assert {body.reason for _, body in events_of_type(events, StoppedVoting)} == {NEVER_VOTED}

    def test_an_observer_has_no_part_in_quorum_and_votes_lost(self):
        """More of them than f would be are no reason to judge nothing, and a lost journal of one is a finding."""
        check = FinalityRegained(make_run(honest=range(7)))
        for node in (4, 5):
            show(check, Event(0, node, StoppedVoting(NEVER_VOTED)))
        for node in range(7):
            show(check, Event(9, node, BlockFinalized(1, 1, b"d" * 32, b"r" * 32)))
        assert finish(check, reason="stopped").status == "passed"

        show(check, Event(9, 6, StoppedVoting("the disk holds none")))
        assert "validator 6 has become an observer" in finish(check, reason="stopped").summary

    def test_an_observer_whose_disk_was_destroyed_may_have_lost_its_journal(self):
        """A plan may take it; there was no vote in it."""
        lost = DiskFaults(touched=[4], destroyed=[4])
        check = FinalityRegained(make_run(honest=range(5), disk_faults=lost))
        show(check, Event(0, 4, StoppedVoting("the disk holds none")))
        for node in range(5):
            show(check, Event(9, node, BlockFinalized(1, 1, b"d" * 32, b"r" * 32)))

        assert finish(check, reason="stopped").status == "passed"


class TestReplicaModes:
    @pytest.mark.soak
    def test_finalized_only_executes_what_is_final_and_no_fork(self):
        """Each validator rolls a block back that this observer never executed."""
        events = events_of("certified-split", *MODES[:2])

        def digests(node, expected):
            return [body.digest for event, body in events_of_type(events, expected) if event.node == node]

        assert digests(FIRST, BlockExecuted) == digests(FIRST, BlockFinalized)
        assert len(digests(FIRST + 1, BlockExecuted)) > len(digests(FIRST + 1, BlockFinalized))

    def test_restart_comes_back_at_the_height_at_which_it_was_switched_off(self):
        """The state is read from its log, block by block of three."""
        assert [read_event(life[0], Booted).finalized_height for life in lives("off")] == [0, 3, 6, 9]

    def test_snapshot_join_comes_back_empty_and_takes_a_peers_state(self):
        """It executes nothing below."""
        _, life, *_ = lives("joined")

        assert [event.kind for event in life[:2]] == ["boot", "snapshot-joined"]
        joined = read_event(life[1], SnapshotJoined)
        assert (read_event(life[0], Booted).finalized_height, joined.height) == (0, 6)
        later = [body.height for kind in (BlockExecuted, BlockFinalized) for _, body in events_of_type(life, kind)]
        assert min(later) > joined.height

    @pytest.mark.parametrize(("name", "mode"), [("own", "recover"), ("peers", "verify")])
    def test_cold_replay_executes_the_chain_from_genesis(self, name, mode):
        """At its start from its own blocks, or as they come from peers."""
        _, life, *_ = lives(name)
        _, boot = next(events_of_type(life, Booted))
        executed = [body for _, body in events_of_type(of(name, "executed"), BlockExecuted)]

        assert boot.finalized_height == 0
        assert [body.height for body in executed if body.mode == mode and body.height <= 5][-5:] == [1, 2, 3, 4, 5]
        assert [event for event in life if event.kind == "snapshot-joined"] == []

    def test_what_was_replayed_is_made_final_again(self):
        """Height by height, with the roots of the first time."""
        first, second, *_ = lives("own")

        def roots(life):
            return [body.root for _, body in events_of_type(life, BlockFinalized)]

        assert roots(second)[:5] == roots(first)

    @pytest.mark.soak
    def test_the_run_is_not_over_before_the_last_has_come_back(self):
        """Each is read back at the end at the height that all have."""
        result = result_of("calm", *SHORT, *MODES)

        assert result.verdict == "passed", result.headline
        assert min(row.finalized_height for row in result.validators) >= 12
        assert result.headline.startswith("4 validators and 8 observers hold one state root")
        assert "observer own, cold-replay: replayed" in result.validators[NUMBERS["own"]].note
        assert result.figures["mode_off"] == 3
        assert result.figures["observers"] == 0

    def test_rounds_end_when_they_are_enough(self):
        """A mode can be gone through once."""
        once = 'observers.once={kind="restart", every_blocks=2, times=1}'

        boots = events_of_type(events_of("calm", *SHORT, once), Booted)
        assert [boot.finalized_height for event, boot in boots if event.node == FIRST] == [0, 2]

    def test_a_mode_that_never_acts_is_inconclusive(self):
        """Without a fork nothing that was applied early is taken back."""
        result = result_of("calm", *SHORT, MODES[1], "expect.replica_modes.early=1")

        assert (result.exit_code, check_named(result, "expected-replica-modes").summary) == (
            3,
            "less than expected: early 0 (at least 1)",
        )


class TestJudgement:
    def test_a_wrong_rule_in_an_observer_is_a_split(self):
        """It cannot execute what is final."""
        result = result_of("calm", *SHORT, MODES[0], WITH_CATALOGUE, "mutants.floor-one-step-short=[4]")

        assert result.exit_code == 1
        assert f"validator {FIRST} halted: finalized block" in check_named(result, "agreement").summary

    @pytest.mark.soak
    def test_an_observer_that_follows_nobody_fails_liveness(self):
        """Its keys are others', so that no certificate convinces it."""
        strangers = ValidatorFactory(
            scheme=lambda seed, keys: make_scheme(seed, [bytes(reversed(keys[0]))] * len(keys))
        )
        settings = ("run.time_limit_ms=20_000", "expect.finality_views_max=6")
        result = result_of("calm", *SHORT, MODES[0], *settings, factories={FIRST: strangers})

        assert result.exit_code == 4
        assert f"validator {FIRST} finalized nothing new" in check_named(result, "finality-regained").summary

    @pytest.mark.soak
    def test_an_observer_that_goes_back_outside_its_mode_is_found(self):
        """A restart from the disk keeps what was final."""
        result = result_of(
            "calm",
            *SHORT,
            'observers.off={kind="restart", every_blocks=3}',
            WITH_CATALOGUE,
            f"mutants.last-entry-not-read=[{FIRST}]",
        )

        assert result.exit_code == 1
        assert f"validator {FIRST} restarted at finalized height 2 after 3" in check_named(result, "agreement").summary


class TestPlans:
    def plan(self, **faults):
        return {name: decode_fault(fault) for name, fault in faults.items()}

    def test_a_fault_may_name_an_observer_and_nobody_beyond(self):
        """By its number."""
        for node in (FIRST, FIRST + 1):
            plan = self.plan(it={"kind": "crash", "validator": node, "at_ms": 1, "restart_ms": 2})
            if node == FIRST:
                check_plan(plan, 4, 1, engine="simplex")
            else:
                with pytest.raises(PlanError, match="unknown validator 5; this cluster has 0 to 4"):
                    check_plan(plan, 4, 1, engine="simplex")

    def test_an_observers_copy_is_nobodys_last(self):
        """It does not count towards the validators that may lose synced data."""
        wipes = [{"kind": "wipe", "validator": node, "at_ms": 1, "restart_ms": 2} for node in (0, FIRST, 1)]
        check_plan(self.plan(a=wipes[0], b=wipes[1]), 4, 1, engine="simplex")
        with pytest.raises(PlanError, match="these are 0, 1"):
            check_plan(self.plan(a=wipes[0], b=wipes[1], c=wipes[2]), 4, 1, engine="simplex")

    def test_an_observers_clock_makes_no_chain_wait(self):
        """The time of its header is no validator's: two of four validators and an observer ahead are no quorum."""
        ahead = {"kind": "clock-offset", "offset_ms": 60_000, "start_ms": 1, "stop_ms": 5_000}
        assert all_over_ms(self.plan(it={**ahead, "validators": [0, 1, FIRST]}), 4) == 5_000

        fault = f'faults.it={{kind="clock-offset", validators=[{FIRST}], offset_ms=60_000, start_ms=1, stop_ms=5_000}}'
        healed = [event.at_us for event in events_of("calm", *SHORT, MODES[0], fault) if event.kind == "healed"]
        assert healed == [5_000_000]

    def test_unknown_kinds_and_names_are_refused_with_what_there_is(self):
        """As for faults and workloads."""
        with pytest.raises(ScenarioError, match="the kinds are apply-early, cold-replay, finalized-only"):
            load_scenario("calm", ['observers.it={kind="fast"}'])
        with pytest.raises(ScenarioError, match=r"the keys are kind, .*every_blocks"):
            load_scenario("calm", ['observers.it={kind="restart", every=3}'])
        with pytest.raises(ScenarioError, match=r"expect.replica_modes.it: no observer has this name; there are none"):
            load_scenario("calm", ["expect.replica_modes.it=1"])
        with pytest.raises(ScenarioError, match=r"observers.it.retain_blocks: must be 1 or more"):
            load_scenario("calm", ['observers.it={kind="apply-early", retain_blocks=0}'])


@pytest.mark.soak
def test_observers_keep_their_modes_on_real_disks_over_processes(tmp_path):
    """A reopened directory has theirs as well; one of them is emptied and joins again."""
    settings = (*SHORT, MODES[2], MODES[3])
    scenario = load_scenario("calm", settings)
    heights = []
    for _ in range(2):
        data = open_data_directory(tmp_path / "data", scenario, 0)
        try:
            with LiveProgress(title="", is_quiet=True) as progress:
                result = run_pipeline(scenario, 0, runs=None, progress=progress, data=data)
        finally:
            data.close()
        assert result.verdict == "passed", result.headline
        heights.append(min(row.finalized_height for row in result.validators))

    assert 12 <= heights[0] < heights[1]


def test_an_observer_emptied_when_the_process_was_killed_is_no_damage(tmp_path):
    """Its disk holds nothing for a moment."""
    scenario = load_scenario("calm", (*SHORT, MODES[2], MODES[3]))
    open_data_directory(tmp_path / "data", scenario, 0).close()
    for each in (tmp_path / "data" / f"validator-{scenario.cluster.validators}").iterdir():
        each.unlink()

    data = open_data_directory(tmp_path / "data", scenario, 0)
    data.close()

    assert data.height == 0
