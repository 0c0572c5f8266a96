"""The picture of a run: rows in 80 columns, groups of roots, states, and which replicas are left out."""

from io import StringIO

import pytest
from rich.console import Console

from cluster.live.estimate import Estimate
from cluster.live.replicas import Replicas
from cluster.live.screen import LiveFigures, picture
from cluster.runtime.progress import Progress
from cluster.scenario.load import load_scenario
from faults.events import ApplicationLost, Crashed, FaultEdge, Restarted
from network.events import Dropped, Event, EventRouter
from network.types import SUPERVISOR
from validators.events import BlockExecuted, Entered

MOMENT = LiveFigures("outage-storm seed 0", 181.4, 6.2, 620, 4.0, "draining, 14,300 dead timers left")


@pytest.fixture
def replicas():
    return Replicas(load_scenario("partition-heal", ()))


def see(replicas, *events):
    router = EventRouter(replicas.handlers)
    for node, body in events:
        router.route(Event(1_000_000, node, body))


def drawn(replicas, *, lines=40, **settings):
    out = StringIO()
    Console(file=out, width=80, **settings).print(picture(MOMENT, replicas, lines=lines))
    return out.getvalue()


def test_the_picture_has_time_ratio_aim_and_a_row_a_replica(replicas):
    replicas.applied(1, 14_650, 14_300)
    see(replicas, (1, Entered(94, 2)), (1, BlockExecuted(63, 94, b"d", b"\x84\xb6\xe4", "speculative")))

    shown = drawn(replicas).splitlines()

    assert shown[0] == "outage-storm seed 0  181.4 s virtual in 6.2 s, 29.3 times real time"
    assert shown[1].endswith(" 62 %  about 4 s left, draining, 14,300 dead timers left")
    assert shown[2] == "faults at work: none"
    assert shown[3].split() == ["no", "view", "height", "final", "root", "mode", "state", "waiting", "dead"]
    assert shown[5].split() == ["1", "94", "63", "0", "84b6e4", "finalized", "up", "14,650", "14,300"]
    assert len(shown) == 8
    assert max(map(len, shown)) <= 80


def test_groups_of_roots_have_letters_without_colour_too(replicas, monkeypatch):
    executed = [
        (node, BlockExecuted(5, 6, b"d", root, "x")) for node, root in ((0, b"\x01"), (1, b"\x01"), (2, b"\x02"))
    ]
    see(replicas, *executed)
    monkeypatch.setenv("NO_COLOR", "1")

    shown = drawn(replicas, force_terminal=True)

    assert ("01 a" in shown, "02 b" in shown, "\x1b[31m" in shown) == (True, True, False)


def test_states_are_down_paused_and_cut_off(replicas):
    split = (SUPERVISOR, FaultEdge("split", "start"))
    lost = [(2, Dropped(other, 0, "cut", "split")) for other in (0, 1)]

    see(replicas, split, *lost, (SUPERVISOR, Crashed(3, 0)))

    assert [replicas.state_of(state) for state in replicas.states] == ["up", "up", "cut off", "down"]
    assert "faults at work: split" in drawn(replicas)


def test_a_lost_application_is_named_until_its_machine_starts_again(replicas):
    lost = ApplicationLost(2, 7, "execute", "it ended", 5)
    see(replicas, (SUPERVISOR, lost), (SUPERVISOR, Crashed(2, 0)), (SUPERVISOR, Crashed(1, 0)))
    assert [replicas.state_of(state) for state in replicas.states] == ["up", "down", "app lost", "up"]
    assert "app lost" in drawn(replicas)

    see(replicas, (SUPERVISOR, Restarted(2)))
    assert replicas.state_of(replicas.states[2]) == "up"
    see(replicas, (SUPERVISOR, Crashed(2, 0)))
    assert replicas.state_of(replicas.states[2]) == "down"


def test_the_end_of_a_fault_restores_its_links(replicas):
    lost = [(2, Dropped(other, 0, "cut", "split")) for other in (0, 1)]

    see(replicas, (SUPERVISOR, FaultEdge("split", "start")), *lost, (SUPERVISOR, FaultEdge("split", "stop")))

    assert replicas.state_of(replicas.states[2]) == "up"


