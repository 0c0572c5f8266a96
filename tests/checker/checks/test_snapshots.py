"""Requests for snapshots that come too often, or though one has come."""

import pytest

from checker.checks.planned import PlannedRun
from checker.checks.snapshots import Snapshots
from network.events import Event, Sent
from tests.support.checks import finish, make_run, show
from validators.events import BlockFinalized, Booted, MessageRefused, SnapshotJoined

PLAN = PlannedRun(snapshot_gap_blocks=3)
GIVEN_UP = Event(2, 1, MessageRefused("snapshot", "of validator 0: unanswered"))


def at(second, body, node=0):
    return Event(second * 1_000_000, node, body)


def reach(node, height):
    return at(1, BlockFinalized(height, height, b"", b""), node)


def judge(*events):
    check = Snapshots(make_run(plan=PLAN))
    show(check, reach(0, 5), *events)
    return finish(check)


@pytest.mark.parametrize(("between", "status"), [((), "failed"), ((reach(1, 10),), "passed")])
def test_a_second_snapshot_is_asked_for_after_a_block(between, status):
    joined, asked = at(1, SnapshotJoined(9, b"", b""), 1), at(2, Sent(0, 0, "SnapshotRequest", 40, b"asked"), 1)

    assert judge(joined, *between, asked).status == status


@pytest.mark.parametrize(("between", "status"), [((), "failed"), ((GIVEN_UP, reach(1, 2)), "passed")])
def test_a_peer_is_asked_three_times_for_a_snapshot(between, status):
    asked = [at(2, Sent(0, ordinal, "SnapshotRequest", 40, b"asked"), 1) for ordinal in range(4)]
    other = at(2, Sent(2, 0, "SnapshotRequest", 40, b"asked"), 1)

    assert judge(*asked[:3], *between, other, asked[3]).status == status


def test_a_life_may_ask_anew():
    asked = [at(2, Sent(0, ordinal, "SnapshotRequest", 40, b"asked"), 1) for ordinal in range(4)]

    assert judge(*asked[:3], at(2, Booted(1, 1, 0, b""), 1), asked[3]).status == "passed"
