"""Blocks one by one: a budget, a timer or a sum of units that is wrong fails exactly the check that guards it."""

import msgspec
import pytest
from msgspec import structs

from checker.tables import BURNED_KEY, TIMER_CONFIG_KEY
from scheduler.events import (
    DeferralReason,
    DeferredSummary,
    TimerCancelled,
    TimerCancelledByGovernance,
    TimerCancelledInsufficientFunds,
    TimerExpired,
    TimerExtended,
    TimerExtendedByGovernance,
)
from scheduler.policies.fifo import Fifo
from scheduler.policies.policy import Guarantees
from tests.support.checker_history import (
    ACTOR,
    ALICE,
    BOB,
    BROKE,
    CONFIG,
    EXPIRES,
    FIRES,
    account_key,
    assert_only,
    call_receipt,
    failing,
    fired,
    pack,
    planned,
    scheduled,
    timer_key,
    timer_record,
)
from validators.execution.receipts import TimerReceipt


class TestBudgets:
    def test_an_overrun_lane_fails(self):
        """Cycles of fires are added up from the receipts, whatever the summary says."""

        def overrun(plans):
            plans[3].receipts[2] = TimerReceipt(fired(FIRES, 3, cycles=1_001))
            plans[3].summary["lane_cycles"] = 1_001

        assert_only(planned(overrun), "budgets", "height 3", "1,001 cycles in the execution lane")

    def test_too_many_removals_fail(self):
        """The GC budget bounds removals of both kinds together."""

        def tighten(plans):
            plans[2].changes[TIMER_CONFIG_KEY] = msgspec.msgpack.encode(
                structs.replace(CONFIG, gc_cycles_per_block=399)
            )

        assert_only(planned(tighten), "budgets", "height 3", "2 removals in the GC lane; expected at most 1")

    def test_a_changed_configuration_holds_from_the_next_block(self):
        """The block that changes the configuration is still judged by the old one."""

        def tighten(plans):
            plans[3].changes[TIMER_CONFIG_KEY] = msgspec.msgpack.encode(structs.replace(CONFIG, gc_cycles_per_block=0))

        assert failing(planned(tighten)) == []

    def test_a_paused_lane_that_fires_fails(self):
        """With a paused execution lane nothing may fire."""

        def pause(plans):
            plans[2].changes[TIMER_CONFIG_KEY] = msgspec.msgpack.encode(
                structs.replace(CONFIG, execution_lane_paused=True)
            )
            plans[3].receipts[2] = TimerReceipt(fired(FIRES, 3, cycles=0))
            plans[3].summary["lane_cycles"] = 0

        assert_only(planned(pause), "budgets", "height 3", "timers fired in a paused lane: 1")

    @pytest.mark.parametrize("unit", ["cycles", "cells"])
    def test_transactions_beyond_the_blocks_limit_fail(self, unit):
        """The block's own limits hold for its transactions."""

        def overrun(plans):
            receipt = structs.replace(call_receipt(), **{unit: 5_001})
            plans[4].receipts = [receipt]
            plans[4].summary = {"cycles_used": receipt.cycles, "cells_used": receipt.cells}

        assert_only(planned(overrun), "budgets", "height 4", f"5,001 {unit} of transactions")

    def test_a_summary_that_says_less_fails(self):
        """The summary is what the receipts add up to."""
        assert_only(planned(lambda plans: plans[3].summary.update(gc_cycles=200)), "budgets", "gc_cycles")

    @pytest.mark.parametrize("name", ["transactions", "scheduled", "cancelled", "reverted", "tips", "lane_cells"])
    def test_a_summary_that_counts_more_fails(self, name):
        assert_only(planned(lambda plans: plans[1].summary.update({name: 77})), "budgets", f"summary's {name} is 77")


def refire(plans):
    plans[4].receipts = [TimerReceipt(fired(FIRES, 3))]
    plans[4].summary = {"lane_cycles": 300, "fired": 1}


def fire_early(plans):
    plans[2].receipts += [TimerReceipt(fired(FIRES, 3))]
    plans[2].changes[timer_key(FIRES)] = None
    plans[2].summary |= {"lane_cycles": 300, "fired": 1}
    del plans[3].receipts[2], plans[3].changes[timer_key(FIRES)]
    plans[3].summary |= {"lane_cycles": 0, "fired": 0}


def fire_at_once(plans):
    new = b"n" * 32
    plans[4].receipts = [call_receipt(scheduled(new, 5, 0, 9)), TimerReceipt(fired(new, 5))]
    plans[4].summary = {"cycles_used": 1_000, "cells_used": 100, "lane_cycles": 300, "fired": 1}


def schedule_again(plans):
    plans[4].receipts = [call_receipt(scheduled(FIRES, 9, 0, 20))]
    plans[4].changes[timer_key(FIRES)] = timer_record(FIRES, 9, 0, 20)
    plans[4].summary = {"cycles_used": 1_000, "cells_used": 100}


