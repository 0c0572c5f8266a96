"""Phases of a policy other than the timer phase: what they do counts, and stands where it happened."""

import pytest

from scheduler import POLICIES, Basefees, BlockPhase, Fifo, PhaseResult, PolicyInBlock, TimerFired
from scheduler.tally import Tally
from tests.support.chain_harness import BOB, PUPPET, advance, do, make_engine, pay, receipt, stored
from validators.execution.receipts import TransactionReceipt


class FiringBlock(PolicyInBlock):
    """The timers that are due fire in a phase of choice; the timer phase fires the rest and counts."""

    prologue = ()

    def run(self, phase):
        tally = Tally.of(self, Basefees(0, 0))
        for timer in self.block.timers.collect(self.block.moment.now):
            tally.fire(timer, 0)
        waits = {"waiting_live": 0, "waiting_dead": 0} if phase is BlockPhase.TIMERS else {}
        return tally.result(**waits)


class WithPrologue(FiringBlock):
    """All fire before the transactions."""

    prologue = (BlockPhase.PROLOGUE,)


class Between(FiringBlock):
    """Transactions come dearest first, and all timers fire after the first of them."""

    def merge(self, transactions):
        first, *others = sorted(transactions, key=lambda each: -each.priority_fee_per_cycle)
        yield first
        yield self.run(BlockPhase.PROLOGUE)
        yield from others


class Closing(FiringBlock):
    """The end of the block counts as well."""

    def close(self, used_cycles):
        return PhaseResult(tips=used_cycles, waiting_live=7)


def engine_of(kind):
    class Firing(Fifo):
        def phases(self, own):
            return (*kind.prologue, *super().phases(own))

        def open(self, block):
            return kind(block)

    return make_engine(policies={**POLICIES, "fifo": Firing})


def block_of(kind):
    """Return the second block of a chain: one timer is due in it, and two transactions come."""
    engine = engine_of(kind)
    advance(engine, [do(0, 0, ["timer", 1, [["put", b"k", b"timer"]], 10_000])])
    cheap, dear = do(0, 1, ["put", b"k", b"cheap"]), pay(1, 0, BOB, 1, priority_fee_per_cycle=9)
    return engine, advance(engine, [cheap, dear])


@pytest.mark.parametrize("kind", [FiringBlock, WithPrologue, Between])
def test_a_fire_counts_in_whatever_phase_it_happens(kind):
    _, executed = block_of(kind)
    summary, counts = executed.summary, {entry.phase: entry.counts for entry in executed.phases}

    assert (summary.fired, summary.lane_cycles, summary.waiting_live) == (1, 300, 0)
    assert counts["timers"] == {"due": 1, "fired": 1, "removed": 0, "left": 0}
    assert counts["prices"]["cycles"] == summary.cycles_used + 300


def test_a_prologue_comes_first_and_has_an_entry_of_its_own():
    engine, executed = block_of(WithPrologue)

    assert isinstance(receipt(executed).event, TimerFired)
    assert [entry.counts for entry in executed.phases if entry.phase == "prologue"] == [{"fired": 1, "removed": 0}]
    assert stored(engine, PUPPET, b"k") == b"cheap"


def test_timers_fire_between_transactions_in_the_order_of_the_policy():
    engine, executed = block_of(Between)
    kinds = [isinstance(receipt(executed, place), TransactionReceipt) for place in range(3)]

    assert kinds == [True, False, True]
    assert stored(engine, PUPPET, b"k") == b"cheap"


def test_a_validator_that_checks_a_merged_block_finds_the_same_roots():
    engine, checking = engine_of(Between), engine_of(Between)
    for block in ([do(0, 0, ["timer", 1, [], 10_000])], [do(0, 1), pay(1, 0, BOB, 1, priority_fee_per_cycle=9)]):
        executed = advance(engine, block)
        checked = checking.execute(executed.block)
        checking.finalize(checked.digest)

    assert checked.header == executed.header


def test_the_end_of_a_block_counts_and_says_last_what_waits():
    _, executed = block_of(Closing)

    assert (executed.summary.waiting_live, executed.summary.waiting_dead) == (7, 0)
    assert executed.summary.tips >= executed.summary.cycles_used + 300
