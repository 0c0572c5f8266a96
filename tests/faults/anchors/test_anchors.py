"""Faults that are anchored to events: when they begin, what is counted, what is refused, what is said."""

import json

import pytest

from cluster.campaign.fewer_validators import with_validators
from cluster.campaign.shrink_candidates import candidates_of
from cluster.cli.main import main
from cluster.scenario.load import convert_scenario, encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from cluster.verdict.determinism import repeat_in_fresh_process
from faults.anchors.anchor import Anchor
from faults.events import Crashed, FaultEdge, Healed
from network.events import events_of_type
from tests.support.cluster_runs import result_of
from tests.support.fault_runs import count_of, run_with
from validators.events import BlockFinalized, Entered

CRASH = 'kind="crash", validator=2, at_ms=0, restart_ms=900'


def anchored(anchor, fault=CRASH):
    return f"{{{fault}, anchor={{by_ms=15_000, {anchor}}}}}"


def setting(anchor):
    return f"faults.it={anchored(anchor)}"


class TestInARun:
    def test_a_crash_comes_in_the_instant_of_its_anchor(self):
        run, events = run_with(anchored('event="view", of=2, nth=4'))

        entered = [event.at_us for event, _ in events_of_type(events, Entered) if event.node == 2]
        (crashed,) = [event.at_us for event, _ in events_of_type(events, Crashed)]
        assert crashed == entered[3]
        assert count_of(run) == 1

    def test_the_trace_has_the_anchor_before_the_edges_that_count_from_it(self):
        pause = 'kind="pause", validator=1, start_ms=70, stop_ms=1_200'
        _, events = run_with(anchored('event="finalized", nth=3', pause))

        final = [event.at_us for event, block in events_of_type(events, BlockFinalized) if block.height == 3]
        edges = [(event.at_us - final[0], edge.edge) for event, edge in events_of_type(events, FaultEdge)]
        assert edges == [(0, "anchor"), (70_000, "start"), (1_200_000, "stop")]

    def test_a_run_waits_for_the_faults_end_and_not_for_its_latest_time(self):
        _, events = run_with(anchored('event="view", of=2, nth=4'))

        (healed,) = [event.at_us for event, _ in events_of_type(events, Healed)]
        (crashed,) = [event.at_us for event, _ in events_of_type(events, Crashed)]
        assert crashed + 900_000 <= healed < crashed + 901_000

    @pytest.mark.soak
    def test_a_fault_whose_anchor_does_not_come_is_without_effect(self):
        (result,) = [
            each for each in result_of("calm", setting('event="joined"')).checks if each.name == "faults-effective"
        ]

        assert (result.status, result.summary) == ("inconclusive", "required: it had no effect")

    @pytest.mark.soak
    def test_a_crash_at_a_boundary_counts_its_occurrences_from_the_anchor(self):
        boundary = 'kind="crash-at-boundary", validator=2, boundary="after-append", occurrence=3, '
        fault = boundary + "start_ms=0, stop_ms=9_000, restart_after_ms=300"
        run, events = run_with(anchored('event="finalized", of=2, nth=2', fault))

        edges = [edge.edge for _, edge in events_of_type(events, FaultEdge)]
        assert edges == ["anchor", "start", "after-append", "restart", "stop"]
        assert count_of(run) == 1

    @pytest.mark.soak
    def test_an_anchored_run_repeats_in_another_process(self):
        scenario = load_scenario("calm", (setting('event="vote", nth=9'),))
        run, _ = run_with(anchored('event="vote", nth=9'))

        assert repeat_in_fresh_process(encode_scenario(scenario), 0, hash_seed=7, shuffle=3) == run.trace.log


class TestRefused:
    @pytest.mark.parametrize(
        ("anchor", "said"),
        [
            ('event="strom"', "faults.it.anchor.event: no moment is called 'strom' (did you mean storm?); there are"),
            (
                'event="view", after="drain"',
                "faults.it.anchor.after: no moment is called 'drain' (did you mean",
            ),
            ('event="view", of=4', "faults.it.anchor.of: unknown validator 4; this cluster has 0 to 3"),
            ('event="view", from_ms=15_000', "faults.it.anchor.by_ms: 15000 is not after from_ms, which is 15000"),
            ('event="view", nth=0', "faults.it.anchor.nth: Expected `int` >= 1"),
            ('event="view", when=0', "faults.it.anchor: Object contains unknown field `when`; the keys are event, of"),
        ],
    )
    def test_nonsense_is_refused_with_the_key_and_what_is_allowed(self, anchor, said):
        with pytest.raises(ScenarioError) as refused:
            load_scenario("calm", (setting(anchor),))

        assert said in str(refused.value)

    def test_one_machine_has_no_two_faults_of_power_that_could_meet(self):
        later = 'faults.later={kind="crash", validator=2, at_ms=14_000, restart_ms=20_000}'
        with pytest.raises(ScenarioError, match=r"validator 2 is down until 15900 by faults\.it; start later"):
            load_scenario("calm", (setting('event="view"'), later))

    def test_a_scenario_ends_after_the_latest_time_of_every_anchored_fault(self):
        with pytest.raises(ScenarioError, match=r"ends at 15900, not before run\.time_limit_ms"):
            load_scenario("calm", (setting('event="view"'), "run.time_limit_ms=15_500"))


def test_check_says_the_anchor_in_plain_words(capsys):
    anchor = anchored('event="view", of=2, nth=3, after="storm", from_ms=500')
    assert main(["check", "calm", "--set", f"faults.it={anchor}"]) == 0

    assert (
        "Counted from when validator 2 enters a view for the 3rd time, counted from when any validator finalizes a "
        "block that removes dead timers, after a block that removed none (awaited from 0.5 s until 15 s): at 0 s "
        "validator"
    ) in " ".join(capsys.readouterr().out.split())


class TestMadeSmaller:
    def plain(self, anchor):
        return json.loads(encode_scenario(load_scenario("calm", (setting(anchor),))))

    def test_shrinking_keeps_the_anchor_whole(self):
        """With another event, validator or count the crash of validator 2 at its third append is another fault."""
        plain = self.plain('event="synced", of=2, nth=3, after="storm", from_ms=700')

        paths = [each.path for group in candidates_of(plain) for each in group if each.path[:2] == ("faults", "it")]
        assert ("faults", "it", "restart_ms") in paths
        assert [path for path in paths if "anchor" in path] == []

    def test_in_a_smaller_cluster_the_anchor_is_of_one_validator_still(self):
        plain = self.plain('event="view", of=3, nth=4')

        smaller = convert_scenario({**with_validators(plain, 3)}, "smaller")
        assert smaller.faults["it"].anchor == Anchor(event="view", of=0, nth=4, by_ms=15_000)
