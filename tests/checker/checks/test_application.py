"""Outside applications: what each did wrong as a process, and which were lost for good."""

import pytest

from checker.applications import ONE_BUILD, ApplicationFault, Builds
from checker.checks.application import ApplicationLives, OutsideApplication
from checker.checks.context import RunEnd
from checker.checks.planned import NOT_PLANNED
from faults.events import ApplicationLost
from network.events import Event
from network.types import SUPERVISOR
from tests.support.checks import finish, make_run, show
from validators.events import BlockExecuted

TWICE = ApplicationFault("answers-twice", 2, 17, "execute", 7, "validator 2 answers request 17 in two ways")
OTHER = ApplicationFault("kept-block", 1, 20, "hello", -1, "validator 1 came back at height 3")
LOST = {2: "hangs at request 7; its standard error ends with: oh no", 3: "died"}


def lose(machine, at_us=5):
    return Event(at_us, SUPERVISOR, ApplicationLost(machine, 7, "execute", "it hangs", 3))


class TestFaults:
    def result(self, *faults, requests=1_200):
        end = {"application_faults": faults, "application_requests": requests}
        return finish(OutsideApplication(make_run(offers=("trace", "events"))), **end)

    def test_the_first_fault_is_told_with_its_place(self):
        result = self.result(TWICE, OTHER)

        assert (result.status, result.exit_class) == ("failed", "safety")
        assert result.summary == "validator 2 answers request 17 in two ways (and 1 more)"
        assert dict(result.evidence) == {
            "fault": "answers-twice",
            "validator": 2,
            "request": 17,
            "call": "execute",
            "height": 7,
        }

    def test_requests_without_a_fault_pass_with_their_number(self):
        result = self.result()

        assert (result.status, result.compared) == ("passed", 1_200)
        assert result.summary.startswith("the applications of 4 replicas answered 1,200 requests")

    def test_applications_that_nobody_asked_are_inconclusive(self):
        assert self.result(requests=0).status == "inconclusive"
        assert self.result(TWICE, requests=0).status == "failed"


BLOCK = b"b" * 32
REFUSED = ApplicationFault("refuses-block", 2, 9, "execute", 7, "refuses block ab of height 7: too old", BLOCK, "old")
BUILDS = Builds(
    named={"old": "ledger 1 (build old)", "new": "ledger 2 (build new)"},
    at_first=("new", "new", "old", "old"),
    differ_from={"old": 0, "new": 7},
)


class TestRefusals:
    def result(self, *events, builds=ONE_BUILD):
        check = OutsideApplication(make_run(offers=("trace", "events"), plan=NOT_PLANNED._replace(builds=builds)))
        show(check, *events)
        return finish(check, application_faults=(REFUSED,), application_requests=9)

    def executed(self, node, height=7):
        return Event(5, node, BlockExecuted(height, 7, BLOCK, bytes(32), "verify"))

    def test_a_block_that_another_replica_executes_is_not_refused(self):
        result = self.result(self.executed(0))

        assert result.status == "failed"
        assert result.summary == (
            "the application of validator 2 refuses block ab of height 7: too old; validator 0 executed it"
        )

    def test_a_block_that_nobody_executes_may_be_refused(self):
        assert self.result().status == "passed"

    def test_an_outdated_build_may_refuse_what_a_newer_executes(self):
        assert self.result(self.executed(0), builds=BUILDS).status == "passed"
        later = BUILDS._replace(differ_from={"old": 0, "new": 8})
        assert self.result(self.executed(0), builds=later).status == "failed"


class TestLives:
    def result(self, *events, lost=(), validators=4, requests=9):
        run = make_run(offers=("trace", "events"), validators=validators)
        check = ApplicationLives(run)
        show(check, *events)
        run.end = RunEnd(lost={node: LOST[node] for node in lost}, application_requests=requests)
        return check.finish()

    def test_one_lost_of_four_is_inconclusive_with_its_words(self):
        result = self.result(lose(2), lost=(2,))

        assert (result.status, result.exit_class) == ("inconclusive", "liveness")
        assert result.summary == (
            "validator 2 lost the application for good (f = 1); validator 2: hangs at request 7; its standard error "
            "ends with: oh no"
        )

    def test_more_than_f_lost_fail(self):
        result = self.result(lost=(2, 3))

        assert (result.status, result.exit_class) == ("failed", "liveness")
        assert result.summary.startswith("validators 2, 3 lost the application for good (f = 1); validator 2: hangs")
        assert dict(result.evidence)["validator 3"] == "died"

    def test_a_lost_observer_counts_towards_nothing(self):
        """Of three validators and an observer none may be lost."""
        assert self.result(lost=(3,), validators=3).status == "inconclusive"
        assert self.result(lost=(2,), validators=3).status == "failed"

    @pytest.mark.parametrize(("requests", "status"), [(9, "passed"), (0, "inconclusive")])
    def test_an_application_that_was_started_again_is_counted(self, requests, status):
        result = self.result(lose(2), lose(1, 9), requests=requests)

        assert result.status == status
        assert status != "passed" or dict(result.evidence) == {"losses": 2}
