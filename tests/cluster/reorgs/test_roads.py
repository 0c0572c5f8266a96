"""Every road of a reorg ends in one state, and a road that goes wrong is named with what differs."""

import pytest

from checker.record.cold_replay import ColdReplayWorker
from cluster.reorgs import ROADS, measure_depths, plan_reorgs, roads
from cluster.reorgs.roads import ReplayProcess
from tests.support.keystones import rest_in_soak, third_of
from validators.execution import Engine
from validators.state import Database

HASH_SEED = 7


@pytest.fixture(scope="module")
def process():
    with ColdReplayWorker(HASH_SEED) as worker:
        yield ReplayProcess(worker.run, HASH_SEED)


def measure(process, policy, depth, *settings):
    plan = plan_reorgs("mixed-clients", [policy], [depth], pivot=6, seed=0, settings=settings)
    (result,) = measure_depths(plan, process)
    return result


def assert_road_differs(result, road, words):
    (finding,) = [finding for finding in result.findings if finding.road == road]
    assert finding.status == "differs"
    assert words in finding.reason


@pytest.mark.parametrize("policy", third_of(["fifo", "eip1559"]))
@pytest.mark.parametrize("depth", rest_in_soak([1, 2, 3, 8, 33, 64], [1, 8]))
def test_all_roads_end_in_one_state(process, policy, depth):
    result = measure(process, policy, depth)

    assert [(each.road, each.status, each.reason) for each in result.findings] == [(r, "equal", "") for r in ROADS]


@pytest.mark.parametrize("setting", third_of(["chain.timebase=height", "chain.block_interval_ms=1_500"]))
def test_the_timebase_does_not_matter(process, setting):
    assert measure(process, "eip1559", 5, setting).status == "equal"


@pytest.mark.parametrize("pair", third_of(["fifo>eip1559", "fifo-free>fifo", "eip1559>gba-auction"]))
def test_an_activation_in_the_middle_of_both_branches_is_undone(process, pair):
    result = measure(process, pair, 4)

    assert [each.reason for each in result.findings if each.status == "differs"] == []


def test_blocks_that_moved_are_those_of_the_branches(process):
    result = measure(process, "fifo", 3)

    moved = {finding.road: finding.moved for finding in result.findings}
    assert {road: moved[road] for road in ("drop", "rewind", "rewrite", "execute-again", "oracle")} == {
        "drop": 3,
        "rewind": 3,
        "rewrite": 3 + 4 + 3,
        "execute-again": 3 + 4,
        "oracle": 3 + 4,
    }


def test_a_road_that_moved_nothing_shows_nothing(process, monkeypatch):
    monkeypatch.setattr(Engine, "certify", lambda *_: 0)

    result = measure(process, "fifo", 2)

    (finding,) = [finding for finding in result.findings if finding.road == "rewind"]
    assert (finding.status, finding.reason) == ("inconclusive", "0 blocks moved, expected 2")
    assert result.status == "inconclusive"


def test_an_index_that_a_rewind_leaves_wrong_is_named(process, monkeypatch):
    whole = Engine.due_heights
    monkeypatch.setattr(
        Engine, "due_heights", lambda self, upto: whole(self, upto)[self._apply_mode.apply == "certified" :]
    )

    result = measure(process, "fifo", 2)

    assert_road_differs(result, "rewind", "timers wait at the heights")


def test_a_value_that_a_rewind_leaves_wrong_is_named_with_its_key(process, monkeypatch):
    whole = Engine.live_values

    def without_the_last(self):
        values = list(whole(self))
        return iter(values[: len(values) - (self._apply_mode.apply == "certified")])

    monkeypatch.setattr(Engine, "live_values", without_the_last)

    result = measure(process, "fifo", 2)

    assert_road_differs(result, "rewind", "absent; without the fork")


def test_a_rewind_that_breaks_off_is_a_finding(process, monkeypatch):
    monkeypatch.setattr(Database, "rewind", lambda self, _batches: self.root)

    result = measure(process, "fifo", 2)

    assert_road_differs(result, "rewind", "")
    assert result.status == "differs"


def test_a_wrong_replay_is_a_finding(process):
    def without_the_last_value(directory, hash_seed, values_at=()):
        replayed = process.replay(directory, hash_seed, values_at)
        values = next(iter(replayed.values.values()))
        del values[max(values)]
        return replayed

    result = measure(roads.ReplayProcess(without_the_last_value, HASH_SEED), "fifo", 1)

    assert_road_differs(result, "cold-replay", "absent; without the fork")
