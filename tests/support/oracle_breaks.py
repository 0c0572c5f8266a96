"""Breaks of rules in the production classes, by name, with the part of a block in which the oracle sees each."""

import dataclasses

import msgspec

from scheduler import TimerCancelledInsufficientFunds, TimerConfig, TimerExpired, is_expired, tally
from scheduler.identifiers import timer_id_of
from scheduler.policies import fifo
from scheduler.settlement import classify, max_cost, settle
from validators.execution import run, transactions


def shift_expiry(blocks):
    """Return a classification that takes the present for another one."""

    def break_rule(monkeypatch):
        def shifted(waiting, *, now, **rest):
            return classify(waiting, now=now + blocks, **rest)

        monkeypatch.setattr(fifo, "classify", shifted)

    return break_rule


def remove_one_fewer(monkeypatch):
    budget = TimerConfig.gc_budget.fget
    monkeypatch.setattr(TimerConfig, "gc_budget", property(lambda config: budget(config) - 1))


def fire_before_cleaning_up(monkeypatch):
    def run_phase(self, _phase):
        counts, block = tally.Tally.of(self), self.block
        moment, config, basefees, ledger = block.moment, block.config, block.basefees, block.ledger
        waiting = block.timers.collect(moment.now)
        classes = classify(waiting, now=moment.now, config=config, basefees=basefees, ledger=ledger)
        attempted, unpaid = fifo._fire(counts, classes.candidates)
        dead = classes.dead[: config.gc_budget]
        for timer in dead:
            counts.destroy(timer, max_cost(timer, config, basefees), ledger.balance(timer.fee_payer))
        held = classes.candidates[attempted:]
        fifo._report(counts, held, classes.over_cap)
        waiting_live = len(held) + len(classes.over_cap)
        return counts.result(waiting_live=waiting_live, waiting_dead=len(classes.dead) - len(dead) + len(unpaid))

    monkeypatch.setattr(fifo.FifoInBlock, "run", run_phase)


def fire_the_latest_first(monkeypatch):
    fire = fifo._fire
    monkeypatch.setattr(fifo, "_fire", lambda counts, candidates: fire(counts, candidates[::-1]))


def let_others_pass_the_head_of_the_line(monkeypatch):
    fire = fifo._fire

    def fire_each(counts, candidates):
        # Each on its own: one that does not fit stops no other timer.
        attempts = [fire(counts, [timer]) for timer in candidates]
        return sum(attempted for attempted, _ in attempts), [timer for _, unpaid in attempts for timer in unpaid]

    monkeypatch.setattr(fifo, "_fire", fire_each)


def fire_in_the_block_that_made_it(monkeypatch):
    run_phase = fifo.FifoInBlock.run

    def one_too_far(self, phase):
        moment = dataclasses.replace(self.block.moment, slot=self.block.moment.slot + 1)
        self.block = dataclasses.replace(self.block, moment=moment)
        return run_phase(self, phase)

    monkeypatch.setattr(fifo.FifoInBlock, "run", one_too_far)


def call_the_expired_insolvent(monkeypatch):
    def destroy(timer, *, now, required, available, tables):
        tables.remove(timer)
        if available < required or not is_expired(timer, now):
            return TimerCancelledInsufficientFunds(timer.timer_id, timer.fee_payer, required, available)
        return TimerExpired(timer.timer_id, timer.expires_at, now)

    monkeypatch.setattr(tally, "destroy", destroy)


def round_refunds_down(monkeypatch):
    def rounded(timer, *, ledger, **rest):
        paid = settle(timer, ledger=ledger, **rest)
        ledger.charge(timer.fee_payer, 7)
        ledger.burn(7)
        burned = paid.burned + 7
        return dataclasses.replace(paid, burned=burned, event=msgspec.structs.replace(paid.event, burned=burned))

    monkeypatch.setattr(tally, "settle", rounded)


def forget_to_burn_cells(monkeypatch):
    def required(timer, config, basefees):
        return timer.gas_limit * basefees.cycle

    monkeypatch.setattr(fifo, "max_cost", required)


def tip_all_that_the_maximum_allows(monkeypatch):
    monkeypatch.setattr(
        transactions, "tip_per_cycle", lambda transaction, basefees: transaction.max_fee_per_cycle - basefees.cycle
    )


def report_deferrals_in_every_block(monkeypatch):
    monkeypatch.setattr(fifo, "newly_due", lambda counts, timers, reason: [(timer, reason) for timer in timers])


def let_basefees_creep(monkeypatch):
    monkeypatch.setattr(run, "next_basefee", lambda basefee, *_: basefee + 1)


def leave_the_counter_out_of_identifiers(monkeypatch):
    monkeypatch.setattr(
        "scheduler.lifecycle.timer_id_of",
        lambda actor, due, payload, nonce, **_counter: timer_id_of(actor, due, payload, nonce),
    )


BREAKS = {
    "an expiry one block early": (shift_expiry(1), "receipts"),
    "an expiry one block late": (shift_expiry(-1), "receipts"),
    "a GC budget of one timer less": (remove_one_fewer, "receipts"),
    "fires before the clean-up": (fire_before_cleaning_up, "receipts"),
    "insolvency before expiry": (call_the_expired_insolvent, "receipts"),
    "a refund that is rounded down": (round_refunds_down, "receipts"),
    "a maximum cost without cells": (forget_to_burn_cells, "receipts"),
    "a fire in the block that made the timer": (fire_in_the_block_that_made_it, "receipts"),
    "last in, first out": (fire_the_latest_first, "receipts"),
    "a head of the line that others pass": (let_others_pass_the_head_of_the_line, "receipts"),
    "a tip above the stated priority": (tip_all_that_the_maximum_allows, "receipts"),
    "a deferral reported twice": (report_deferrals_in_every_block, "receipts"),
    "a basefee that creeps": (let_basefees_creep, "changes"),
    "an identifier without counter": (leave_the_counter_out_of_identifiers, "receipts"),
}


RULE_TESTS = {
    "an expiry one block early": "test_a_timer_past_its_ttl_is_destroyed_with_its_event",
    "an expiry one block late": "test_expired_stays_expired_until_it_is_removed",
    "a GC budget of one timer less": "test_what_the_gc_budget_does_not_reach_is_classified_again",
    "insolvency before expiry": "test_expiry_goes_before_insolvency",
    "a refund that is rounded down": "test_unused_gas_is_refunded_the_rest_burned_and_there_is_no_tip",
    "a maximum cost without cells": "test_a_timer_whose_payer_cannot_pay_max_cost_is_destroyed",
    "last in, first out": "test_due_timers_fire_in_insertion_order",
    "a head of the line that others pass": ("test_a_timer_that_does_not_fit_the_lane_holds_up_all_after_it"),
    "a basefee that creeps": "test_the_basefees_of_a_block_are_those_at_its_start",
    "an identifier without counter": "test_timer_id_is_keccak_of_actor_height_payload_nonce_and_counter",
}
"""Ten rules of the revised CIP-5 by the names of their breaks, and the test of each in test_cip5_rules."""
