"""The part of a run that a check needs: a run that does not offer it leaves the check out, and says so."""

from typing import get_args

import msgspec
import pytest

from checker.applications import Need
from checker.checks import CHECKS
from checker.checks.context import RunContext, RunEnd
from checker.checks.expectations import ExpectedRecovery
from checker.checks.expected_reports import ExpectedReports
from checker.checks.oracle import EqualOracle, judge_final_blocks
from checker.checks.suite import Suite
from checker.checks.timer_delivery import TimerDelivery
from checker.observations import NO_SUMMARY, AppliedBlock
from checker.record.final_blocks import final_block
from tests.support.checker_history import GENESIS_VALUES, OF_A_HISTORY, RULES, call_receipt, write_history
from tests.support.checks import make_run, statuses
from tests.support.cluster_runs import applied_blocks, result_of
from validators.execution.receipts import encode_receipt
from validators.state import mmr_root

OF_AN_APPLICATION = ("trace", "events")
OF_OURS_BEHIND_THE_PROTOCOL = (*OF_AN_APPLICATION, "receipts")

FOREIGN = (b"\xc1 no receipt of ours", b"", encode_receipt(call_receipt()))
"""Receipts of an application: any bytes, those of a receipt of ours among them."""

JUDGED = (*OF_A_HISTORY, EqualOracle)
"""Checks that look at no disk."""

ASKED = ("agreement", "equal-roots", "write-sets", "no-double-vote", "certificates", "block-times", "cold-replay")
"""Checks that a run of four heights has something for, whatever executes its blocks."""


def foreign_history(*, receipts=FOREIGN, told=()):
    """Return the history of an application: its blocks have foreign receipts, and no changes and summary."""

    def take_foreign(plans):
        for plan in plans.values():
            plan.receipts_root = mmr_root(FOREIGN)

    history = write_history(take_foreign)
    history.steps = [
        AppliedBlock(*step[:6], receipts=receipts, told=told) if isinstance(step, AppliedBlock) else step
        for step in history.steps
    ]
    return history


def judge(history, checks=JUDGED, offers=OF_AN_APPLICATION):
    """Return the suite that was fed a history, and the results."""
    suite = Suite(make_run(rules=RULES, genesis_values=GENESIS_VALUES, offers=offers, max_skew_ms=60_000), checks)
    for step in history.steps:
        if isinstance(step, AppliedBlock):
            suite.applied(step)
        elif checks == JUDGED:
            suite.observe(step)
    end = RunEnd(reason="stopped", cold=history.cold, faults=history.faults)
    return suite, suite.finish(end)


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_needs_one_part_of_a_run(check):
    assert check.needs in get_args(Need)


@pytest.mark.parametrize("check", CHECKS)
def test_a_check_is_shown_no_block_of_a_run_that_lacks_its_part(check, monkeypatch):
    shown = []
    monkeypatch.setattr(check, "settle", lambda _self, block: shown.append(block))
    suite, _ = judge(foreign_history(), [check])
    is_offered = check.needs in OF_AN_APPLICATION and check.applies_to("simplex")

    assert len(shown) == 4 * is_offered
    assert not any(block.receipts for block in shown)
    assert suite.height == 4
    assert is_offered or check.name in suite.not_asked


def test_a_run_of_an_application_is_judged_by_what_it_has():
    suite, results = judge(foreign_history(told=[{"event": "paid", "amount": 7}]))
    found = statuses(results)

    assert [result.summary for result in results if result.status == "failed"] == []
    assert {name: found[name] for name in ASKED} == dict.fromkeys(ASKED, "passed")
    assert suite.not_asked["supply"] == (
        "it needs the tables of this project's own chain, which an application does not have"
    )
    assert "receipts of this project's own chain" in suite.not_asked["oracle"]


def test_other_foreign_receipts_than_the_headers_fail():
    _, results = judge(foreign_history(receipts=(b"other",)))

    assert [result.name for result in results if result.status == "failed"] == ["write-sets"]


def test_our_own_chain_offers_all_but_told_events():
    run = make_run()
    left_out = {check.name for check in CHECKS if check.applies_to(run.engine) and check.why_left_out(run)}

    assert left_out == {check.name for check in CHECKS if check.needs == "events"}


def test_ours_behind_the_protocol_has_its_oracle():
    run = make_run(offers=OF_OURS_BEHIND_THE_PROTOCOL)

    assert [check.name for check in CHECKS if check.needs == "receipts" and not check.why_left_out(run)] == ["oracle"]


def test_a_run_of_ours_without_tables_passes_all_that_is_left(monkeypatch):
    """A crash within it, so that replicas catch up; nobody asks the applications that it does not have."""
    begin, show = RunContext.__post_init__, Suite.applied

    def offer_less(run):
        begin(run)
        run.offers = OF_OURS_BEHIND_THE_PROTOCOL

    def show_less(suite, block):
        show(suite, block._replace(changes={}, summary=NO_SUMMARY, phases=()))

    monkeypatch.setattr(RunContext, "__post_init__", offer_less)
    monkeypatch.setattr(Suite, "applied", show_less)
    crash = 'faults={it={kind="crash", validator=1, at_ms=1_500, restart_ms=3_000}}'
    result = result_of("calm", crash, "run.until_height=8")
    found = statuses(result.checks)

    assert {name for name, status in found.items() if status != "passed"} == {"application", "application-lives"}
    assert {"oracle", "work", "spread", "undisturbed-views", "repairs", "workloads-effective"} <= set(found)
    assert "supply" in result.not_asked


@pytest.mark.parametrize(("receipts", "status"), [(None, "passed"), ((b"other",), "failed")])
def test_the_oracle_judges_a_chain_without_tables(receipts, status):
    run, applied = applied_blocks("calm", "run.until_height=3")
    chain = [executed for node, executed in applied if node == 0]
    final = [msgspec.structs.replace(final_block(executed), changes={}, phases=()) for executed in chain]
    if receipts is not None:
        final[1] = msgspec.structs.replace(final[1], receipts=receipts)
    result = judge_final_blocks(run.genesis, final, has_tables=False)

    assert result.status == status
    assert status == "passed" or result.summary.startswith("height 2: receipt 0")
    assert judge_final_blocks(run.genesis, final).status == "failed"


def test_a_check_that_is_left_out_still_answers_for_figures():
    """A verdict reads the figures of some checks, whether the run asks them or not."""
    suite, _ = judge(foreign_history())
    run = suite._run

    assert run.check(TimerDelivery).figures().scheduled == 0
    assert not any(run.check(ExpectedReports).counts.values())
    assert run.check(ExpectedRecovery).counts["snapshots_joined"] == 0


def test_a_block_of_an_application_counts_nothing():
    assert not any(getattr(NO_SUMMARY, name) for name in NO_SUMMARY.__struct_fields__)
