"""Undisturbed views: a view that is nullified in a calm stretch fails, and one that had a reason is not judged."""

from types import SimpleNamespace

import pytest

from checker.checks.planned import PlannedFault, PlannedRun
from checker.checks.rules.undisturbed_views import UndisturbedViews
from faults.events import ApplicationLost, Restarted
from network.events import Event, Sent, WorkFinished
from network.types import SUPERVISOR
from tests.support.checks import make_run, show
from validators.costs import Costs
from validators.events import BlockFinalized, CertificateHeld, Entered, Reported, StoppedVoting

PLAN = PlannedRun(
    costs=Costs(),
    block_interval_us=1_000_000,
    leader_timeout_us=2_000_000,
    certification_timeout_us=3_000_000,
    latency_max_us=50_000,
)


def second(number, event, node=0):
    return Event(number * 1_000_000, node, event)


def history(*more, nullified=20):
    """Return views 1 to 30, one a second, led in turn, of which one is nullified and all others are final."""
    events = [second(view, Entered(view, view % 4)) for view in range(1, 31)]
    events += [second(view, BlockFinalized(view, view, b"", b""), node) for view in range(1, 31) for node in range(4)]
    events = [event for event in events if getattr(event.body, "height", 0) != nullified]
    events.append(second(nullified, Reported("TimedOut", nullified % 4, nullified, "MissingProposal")))
    events.append(second(nullified + 1, CertificateHeld("nullification", nullified, b"", (0, 1, 2))))
    return sorted([*events, *more], key=lambda event: (event.at_us, event.node))


def judge(events, plan=PLAN, **facts):
    check = UndisturbedViews(make_run(plan=plan, **facts))
    show(check, *events)
    return check


def test_a_view_nullified_in_calm_fails_with_its_leader_and_reason():
    result = judge(history()).finish()

    assert result.status == "failed"
    assert result.summary == (
        "view 20 of validator 0, entered at 20,000 ms, was nullified but no fault was at work: MissingProposal"
    )


@pytest.mark.parametrize("stop", [14, 20, 25])
def test_a_fault_and_the_margin_after_it_excuse_a_view(stop):
    """The margin is two certification timeouts."""
    plan = PLAN._replace(faults=(PlannedFault("split", 12_000_000, stop * 1_000_000),))

    assert judge(history(), plan).finish().status == "passed"


@pytest.mark.parametrize(("back", "status"), [(16, "passed"), (None, "passed"), (13, "failed")])
def test_an_application_that_is_lost_is_a_fault(back, status):
    """Another validator leads view 20, and the margin after the return is six seconds."""
    lost = second(12, ApplicationLost(3, 7, "execute", "it hangs", 3), SUPERVISOR)
    returns = [] if back is None else [second(back, Restarted(3), SUPERVISOR)]

    assert judge(history(lost, *returns)).finish().status == status


def test_a_fault_that_was_over_long_ago_excuses_nothing():
    plan = PLAN._replace(faults=(PlannedFault("split", 1_000_000, 13_000_000),))

    assert judge(history(), plan).finish().status == "failed"


@pytest.mark.parametrize(
    "event", [second(15, Restarted(0), SUPERVISOR), second(3, StoppedVoting("its journal is lost"), 0)]
)
def test_a_leader_that_is_hardly_back_or_has_no_vote_is_not_judged(event):
    assert judge(history(event)).finish().status == "passed"


def test_a_leader_that_lacks_a_final_block_is_not_judged():
    """It may be joining from a snapshot, be the gap of one block; found by the swarm (seed 431806)."""
    events = [event for event in history() if (event.node, getattr(event.body, "height", 0)) != (0, 19)]

    assert judge(events).finish().status == "passed"
    assert len(judge(events)._judged()) == len(judge(history())._judged()) - 1


def test_a_byzantine_leader_is_not_judged():
    assert judge(history(), honest=(1, 2, 3)).finish().status == "passed"


@pytest.mark.parametrize(("base_us", "status"), [(50_000, "failed"), (500_000, "inconclusive")])
def test_without_tables_the_dearest_work_stands_for_a_block(base_us, status):
    """Three times the work has to fit into the leader's timeout beside the block interval."""
    work = second(2, WorkFinished("cpu", 0, base_us, 0))

    assert judge(history(work), offers=("trace", "events")).finish().status == status
    assert judge(history(work)).finish().status == "failed"


@pytest.mark.parametrize("change", [{"is_lossy": True}, {"latency_max_us": 200_000}])
def test_a_network_that_is_never_calm_is_not_asked(change):
    assert judge(history(), PLAN._replace(**change)).not_asked()


def test_blocks_that_cost_more_than_a_timeout_are_not_judged():
    check = UndisturbedViews(make_run(plan=PLAN))
    summary = SimpleNamespace(cycles_used=50_000_000, lane_cycles=0, mailbox_cycles=0, gc_cycles=0)
    check.settle(SimpleNamespace(summary=summary, changes=(), transactions=()))
    show(check, *history())

    assert check.not_asked()


@pytest.mark.parametrize(("decode_kib_us", "is_asked"), [(1, True), (500, False)])
def test_messages_that_take_a_timeout_to_decode_leave_a_leader_no_room(decode_kib_us, is_asked):
    check = UndisturbedViews(make_run(plan=PLAN._replace(costs=Costs(decode_kib_us=decode_kib_us))))
    show(check, *history(), second(30, Sent(1, 0, "TransactionGossip", 1 << 20, b"")))

    assert (not check.not_asked()) is is_asked