def fire_what_expired(plans):
    plans[3].receipts[0] = TimerReceipt(fired(EXPIRES, 2))
    plans[3].receipts[0], plans[3].receipts[1] = plans[3].receipts[1], plans[3].receipts[0]
    plans[3].summary |= {"lane_cycles": 600, "fired": 2, "expired": 0, "gc_cycles": 200}


def expire_what_lives(plans):
    plans[3].receipts[1] = TimerReceipt(TimerExpired(BROKE, 10, 3))
    plans[3].summary |= {"expired": 2, "insolvent": 0}


def cancel_what_can_pay(plans):
    plans[3].receipts[1] = TimerReceipt(TimerCancelledInsufficientFunds(BROKE, ACTOR, 900, 900))


def swap_order(plans):
    plans[1].receipts = [
        call_receipt(scheduled(FIRES, 3, 1, 10), scheduled(EXPIRES, 2, 0, 2, 1_500), scheduled(BROKE, 3, 0, 10))
    ]
    plans[3].receipts = [
        TimerReceipt(TimerExpired(EXPIRES, 2, 3)),
        TimerReceipt(fired(FIRES, 3)),
        TimerReceipt(fired(BROKE, 3)),
    ]
    plans[3].summary |= {"lane_cycles": 600, "fired": 2, "insolvent": 0, "gc_cycles": 200}


def exit_unsaid(plans):
    del plans[3].receipts[1]
    plans[3].summary |= {"insolvent": 0, "gc_cycles": 200}


def lose_from_state(plans):
    plans[1].changes[timer_key(b"n" * 32)] = timer_record(b"n" * 32, 9, 0, 20)


def fire_as_due_elsewhen(plans):
    plans[3].receipts[2] = TimerReceipt(fired(FIRES, 2))


def extend_nothing(plans):
    plans[4].receipts = [call_receipt(TimerExtended(FIRES, 9))]
    plans[4].summary = {"cycles_used": 1_000, "cells_used": 100}


def hold_another(plans):
    plans[4].receipts = [call_receipt(scheduled(b"n" * 32, 9, 0, 20))]
    plans[4].changes[timer_key(b"m" * 32)] = timer_record(b"m" * 32, 9, 0, 20)
    plans[4].summary = {"cycles_used": 1_000, "cells_used": 100}


def hide_waiting(plans):
    plans[2].summary["waiting_live"] = 0


class TestTimerDelivery:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (refire, ("height 4", "fired at height 4", "had left at height 3")),
            (fire_early, ("height 2", "fired early at 2")),
            (fire_at_once, ("height 4", "was scheduled at 5 for 5")),
            (schedule_again, ("height 4", "scheduled a second time")),
            (fire_what_expired, ("height 3", "fired at 3, expired at 2")),
            (expire_what_lives, ("height 3", "was removed as expired")),
            (cancel_what_can_pay, ("height 3", "cancelled for funds")),
            (swap_order, ("height 3", "at (3, 0) fired after (3, 1)")),
            (exit_unsaid, ("height 3", "1 due timers have not left")),
            (lose_from_state, ("height 1", "the state holds 4 timers")),
            (fire_as_due_elsewhen, ("height 3", "due at 3 fired as due at 2")),
            (extend_nothing, ("height 4", "was extended but is not pending")),
            (hold_another, ("6e6e6e6e6e6e is pending, but the last state does not hold it", "(and 1 more)")),
            (hide_waiting, ("height 2", "1 due timers have not left, the block says that 0 wait")),
        ],
    )
    def test_a_broken_rule_fails(self, change, words):
        """Each rule of delivery, broken alone, is named with height and timer."""
        assert_only(planned(change), "timer-delivery", *words)

    def test_an_identifier_returns_where_the_policy_lets_it(self, monkeypatch):
        """Entries of a queue without a counter have one name whenever they are inserted again."""
        monkeypatch.setattr(
            Fifo, "guarantees", lambda *_: Guarantees(in_order=True, clears_dead=True, returns_ids=True)
        )

        assert failing(planned(schedule_again)) == []

    def test_governance_cancels_and_extends_too(self):
        """Instruction 48 takes a timer away, or says that it was gone; instruction 50 gives it time."""

        def change(plans):
            plans[2].receipts = [
                call_receipt(
                    TimerExtendedByGovernance(EXPIRES, 9),
                    TimerCancelledByGovernance(BROKE, was_live=True),
                    TimerCancelledByGovernance(BROKE, was_live=False),
                ),
                *plans[2].receipts,
            ]
            plans[2].changes |= {timer_key(BROKE): None}
            plans[2].summary |= {"cycles_used": 1_000, "cells_used": 100}
            plans[3].receipts = [TimerReceipt(fired(EXPIRES, 2)), TimerReceipt(fired(FIRES, 3))]
            del plans[3].changes[timer_key(BROKE)]
            plans[3].summary |= {"lane_cycles": 600, "fired": 2, "expired": 0, "insolvent": 0, "gc_cycles": 0}

        assert failing(planned(change)) == []

    def test_a_cancellation_that_lies_about_the_timer_fails(self):
        """The flag of instruction 48 says whether the timer was live."""

        def change(plans):
            plans[4].receipts = [call_receipt(TimerCancelledByGovernance(FIRES, was_live=True))]
            plans[4].summary |= {"cycles_used": 1_000, "cells_used": 100}

        assert_only(planned(change), "timer-delivery", "height 4", "cancelled as live: True")

    def test_cancelling_and_extending_are_followed(self):
        """A cancelled timer has left; an extended one lives until its new expiry."""

        def change(plans):
            plans[2].receipts = [
                call_receipt(TimerExtended(EXPIRES, 9), TimerCancelled(BROKE, ACTOR)),
                *plans[2].receipts,
            ]
            plans[2].summary |= {"cycles_used": 1_000, "cells_used": 100}
            plans[2].changes[timer_key(BROKE)] = None
            plans[3].receipts = [TimerReceipt(fired(EXPIRES, 2)), TimerReceipt(fired(FIRES, 3))]
            plans[3].summary = {"lane_cycles": 600, "fired": 2}
            del plans[3].changes[timer_key(BROKE)]

        assert failing(planned(change)) == []


