"""A rule of scheduled transactions that all validators break alike is named by the oracle, with what differs first."""

from base64 import b64encode

import pytest

from scheduler import aptos_calls, ready_queue
from scheduler.aptos_calls import CallsInBlock
from scheduler.bias_waits import WaitClock
from scheduler.events import TimerFired, TransactionCancelled, TransactionScheduled
from scheduler.identifiers import keccak256
from scheduler.policies import aptos
from scheduler.policies.aptos import AptosInBlock
from tests.support.lane_plans import govern
from tests.support.queue_plans import CLERKS, run, run_queue, script, sending
from tests.support.racers import consult
from validators.actors.world import Emitted
from validators.execution.blocks import CancelAll, SystemControlService
from validators.execution.world import ChainWorld

RICH, OTHER = CLERKS[:2]
GREAT = 2**63 - 1
WRITES = script([["tell", "ran", b""], ["put", b"k", bytes(11)]])
FAILS = script([["fail", "as ordered"]])


def insert(price, *, delay=1, payload=b"", gas=3_000, ttl=None, name=b"a", signs=True):
    """Return a clerk's step that inserts an entry."""
    return ["schedule", name, delay, payload, None, gas, ttl, [price], signs]


def told(*steps, actor=RICH, **fields):
    """Return a transaction by the first sender in which a clerk does this."""
    return 0, run(actor, list(steps), fields)


def serve(action):
    """Return an instruction on the service."""
    return 0, sending(SystemControlService(action, 2))


def changed(**values):
    """Return an instruction that changes parameters of the queue."""
    return 0, govern({f"system:aptos:{name}": value for name, value in values.items()})


NAMED = b'{"_handler":"run","_payload":"%b"}' % b64encode(WRITES)
CROWD = [insert(price, payload=payload) for price in (803, 500, 1_400) for payload in (WRITES, FAILS, WRITES)]
AIP = {"ready_limit": 4, "expiry_ms": 3_000, "expire_limit": 2}
DAY = (
    [
        ([told(*CROWD)], 1_000),
        ([told(["compute", 10], priority_fee_per_cycle=3), told(["compute", 10], priority_fee_per_cycle=0)], 1_000),
        ([told(["cancel", b"a"]), told(insert(700), insert(600), insert(300))], 1_000),
        *[([], 1_000)] * 2,
        *[([told(insert(200))], 4_000)] * 2,
        *[([], 1_000)] * 3,
    ],
    AIP,
    {"cell_basefee": 1_234},
)
"""More than a block takes, some of it at a transaction's price, and what expires in time and is worked off by twos."""
TOKENS = (
    [
        ([told(*[insert(price, payload=script([insert(300)])) for price in (900, 100)])], 1_000),
        ([(0, sending(CancelAll(RICH)))], 1_000),
        ([told(insert(500, delay=2), ["cancel", b"a"])], 1_000),
        *[([], 1_000)] * 3,
    ],
    {"profile": "latest", "cancel_lead_ms": 2_000, "expiry_ms": 2_000, "ready_limit": 1},
    {},
)
"""Tokens, of which one is spent and one has an old number, and a cancellation at the edge of the window."""
SIGNERS = (
    [
        ([told(insert(300, signs=False), insert(300, payload=NAMED, signs=False))], 1_000),
        ([told(insert(300, delay=5), ["copy", b"a", b"b", 16], ["cancel", b"b"], ["cancel", b"a"])], 1_000),
        *[([], 1_000)] * 2,
    ],
    {},
    {},
)
"""Handlers that see no sender, of which one asks for it, and a cancellation by a part of the key."""
BLOCKS = (
    [([told(*CROWD)], 1_000), *[([], 3_000)] * 2, *[([], 400)] * 4, ([changed(expiry_by="time")], 400), ([], 400)],
    {"ready_limit": 1, "expiry_by": "blocks", "expiry_blocks": 3, "expire_limit": 2},
    {},
)
"""Entries that expire after three blocks, some of them in one slot, until governance counts time."""
SHUTDOWN = (
    [
        ([told(*[insert(price, delay=9) for price in (500, 900, 100)])], 1_000),
        *[([serve(action)], 1_000) for action in ("start_shutdown", *["continue_shutdown"] * 2, "re_initialize")],
        ([told(insert(500))], 1_000),
        ([], 1_000),
    ],
    {},
    {},
)


