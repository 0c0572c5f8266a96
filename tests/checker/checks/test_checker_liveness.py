"""Progress and promises: finality after the last fault, and faults that had to take effect."""

from dataclasses import replace

import pytest

from checker.checks.context import RunEnd
from checker.checks.finality_regained import FinalityRegained
from checker.checks.planned import PlannedRun
from checker.checks.rules.registry import RULES
from checker.expected import Expectations
from checker.results import verdict_of
from network.events import Event
from tests.support.checker_history import (
    Fault,
    assert_only,
    failing,
    write_history,
)
from tests.support.checks import make_run, show
from tests.support.events import logged
from tests.support.longest_chain_bench import config_of


class TestFinalityRegained:
    def test_no_block_after_healing_fails_when_the_run_was_cut_off(self):
        """A run that stands still until its time limit has lost liveness."""
        history = write_history()
        history.steps = history.steps[: history.position(-1, "healed") + 1]
        history.run_reason = "time-limit"
        results = history.judge()

        assert results["finality-regained"].status == "failed"
        assert "validator 0 finalized no new block" in results["finality-regained"].summary

    @pytest.mark.parametrize(
        ("finality_gap_max_us", "status"), [(None, "passed"), (10_000_000, "passed"), (1_000, "failed")]
    )
    def test_finality_that_stands_still_fails_where_a_quorum_is_whole(self, finality_gap_max_us, status):
        history = write_history()
        history.finality_gap_max_us = finality_gap_max_us

        assert history.judge()["finality-regained"].status == status

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

    def test_catching_up_on_old_blocks_is_not_finality_regained(self):
        """Only a block that no validator had when the faults ended counts."""
        history = write_history()
        place = history.position(2, "finalized", 3)
        old = history.steps.pop(place)
        assert isinstance(old, Event)
        history.replace(history.position(2, "finalized", 4), *old.values)
        history.run_reason = "time-limit"

        assert_only(history.judge(), "finality-regained", "validator 2 finalized no new block")

    def test_views_that_pass_without_a_block_fail_even_if_the_run_ended_well(self):
        """A run's own goal does not excuse a validator that had its chance."""
        history = write_history()
        del history.steps[history.position(2, "finalized", 4)]
        history.add(0, "enter", 9, 0)

        assert_only(history.judge(), "finality-regained", "validator 2", "6 views")

    def test_a_crashed_validator_is_not_awaited(self):
        """A validator without power cannot finalize and is not asked to."""
        history = write_history()
        del history.steps[history.position(2, "finalized", 4)]
        history.add(-1, "crash", 2, 0)

        assert failing(history.judge()) == []

    @pytest.mark.parametrize("reason", ["time-limit", "step-limit"])
    def test_a_run_that_was_cut_off_while_it_moved_is_inconclusive(self, reason):
        """Every validator had its new block, and the goal was not reached: nothing is proved."""
        history = write_history()
        history.run_reason = reason
        result = history.judge()["finality-regained"]

        assert result.status == "inconclusive"
        assert f"ended by {reason}" in result.summary

    def test_a_deadlock_fails_whatever_was_final_before(self):
        """Nothing more can happen, and the goal was not reached."""
        history = write_history()
        history.run_reason = "deadlock"

        assert_only(history.judge(), "finality-regained", "ended by deadlock", "before its goal")

    def test_a_run_that_stalls_after_its_first_new_block_fails(self):
        """Views go by and nothing new is final: one block after healing is not liveness."""
        history = write_history()
        history.add(0, "enter", 40, 0)
        history.run_reason = "time-limit"

        assert_only(history.judge(), "finality-regained", "no new block was final in the last", "time-limit")

    def test_without_an_honest_quorum_nothing_is_judged(self):
        """With two of four validators down no validator can be blamed."""
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

    @pytest.mark.parametrize(("at_us", "status"), [(20_000_000, "passed"), (None, "failed")])
    def test_a_lost_application_is_measured_from_its_return(self, at_us, status):
        """Validator 1 had a block before; the others may have waited for it."""
        run = make_run(expect=Expectations(finality_views_max=5))
        run.end = RunEnd(reason="stopped")
        check = FinalityRegained(run)
        show(check, *(logged(1_000, node, "finalized", 1, 2, b"b", b"r") for node in (1, 2)))
        if at_us is not None:
            show(check, logged(9_000_000, -1, "application-lost", 1, 7, "execute", "it hangs", 2))
        show(check, logged(9_000_000, -1, "crash", 1, 0), logged(19_000_000, 0, "enter", 40, 0))
        show(check, logged(20_000_000, -1, "restart", 1), logged(21_000_000, 0, "enter", 43, 0))
        show(check, *(logged(22_000_000, node, "finalized", 2, 43, b"c", b"r") for node in (0, 1, 3)))

        assert check.finish().status == status

    def test_a_lost_application_that_comes_back_has_to_follow(self):
        run = make_run(expect=Expectations(finality_views_max=5))
        run.end = RunEnd(reason="stopped")
        check = FinalityRegained(run)
        show(check, *(logged(1_000, node, "finalized", 1, 2, b"b", b"r") for node in run.honest))
        show(check, logged(9_000_000, -1, "application-lost", 1, 7, "execute", "it hangs", 2))
        show(check, logged(9_000_000, -1, "crash", 1, 0), logged(10_000_000, -1, "restart", 1))
        show(check, logged(21_000_000, 0, "enter", 43, 0))

        assert check.finish().summary.startswith("validator 1 finalized no new block in 43 views after healing at 10.0")

    @pytest.mark.parametrize(("is_lost", "status"), [(True, "passed"), (False, "failed")])
    def test_a_gap_is_not_judged_once_an_application_is_lost(self, is_lost, status):
        run = make_run(expect=Expectations(finality_views_max=90, finality_gap_max_us=1_000_000))
        run.end = RunEnd(reason="stopped")
        check = FinalityRegained(run)
        if is_lost:
            show(check, logged(1_000, -1, "application-lost", 1, 7, "execute", "it hangs", 2))
            show(check, logged(1_000, -1, "crash", 1, 0))
        show(check, *(logged(9_000_000, node, "finalized", 1, 2, b"b", b"r") for node in run.honest))

        assert check.finish().status == status

    @pytest.mark.parametrize(("joins", "status"), [(True, "passed"), (False, "failed")])
    def test_a_gap_begins_anew_when_a_validator_has_joined(self, joins, status):
        """Two of four were out until then: one was down, and one took a snapshot and judged no proposal."""
        run = make_run(expect=Expectations(finality_views_max=90, finality_gap_max_us=6_000_000))
        run.end = RunEnd(reason="stopped")
        check = FinalityRegained(run)
        if joins:
            show(check, logged(5_756_000, 1, "snapshot-joined", 2, b"a", b"r"))
        show(check, *(logged(8_253_000, node, "finalized", 3, 5, b"b", b"r") for node in run.honest))

        assert check.finish().status == status

    @pytest.mark.parametrize(("slot_us", "status"), [(1_000_000, "passed"), (0, "failed")])
    def test_slots_that_went_by_in_a_blackout_are_over_when_it_ends(self, slot_us, status):
        """Nobody enters a slot of a blackout; where views go by certificates, there are none meanwhile."""
        run = make_run(plan=PlannedRun(slot_us=slot_us), expect=Expectations(finality_views_max=5))
        run.end = RunEnd(reason="stopped")
        check = FinalityRegained(run)
        show(check, logged(9_000_000, 0, "enter", 9, 0), logged(40_000_000, -1, "healed"))
        show(check, *(logged(42_000_000, node, "enter", 42, 2) for node in run.honest))
        show(check, *(logged(43_000_000, node, "finalized", 1, 42, b"b", b"r") for node in run.honest))

        assert check.finish().status == status

    @pytest.mark.parametrize(("base_us", "status"), [(500_000, "passed"), (0, "failed")])
    def test_slowed_work_that_outlasts_the_last_fault_makes_a_validator_late(self, base_us, status):
        """It is measured from the end of that work; found by the swarm (seed 1024)."""
        run = make_run(expect=Expectations(finality_views_max=5))
        run.end = RunEnd(reason="stopped")
        check = FinalityRegained(run)
        show(check, logged(9_000_000, -1, "healed"))
        show(check, *(logged(10_000_000, node, "finalized", 1, 2, b"b", b"r") for node in (0, 2, 3)))
        show(check, logged(20_000_000, 0, "enter", 42, 2), logged(21_000_000, 1, "work", "cpu", 7, base_us, 11_600_000))
        show(check, logged(22_000_000, 1, "finalized", 1, 42, b"b", b"r"))

        assert check.finish().status == status

    @pytest.mark.parametrize(("joins_us", "status"), [(12_000_000, "passed"), (8_000_000, "failed"), (None, "failed")])
    def test_a_replica_that_joins_after_the_last_fault_is_late(self, joins_us, status):
        """It is measured from its join, and not from before; found by the swarm (longest-chain seed 437566)."""
        run = make_run(expect=Expectations(finality_views_max=5))
        run.end = RunEnd(reason="stopped")
        check = FinalityRegained(run)
        joined = [logged(joins_us, 1, "snapshot-joined", 1, b"b", b"r")] if joins_us else []
        early, late = ([], joined) if joins_us and joins_us > 9_000_000 else (joined, [])
        show(check, *early, logged(9_000_000, -1, "healed"))
        show(check, *(logged(10_000_000, node, "finalized", 1, 2, b"b", b"r") for node in (0, 2, 3)))
        show(check, logged(11_000_000, 0, "enter", 9, 2), *late, logged(13_000_000, 0, "enter", 12, 2))
        show(check, logged(14_000_000, 1, "finalized", 1, 12, b"b", b"r"))

        assert check.finish().status == status

    @pytest.mark.parametrize("reason", ["time-limit", "stopped"])
    @pytest.mark.parametrize(
        ("slowed", "status"),
        [({1: 8_546_000}, "inconclusive"), ({1: 9_500_000}, "failed"), ({2: 8_546_000}, "failed"), ({}, "failed")],
        ids=["it works", "its work began after the fault", "another validator works", "nobody works"],
    )
    def test_a_validator_in_slowed_work_at_the_end_is_not_judged(self, slowed, status, reason):
        """Its start took longer than the rest of the run; found by the swarm (longest-chain seed 436278)."""
        run = make_run(expect=Expectations(finality_views_max=5))
        run.end = RunEnd(reason=reason, slowed=slowed)
        check = FinalityRegained(run)
        show(check, logged(9_000_000, -1, "healed"), logged(19_000_000, 0, "enter", 3, 2))
        show(check, *(logged(20_000_000, node, "finalized", 1, 3, b"b", b"r") for node in (0, 2, 3)))
        show(check, logged(21_000_000, 0, "enter", 7, 2))

        assert check.finish().status == status


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
        history.faults = (Fault("blackout", is_enabled=False), Fault("split", count=0, may_be_idle=True))

        assert "faults-effective" not in history.judge()

    def test_an_enabled_fault_that_did_nothing_is_inconclusive(self):
        """A fault in the plan needs no further request: the run has to show it."""
        history = write_history()
        history.requires = ()
        history.faults = (Fault("blackout"), Fault("split", count=0))
        result = history.judge()["faults-effective"]

        assert (result.status, result.summary) == ("inconclusive", "required: split had no effect")


@pytest.mark.parametrize(
    ("lottery", "lag"), [({}, 20), ({"lottery_key": 7}, 30), ({"lottery_key": 7, "empty_slot_share_ppm": 500_000}, 60)]
)
def test_the_depth_of_a_lottery_takes_half_as_many_slots_again(lottery, lag):
    """Slots of who is away or lies may come in a row, whether or not some have no leader."""
    config = replace(config_of(20), **lottery)

    assert RULES["longest-chain"].finality_lag(config) == lag
