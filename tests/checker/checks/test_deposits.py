"""The accounts of scheduled transactions: a sound chain passes, and each broken rule is named by the check."""

from types import SimpleNamespace

import pytest

from checker.checks.deposits import QueueDeposits
from scheduler import TimerConfig
from scheduler.aptos_calls import CallsInBlock
from scheduler.policies import aptos
from scheduler.policies.aptos import AptosInBlock
from tests.support.chain_harness import ALICE, do, make_engine, make_genesis, pay, policies_of, propose
from tests.support.queue_bench import config_of
from validators.execution import PolicyEntry, decode_receipt

ENTRIES = (
    (1, [["put", b"k", b"v" * 40]], 20_000),
    (1, [["revert", "no"]], 20_000),
    (2, [], 9_000),
)
"""Delay, steps and gas: one that runs, one that fails, one that expires."""


def judged(profile="aip"):
    """Run a chain in which entries run, fail, expire and are cancelled; return the check's result."""
    own = config_of({"profile": profile})
    genesis = make_genesis(
        timebase="slot",
        policies=policies_of("aptos", lane=own),
        timer_config=TimerConfig(max_cells_per_fire=2_000),
        system_deployers=(ALICE,),
    )
    engine = make_engine(genesis)
    check = QueueDeposits(SimpleNamespace(rules=SimpleNamespace(policies=(PolicyEntry(1, "aptos"),))))
    plans = [
        ([do(0, 0, *(["timer", *each] for each in ENTRIES))], 1_000),
        ([pay(1, 0, ALICE, 1), pay(2, 0, ALICE, 1, priority_fee_per_cycle=9)], 1_000),
        ([do(0, 1, ["timer", 30, [], 5_000], ["cancel_last"], ["timer", 1, [], 5_000])], 14_000),
        ([], 12_000),
    ]
    for transactions, after_ms in plans:
        before = dict(engine.database.items())
        made = propose(engine, transactions, after_ms=after_ms)
        engine.finalize(made.digest)
        check.settle(
            SimpleNamespace(
                height=made.header.height,
                receipts=[decode_receipt(receipt) for receipt in made.receipts],
                changes=made.changes,
                before=before,
                summary=made.summary,
                phases=made.phases,
                own=own,
            )
        )
    return check.finish()


@pytest.mark.parametrize("profile", ["aip", "early", "latest"])
def test_a_sound_chain_passes(profile):
    result = judged(profile)

    assert (result.status, result.summary) == ("passed", result.summary)
    assert dict(result.evidence)["runs"] >= 2
    assert dict(result.evidence)["returned"] >= 1


def own_price(monkeypatch):
    monkeypatch.setattr(aptos, "price_charged", lambda maximum, _others, _least: maximum + 1)


def cells_for_nothing(monkeypatch):
    monkeypatch.setattr(aptos, "gas_of", lambda cycles, _cells, *_basefees: cycles)


def more_than_a_deposit(monkeypatch):
    def enter(self, admission):
        enter_whole(self, admission)
        self.block.ledger.charge(admission.timer.actor, 7)
        self.block.ledger.credit(aptos.DEPOSITS, 7)

    enter_whole = CallsInBlock.enter
    monkeypatch.setattr(CallsInBlock, "enter", enter)


def nothing_returned(monkeypatch):
    monkeypatch.setattr(CallsInBlock, "return_deposit", lambda *_: None)


def keys_that_stay(monkeypatch):
    monkeypatch.setattr(CallsInBlock, "remove_key", lambda *_: None)


def no_marks(monkeypatch):
    monkeypatch.setattr(AptosInBlock, "_mark", lambda *_: None)


def twice_the_gas(monkeypatch):
    settle = aptos.settle_deposit
    monkeypatch.setattr(aptos, "settle_deposit", lambda deposit, price, gas: settle(deposit, price, gas + 1))


def late_refund(monkeypatch):
    """Deposits of expired entries come back behind the prologue."""

    def expire(self, tally, timer):
        expire_at_once(self, tally, timer)
        self.block.ledger.charge(timer.actor, 5)
        self.block.ledger.credit(aptos.DEPOSITS, 5)
        self.late = timer.actor

    def run(self, phase):
        if phase is not aptos.BlockPhase.PROLOGUE and getattr(self, "late", None):
            self.block.ledger.charge(aptos.DEPOSITS, 5)
            self.block.ledger.credit(self.late, 5)
        return run_phase(self, phase)

    expire_at_once, run_phase = AptosInBlock._expire, AptosInBlock.run
    monkeypatch.setattr(AptosInBlock, "_expire", expire)
    monkeypatch.setattr(AptosInBlock, "run", run)


@pytest.mark.parametrize(
    ("breaks", "told"),
    [
        (own_price, "units of gas at a price of"),
        (cells_for_nothing, "units of gas at a price of"),
        (twice_the_gas, "units of gas at a price of"),
        (more_than_a_deposit, "the queued entries have put down"),
        (nothing_returned, "after the prologue"),
        (keys_that_stay, "the queue has"),
        (no_marks, "the queue has"),
        (late_refund, "after the prologue"),
    ],
)
def test_a_broken_rule_is_named(monkeypatch, breaks, told):
    breaks(monkeypatch)
    result = judged()

    assert result.status == "failed"
    assert told in result.summary
