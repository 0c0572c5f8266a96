"""Explanations of a failure without differing states: the check's evidence on both sides, and the last views."""

import pytest

from checker.explain.executions import Executions
from checker.explain.explanation import Findings
from checker.explain.report import explain
from checker.results import CheckResult
from cluster.cli.commands.records.explain import lines_of
from cluster.cli.main import main
from cluster.inspect.explain_run import explain_run
from cluster.scenario.load import load_scenario
from scheduler import TimerFired
from tests.support.cluster_runs import applied_blocks, result_of
from validators.execution.receipts import decode_receipt

SHORT = ("run.until_height=4", "run.time_limit_ms=6_000")


def explained(*checks, settings=SHORT):
    return explain_run(load_scenario("calm", settings), 0, checks).explanation


@pytest.fixture(scope="module")
def fire():
    """Return height and event of the last fire of a short run."""
    _, applied = applied_blocks("calm", *SHORT)
    fires = [
        (executed.header.height, receipt.event)
        for _, executed in applied
        for receipt in map(decode_receipt, executed.receipts)
        if isinstance(getattr(receipt, "event", None), TimerFired)
    ]
    return fires[-1]


@pytest.fixture(scope="module")
def seen(fire):
    """Return what is shown of a check that names the timer of that fire."""
    height, event = fire
    evidence = (("height", height), ("timer", event.timer_id.hex()))
    return explained(CheckResult("timer-delivery", "failed", "safety", "it is late", evidence, 1)).seen


class TestTimer:
    def test_its_events_are_decoded_with_their_place(self, seen, fire):
        """A digest says nothing: scheduled, then fired."""
        height, _ = fire

        assert any(line.startswith(f"height {height}, receipt ") and "TimerFired(timer_id=" in line for line in seen)
        assert any("TimerScheduled(timer_id=" in line for line in seen)

    def test_its_record_and_its_payer_are_shown(self, seen, fire):
        _, event = fire

        assert any(line.startswith(f"its record: Timer(timer_id={event.timer_id.hex()} ") for line in seen)
        assert any(line.startswith("its payer's account ") and line.endswith(" after it") for line in seen)

    def test_what_the_check_gives_as_evidence_comes_first(self, seen, fire):
        height, event = fire

        assert seen[:2] == [f"height: {height}", f"timer: {event.timer_id.hex()}"]

    def test_a_timer_that_is_none_is_passed_over(self):
        """The record may come from another machine."""
        check = CheckResult("timer-delivery", "failed", "safety", "x", (("timer", "zz" * 32), ("height", -1)), 1)

        assert explained(check).seen == [f"timer: {'zz' * 32}", "height: -1"]


class TestMemory:
    def test_memory_and_log_say_what_each_of_them_holds(self):
        evidence = (
            ("validator", 2),
            ("found", "[total=5]"),
            ("expected", "[total=6]"),
            ("source", "its operation log"),
        )
        reported = list(lines_of(explained(CheckResult("live-values", "failed", "safety", "other", evidence, 1))))

        assert "  the operation log of validator 2: [total 6]" in reported
        assert "  validator 2: [total 5]" in reported

    def test_what_the_disk_holds_is_not_told_of_the_log(self):
        evidence = (("validator", 1), ("found", "d2"), ("expected", "d1"), ("source", "its disk"))
        found = explained(CheckResult("operation-log", "failed", "safety", "other", evidence, 1))

        assert [(side.who, side.says) for side in found.sides] == [
            ("the disk of validator 1", "d1"),
            ("validator 1", "d2"),
        ]


class TestViews:
    @pytest.mark.soak
    def test_a_liveness_failure_shows_the_last_views_and_why_they_were_left(self, tmp_path, capsys):
        settings = ["--set", "network.loss_ppm=999_999", "--set", "run.time_limit_ms=5_000"]
        assert main(["run", "calm", *settings, "--runs", str(tmp_path)]) == 4
        main(["explain", str(next(tmp_path.glob("*-0")))])
        reported = capsys.readouterr().out

        said = " ".join(reported.split())
        assert "the last views: view 1, led by validator 1: entered by validators 0, 1, 2, 3; left for " in said
        assert "LeaderTimeout by validators 0, 2, 3" in said

    def test_what_became_of_a_view_stands_beside_it(self):
        check = CheckResult("finality-regained", "failed", "liveness", "nothing new", (), 1)
        views = explained(check).views

        assert views[0].startswith("view 1, led by validator 1: entered by validators 0, 1, 2, 3; notarization at ")
        assert "height 1 final" in views[0]

    def test_other_failures_show_none(self):
        assert explained(CheckResult("supply", "failed", "safety", "x", (), 1)).views == []


class TestDecisive:
    FAILED = (
        CheckResult("finality-regained", "failed", "liveness", "nothing new", (), 1),
        CheckResult("oracle", "failed", "safety", "another value", (), 1),
    )

    def test_the_report_is_about_the_failure_that_decides_the_verdict(self):
        """Safety before liveness, whichever check comes first."""
        found = explained(*self.FAILED)

        assert (found.check, found.also) == ("oracle", ["liveness/finality-regained: nothing new"])

    def test_a_failure_that_is_expected_does_not_decide_it(self):
        findings = Findings(Executions(), b"", "slot", self.FAILED, lambda: (), lambda *_: None, expected=("oracle",))

        assert explain(findings).check == "finality-regained"

    def test_the_others_stand_before_the_report(self):
        """A reader would not look for them in line 48."""
        assert "also failed: liveness/finality-regained: nothing new" in list(lines_of(explained(*self.FAILED)))[:3]

    def test_the_headline_is_that_failure_too(self):
        result = result_of("calm", "run.until_height=3")
        both = result.with_check(self.FAILED[0]).with_check(self.FAILED[1])

        assert (both.verdict, both.headline) == ("safety", "oracle: another value")