def test_a_pause_holds_until_its_fault_stops():
    settings = ('faults.nap={kind="pause", validator=1, start_ms=1_000, stop_ms=2_000}',)
    replicas = Replicas(load_scenario("calm", settings))

    see(replicas, (SUPERVISOR, FaultEdge("nap", "start")))
    paused = replicas.state_of(replicas.states[1])
    see(replicas, (SUPERVISOR, FaultEdge("nap", "stop")))

    assert (paused, replicas.state_of(replicas.states[1])) == ("paused", "up")


def test_a_low_terminal_shows_the_replicas_that_stand_out():
    replicas = Replicas(load_scenario("calm", ("cluster.validators=16",)))
    see(replicas, (SUPERVISOR, Crashed(13, 0)))

    shown = drawn(replicas, lines=15)

    assert "13 " in shown
    assert "and 8 more, all up" in shown
    assert len(shown.splitlines()) == 13


def test_what_has_no_row_is_summed_up_in_truth():
    replicas = Replicas(load_scenario("calm", ("cluster.validators=16",)))
    other = [(node, BlockExecuted(5, 6, b"d", bytes([node > 1]), "x")) for node in range(15)]
    see(replicas, *((SUPERVISOR, Crashed(node, 0)) for node in range(12)), *other)

    assert "and 9 more, not all up, not all of root a" in drawn(replicas, lines=14)


class TestEstimate:
    """The share of a run that is over, from its plan and what it has come to."""

    CALM = load_scenario("calm", ())

    def test_blocks_that_are_missing_count_by_their_interval(self):
        aim = Progress([5, 6], now_us=6_000_000, target_height=12)

        assert Estimate(self.CALM).progress(aim, 3.0) == (500, 3.0)

    def test_blocks_that_are_missing_keep_the_pace_that_they_had(self):
        aim = Progress([6], now_us=12_000_000, target_height=9)

        assert Estimate(self.CALM).progress(aim, 3.0) == (666, 1.5)

    def test_half_as_many_dead_timers_take_half_as_long(self):
        estimate = Estimate(load_scenario("outage-storm", ()))
        edge = {"now_us": 182_000_000, "faults_end_us": 182_000_000, "until_drained": True, "scheduled": 21_600}
        many, few = (
            estimate.progress(Progress([52], target_height=53, waiting_dead=dead, **edge), 10.0)[1]
            for dead in (20_000, 10_000)
        )

        assert 1.8 < many / few < 3.2

    def test_a_time_without_a_quorum_costs_next_to_nothing(self):
        """Of the 122 s that are left two minutes are dark: four fifths of the work is done."""
        estimate = Estimate(load_scenario("outage-storm", ("run.until_drained=false", "workload.storm.enabled=false")))
        done, _ = estimate.progress(Progress([48], now_us=60_000_000, target_height=40, faults_end_us=182_000_000), 0.5)

        assert done > 800

    def test_nothing_is_said_of_the_first_second(self):
        assert Estimate(self.CALM).progress(Progress([0], target_height=3), 0.5) == (0, None)


@pytest.mark.parametrize("validators", [4, 16, 64])
def test_a_picture_of_any_cluster_fits_a_small_terminal(validators):
    """Four of them a second: 4 KB each with their colours, however many replicas there are."""
    replicas = Replicas(load_scenario("calm", (f"cluster.validators={validators}",)))
    for node in range(validators):
        replicas.applied(node, 1_234_567, 1_234_567)
        see(replicas, (node, Entered(2_000, 1)), (node, BlockExecuted(2_000, 2_000, b"d", bytes([node]) * 32, "x")))

    lines = drawn(replicas, lines=24).splitlines()
    coloured = drawn(replicas, lines=24, force_terminal=True)

    assert (len(lines) <= 24, max(map(len, lines)) <= 80) == (True, True)
    assert len(coloured.encode()) < 4_096
