"""The boundary cases about storage of other actors: agents read it as it stands, and no other call may (K-40)."""

from functools import cache

import pytest

from cluster.scenario.load import convert_scenario
from cluster.workloads.boundary.reads import RATES
from cluster.workloads.planned import sites_of
from scheduler import GbaFailed, TimerFired
from tests.support.cluster_runs import judge
from tests.support.keystones import third_of
from validators.actors import Emitted
from validators.execution import decode_receipt
from validators.execution.receipts import TransactionReceipt

PRESENT, ABSENT, NOBODYS, MORE_CELLS = 0, 1, 2, 5
"""Some of the agents that read, by their numbers."""

READERS = 7
FAILING = ("overrun", "failed")
"""The reasons of the last two: too few cells, and a malformed address."""


@cache
def result_under(policy):
    raw = {"name": "it", "title": "it", "run": {"until_height": 14}}
    raw["chain"] = {"policy": policy, "timers": {"lane_timer_cycles": 60_000}}
    raw["workload"] = {"reads": {"kind": "boundary-cases", "about": "reads", "every_ms": 5, "start_ms": 200}}
    return judge(convert_scenario(raw, "it.toml"))


def receipts_of(result):
    """Return the receipt of each transaction of the workload, in the order of its submissions."""
    decoded = [decode_receipt(receipt) for executed in result.chain for receipt in executed.receipts]
    found = {receipt.transaction: receipt for receipt in decoded if isinstance(receipt, TransactionReceipt)}
    ((site, workload),) = sites_of(result.scenario)
    return [found[each.digest] for each in workload.transactions(site)]


def rounds_of(result):
    """Return for each round of asking the tip per cycle of each agent's timer, and the reason if its agent failed."""
    events = [event for executed in result.chain for event in executed.events]
    tips = {event.timer_id: event.tip / event.used_cycles for event in events if isinstance(event, TimerFired)}
    reasons = {event.timer_id: event.reason for event in events if isinstance(event, GbaFailed)}
    receipts = receipts_of(result)
    rounds = (receipts[1:][:READERS], receipts[READERS + 2 :][:READERS])
    named = [[receipt.events[0].timer_id for receipt in asked] for asked in rounds]
    return [[(tips[timer], reasons.get(timer)) for timer in timers] for timers in named]


@pytest.mark.parametrize("policy", third_of(["eip1559", "gba-auction", "bias-auction", "fifo"]))
def test_the_oracle_agrees_and_a_handler_is_refused_under_every_policy(policy):
    result = result_under(policy)

    assert (result.verdict, result.headline) == (
        "passed",
        "4 validators hold one state root at every height up to 14",
    )
    assert dict(result.rules)["foreign-storage"] > 0


def test_an_agent_bids_by_the_value_that_stands_when_it_is_asked():
    """All agents of a round are told the same, so that their bids differ by what they have read alone."""
    rounds = rounds_of(result_under("eip1559"))
    read = [(tips[PRESENT][0] - tips[ABSENT][0]) % 97 for tips in rounds]

    assert read == [rate % 97 for rate in RATES]
    assert [tips[NOBODYS][0] for tips in rounds] == [tips[ABSENT][0] for tips in rounds]


def test_an_agent_may_read_as_many_bytes_as_it_has_cells():
    rounds = rounds_of(result_under("eip1559"))

    assert [[reason for _, reason in asked] for asked in rounds] == [[None] * MORE_CELLS + [*FAILING]] * 2


@pytest.mark.parametrize(("policy", "asked"), [("gba-auction", True), ("bias-auction", False)])
def test_an_agent_without_the_cells_fails_under_each_auction(policy, asked):
    """The GBA auction says so; under the bias auction the call that schedules is refused."""
    result = result_under(policy)
    events = [event for executed in result.chain for event in executed.events]
    overrun = [event for event in events if isinstance(event, GbaFailed) and event.reason == "overrun"]
    refused = [event for receipt in receipts_of(result) for event in receipt.events if isinstance(event, Emitted)]

    assert bool(overrun) is asked
    assert [event.data for event in refused].count(b"AgentFailed") == (0 if asked else 2 * len(FAILING))


def test_a_handler_reads_its_own_storage_alone():
    """Another actor's value and nobody's are refused, and a malformed address is named as such."""
    result = result_under("fifo")
    going_on, reverted, sending = receipts_of(result)[-3:]
    reasons = [event.data for event in going_on.events if isinstance(event, Emitted)]

    assert reasons == [b"own storage only", b"own storage only", b"InvalidInput"]
    assert (reverted.status, reverted.error) == (1, "own storage only")
    assert sending.error == ""


def test_neither_a_message_nor_a_fire_reads_what_others_have_stored():
    result = result_under("fifo")
    decoded = [decode_receipt(receipt) for executed in result.chain for receipt in executed.receipts]
    events = [receipt.event for receipt in decoded if not isinstance(receipt, TransactionReceipt)]
    reasons = [event.data for event in events if isinstance(event, Emitted)]

    assert reasons == [b"own storage only", b"own storage only", b"InvalidInput"] * 2
