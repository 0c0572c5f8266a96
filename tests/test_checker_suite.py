"""The suite as a whole: a sound history passes every check, and each broken thing fails exactly its own."""

import re
from pathlib import Path

import msgspec
import pytest
from checker_history import (
    ACTOR,
    ALICE,
    BOB,
    BROKE,
    CONFIG,
    EXPIRES,
    FIRES,
    NODES,
    SKIPPED_VIEW,
    Fault,
    account_key,
    call_receipt,
    digest_of,
    failing,
    fired,
    pack,
    scheduled,
    timer_key,
    timer_record,
    write_history,
)

from checker.observations import AppliedBlock
from checker.results import verdict_of
from checker.suite import CATALOGUE
from checker.tables import BURNED_KEY, TIMER_CONFIG_KEY
from network.trace import Event
from scheduler.events import (
    TimerCancelled,
    TimerCancelledInsufficientFunds,
    TimerExpired,
    TimerExtended,
)
from validators.execution.receipts import TimerReceipt

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "invariants.md"


def planned(change):
    """Return the results of a history whose blocks were planned otherwise."""
    return write_history(change).judge()


def assert_only(results, name, *words):
    assert failing(results) == [name]
    for word in words:
        assert word in results[name].summary, results[name].summary


class TestSoundHistory:
    def test_every_check_passes_and_has_compared_something(self):
        """A sound history passes all checks of the catalogue, none of them vacuously."""
        results = write_history().judge()

        assert {name: result.status for name, result in results.items()} == {
            entry.name: "passed" for entry in CATALOGUE
        }
        assert all(result.compared > 0 for result in results.values())
        assert verdict_of(results.values()).exit_code == 0

    def test_results_carry_the_exit_class_of_the_catalogue(self):
        """What a failure means is the same in the catalogue and in each result."""
        results = write_history().judge()

        assert [(result.name, result.exit_class) for result in results.values()] == [
            (entry.name, entry.exit_class) for entry in CATALOGUE
        ]

    def test_timer_figures_account_for_every_due_timer(self):
        """Due timers are fired, expired or insolvent, and none waits."""
        summary = write_history().judge()["timer-delivery"].summary

        assert summary == ("3 timers scheduled, 3 due: 1 fired, 1 expired, 1 insolvent, 0 cancelled, 0 waiting")

    def test_nothing_observed_is_inconclusive(self):
        """A run in which nothing happened proves nothing."""
        history = write_history()
        history.steps, history.readbacks, history.cold = [], [], None

        results = history.judge()

        assert failing(results) == []
        assert verdict_of(results.values()).name == "inconclusive"
        assert results["agreement"].status == results["supply"].status == "inconclusive"

    def test_dishonest_validators_are_not_judged(self):
        """What a validator outside the honest set says and applies counts for nothing."""
        history = write_history()
        history.honest = (0, 1, 2)
        history.add(3, "vote", "notarize", 1, digest_of("other"))
        history.add(3, "finalized", 4, 5, digest_of("other"), digest_of("other root"))
        history.steps.append(history.blocks[4]._replace(node=3, block=b"\x00"))

        assert failing(history.judge()) == []

    def test_the_document_lists_every_check(self):
        """docs/invariants.md has a section for each check of the catalogue and names no other."""
        listed = re.findall(r"^### `([a-z-]+)`$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)

        assert listed == [entry.name for entry in CATALOGUE]


class TestAgreement:
    def test_two_final_blocks_at_one_height_fail(self):
        """Two digests at one height are named with both validators."""
        history = write_history()
        place = history.position(3, "finalized", 4)
        history.replace(place, 4, 5, digest_of("other"), digest_of("other root"))

        assert_only(history.judge(), "agreement", "height 4", "validator 0", "validator 3")

    def test_a_block_on_another_parent_fails(self):
        """A final block must be a child of the final block below it."""
        results = planned(lambda plans: setattr(plans[3], "parent", digest_of("stranger")))

        assert_only(results, "agreement", "height 3", "on parent")

    def test_a_digest_that_is_not_the_blocks_fails(self):
        """The applied bytes must be those that the digest names."""
        history = write_history()
        other = history.blocks[3]._replace(node=2, height=3).block
        index = history.steps.index(history.blocks[4]._replace(node=2))
        step = history.steps[index]
        assert isinstance(step, AppliedBlock)
        history.steps[index] = step._replace(block=other)

        assert "agreement" in failing(history.judge())

    def test_bytes_that_are_no_block_fail_and_raise_nothing(self):
        """Garbage from a validator is a finding, not a crash of the checker."""
        history = write_history()
        index = history.steps.index(history.blocks[4]._replace(node=2))
        step = history.steps[index]
        assert isinstance(step, AppliedBlock)
        history.steps[index] = step._replace(block=b"\x93\x01")

        assert_only(history.judge(), "agreement", "validator 2", "no block")

    def test_a_skipped_height_fails(self):
        """A validator finalizes every height in turn."""
        history = write_history()
        del history.steps[history.position(2, "finalized", 3)]

        assert_only(history.judge(), "agreement", "validator 2", "height 4", "3 was next")

    def test_a_restart_below_what_was_finalized_fails(self):
        """What a validator said is final survives its crash."""
        history = write_history()
        history.replace(history.position(1, "boot"), 1, 3, 1, history.blocks[1].root)

        assert_only(history.judge(), "agreement", "validator 1 restarted at finalized height 1 after 2")

    def test_a_restart_above_what_was_said_passes(self):
        """Blocks may be on the disk, synced, whose finality the validator had no time to announce."""
        history = write_history()
        del history.steps[history.position(1, "finalized", 2)]

        assert failing(history.judge()) == []


class TestEqualRoots:
    def test_another_root_for_the_same_block_fails(self):
        """A speculative execution that differs is named with validator and height."""
        history = write_history()
        block = history.blocks[2]
        history.replace(history.position(3, "executed", 2), 2, 2, block.digest, digest_of("wrong"), "verify")

        assert_only(history.judge(), "equal-roots", "height 2", "validator 3")

    def test_a_losing_block_is_compared_too(self):
        """Blocks that never become final must have one root as well."""
        history = write_history()
        place = history.position(2, "executed", 4, SKIPPED_VIEW)
        history.replace(place, 4, SKIPPED_VIEW, digest_of("loser"), digest_of("wrong"), "verify")

        assert_only(history.judge(), "equal-roots", "height 4", "validator 2")

    def test_another_root_after_a_restart_fails(self):
        """The root recomputed from the disk is that of the final block."""
        history = write_history()
        history.replace(history.position(1, "boot"), 1, 3, 2, digest_of("wrong"))

        assert_only(history.judge(), "equal-roots", "height 2", "validator 1")

    def test_a_root_that_is_not_the_headers_fails(self):
        """What a validator applied must be what the header promises."""
        history = write_history()
        index = history.steps.index(history.blocks[4]._replace(node=2))
        step = history.steps[index]
        assert isinstance(step, AppliedBlock)
        history.steps[index] = step._replace(root=digest_of("wrong"))

        assert_only(history.judge(), "equal-roots", "height 4", "validator 2")


class TestWriteSets:
    def test_another_write_fails_with_validator_and_key(self):
        """A single differing value is named with its table and both values."""
        history = write_history()
        index = history.steps.index(history.blocks[2]._replace(node=3))
        step = history.steps[index]
        assert isinstance(step, AppliedBlock)
        history.steps[index] = step._replace(changes={**step.changes, BURNED_KEY: pack(6)})

        assert_only(history.judge(), "write-sets", "height 2", "burned is [5]", "[6] on validator 3")

    def test_other_receipts_fail(self):
        """Receipts are compared to the byte."""
        history = write_history()
        index = history.steps.index(history.blocks[3]._replace(node=1))
        step = history.steps[index]
        assert isinstance(step, AppliedBlock)
        history.steps[index] = step._replace(receipts=step.receipts[:2])

        assert_only(history.judge(), "write-sets", "height 3", "receipt 2")


class TestNoDoubleVote:
    @pytest.mark.parametrize("kind", ["notarize", "finalize"])
    def test_two_payloads_in_one_view_fail(self, kind):
        """Two votes of one kind for different payloads are named with validator and view."""
        history = write_history()
        history.add(2, "vote", kind, 3, digest_of("other"))

        assert_only(history.judge(), "no-double-vote", "validator 2", kind, "view 3")

    def test_nullify_and_finalize_of_one_view_fail(self):
        """A view is given up or finalized by a validator, never both."""
        history = write_history()
        history.add(0, "vote", "nullify", 2, b"")

        assert_only(history.judge(), "no-double-vote", "validator 0", "view 2")

    def test_the_same_vote_again_passes(self):
        """A restarted validator may send again what it had sent."""
        history = write_history()
        history.add(1, "vote", "notarize", 2, history.blocks[2].digest)

        assert failing(history.judge()) == []

    def test_notarize_then_nullify_passes(self):
        """Giving up a view that one has notarized is allowed."""
        history = write_history()
        history.add(1, "vote", "notarize", SKIPPED_VIEW, digest_of("loser"))

        assert failing(history.judge()) == []


class TestCertificates:
    def test_too_few_signers_fail(self):
        """A certificate needs a quorum of different signers; naming one twice does not help."""
        history = write_history()
        history.add(0, "certificate", "finalization", 5, history.blocks[4].digest, [0, 1, 1])

        assert_only(history.judge(), "certificates", "2 different signers", "a quorum is 3")

    def test_a_signer_that_never_voted_fails(self):
        """An honest signer other than the holder must have sent the vote."""
        history = write_history()
        del history.steps[history.position(2, "vote", "finalize", 3)]

        assert_only(history.judge(), "certificates", "view 3", "validator 2", "never sent")

    def test_the_holders_own_vote_may_be_unsent(self):
        """A validator that crashes before sending its vote may have counted it already."""
        history = write_history()
        del history.steps[history.position(3, "vote", "finalize", 3)]
        digest = history.blocks[3].digest
        history.replace(history.position(3, "certificate", "finalization", 3), "finalization", 3, digest, [0, 1, 3])

        assert failing(history.judge()) == []

    def test_two_notarizations_of_one_view_fail(self):
        """No two payloads are certified in one view."""
        history = write_history()
        other = digest_of("other")
        history.honest = (0, 1, 2)  # validator 3 signs both, which alone is not enough to accuse the others
        history.add(0, "vote", "notarize", 9, other)
        history.add(1, "vote", "notarize", 9, digest_of("third"))
        history.add(0, "certificate", "notarization", 9, other, [0, 3])
        history.add(1, "certificate", "notarization", 9, digest_of("third"), [1, 3])

        results = history.judge()

        assert_only(results, "certificates")
        assert dict(results["certificates"].evidence)["view"] == 9

    def test_finalization_and_nullification_of_one_view_fail(self):
        """A view cannot be both."""
        history = write_history()
        for node in (0, 1, 2):
            history.add(node, "vote", "nullify", 7, b"")
            history.add(node, "vote", "finalize", 8, digest_of("x"))
        history.add(0, "certificate", "nullification", 7, b"", [0, 1, 2])
        history.add(0, "certificate", "finalization", 8, digest_of("x"), [0, 1, 2])
        assert failing(history.judge()) == []

        history.honest = (0, 1)
        history.add(2, "vote", "nullify", 8, b"")
        history.add(0, "certificate", "nullification", 8, b"", [2, 3, 0])

        results = history.judge()

        assert "certificates" in failing(results)

    def test_a_skipped_view_without_nullification_fails(self):
        """A final block may skip only views that were nullified."""
        history = write_history()
        history.steps = [
            step
            for step in history.steps
            if not (isinstance(step, Event) and step.kind == "certificate" and step.values[0] == "nullification")
        ]

        assert_only(history.judge(), "certificates", "height 4", "skips view 4", "nobody nullified")


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
                msgspec.structs.replace(CONFIG, gc_cycles_per_block=399)
            )

        assert_only(planned(tighten), "budgets", "height 3", "2 removals in the GC lane, at most 1")

    def test_a_changed_configuration_holds_from_the_next_block(self):
        """The block that changes the configuration is still judged by the old one."""

        def tighten(plans):
            plans[3].changes[TIMER_CONFIG_KEY] = msgspec.msgpack.encode(
                msgspec.structs.replace(CONFIG, gc_cycles_per_block=0)
            )

        assert failing(planned(tighten)) == []

    def test_a_paused_lane_that_fires_fails(self):
        """With a paused execution lane nothing may fire."""

        def pause(plans):
            plans[2].changes[TIMER_CONFIG_KEY] = msgspec.msgpack.encode(
                msgspec.structs.replace(CONFIG, execution_lane_paused=True)
            )

        assert_only(planned(pause), "budgets", "height 3")

    def test_too_many_cycles_of_transactions_fail(self):
        """The block's own limit holds for its transactions."""

        def overrun(plans):
            plans[4].receipts = [call_receipt(cycles=5_001)]
            plans[4].summary = {"cycles_used": 5_001, "cells_used": 100}

        assert_only(planned(overrun), "budgets", "height 4", "5,001 cycles of transactions")

    def test_a_summary_that_says_less_fails(self):
        """The summary is what the receipts add up to."""
        assert_only(planned(lambda plans: plans[3].summary.update(gc_cycles=200)), "budgets", "gc_cycles")


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
        call_receipt(scheduled(FIRES, 3, 1, 10), scheduled(EXPIRES, 2, 0, 2), scheduled(BROKE, 3, 0, 10))
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
            (hide_waiting, ("height 2", "1 due timers have not left, the block says that 0 wait")),
        ],
    )
    def test_a_broken_rule_fails(self, change, words):
        """Each rule of delivery, broken alone, is named with height and timer."""
        assert_only(planned(change), "timer-delivery", *words)

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


