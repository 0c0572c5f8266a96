"""Checks that a run does not ask: each says why, and each is asked where there is something to compare."""

import pytest

from checker.checks import CHECKS
from checker.checks.context import RunEnd
from checker.checks.suite import Suite
from checker.results import judge_expected
from tests.support.checks import make_run
from tests.support.cluster_runs import result_of

UNEXPECTED = "none stated"

OF_NOTHING = {
    "budgets": "all blocks were empty",
    "timer-delivery": "no timer was scheduled",
    "storm-accounting": "no timer was removed or held back",
    "message-delivery": "no message was sent",
    "supply": "no balance changed",
    "faults-effective": "no fault has to take effect",
    "audit": "another process began the run, or there is no plan",
    "storm": "no storm expected",
    "reorg": "no reorg expected",
    "inclusion": "no transaction was in the mempool of a leader whose block became final",
    "spread": "no transaction waited in a mempool",
    "requests": "no replica asked for a snapshot, or a second time for a block",
    "timer-lengths": "no timer of a known name ran out",
    "work": "no work was done",
    "repairs": "no replica started again or repaired anything",
    "oracle/differential": "the run has no differential chain: 1 in 4 seeds of the swarm has it",
    **{
        f"expected-{name}": UNEXPECTED
        for name in ("arrival", "counts", "limits", "recovery", "reports", "answers", "replica-modes", "rules")
    },
    "replica-modes-effective": UNEXPECTED,
    "mutants-effective": "no mutant of the run was idle",
    "workloads-effective": "no workload has to take effect",
}
"""The reasons in a run without a plan, an expectation, a block and an event."""

OF_APPLICATIONS = dict.fromkeys(("told-timers", "application", "application-lives"), "it is about outside applications")

OF_SIMPLEX = dict.fromkeys(("no-double-vote", "certificates", "undisturbed-views"), "it judges the engine simplex")
OF_HOTSTUFF = {"quorum-certificates": "it judges the engine hotstuff"}
OF_OTHERS = {"simplex": OF_HOTSTUFF, "hotstuff": OF_SIMPLEX, "longest-chain": OF_SIMPLEX | OF_HOTSTUFF}
"""By engine, the checks that are about other engines."""

OF_ONE_REPLICA = {"refusals": "there is no other honest replica", "traffic": "there is no other replica"}


@pytest.mark.parametrize("engine", OF_OTHERS)
def test_a_run_without_anything_has_a_reason_for_each_check(engine):
    suite = Suite(make_run(engine=engine))
    suite.finish(RunEnd(reason="stopped"))

    assert suite.not_asked == OF_NOTHING | OF_APPLICATIONS | OF_OTHERS[engine]


@pytest.mark.parametrize("engine", OF_OTHERS)
def test_a_cluster_of_one_has_nothing_to_say_of_others(engine):
    settings = ("cluster.validators=1", f'consensus.engine="{engine}"', "run.until_height=4")
    result, of_four = result_of("calm", *settings), result_of("calm", *settings[1:])

    assert {name: result.not_asked.get(name) for name in OF_ONE_REPLICA} == OF_ONE_REPLICA
    assert not set(OF_ONE_REPLICA) & set(of_four.not_asked)


@pytest.mark.parametrize(
    ("name", "setting", "asked"),
    [
        (
            "calm",
            'workload.game={kind="games", games=1, interval_slots=2}',
            (
                *("budgets", "timer-delivery", "supply", "inclusion", "spread", "timer-lengths", "work"),
                *("audit", "workloads-effective", "message-delivery"),
            ),
        ),
        (
            "state-triggers",
            "run.until_height=5",
            ("storm-accounting", "faults-effective", "reorg", "expected-rules"),
        ),
        ("auction-agents", "run.until_height=3", ("repairs",)),
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


def test_an_expected_failure_of_it_says_why_there_is_none():
    judged = judge_expected([], ["storm"], {"storm": UNEXPECTED})

    assert judged.summary == "expected to fail: storm was not asked: none stated"
