"""Runs of scheduled transactions: what a losing branch held, and what expired entries cost live ones by profile."""

import pytest

from cluster.runtime.cluster import Cluster
from cluster.runtime.hooks import RunHooks
from cluster.scenario.load import load_scenario
from cluster.swarm.generator import draw_scenario
from cluster.verdict.executions import watch_executions
from scheduler import TimerFired, TransactionCancelled, TransactionFailed
from scheduler.events import AuthorizationRaised
from tests.support.cluster_runs import applied_blocks, check_named, judge
from tests.support.keystones import third_of


def exits(blocks):
    """Return the kinds of the exits in some blocks, without repetition."""
    events = [event for executed in blocks for event in executed.events]
    kinds = [event.code.value if isinstance(event, TransactionFailed) else type(event).__name__ for event in events]
    return {name for name in kinds if name != "TransactionScheduled"}


class Watched:
    """Keeps what some replicas execute."""

    def __init__(self):
        self.blocks = {}

    def executed(self, _node, executed):
        self.blocks[executed.digest] = executed

    def broken_off(self, _node, _broken):
        """Nothing breaks off here."""


@pytest.fixture(scope="module")
def branches():
    """The blocks of `aptos-reorg` that validator 2 executed and lost, and those of the chain."""
    final, watched = {}, Watched()
    hooks = RunHooks(on_applied=lambda node, executed: final.update({executed.digest: executed} if node == 2 else {}))
    cluster = Cluster(load_scenario("aptos-reorg"), 0, hooks=hooks)
    watch_executions(cluster, [2], watched)
    cluster.run()
    return [executed for digest, executed in watched.blocks.items() if digest not in final], list(final.values())


@pytest.mark.soak
def test_entries_leave_in_every_way_on_the_branch_that_loses(branches):
    lost, _ = branches
    ways = {TimerFired.__name__, TransactionCancelled.__name__, AuthorizationRaised.__name__, "Expired", "AuthExpired"}

    assert len(lost) >= 8
    assert ways - exits(lost) == set()


def test_entries_that_ran_on_the_branch_that_loses_leave_again(branches):
    """Most of them otherwise: by the time of the branch that wins they have expired."""
    lost, won = branches
    ran = {event.timer_id for executed in lost for event in executed.events if isinstance(event, TimerFired)}
    left = {
        event.timer_id: event
        for executed in won
        for event in executed.events
        if isinstance(event, TimerFired | TransactionFailed | TransactionCancelled)
    }
    known = ran & left.keys()

    assert any(isinstance(left[timer_id], TransactionFailed) for timer_id in known)
    assert len(known) >= 10


SLOTS_OF_FLOOD = range(13, 17)
"""The due slots of the entries that expire in the blackout of `aptos-flood`; the live ones are due from 26 on."""


def lateness_of_live(profile):
    """Return by how many slots the live entries of `aptos-flood` ran late, all together, and how many ran."""
    _run, applied = applied_blocks("aptos-flood", f'chain.policy_parameters.profile="{profile}"')
    fires = [
        (executed.header.slot, event)
        for node, executed in applied
        if node == 0
        for event in executed.events
        if isinstance(event, TimerFired) and event.due > SLOTS_OF_FLOOD[-1]
    ]
    late = [slot - event.due for slot, event in fires]
    return sum(late), max(late), len(late)


@pytest.mark.soak
def test_expired_entries_keep_live_ones_waiting_in_latest_only():
    latest, aip = lateness_of_live("latest"), lateness_of_live("aip")

    assert latest[2] == 40
    assert aip[2] >= 40
    assert latest[1] >= aip[1] + 5, (latest, aip)
    assert latest[0] >= 3 * aip[0], (latest, aip)


@pytest.mark.soak
def test_governance_may_come_behind_a_block_that_has_taken_an_entry():
    """The entry is not live any more, and runs behind the call in the same block."""
    result = judge(draw_scenario(43, ("chain.policy=aptos",)), seed=43)

    assert check_named(result, "timer-delivery").status == "passed"


@pytest.mark.parametrize(
    ("name", "differs_by"),
    third_of([("aptos-blocks", range(20, 100)), ("aptos-tenths", range(2))]),
)
def test_the_readings_of_the_expiry_agree_at_ten_blocks_a_second_alone(name, differs_by):
    """There a hundred blocks are ten seconds, to one block; at a second a block they are ten times as long."""
    fires = []
    for reading in ("blocks", "time"):
        _, applied = applied_blocks(name, f"chain.policy_parameters.expiry_by={reading!r}")
        blocks = {executed.digest: executed for _, executed in applied}.values()
        fires.append(sum(executed.summary.fired for executed in blocks))

    assert fires[0] - fires[1] in differs_by
