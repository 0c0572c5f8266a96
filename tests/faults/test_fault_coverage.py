"""Coverage: whom a fault hit, in which phase, in which role; and a campaign that left out what it promised."""

import msgspec
import pytest

from cluster.campaign.coverage import CoverageTable, Reached, promise_of
from cluster.campaign.results_db import SeedResult
from cluster.campaign.sweep import SweepTally
from cluster.cli.main import main
from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from cluster.swarm.generator import draw_scenario, drawn_kinds
from faults import FAULTS, PHASES, ROLES, Coverage, FaultPoint, kind_of
from faults.coverage.phases import Phases
from faults.coverage.registry import ENGINE_PHASES
from faults.events import FaultEdge
from network.events import Event, EventRouter, events_of_type
from network.types import SUPERVISOR
from tests.support.drawn import Drawn
from tests.support.events import logged
from tests.support.network_harness import shuffled
from validators.events import Booted, Entered, Voted

CRASH = 'faults.it={{kind="crash", validator={0}, at_ms={1}, restart_ms={2}}}'


def points_of(*settings, seed=0, scenario="calm"):
    return Cluster(load_scenario(scenario, settings), seed).run().points


def phases_of(*events):
    """Return the phases and roles that validator 1 of four goes through."""
    seen = []
    phases = Phases(4, lambda _node: None, ENGINE_PHASES["simplex"])
    router = EventRouter(phases.handlers)
    for node, kind, *values in events:
        router.route(logged(0, node, kind, *values))
        status = phases.of(1)
        if not seen or seen[-1] != (status.phase, status.role):
            seen.append((status.phase, status.role))
    return seen


BOOT = (1, "boot", 0, 1, 0, b"")


def test_a_voter_goes_through_a_view_phase_by_phase():
    assert phases_of(
        BOOT,
        (1, "enter", 7, 2),
        (1, "deliver", 3, 9, "Notarize", 100, b""),
        (1, "deliver", 2, 9, "Notarize", 100, b""),
        (1, "vote", "notarize", 7, b"d"),
        (1, "certificate", "notarization", 7, b"d", (0, 1, 2)),
        (1, "enter", 8, 3),
        (1, "vote", "finalize", 7, b"d"),
        (1, "certificate", "finalization", 7, b"d", (0, 1, 2)),
        (1, "vote", "nullify", 8, b""),
    ) == [
        ("awaiting-proposal", "voter"),
        ("verifying", "voter"),
        ("notarized", "voter"),
        ("certifying", "voter"),
        ("awaiting-proposal", "voter"),
        ("finalizing", "voter"),
        ("awaiting-proposal", "voter"),
        ("nullified", "voter"),
    ]


def test_a_leader_proposes_until_it_votes():
    assert phases_of(BOOT, (1, "enter", 8, 1), (1, "vote", "finalize", 7, b""), (1, "vote", "notarize", 8, b"")) == [
        ("awaiting-proposal", "voter"),
        ("proposing", "leader"),
        ("notarized", "leader"),
    ]


def test_a_restart_ends_when_the_validator_says_that_it_is_back():
    assert phases_of(BOOT, (SUPERVISOR, "crash", 1, 0), (SUPERVISOR, "restart", 1), BOOT, (1, "halted", "why")) == [
        ("awaiting-proposal", "voter"),
        ("down", "voter"),
        ("recovering", "voter"),
        ("awaiting-proposal", "voter"),
        ("halted", "voter"),
    ]


def test_a_validator_that_seeks_a_snapshot_joins_in_every_view_until_then():
    seen = phases_of(
        BOOT, (1, "send", 0, 5, "SnapshotRequest", 9, b""), (1, "enter", 9, 1), (1, "snapshot-joined", 4, b"", b"")
    )

    assert seen[1:] == [("joining", "voter"), ("joining", "leader"), ("proposing", "leader")]


def test_one_that_lacks_a_block_fetches_until_it_has_executed_it():
    request = (1, "send", 0, 5, "BlockRequest", 9, b"")
    assert [phase for phase, _ in phases_of(BOOT, request, (1, "executed", 4, 4, b"", b"", "verify"))] == [
        "awaiting-proposal",
        "fetching",
        "awaiting-proposal",
    ]


def test_one_that_lost_its_journal_leads_no_view():
    assert phases_of(BOOT, (1, "observer", "journal lost"), (1, "enter", 9, 1))[1:] == [
        ("awaiting-proposal", "observer")
    ]


@pytest.fixture(scope="module")
def calm_events():
    events = []
    Cluster(load_scenario("calm", []), 0, hooks=RunHooks(on_event=events.append)).run()
    return events


@pytest.mark.soak
def test_a_crash_of_a_leader_with_a_block_to_propose_is_that_cell(calm_events):
    entered = next(event for event, body in events_of_type(calm_events, Entered) if body == Entered(6, event.node))
    at_ms = entered.at_us // 1_000 + 20

    points = points_of(CRASH.format(entered.node, at_ms, at_ms + 2_000))

    assert points == (FaultPoint("crash", "proposing", "leader", 1),)


def test_a_crash_between_vote_and_certificate_is_that_cell(calm_events):
    """The run with the crash is the calm one until then."""
    voted = next(
        event for event, body in events_of_type(calm_events, Voted) if (body.vote, body.view) == ("notarize", 6)
    )
    at_ms = voted.at_us // 1_000 + 1

    (point,) = points_of(CRASH.format(voted.node, at_ms, at_ms + 2_000))

    assert (point.kind, point.phase) == ("crash", "notarized")


def test_a_lost_message_hits_who_sent_it_and_who_was_to_have_it():
    rule = 'faults.it={kind="rule", action="drop", kinds=["BlockRelay"], from=[1], views=[[5, 5]], stop_ms=30_000}'

    points = points_of(rule)

    assert [(point.phase, point.role, point.hits) for point in points] == [
        ("awaiting-proposal", "voter", 3),
        ("proposing", "leader", 3),
    ]


