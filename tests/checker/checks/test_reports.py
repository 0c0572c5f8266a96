"""Reports of validators: reasons to leave views, counted by reason, and evidence."""

import pytest

from checker.checks.expected_reports import ExpectedReports
from checker.record.streams import iterate_events
from cluster.scenario.load import load_scenario
from cluster.scenario.messages import ScenarioError
from network.events import Event, events_of_type
from tests.support.checks import make_run, show
from tests.support.cluster_runs import check_named, result_of
from validators.events import EvidenceReported, Reported


def test_reasons_and_kinds_of_evidence_are_counted_apart():
    reports = ExpectedReports(make_run())
    for report in (
        Reported("TimedOut", 1, 5, "LeaderTimeout"),
        Reported("TimedOut", 1, 9, "LeaderTimeout"),
        EvidenceReported("NullifyFinalize", 2, 6, "", b"first", b"second"),
    ):
        show(reports, Event(0, 3, report))

    assert {name: count for name, count in reports.counts.items() if count} == {
        "LeaderTimeout": 2,
        "NullifyFinalize": 1,
    }


@pytest.mark.soak
def test_a_run_tells_why_its_views_were_left():
    """Every report of the trace has its reason, and the figures are their counts."""
    result = result_of("certified-split")

    reported = [report.detail for _, report in events_of_type(iterate_events(bytes(result.log)), Reported)]
    figures = {name: count for name, count in result.figures.items() if name.startswith("reported_") and count}
    assert reported
    assert figures == {f"reported_{reason}": reported.count(reason) for reason in dict.fromkeys(reported)}


def test_a_report_that_was_promised_and_never_came_is_inconclusive():
    result = result_of("calm", "run.until_height=3", "expect.reports.FailedCertification=1")

    assert check_named(result, "expected-reports").summary == "less than expected: FailedCertification 0 (at least 1)"
    assert result.exit_code == 3


def test_a_report_of_no_such_name_cannot_be_promised():
    with pytest.raises(
        ScenarioError, match=r"expect\.reports\.Late: is not counted; there are Inactivity, LeaderNullify"
    ):
        load_scenario("calm", ("expect.reports.Late=1",))
