"""Breaking a rule in the production class fails both that rule's own test and a judged cluster run."""

import pytest

from cluster.scenario.load import load_scenario
from cluster.verdict.pipeline import run_pipeline
from report.console import LiveProgress
from tests.checker.oracle import test_oracle_rules
from tests.scheduler import test_cip5_rules
from tests.support.oracle_runs import write_crowded

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
"""Ten rules of the revised CIP-5, as their breaks are called in test_oracle_rules, and the test of each."""


def run_rule_test(name):
    """Call the test of that name in test_cip5_rules."""
    (case,) = [case for case in vars(test_cip5_rules).values() if isinstance(case, type) and hasattr(case, name)]
    getattr(case(), name)()


@pytest.mark.parametrize("broken", RULE_TESTS)
def test_a_broken_rule_fails_its_own_test(broken, monkeypatch):
    """The test passes as things are, and fails under the break."""
    run_rule_test(RULE_TESTS[broken])
    break_rule, _ = test_oracle_rules.BREAKS[broken]
    break_rule(monkeypatch)

    # Whatever the rule's test raises: some see the difference only as a missing event.
    with pytest.raises((AssertionError, ValueError, IndexError, KeyError)):
        run_rule_test(RULE_TESTS[broken])


@pytest.mark.parametrize("broken", RULE_TESTS)
def test_a_broken_rule_fails_a_judged_run(broken, monkeypatch, tmp_path):
    """All validators break it alike and agree; the verdict is safety all the same."""
    scenario = load_scenario(str(write_crowded(tmp_path)))
    break_rule, _ = test_oracle_rules.BREAKS[broken]
    break_rule(monkeypatch)

    with LiveProgress(title=broken, is_quiet=True) as progress:
        result = run_pipeline(scenario, 0, runs=None, progress=progress)

    statuses = {check.name: check.status for check in result.checks}
    assert result.exit_code == 1
    assert statuses["oracle"] == "failed"
    assert statuses["agreement"] == "passed"