def test_damage_that_is_read_at_a_restart_hits_a_recovery():
    disk = 'faults.rot={kind="bit-rot", validator=2, ppm=500_000, files=["blocks"], start_ms=4_000, stop_ms=9_000}'

    points = points_of(disk, CRASH.format(2, 5_000, 6_000))

    assert [point[:3] for point in points if point.kind == "bit-rot"] == [("bit-rot", "recovering", "voter")]


def test_work_that_takes_longer_is_counted_while_it_does():
    points = points_of('faults.it={kind="slow", validator=2, factor=40, start_ms=3_000, stop_ms=12_000}')

    assert {point.phase for point in points} >= {"awaiting-proposal", "verifying", "notarized"}


def test_a_fault_without_effect_fills_no_cell():
    assert points_of('faults.it={kind="rule", action="drop", views=[[900, 901]], stop_ms=3_000}') == ()


def test_a_kind_that_nobody_prepared_is_hit_where_its_count_grows():
    """A count for the whole fault is credited to each validator that the fault is about."""
    counts = {0: 0, 1: 0}
    coverage = Coverage({"it": "new"}, 2, lambda _name, node: counts[node], ENGINE_PHASES["simplex"])
    router = EventRouter(coverage.handlers)
    for event in (Event(0, SUPERVISOR, FaultEdge("it", "start")), Event(0, 1, Booted(0, 1, 0, b""))):
        router.route(event)
    counts[1] = 3
    router.route(Event(0, 1, Entered(2, 1)))
    counts[1] = 5

    assert coverage.points(["it"]) == (
        FaultPoint("new", "awaiting-proposal", "voter", 3),
        FaultPoint("new", "proposing", "leader", 2),
    )


@pytest.mark.soak
def test_the_cells_of_a_run_are_the_same_under_another_shuffle_of_tasks():
    scenario = next(each for each in map(draw_scenario, range(99)) if {"links", "partition"} & set(each.faults))
    plain = Cluster(scenario, 0).run().points
    with shuffled(5):
        again = Cluster(scenario, 0).run().points

    assert plain == again
    assert len(plain) > 2


def test_every_promise_is_of_a_phase_and_a_role_that_exist():
    kinds = [kind_of(each) for each in FAULTS.built_in]
    promised = promise_of(kinds, "simplex")

    assert {phase for _, phase, _ in promised} <= set(PHASES)
    assert {role for _, _, role in promised} <= set(ROLES)
    assert len(promised) == sum(len(FAULTS.named(kind).cells) for kind in kinds) > 60


def test_an_engine_without_own_phases_promises_the_general_ones():
    assert promise_of(["cut"], "sequencer") == (
        ("cut", "proposing", "leader"),
        ("cut", "awaiting-proposal", "voter"),
        ("cut", "verifying", "voter"),
    )


@pytest.mark.soak
def test_every_kind_that_seeds_draw_now_and_then_is_promised():
    drawn = [kind_of(fault) for scenario in Drawn(range(1_000, 1_100)) for fault in scenario.faults.values()]
    often = {kind for kind in drawn if drawn.count(kind) >= 4}

    assert len(often) > 10
    assert often <= set(drawn_kinds())


def result(seed, *points):
    return SeedResult(seed, 0, "passed", "", "", "ab", 1, points=tuple(points))


def test_a_campaign_with_an_empty_promised_cell_is_inconclusive():
    tally = SweepTally(2, coverage=CoverageTable((("crash", "proposing", "leader"), ("crash", "nullified", "voter"))))
    tally.add(result(1, FaultPoint("crash", "proposing", "leader", 1)))

    assert (tally.verdict, tally.exit_code) == ("inconclusive", 3)
    assert tally.coverage.empty == (("crash", "nullified", "voter"),)
    tally.add(result(2, FaultPoint("crash", "nullified", "voter", 1)))
    assert (tally.verdict, tally.coverage.empty) == ("passed", ())


def test_a_failure_outweighs_an_empty_cell():
    tally = SweepTally(1, coverage=CoverageTable(promise_of(["crash"], "simplex")))
    tally.add(result(1)._replace(exit_code=1, verdict="safety"))

    assert tally.verdict == "safety"


def test_a_cell_counts_runs_and_hits():
    table = CoverageTable()
    table.add([FaultPoint("cut", "verifying", "voter", 7)])
    table.add([FaultPoint("cut", "verifying", "voter", 2), FaultPoint("cut", "down", "voter", 1)])

    assert table.reached == {("cut", "verifying", "voter"): Reached(2, 9), ("cut", "down", "voter"): Reached(1, 1)}


@pytest.mark.soak
def test_the_command_names_empty_cells_and_a_sweep_without_goals_passes(tmp_path, capsys):
    """The second and third sweep have nothing left to run: the points are those of the results file."""

    def sweep(*arguments):
        settings = ("--set", "run.until_height=3", "--set", CRASH.format(2, 1_500, 2_000))
        seeds = ("--seeds", "1..2", "--jobs", "1", "--runs", str(tmp_path))
        return main(["sweep", "calm", *settings, *seeds, *arguments]), capsys.readouterr().out

    plain_code, plain = sweep()
    promising_code, promising = sweep("--require-coverage")
    as_data = msgspec.json.decode(sweep("--json")[1])["coverage"]

    assert plain_code == 0
    assert "not reached" not in plain
    assert promising_code == 3
    assert "2 judged before" in promising
    assert "crash on a voter while verifying" in " ".join(promising.split())
    assert [point["runs"] for point in as_data["cells"]] == [2]
    assert as_data["empty"] == []
