"""Fault kinds at work on a whole cluster: each touches what it is about, nothing else, and says how much."""

from functools import partial

import pytest

from cluster.runtime.cluster import Cluster
from cluster.scenario.load import encode_scenario, load_scenario, scenario_files
from cluster.verdict.determinism import repeat_in_fresh_process
from faults import Injector, kind_of
from faults.events import FaultEdge, Restarted, TransactionSubmitted
from faults.kinds.isolate_leader import IsolateLeader
from faults.kinds.registry import FAULTS
from network.chance import Chance
from network.events import Dropped, Event, EventRouter, events_of_type, read_event
from network.types import SUPERVISOR, EventKind
from tests.support.cluster_runs import check_named, result_of
from tests.support.fault_runs import count_of, run_with
from tests.support.keystones import rest_in_soak, third_of
from tests.support.network_harness import build_rig, record_inbound
from validators.events import BlockFinalized, Entered


def test_isolate_leader_cuts_the_links_of_whoever_leads_and_moves_on():
    """Each message that it takes was sent by or to the leader of the greatest view entered so far."""
    run, events = run_with('{kind="isolate-leader", start_ms=3_000, stop_ms=14_000}')

    leader, isolated = None, []
    view = 0
    for event in events:
        entered, dropped = read_event(event, Entered), read_event(event, Dropped)
        if entered is not None and entered.view > view:
            view, leader = entered.view, entered.leader
        if dropped is not None and dropped.condition == "it":
            assert leader in {event.node, dropped.destination}
            isolated.append(leader)
    assert len(dict.fromkeys(isolated)) == 4
    assert count_of(run) == len(isolated)


def test_entering_an_older_view_does_not_move_the_isolation():
    """A restarted or lagging one names a leader of the past; before any view no validator is cut off."""
    rig = build_rig(3)
    plan = {"it": IsolateLeader(start_ms=1, stop_ms=9)}
    chain = rig.trace.chain(SUPERVISOR)
    injector = Injector(
        plan,
        kernel=rig.kernel,
        bus=rig.bus,
        power=None,
        chain=chain,
        chance=Chance(0),
        validators=3,
        engine="simplex",
    )
    injector.schedule()
    enter = [(3_000, 5, 2), (5_000, 4, 1)]
    router = EventRouter(*injector.handlers)
    steps = [(at_us, router.route, Event(at_us, 0, Entered(view, leader))) for at_us, view, leader in enter]
    steps += [(at_us, rig.bus.broadcast, 0, str(at_us).encode()) for at_us in (2_000, 4_000, 6_000, 9_500)]
    for ordinal, (at_us, call, *arguments) in enumerate(steps):
        rig.kernel.post(at_us, SUPERVISOR, EventKind.WORKLOAD, SUPERVISOR, ordinal, call, *arguments)

    heard = {1: [], 2: []}
    rig.run(*[partial(record_inbound, rig, rig.port(node), heard[node]) for node in heard])

    assert [message.payload for _, message in heard[1]] == [b"2000", b"4000", b"6000", b"9500"]
    assert [message.payload for _, message in heard[2]] == [b"2000", b"9500"]