def judge(plan, own, chain=None):
    """Return the oracle's result of a plan."""
    return consult(*run_queue(plan, own, **(chain or {})))


@pytest.mark.parametrize("story", [DAY, TOKENS, SIGNERS, BLOCKS, SHUTDOWN])
def test_the_oracle_agrees_with_the_chain_as_it_is(story):
    result = judge(*story)

    assert result.status == "passed", result.summary


class TestReadings:
    """The edges that random plans reach too seldom."""

    def test_a_base_gas_above_an_entrys_gas_takes_all_of_it(self):
        """Governance may raise the base gas after the insertion."""
        raised = changed(base_gas=5_000, min_gas=5_000)
        result = judge([([told(insert(500)), raised], 1_000), *[([], 1_000)] * 2], {})

        assert result.status == "passed", result.summary

    def test_a_token_lives_at_most_for_ever(self):
        own = {"profile": "latest", "token_lifetime_ms": GREAT}
        result = judge([([told(insert(500))], 1_000), ([], 1_000)], own)

        assert result.status == "passed", result.summary

    def test_an_expiry_at_the_end_of_time(self):
        own = {"profile": "latest", "expiry_ms": GREAT}
        result = judge([([told(insert(500, delay=1_500))], 1_000), *[([], 1_000)] * 2], own, {"slot_ms": 1})

        assert result.status == "passed", result.summary

    def test_without_authorization_no_run_hands_its_token_on(self):
        """The running entry has a token from the time before."""
        successor = script([insert(300)])
        own = {"profile": "latest"}
        plan = [([told(insert(500, payload=successor)), changed(authorization="none")], 1_000), *[([], 1_000)] * 3]
        genesis, chain = run_queue(plan, own)
        result = consult(genesis, chain)

        inserted = [event for block in chain for event in block.events if isinstance(event, TransactionScheduled)]
        assert [event.auth_required for event in inserted] == [True, False]
        assert result.status == "passed", result.summary


def events_of(story):
    """Return the events of a plan's blocks, in order."""
    _, chain = run_queue(*story[:2])
    return [event for block in chain for event in block.events]


class TestSigners:
    """Through the host: a script cancels by a part of a key and by the key, and inserts without a signer."""

    def test_k37_a_part_of_a_key_cancels_nothing_and_the_key_does(self):
        events = events_of(SIGNERS)
        refused = [event.data for event in events if isinstance(event, Emitted) and event.topic == "refused"]
        cancelled = [event for event in events if isinstance(event, TransactionCancelled)]

        assert (refused, len(cancelled)) == ([b"UnknownTimer"], 1)

    def test_k37_a_handler_that_asks_for_its_sender_fails_without_one(self):
        events = events_of(SIGNERS)
        inserted = [event.txn_id for event in events if isinstance(event, TransactionScheduled)]
        fired = {event.timer_id: event.ok for event in events if isinstance(event, TimerFired)}

        assert [fired.get(txn_id) for txn_id in inserted] == [False, True, None]


def big_ends_first(monkeypatch):
    monkeypatch.setattr(
        ready_queue, "key_order", lambda timer: (timer.due, -timer.quote.max_fee_per_cycle, timer.timer_id)
    )


def other_hash(monkeypatch):
    monkeypatch.setattr(aptos_calls, "transaction_id", keccak256)


def expires_at_the_edge(monkeypatch):
    live_from = aptos.live_from_ms
    monkeypatch.setattr(aptos, "live_from_ms", lambda *about: live_from(*about) + 1)


