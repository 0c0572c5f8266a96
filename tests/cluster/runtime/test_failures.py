"""The monitor that ends a run after its first failure, and the verdict of a run that it has ended."""

import json

import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.failures import FailureMonitor
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import decode_scenario, encode_scenario, load_scenario
from cluster.swarm.generator import draw_scenario
from cluster.verdict.determinism import REPEAT_DELIVERY
from network.events import Event, EventRouter
from tests.support.cluster_runs import judge
from tools.mutation.campaign import campaign_scenario
from tools.mutation.catalogue import CATALOGUE
from tools.mutation.scan.runs import clean_trials
from validators.events import BlockExecuted, BlockFinalized, Booted, Entered, Halted, SnapshotJoined

A, B = b"a" * 32, b"b" * 32
MUTANT = ("mutants.tip-burned=[1]", "run.until_height=12")


class Watched:
    """A monitor beside the events that it is told of, and the ends that it asked for."""

    def __init__(self, *byzantine, **more):
        self.stops = []
        self.monitor = FailureMonitor(byzantine, lambda *stop: self.stops.append(stop), **more)
        self._router = EventRouter(self.monitor.handlers)

    def see(self, node, *bodies):
        for body in bodies:
            self._router.route(Event(0, node, body))
        return self.stops


def final(height, digest=None, root=A):
    return BlockFinalized(height, height, digest or bytes([height]) * 32, root)


@pytest.mark.parametrize(
    ("second", "failure"),
    [
        (final(1, B), "two final blocks at height 1"),
        (final(1, A, B), "two roots at height 1"),
        (Booted(1, 2, 1, B), "two roots at height 1"),
        (SnapshotJoined(1, A, B), "two roots at height 1"),
        (BlockExecuted(1, 1, A, B, "diverged"), "two roots at height 1"),
    ],
)
def test_two_replicas_that_differ_are_a_failure(second, failure):
    watched = Watched()
    watched.see(0, final(1, A))
    watched.see(1, second)

    assert watched.monitor.failure == failure


def test_other_receipts_with_the_same_root_are_a_failure():
    watched = Watched()
    watched.see(0, BlockExecuted(1, 1, A, B, "verify"))
    watched.see(1, BlockExecuted(1, 1, A, B, "diverged"))

    assert watched.monitor.failure == "other receipts at height 1"


def test_an_outdated_build_of_an_application_may_differ():
    watched = Watched(is_outdated=lambda node, height: node == 1 and height >= 2)
    watched.see(0, final(1), final(2), BlockExecuted(3, 3, A, A, "verify"))
    watched.see(1, final(2, B), BlockExecuted(3, 3, A, A, "diverged"))
    assert watched.monitor.failure == ""

    watched.see(1, final(1, B))
    assert watched.monitor.failure == "two final blocks at height 1"


def test_a_refused_root_that_no_replica_came_to_is_none():
    """A Byzantine leader states a wrong root: all come to the same other one, and refuse its block."""
    watched = Watched(3)
    watched.see(3, BlockExecuted(1, 1, A, B, "propose"))
    for node in (0, 1, 2):
        watched.see(node, BlockExecuted(1, 1, A, A, "diverged"))

    assert watched.monitor.failure == ""


def test_it_ends_two_final_heights_after_the_failure():
    watched = Watched()
    watched.see(0, Entered(5, 0), final(4, A))
    watched.see(1, final(4, A, B), final(5), Entered(6, 0), Entered(7, 0))
    assert watched.stops == []

    assert watched.see(0, final(5), final(6)) == [("failure", "two roots at height 4")]


def test_it_ends_after_two_whole_views_without_a_final_height():
    watched = Watched()
    watched.see(0, Entered(5, 0), final(4, A))
    watched.see(1, final(4, A, B), Entered(6, 0), Entered(7, 0))
    assert watched.stops == []

    assert watched.see(1, Entered(8, 0)) == [("failure", "two roots at height 4")]


def test_views_without_a_failure_end_nothing():
    watched = Watched()
    watched.see(0, *(Entered(view, 0) for view in range(1, 50)), *map(final, range(1, 50)))

    assert watched.stops == []


@pytest.mark.parametrize("engine", ["simplex", "hotstuff", "longest-chain"])
def test_a_failed_run_is_over_long_before_its_goal(engine):
    result = judge(load_scenario("calm", (*MUTANT, f"consensus.engine={engine}", "run.until_height=200")))

    assert (result.verdict, result.figures["end"]) == ("safety", "failure")
    assert result.headline.partition("; stopped at two roots at height ")[1], result.headline
    assert result.figures["blocks"] < 20


def test_a_stopped_run_fails_for_nothing_that_it_did_not_reach():
    """Its fault never begins and its storm never comes: neither is a finding."""
    settings = ("faults.late.kind=pause", "faults.late.validator=2", "faults.late.start_ms=20000")
    result = judge(load_scenario("calm", (*MUTANT, *settings, "faults.late.stop_ms=22000", "expect.counts.fired=900")))

    assert {check.exit_class for check in result.checks if check.is_finding} == {"safety"}
    assert {"faults-effective", "expected-counts", "finality-regained"} <= set(result.not_judged)
    assert "not judged: " in result.headline


def test_a_repetition_ends_at_the_same_event():
    scenario = load_scenario("calm", MUTANT)
    again = decode_scenario(encode_scenario(scenario), "again")
    runs = [
        Cluster(scenario, 0).run(),
        Cluster(again, 0, delivery=REPEAT_DELIVERY, is_sharing=False).run(),
    ]

    assert {run.outcome.reason for run in runs} == {"failure"}
    assert runs[0].trace.digest == runs[1].trace.digest


@pytest.mark.parametrize("setting", ["expect.fails=['equal-roots']", "run.stop_at_failure=false"])
def test_a_run_that_is_to_go_on_does(setting):
    run = Cluster(load_scenario("calm", (*MUTANT, setting)), 0).run()

    assert max(run.progress.finalized_heights) >= 12


def test_a_record_without_the_key_goes_on():
    plain = json.loads(encode_scenario(load_scenario("calm", MUTANT)))
    assert plain["run"].pop("stop_at_failure") is True

    assert not decode_scenario(json.dumps(plain).encode(), "scenario.json").stops_at_failure


def test_campaigns_of_mutants_run_to_the_end():
    assert not campaign_scenario(CATALOGUE["tip-burned"], 1).stops_at_failure
    for trial in clean_trials([0], ["calm"]):
        assert not decode_scenario(trial.scenario, trial.name).stops_at_failure


def test_a_run_waits_for_a_validator_that_was_restarted_after_its_stop():
    """It recovers slowly there, while the others come to their goal; found by the swarm (seed 413749)."""
    seen = []

    def look(event):
        if event.node == 3 and type(event.body) in {Booted, Halted}:
            seen.append(type(event.body))

    earlier = ("consensus.blocks_peers_ms=0", "network.uplink_bytes_per_second=0", "network.uplink_shares={}")
    Cluster(draw_scenario(413749, earlier), 413749, hooks=RunHooks(on_event=look)).run()

    assert seen == [Booted, Halted, Booted]