def test_flapping_cuts_again_and_again():
    """Messages are lost in the windows only."""
    run, events = run_with(
        '{kind="flapping", groups=[[0, 1, 2], [3]], start_ms=2_000, stop_ms=9_000, cut_ms=1_000, open_ms=2_000}'
    )

    edges = [(event.at_us // 1_000, body.edge) for event, body in events_of_type(events, FaultEdge)]
    lost = [event.at_us // 1_000 for event in events if event.kind == "drop"]
    windows = [(2_000, 3_000), (5_000, 6_000), (8_000, 9_000)]
    assert edges == [edge for start, stop in windows for edge in ((start, "start"), (stop, "stop"))]
    assert all(any(start <= at <= stop for start, stop in windows) for at in lost)
    assert count_of(run) == len(lost) > 0


def test_a_one_way_cut_leaves_the_way_back():
    """Only the direction that is named loses messages."""
    run, events = run_with('{kind="cut", links=[[0, 1]], start_ms=2_000, stop_ms=9_000}')

    lost = {(event.node, body.destination) for event, body in events_of_type(events, Dropped)}
    assert lost == {(0, 1)}
    assert count_of(run) > 0


def test_a_paused_validator_does_nothing_until_it_is_resumed():
    """Meanwhile its clock goes on: messages, timers and finished work pile up, and are all handled afterwards."""
    run, events = run_with('{kind="pause", validator=1, start_ms=5_013, stop_ms=8_987}')

    span = range(5_013_000, 8_987_000)
    during = [event for event in events if event.node == 1 and event.at_us in span]
    assert {event.kind for event in during} <= {"deliver", "timer", "work"}
    assert {"deliver", "timer"} <= {event.kind for event in during}
    submitted = [
        event
        for event, body in events_of_type(events, TransactionSubmitted)
        if (body.outcome, body.validator) == ("submitted", 1) and event.at_us in span
    ]
    assert count_of(run) == len(during) + len(submitted)
    assert any(event.node == 1 and event.kind == "send" and event.at_us == 8_987_000 for event in events)


def test_a_slow_validator_is_late():
    """Its work takes a multiple of the time, also after a restart, and no longer than the fault lasts."""
    crash = 'faults.off={kind="crash", validator=2, at_ms=6_000, restart_ms=8_000}'
    run, events = run_with('{kind="slow", validator=2, factor=40, start_ms=0, stop_ms=15_000}', crash)

    first = {}
    lags_us = []
    for event, block in events_of_type(events, BlockFinalized):
        first.setdefault(block.height, event.at_us)
        if event.node == 2:
            lags_us.append((event.at_us, event.at_us - first[block.height]))
    before = [lag_us for at_us, lag_us in lags_us if at_us < 6_000_000]
    restarted = [lag_us for at_us, lag_us in lags_us if 9_500_000 < at_us < 15_000_000]
    after = [lag_us for at_us, lag_us in lags_us if at_us > 16_000_000]
    assert min(before) > 80_000
    assert min(restarted) > 80_000
    assert max(after) < 40_000
    assert [effect.count > 0 for effect in run.effects] == [True, True]


def test_damaged_messages_are_refused_and_counted_and_harm_nothing():
    """Half of all messages have a wrong byte: no validator halts, and the chain is the same for all."""
    result = result_of("calm", 'faults.it={kind="links", stop_ms=9_000, corrupt_ppm=500_000}', 'requires=["it"]')

    assert result.verdict == "passed", result.headline
    assert result.figures["messages_refused"] > 50
    assert [row.note for row in result.validators] == [""] * 4


@pytest.mark.soak
def test_copies_of_all_messages_change_nothing_that_is_final():
    """Every vote, certificate and block arrives twice."""
    result = result_of("calm", 'faults.it={kind="links", stop_ms=18_000, duplicate_ppm=1_000_000}', 'requires=["it"]')

    assert result.verdict == "passed", result.headline
    assert result.figures["fault_it"] > 500


@pytest.mark.parametrize(
    ("matching", "count"),
    third_of(
        [
            ('kinds=["BlockRelay"], heights=[[5, 5]]', 3),
            ('kinds=["BlockRelay"], views=[[5, 6]], from=[1]', 3),
            ('kinds=["Notarize"], heights=[[7, 7]], from=[3], to=[0, 1]', 2),
            ('kinds=["Finalize", "Finalization"], views=[[4, 4]], from=[2], to=[0]', 2),
        ]
    ),
)
def test_a_rule_finds_messages_by_kind_view_height_and_link(matching, count):
    """Validators say what their messages are about; the bus opens none."""
    run, _ = run_with(f'{{kind="rule", action="delay", delay_ms=3, stop_ms=30_000, {matching}}}')

    assert count_of(run) == count


@pytest.mark.soak
def test_a_rule_about_a_view_that_never_comes_had_no_effect():
    """And a run that requires it is inconclusive."""
    fault = 'faults.it={kind="rule", action="drop", views=[[900, 901]], stop_ms=3_000}'
    result = result_of("calm", fault, 'requires=["it"]')

    assert result.exit_code == 3
    assert "it had no effect" in check_named(result, "faults-effective").summary


def test_a_blackout_in_waves_counts_everybody_who_came_back():
    """Each at its own time."""
    run, events = run_with(
        '{kind="blackout", validators=[2, 0], at_ms=4_000, restart_ms=6_000, restart_every_ms=1_500}'
    )

    assert [(event.at_us, body.machine) for event, body in events_of_type(events, Restarted)] == [
        (6_000_000, 2),
        (7_500_000, 0),
    ]
    assert count_of(run) == 2


@pytest.mark.parametrize(
    "name", rest_in_soak(["mixed-trouble", "flapping-leader", "certified-split"], ["certified-split"])
)
@pytest.mark.soak
def test_runs_with_every_kind_of_fault_are_deterministic(name):
    """The same events in another process, under another hash seed and another order of trio's tasks."""
    scenario = load_scenario(name)

    log = repeat_in_fresh_process(encode_scenario(scenario), 3, hash_seed=77, shuffle=5)

    assert log == bytes(Cluster(scenario, 3).run().trace.log)


def test_every_kind_of_fault_is_required_by_some_scenario():
    """And `test_scenarios` shows that each takes effect there."""
    scenarios = [load_scenario(str(path)) for path in scenario_files().values()]
    required = {
        kind_of(scenario.faults[name])
        for scenario in scenarios
        for name in scenario.requires
        if name in scenario.faults
    }

    assert required == {kind_of(kind) for kind in FAULTS.built_in}
