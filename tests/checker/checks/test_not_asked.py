"""Checks that a run does not ask: each says why, and each is asked where there is something to compare."""

import pytest

from checker.checks import CHECKS
from checker.checks.context import RunEnd
from checker.checks.suite import Suite
from checker.results import judge_expected
from checker.tables import LANE_MARKET_KEY
from tests.support.checker_history import write_history
from tests.support.checks import make_run
from tests.support.cluster_runs import result_of

UNEXPECTED = "the scenario does not expect it"

OF_NOTHING = {
    "budgets": "no block used anything",
    "timer-delivery": "no timer was scheduled",
    "storm-accounting": "no timer was removed or held back",
    "lane-books": "no policy of the chain has a lane",
    "message-delivery": "no message was sent",
    "supply": "no balance changed",
    "faults-effective": "no fault has to take effect",
    "audit": "another process began the run, or there is no plan",
    "auction-books": "no policy of the chain is gba-auction",
    "queue-deposits": "no policy of the chain is aptos",
    "bias-books": "no policy of the chain is bias-auction",
    "state-triggers": "no timer watched anything",
    "storm": UNEXPECTED,
    "reorg": UNEXPECTED,
    "inclusion": "no transaction was in the mempool of a leader whose block became final",
    "spread": "no transaction waited in a mempool",
    "answers": "no request was answered",
    "once": "no block was executed or stored",
    "timer-lengths": "no timer of a known name ran out",
    "work": "no work was done",
    "repairs": "no replica started again or repaired anything",
    "oracle/differential": "the run has no differential chain: one seed of the swarm in four has",
    **{
        f"expected-{name}": UNEXPECTED
        for name in ("arrival", "counts", "limits", "recovery", "reports", "answers", "replica-modes", "rules")
    },
    "replica-modes-effective": UNEXPECTED,
    "mutants-effective": "no mutant of the run was idle",
    "workloads-effective": "no workload has to take effect",
}
"""The reasons in a run without a plan, an expectation, a block and an event."""

OF_AN_ENGINE = {
    "simplex": {"kept-votes": "no validator restarted in a view that it had voted in"},
    "hotstuff": {
        "kept-votes": "no validator restarted in a view that it had voted in",
        "counted-votes": "no vote came to a validator that is judged",
    },
    "longest-chain": {"followed-blocks": "no block came to a validator that is judged"},
}

OF_ONE_REPLICA = {"refusals": "there is no other honest replica", "traffic": "there is no other replica"}

OF_ONE_VALIDATOR = {
    "simplex": {
        "duties": "there is no other validator",
        "insistence": "no replica waited for another",
        "verified-votes": "no vote came to an idle replica",
    },
    "hotstuff": {
        "view-changes": "there is no other validator",
        "verified-votes": "no vote came to an idle replica",
    },
    "longest-chain": {},
}


@pytest.mark.parametrize("engine", OF_AN_ENGINE)
def test_a_run_without_anything_has_a_reason_for_each_check(engine):
    suite = Suite(make_run(engine=engine))
    suite.finish(RunEnd(reason="stopped"))

    assert suite.not_asked == OF_NOTHING | OF_AN_ENGINE[engine]


@pytest.mark.parametrize("engine", OF_ONE_VALIDATOR)
def test_a_cluster_of_one_has_nothing_to_say_of_others(engine):
    settings = ("cluster.validators=1", f'consensus.engine="{engine}"', "run.until_height=4")
    result, of_four = result_of("calm", *settings), result_of("calm", *settings[1:])
    alone = OF_ONE_REPLICA | OF_ONE_VALIDATOR[engine]

    assert {name: result.not_asked.get(name) for name in alone} == alone
    assert not set(alone) & set(of_four.not_asked)


@pytest.mark.parametrize(
    ("name", "setting", "asked"),
    [
        (
            "calm",
            'workload.game={kind="games", games=1, interval_slots=2}',
            (
                *("budgets", "timer-delivery", "supply", "inclusion", "spread", "once", "timer-lengths", "work"),
                *("audit", "workloads-effective", "message-delivery"),
            ),
        ),
        (
            "state-triggers",
            "run.until_height=5",
            ("bias-books", "state-triggers", "storm-accounting", "faults-effective", "reorg", "expected-rules"),
        ),
        ("auction-agents", "run.until_height=3", ("auction-books", "answers", "repairs")),
        ("aptos-blocks", "run.until_height=3", ("queue-deposits",)),
    ],
)
def test_a_check_is_asked_where_it_has_something_to_compare(name, setting, asked):
    result = result_of(name, "run.until_height=5", setting)

    assert not set(asked) - {check.name for check in result.checks}


def test_the_reasons_are_in_the_verdict():
    result = result_of("calm", "run.until_height=4")

    assert result.as_json("")["not_asked"] == result.not_asked
    assert not {check.name for check in result.checks} & set(result.not_asked)
    assert {check.name for check in CHECKS if check.applies_to("simplex")} <= {
        *(check.name for check in result.checks),
        *result.not_asked,
    }


def test_a_failure_stays_a_result():
    history = write_history(lambda plans: plans[2].changes.update({LANE_MARKET_KEY: b"\x90"}))

    assert history.judge()["lane-books"].status == "failed"


def test_an_expected_failure_of_it_says_why_there_is_none():
    judged = judge_expected([], ["lane-books"], {"lane-books": "no policy of the chain has a lane"})

    assert judged.summary == "expected to fail: lane-books was not asked: no policy of the chain has a lane"
