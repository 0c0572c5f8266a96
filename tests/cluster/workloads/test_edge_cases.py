"""The workload of edge cases: it reaches every rule that it is about, and nothing stands in a block that may not."""

from collections import Counter

import pytest

from checker.record.cold_replay import replay_directory
from cluster.live.progress import LiveProgress
from cluster.scenario.load import convert_scenario
from cluster.verdict.pipeline import run_pipeline
from cluster.workloads.boundary.edge_cases import CASES
from cluster.workloads.planned import sites_of
from scheduler import TimerCancelledInsufficientFunds
from tests.support.keystones import rest_in_soak
from validators.actors import Emitted
from validators.execution import decode_receipt
from validators.execution.receipts import TransactionReceipt

LIMITS = {"max_timers_per_actor": 600, "lane_timer_cycles": 60_000}
OUT_OF_GAS = 2


def judge_all(**chain):
    raw = {
        "name": "odd",
        "title": "every edge case",
        "chain": chain,
        "workload": {
            "hearts": {"kind": "heartbeats", "actors": 2},
            "storm": {
                "kind": "storm",
                "actors": 1,
                "timers_per_actor": 8,
                "first_slot": 9,
                "spread_slots": 1,
                "ttl_slots": 9,
            },
            "odd": {"kind": "boundary-cases", "every_ms": 20},
        },
        "run": {"until_height": 46},
    }
    with LiveProgress(title="", is_quiet=True) as progress:
        return run_pipeline(
            convert_scenario(raw, "edge cases"),
            0,
            runs=None,
            progress=progress,
            replay=lambda directory, _hash_seed, values_at=(): replay_directory(directory, values_at),
        )


@pytest.fixture(scope="module")
def result():
    return judge_all(policy="eip1559", timers=LIMITS, lane={"bid_deprecation_blocks": 0, "gba_call_cycles": 2_000})


def receipts_of(result):
    return [decode_receipt(receipt) for executed in result.chain for receipt in executed.receipts]


def transactions_of(result):
    return [receipt for receipt in receipts_of(result) if isinstance(receipt, TransactionReceipt)]


def attempts_of(result):
    """Return each attempt with its receipt, None where no block has it."""
    site, workload = list(sites_of(result.scenario))[-1]
    receipts = {receipt.transaction: receipt for receipt in transactions_of(result)}
    timed = workload.transactions(site)
    return [(attempt, receipts.get(each.digest)) for attempt, each in zip(workload.attempts(site), timed, strict=True)]


def test_the_oracle_agrees_on_all_of_them(result):
    assert (result.verdict, result.headline) == (
        "passed",
        "4 validators hold one state root at every height up to 46",
    )


@pytest.mark.parametrize("policy", rest_in_soak(["fifo", "fifo-free"], ["fifo"]))
@pytest.mark.soak
def test_the_oracle_agrees_without_a_lane_and_in_heights(policy):
    assert judge_all(policy=policy, timebase="height", timers=LIMITS).verdict == "passed"


def test_every_named_error_of_a_call_is_reported(result):
    events = [event for receipt in transactions_of(result) for event in receipt.events]
    events += [receipt.event for receipt in receipts_of(result) if not isinstance(receipt, TransactionReceipt)]
    reported = Counter(
        event.data.decode() for event in events if isinstance(event, Emitted) and event.topic == "refused"
    )

    assert set(reported) >= {
        *("AlreadyCollected", "GasLimitTooHigh", "HandlerTooLong", "HeightNotInFuture", "InvalidInput"),
        *("PayloadTooLarge", "TimerArgDeprecated", "TimerRejectedBelowBasefee", "TtlTooLong", "Unauthorized"),
        *("TooManyTimers", "UnknownTimer"),
    }


def test_every_reason_of_a_reverted_transaction_comes_up(result):
    reasons = {receipt.error for receipt in transactions_of(result) if receipt.error}

    assert reasons >= {
        *("InsufficientBalance", "InvalidInput", "OutOfGas", "Unauthorized", "UnknownActor", "UnknownHandler"),
        *("UnknownTimer", "does not beat", "no subscription", "not a PriceOrder", "not a Script"),
        *("not a timer of this actor", "not the owner", "payload where none belongs", "x" * 128),
    }


def test_what_may_stand_in_no_block_stands_in_none(result):
    refused = [receipt for attempt, receipt in attempts_of(result) if attempt.is_refused]

    assert len(refused) >= 12
    assert refused == [None] * len(refused)


def test_all_else_finds_its_block(result):
    assert all(receipt is not None for attempt, receipt in attempts_of(result) if not attempt.is_refused)


def test_a_script_has_the_gas_that_it_needs(result):
    """A group whose first transaction runs out tries nothing."""
    dry = [attempt for attempt, receipt in attempts_of(result) if receipt is not None and receipt.status == OUT_OF_GAS]

    assert len(dry) == 9


def timer_events_of(result, kind):
    return [event for executed in result.chain for event in executed.events if isinstance(event, kind)]


def test_a_payer_that_is_not_the_actor_turns_out_to_be_insolvent(result):
    """Otherwise an event with the wrong account's balance would pass."""
    site, workload = list(sites_of(result.scenario))[-1]
    keeper = workload._bench(site).bookkeeper

    assert keeper in {event.fee_payer for event in timer_events_of(result, TimerCancelledInsufficientFunds)}


def test_a_scenario_takes_groups_from_any_one_on_round_and_round(result):
    scenario = result.scenario
    site, workload = list(sites_of(scenario))[-1]
    whole = [attempt.call for attempt in workload.attempts(site)]
    last = type(workload)(first=len(CASES) - 1, count=2)

    assert [attempt.call for attempt in last.attempts(site)][-4:] == whole[:4]
