"""The pace of leaders: blocks before the block interval is over, or after a wait that is not the rest of it."""

import pytest

from checker.checks.block_pace import BlockPace
from checker.checks.planned import PlannedFault, PlannedRun
from checker.results import CheckTally
from faults.events import Crashed
from network.events import Event, EventRouter, TimerElapsed
from network.types import SUPERVISOR
from tests.support.checks import make_run
from validators.events import Booted
from validators.execution.blocks import Header

VIEW, LEADER = 7, 2
PARENT_MS = 3_000
PACED = PlannedRun(block_interval_us=1_000_000)


def header(timestamp_ms):
    zeros = bytes(32)
    return Header(0, 5, 0, VIEW, zeros, LEADER, timestamp_ms // 1_000, timestamp_ms, zeros, zeros, zeros)


def judge(timestamp_ms, *events, entered_ms=3_100, plan=PACED):
    """Whether the block of this time passes, which validator 2 proposed in view 7."""
    tally = CheckTally("block-times", "safety")
    pace = BlockPace(make_run(plan=plan), tally)
    router = EventRouter(pace.handlers)
    for event in events:
        router.route(event)
    pace.judge(header(timestamp_ms), PARENT_MS, entered_ms * 1_000)
    return tally.result("").status


def waited(over_ms, asked_ms):
    return Event(over_ms * 1_000, LEADER, TimerElapsed(("pace", VIEW), asked_ms * 1_000))


class TestWithoutAWait:
    """A leader whose view begins late proposes at once."""

    @pytest.mark.parametrize(("timestamp_ms", "status"), [(3_999, "failed"), (4_000, "passed"), (9_000, "passed")])
    def test_no_block_comes_before_the_interval_is_over(self, timestamp_ms, status):
        assert judge(timestamp_ms) == status

    @pytest.mark.parametrize(("timestamp_ms", "status"), [(3_499, "failed"), (3_500, "passed")])
    def test_a_parent_ahead_of_the_clock_costs_an_interval(self, timestamp_ms, status):
        assert judge(timestamp_ms, entered_ms=2_500) == status

    def test_views_that_go_by_the_clock_have_no_pace(self):
        assert judge(3_001, plan=PACED._replace(slot_us=1_000_000)) == "inconclusive"


class TestAfterAWait:
    """The rest of the interval, or a whole one where the clock is behind the parent."""

    def test_the_rest_of_the_interval_passes(self):
        assert judge(4_000, waited(4_000, 800)) == "passed"

    @pytest.mark.parametrize("over_ms", [4_001, 4_900])
    def test_a_wait_to_another_time_fails(self, over_ms):
        assert judge(over_ms, waited(over_ms, 900)) == "failed"

    @pytest.mark.parametrize(("over_ms", "status"), [(3_900, "passed"), (4_000, "passed"), (4_001, "failed")])
    def test_a_whole_interval_is_waited_by_a_clock_behind_the_parent(self, over_ms, status):
        assert judge(over_ms, waited(over_ms, 1_000), entered_ms=2_800) == status

    def test_a_block_after_the_end_of_the_wait_fails(self):
        assert judge(4_200, waited(4_000, 800)) == "failed"

    def test_a_paused_leader_builds_when_it_goes_on(self):
        paused = PlannedFault("pause", 0, 9_000_000, (LEADER,), pauses=True)

        assert judge(4_200, waited(4_000, 800), plan=PACED._replace(faults=(paused,))) == "passed"

    @pytest.mark.parametrize(
        "restart",
        [Event(4_100_000, SUPERVISOR, Crashed(LEADER, 0)), Event(4_100_000, LEADER, Booted(2, VIEW, 4, bytes(32)))],
    )
    def test_a_wait_of_an_earlier_life_counts_no_more(self, restart):
        assert judge(4_200, waited(4_000, 800), restart) == "passed"