def leave_dead(plans):
    plans[3].receipts = plans[3].receipts[1:]
    del plans[3].changes[timer_key(EXPIRES)]
    plans[3].summary |= {"expired": 0, "gc_cycles": 200, "waiting_dead": 1}
    plans[4].receipts = [TimerReceipt(TimerExpired(EXPIRES, 2, 5))]
    plans[4].changes[timer_key(EXPIRES)] = None
    plans[4].summary |= {"expired": 1, "gc_cycles": 200}


def call_dead_live(plans):
    leave_dead(plans)
    plans[3].receipts.append(TimerReceipt(DeferredSummary(((DeferralReason.OVER_CAP, 1),))))
    plans[3].summary |= {"waiting_dead": 0, "waiting_live": 1}


def hold_without_reason(plans):
    plans[2].receipts = plans[2].receipts[:1]


def hold_what_fits(plans):
    plans[1].receipts = [
        call_receipt(scheduled(FIRES, 3, 0, 10), scheduled(EXPIRES, 2, 0, 2), scheduled(BROKE, 3, 1, 10))
    ]
    plans[1].changes[timer_key(EXPIRES)] = timer_record(EXPIRES, 2, 0, 2)
    plans[2].receipts = [TimerReceipt(DeferredSummary(((DeferralReason.LANE_FULL, 1),)))]


def hold_as_over_the_cap(plans):
    hold_what_fits(plans)
    plans[2].receipts = [TimerReceipt(DeferredSummary(((DeferralReason.OVER_CAP, 1),)))]


class TestStormAccounting:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (leave_dead, ("height 3", "dead timers left: 1; expected 0 by the budget of 2")),
            (call_dead_live, ("height 3", "expired timers that wait: 1; the block counts 0 dead")),
            (hold_without_reason, ("height 2", "live timers that wait: 1; reasons are given for 0")),
            (
                hold_what_fits,
                ("height 2", "live timers of at most 500 cycles wait, but 1000 cycles are free in the lane"),
            ),
            (hold_as_over_the_cap, ("height 2", "timers held as over the cap: 1; expected 0")),
        ],
    )
    def test_books_that_do_not_add_up_fail(self, change, words):
        """Clean-up behind its budget, and live timers that wait for anything but the execution lane."""
        assert_only(planned(change), "storm-accounting", *words)

    def test_a_paused_lane_is_a_reason_to_wait(self):
        """While the execution lane is paused everything that lives is held back."""

        def change(plans):
            hold_what_fits(plans)
            paused = structs.replace(CONFIG, execution_lane_paused=True)
            plans[1].changes[TIMER_CONFIG_KEY] = msgspec.msgpack.encode(paused)
            plans[2].changes[TIMER_CONFIG_KEY] = msgspec.msgpack.encode(CONFIG)

        assert failing(planned(change)) == []


class TestSupply:
    def test_units_from_nothing_fail(self):
        """A balance that grows without another falling is named with its height."""
        results = planned(lambda plans: plans[2].changes.update({account_key(BOB): pack(511, 0)}))

        assert_only(results, "supply", "height 2", "1,501")

    def test_units_that_vanish_fail(self):
        """A charge that is neither refunded nor burned is a leak."""
        results = planned(lambda plans: plans[3].changes.update({BURNED_KEY: pack(14)}))

        assert "supply" in failing(results)

    def test_a_balance_that_is_no_number_fails(self):
        """A damaged account is a finding, not a crash of the checker."""
        results = planned(lambda plans: plans[4].changes.update({account_key(ALICE): b"\xc1"}))

        assert "supply" in failing(results)
        assert ALICE.hex() in results["supply"].summary