def own_price_among_the_others(monkeypatch):
    monkeypatch.setattr(aptos, "highest_others", lambda prices, places: [max(prices, default=0)] * len(places))


def transactions_first_at_one_price(monkeypatch):
    turns = AptosInBlock._turns
    monkeypatch.setattr(AptosInBlock, "_turns", lambda self, price=None: turns(self, price and price + 1))


def wrong_slot(monkeypatch):
    monkeypatch.setattr(aptos, "removal_slot", lambda txn_id, slots: txn_id[0] % slots)


def cells_rounded_down(monkeypatch):
    monkeypatch.setattr(aptos, "gas_of", lambda cycles, cells, cycle, cell: cycles + cells * cell // cycle)


def old_numbers_hold(monkeypatch):
    monkeypatch.setattr(AptosInBlock, "_why_dropped", lambda _self, _timer, _entry: None)


def cancelled_at_the_edge(monkeypatch):
    check_lead = aptos_calls.check_lead
    monkeypatch.setattr(aptos_calls, "check_lead", lambda at, now, lead: check_lead(at, now, max(lead - 1, 0)))


def deposits_kept_in_a_shutdown(monkeypatch):
    monkeypatch.setattr(AptosInBlock, "return_deposit", lambda _self, _timer, _units: None)


def whole_batches_forgotten(monkeypatch):
    first = AptosInBlock._first
    monkeypatch.setattr(AptosInBlock, "_first", lambda self, most: first(self, most - 1))


def named_by_its_identifier(monkeypatch):
    timer_of = CallsInBlock._timer_of

    def found(self, key):
        timer = self.block.timers.timer(key[-32:])
        return timer_of(self, key) if timer is None else timer

    monkeypatch.setattr(CallsInBlock, "_timer_of", found)


def sender_shown(monkeypatch):
    run_timer = ChainWorld.run_timer
    monkeypatch.setattr(ChainWorld, "run_timer", lambda self, timer, **_: run_timer(self, timer))


def one_block_more(monkeypatch):
    before = WaitClock.last_slot_before
    monkeypatch.setattr(WaitClock, "last_slot_before", lambda self, height: before(self, height - 1))


def rows_stay(monkeypatch):
    monkeypatch.setattr(WaitClock, "close", lambda _self, _oldest: None)


BREAKS = {
    one_block_more: (BLOCKS, "receipts", "TransactionFailed"),
    rows_stay: (BLOCKS, "changes", "slot row"),
    named_by_its_identifier: (SIGNERS, "receipts", "TransactionCancelled"),
    sender_shown: (SIGNERS, "receipts", "TimerFired"),
    big_ends_first: (DAY, "receipts", "timer_id"),
    other_hash: (DAY, "receipts", "TimerScheduled"),
    expires_at_the_edge: (DAY, "receipts", "TransactionFailed"),
    own_price_among_the_others: (DAY, "receipts", "TimerFired"),
    transactions_first_at_one_price: (DAY, "receipts", "Emitted"),
    wrong_slot: (DAY, "changes", "removal slot"),
    cells_rounded_down: (DAY, "receipts", "TimerFired"),
    old_numbers_hold: (TOKENS, "receipts", "TransactionFailed"),
    cancelled_at_the_edge: (TOKENS, "receipts", "cycles"),
    deposits_kept_in_a_shutdown: (SHUTDOWN, "changes", "account"),
    whole_batches_forgotten: (SHUTDOWN, "receipts", "TransactionFailed"),
}


@pytest.mark.parametrize("break_rule", BREAKS)
def test_a_broken_rule_is_named(break_rule, monkeypatch):
    story, what, word = BREAKS[break_rule]
    break_rule(monkeypatch)
    result = judge(*story)

    assert result.status == "failed"
    assert dict(result.evidence)["what"] == what, result.summary
    assert word in result.summary
