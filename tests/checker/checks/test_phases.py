"""The ledger of a block's phases: what each found is what it did and left, and none is left out."""

import pytest

from checker.oracle.phases import compare_phases
from tests.support.checker_history import assert_only, ledger_of, planned, write_history
from tests.support.cluster_runs import check_named, result_of
from tests.support.mutation import WITH_CATALOGUE
from tests.support.oracle_bench import RICH, Bench
from validators.execution import phases


def changed(phase, **counts):
    """Return the results of a history in which a phase of block 3 counts otherwise; None leaves the phase out."""

    def change(plans):
        ledger = ledger_of(plans[3])
        if counts:
            ledger[phase] |= counts
        else:
            del ledger[phase]
        plans[3].phases = ledger

    return planned(change)


def test_a_block_whose_phases_account_for_everything_passes():
    assert write_history().judge()["phases"].summary.startswith("28 phases account for all items that they found")


@pytest.mark.parametrize("phase", ["transactions", "timers", "mailbox", "prices", "burns"])
def test_a_phase_without_an_entry_fails(phase):
    assert_only(changed(phase), "phases", f"height 3: the phase {phase} has no entry")


@pytest.mark.parametrize(
    ("phase", "counts", "words"),
    [
        ("timers", {"due": 4}, "the phase timers counts 4 due; expected 3"),
        ("timers", {"left": 1}, "the phase timers counts 1 left; expected 0"),
        ("timers", {"removed": 1}, "the phase timers counts 1 removed; expected 2"),
        ("mailbox", {"found": 1}, "messages 1; delivered 0, left 0"),
        ("mailbox", {"found": 1, "left": 1}, "messages found: 1; expected 0"),
        ("prices", {"cycles": 1}, "the phase prices counts 1 cycles; expected 300"),
    ],
)
def test_a_phase_that_does_not_account_for_what_it_found_fails(phase, counts, words):
    result = changed(phase, **counts)["phases"]

    assert result.status == "failed"
    assert words in result.summary


@pytest.mark.parametrize(
    ("chain", "middle"),
    [
        ({"policy": "fifo"}, (phases.TRANSACTIONS, phases.TIMERS)),
        ({"policy": "fifo-free"}, (phases.TRANSACTIONS, phases.TIMERS)),
        ({"lane": {}}, (phases.TRANSACTIONS, phases.TIMERS)),
        ({"auction": {}}, (phases.TRANSACTIONS, phases.TIMERS)),
        ({"auction": {"timer_phase": "before"}}, (phases.TIMERS, phases.TRANSACTIONS)),
    ],
)
def test_the_oracle_has_the_phases_of_a_block(chain, middle):
    """Its own names, in its own order, are those that a block leaves."""
    bench = Bench({"a": RICH}, **chain)
    bench.run_block()

    end = (phases.MAILBOX, phases.PRICES, phases.BURNS, phases.TIERS)
    assert tuple(name for name, _ in bench.result.phases) == (phases.PROMOTION, *middle, *end)


def test_the_oracle_names_a_missing_phase_and_a_differing_count():
    expected = [("timers", {"due": 2}), ("mailbox", {})]

    assert compare_phases(expected, [("timers", {"due": 2, "more": 1}), ("mailbox", {"found": 0})]) is None
    assert compare_phases(expected, expected[:1]) == ("timers, mailbox", "timers")
    assert compare_phases(expected, [("timers", {"due": 3}), ("mailbox", {})]) == (
        "timers {'due': 2}",
        "timers {'due': 3}",
    )


def test_a_validator_that_leaves_a_phase_out_is_found():
    """On all validators: they agree, and the state need not show it in that block."""
    settings = (WITH_CATALOGUE, "mutants.transactions-skipped=[0, 1, 2, 3]")
    result = result_of("calm", "run.until_height=4", "run.time_limit_ms=15_000", *settings)

    assert check_named(result, "phases").status == "failed"
    assert "has no entry" in check_named(result, "phases").summary


def test_what_is_cancelled_behind_an_early_timer_phase_was_left_by_it():
    """The phase of K-1's other order leaves them, transactions of the same block cancel them, and every sum holds."""
    flood = ("workload.flood.actors=3", "workload.flood.timers_per_actor=20", "workload.flood.cancels_per_actor=15")
    early = ('chain.policy="gba-auction"', 'chain.policy_parameters={timer_phase="before"}')
    result = result_of("cancel-flood", *flood, *early, "expect.counts={cancelled=45, waiting_live_peak=60}")

    assert {check.name: check.summary for check in result.checks if check.status != "passed"} == {}