class TestFinalityRegained:
    def test_no_block_after_healing_fails_when_the_run_was_cut_off(self):
        """A run that stands still until its time limit has lost liveness."""
        history = write_history()
        history.steps = history.steps[: history.position(-1, "healed") + 1]
        history.run_reason = "time-limit"
        results = history.judge()

        assert results["finality-regained"].status == "failed"
        assert "validator 0 finalized nothing new" in results["finality-regained"].summary

    def test_a_run_that_ended_too_soon_is_inconclusive(self):
        """A run that reached its own goal before the views were over says nothing."""
        history = write_history()
        history.steps = history.steps[: history.position(-1, "healed") + 1]

        assert history.judge()["finality-regained"].status == "inconclusive"

    def test_finality_that_comes_too_late_fails(self):
        """The views between healing and the first new block are bounded."""
        history = write_history()
        history.views_max = 1

        assert_only(history.judge(), "finality-regained", "2 views after healing", "at most 1")

    def test_one_validator_that_stays_behind_fails(self):
        """Every live honest validator has to get there, not only a quorum."""
        history = write_history()
        del history.steps[history.position(2, "finalized", 4)]
        history.run_reason = "step-limit"

        assert_only(history.judge(), "finality-regained", "validator 2")

    def test_a_crashed_validator_is_not_awaited(self):
        """A validator without power cannot finalize and is not asked to."""
        history = write_history()
        del history.steps[history.position(2, "finalized", 4)]
        history.add(-1, "crash", 2, 0)

        assert failing(history.judge()) == []

    def test_without_an_honest_quorum_nothing_is_judged(self):
        """With two of four validators down nobody can be blamed."""
        history = write_history()
        history.add(-1, "crash", 2, 0)
        history.add(-1, "crash", 3, 0)

        result = history.judge()["finality-regained"]

        assert (result.status, result.exit_class) == ("inconclusive", "liveness")

    def test_a_halted_validator_fails(self):
        """A validator that stops for good is named with its reason."""
        history = write_history()
        history.add(2, "halted", "root mismatch")

        assert_only(history.judge(), "finality-regained", "validator 2 halted: root mismatch")


class TestFaultsEffective:
    @pytest.mark.parametrize(
        ("faults", "word"),
        [
            ((), "not in the plan"),
            ((Fault("blackout", is_enabled=False),), "switched off"),
            ((Fault("blackout", count=0),), "no effect"),
        ],
    )
    def test_a_required_fault_that_did_nothing_is_inconclusive(self, faults, word):
        """A promise that was not kept makes the run inconclusive, never failed or passed."""
        history = write_history()
        history.faults = faults
        results = history.judge()

        assert results["faults-effective"].status == "inconclusive"
        assert word in results["faults-effective"].summary
        assert verdict_of(results.values()).exit_code == 3

    def test_without_required_faults_there_is_no_result(self):
        """A scenario that promises no fault is not judged on faults."""
        history = write_history()
        history.requires = ()

        assert "faults-effective" not in history.judge()


def test_all_validators_of_the_history_take_part():
    """The history is one of four validators; a smaller one could not lose any of them."""
    assert len(NODES) == 4
