"""Answers that a scenario expects of a validator: those that arrive count, by who gave them."""

import pytest

from checker.checks.expectations import ExpectedAnswers
from checker.expected import Expectations
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from network.events import Delivered, Event
from tests.support.checks import make_run, show
from tests.support.cluster_runs import check_named, result_of
from tests.support.keystones import third_of


def judge(*answers):
    check = ExpectedAnswers(make_run(expect=Expectations(answers_from={"2": 2})))
    show(check, *(Event(1, 3, Delivered(source, 0, kind, 9, b"")) for source, kind in answers))
    return check.finish()


def test_answers_of_the_validator_count():
    assert judge((2, "BlockResponse"), (2, "SnapshotChunk")).status == "passed"


def test_other_messages_and_other_validators_do_not_count():
    result = judge((2, "BlockResponse"), (2, "BlockRelay"), (1, "BlockResponse"))

    assert (result.status, result.summary) == ("inconclusive", "less than expected: 2 1 (at least 2)")


@pytest.mark.parametrize(("name", "peer"), third_of([("one-holder", 2), ("one-snapshot", 1), ("one-log", 1)]))
def test_a_run_in_which_the_one_peer_was_not_needed_is_inconclusive(name, peer):
    result = result_of(name, f"expect.answers_from.{peer}=1_000")

    assert result.exit_code == 3
    assert check_named(result, "expected-answers").status == "inconclusive"


def test_a_validator_that_is_not_there_cannot_be_expected_to_answer():
    with pytest.raises(
        ScenarioError, match=r"expect\.answers_from\.4: no validator has this name; there are 0, 1, 2, 3"
    ):
        load_scenario("one-holder", ("expect.answers_from.4=1",))
