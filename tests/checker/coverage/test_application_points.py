"""The coverage points of an application: the roads that its runs took, and the boundaries at which they were struck."""

import pytest

from checker.coverage.application_points import ROAD_OF_CALL, STRUCK, ApplicationRule
from checker.coverage.registry import POINTS, points_for
from cluster.live.progress import LiveProgress
from cluster.outside.conversation import KeptBlock
from cluster.outside.hosting.calls import CallLog
from cluster.outside.hosting.replicas import Ports, ReplicaHost
from cluster.outside.life import Exchange
from cluster.verdict.pipeline import run_pipeline
from network.chance import Chance
from tests.support.applications import LEDGER, bad_command, small_application_run
from validators.execution.blocks import decode_block

STRIKE = (
    'faults.crash={{kind="crash-at-boundary",validator=1,boundary="{}-call",start_ms=0,stop_ms=8000,every=5,'
    "restart_after_ms=200}}"
)
MODES = ('validators.2={apply="certified"}', 'observers.j={kind="snapshot-join",times=2,may_be_idle=true}')
OUTAGE = 'faults.crash={kind="blackout",validators=[2,3],at_ms=3_500,restart_ms=9_000}'
KEPT = KeptBlock(height=4, id=bytes(32), root=bytes(32))


def reached(command, *settings):
    with LiveProgress(title="it", is_quiet=True) as progress:
        scenario = small_application_run(command, *settings)
        result = run_pipeline(scenario, 0, progress=progress, has_page=False, runs=None)
    labels = {point.label for point in ApplicationRule}
    return {point: hits for point, hits in result.rules if point in labels}, result


def test_a_run_counts_the_roads_that_it_took():
    points, result = reached(LEDGER, *MODES, STRIKE.format("before"))

    expected = {"chain-begun", "early-applied", "executed-twice", "resumed-behind", "before-finalize", "cold-replayed"}
    assert points.keys() >= expected | {"state-handed-out", "state-restored", "directory-emptied"}
    assert points["cold-replayed"] == 1
    assert not [label for label in points if label.startswith("after-") or label == "branch-process"]
    assert {point.kind for point in result.points} == {"crash-at-boundary"}
    assert result.workloads["calls"] == sum(len(decode_block(each.encoded).transactions) for each in result.chain) > 5


def test_an_application_that_cannot_fork_counts_its_branch_processes():
    points, _ = reached(bad_command("forward"), OUTAGE)

    assert points["branch-process"] >= 1
    assert {"fork-lost", "resumed-at-last"} <= points.keys()
    assert "executed-twice" not in points


def test_a_lost_application_is_counted():
    points, _ = reached(bad_command("dies"))

    assert points["process-lost"] >= 2


class PowerCut(BaseException):
    """The power goes."""


def host_of(points, *, is_struck):
    """Return a host that counts its points, on a machine whose power goes at the first boundary or never."""

    def cut(_node, _boundary):
        if is_struck:
            raise PowerCut

    ports = Ports(cut, lambda *_asked: PowerCut(), lambda _node, point: points.append(point.label))
    return ReplicaHost(1, CallLog(), Chance(0), None, [], ports)


@pytest.mark.parametrize("label", STRUCK)
def test_a_boundary_is_a_point_by_side_and_call(label):
    side, call = label.split("-")
    points = []
    asked = Exchange(call, {"resume": False}, None)
    with pytest.raises(PowerCut):
        getattr(host_of(points, is_struck=True), f"{side}_call")(asked)

    answered = [ROAD_OF_CALL[call].label] if side == "after" and call in ROAD_OF_CALL else []
    assert points == [*answered, label]


def test_a_boundary_without_a_power_cut_is_no_point():
    points = []
    for side in ("before", "after"):
        getattr(host_of(points, is_struck=False), f"{side}_call")(Exchange("execute", {}, None))

    assert points == []


@pytest.mark.parametrize(("call", "point"), ROAD_OF_CALL.items())
def test_an_answer_shows_its_road(call, point):
    points = []
    host_of(points, is_struck=False).after_call(Exchange(call, {}, {}))

    assert points == [point.label]


def test_of_pieces_the_last_is_a_road():
    points = []
    for piece in range(3):
        host_of(points, is_struck=False).after_call(Exchange("restore", {"piece": piece, "of": 3}, {}))

    assert points == ["state-restored"]


@pytest.mark.parametrize(
    ("resume", "kept", "height", "expected"),
    [
        (False, None, 0, []),
        (True, None, 4, ["resumed-empty"]),
        (True, KEPT, 5, ["resumed-behind"]),
        (True, KEPT, 4, ["resumed-at-last"]),
        (True, KEPT, 3, []),
    ],
)
def test_a_process_comes_back_at_its_block_or_behind(resume, kept, height, expected):
    points = []
    host = host_of(points, is_struck=False)
    host.after_call(Exchange("hello", {"resume": resume}, {}))
    host.resume(kept, height)

    assert points == expected


def test_a_campaign_is_compared_with_the_points_that_it_can_reach():
    own, applications = points_for(["known-again"]), points_for(["known-again", "chain-begun"])

    assert "chain-begun" not in own
    assert len(own) + len(ApplicationRule) == len(POINTS)
    assert {"resumed-behind", "snapshot-joined", "torn-tail", "sent-again"} <= applications.keys()
    assert not applications.keys() & {"due-next", "nonce-spent", "pool-kept", "transaction-unsigned", "slots-skipped"}
    assert "nonce-spent" in points_for(["nonce-spent", "chain-begun"])
