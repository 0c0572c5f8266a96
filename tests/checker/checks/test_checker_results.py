"""Results and verdicts: counting, no vacuous pass, the precedence of exit codes."""

import itertools

import pytest

from checker.results import EXIT_CODES, PRECEDENCE, CheckResult, CheckTally, verdict_of, with_names_of_today


def result(status, exit_class="safety"):
    return CheckResult("some", status, exit_class, "", (), 1)


class TestTally:
    def test_a_pass_needs_a_comparison(self):
        """Without any comparison the result is inconclusive."""
        assert CheckTally("x", "safety").result("fine").status == "inconclusive"

    def test_the_first_failure_keeps_its_evidence(self):
        """Later failures are counted, the first one is reported."""
        tally = CheckTally("x", "safety")
        tally.require(True, "never said")
        tally.require(False, "height 3 differs", height=3)
        tally.require(False, "height 4 differs", height=4)

        found = tally.result("fine")

        assert (found.status, found.summary) == ("failed", "height 3 differs (and 1 more)")
        assert (found.evidence, found.compared) == ((("height", 3),), 3)

    def test_a_failure_outlives_an_inconclusive_end(self):
        """A failure stays a failure, even if the rest could not be checked."""
        tally = CheckTally("x", "liveness")
        tally.fail("broken")

        assert tally.inconclusive("ended early").status == "failed"

    def test_a_figure_may_have_any_name(self):
        """Names of faults become names of figures, whatever they are."""
        tally = CheckTally("x", "safety")
        tally.compared = 1

        assert tally.result("fine", summary=1, self=2).evidence == (("summary", 1), ("self", 2))

    def test_a_vacuous_pass_cannot_be_made(self):
        """A passed result without a comparison is a bug of the check."""
        with pytest.raises(AssertionError, match="without having compared"):
            CheckResult("x", "passed", "safety", "")


class TestVerdict:
    def test_all_passed_is_passed(self):
        """Only passed checks give exit code 0."""
        verdict = verdict_of([result("passed"), result("passed", "liveness")])

        assert (verdict.name, verdict.exit_code) == ("passed", 0)

    def test_no_results_are_inconclusive(self):
        """A run that was judged by nothing proves nothing."""
        assert verdict_of([]).exit_code == 3

    def test_an_inconclusive_check_counts_as_such_whatever_its_class(self):
        """The exit class is what a failure would mean, not what an inconclusive result does."""
        assert verdict_of([result("passed"), result("inconclusive", "safety")]).exit_code == 3

    @pytest.mark.parametrize(("first", "second"), list(itertools.combinations(PRECEDENCE, 2)))
    def test_the_worse_of_two_wins_in_either_order(self, first, second):
        """The precedence is 6, 2, 5, 1, 4, 3."""
        failed = [result("failed", first), result("failed", second)]

        assert verdict_of(failed).name == verdict_of(failed[::-1]).name == first

    def test_the_precedence_is_that_of_the_exit_codes(self):
        """Names in order of precedence have the codes 6, 2, 5, 1, 4, 3."""
        assert [EXIT_CODES[name] for name in PRECEDENCE] == [6, 2, 5, 1, 4, 3]


class TestFormerNames:
    """Results of a record of the release before."""

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
    def test_of_checks_that_became_one_the_worst_result_stays(self, order):
        rows = [
            CheckResult("heads", "passed", "safety", "", (), 1),
            CheckResult("duties", "failed", "liveness", "no reaction"),
            CheckResult("insistence", "inconclusive", "liveness", ""),
        ]

        (result,) = with_names_of_today([rows[place] for place in order])

        assert (result.name, result.status, result.summary) == ("consensus", "failed", "no reaction")

    def test_other_results_keep_their_names_and_order(self):
        rows = [CheckResult(name, "passed", "safety", "", (), 1) for name in ("agreement", "promised-limits", "supply")]

        assert [each.name for each in with_names_of_today(rows)] == ["agreement", "expected-limits", "supply"]
