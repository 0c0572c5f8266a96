"""Families of checks: their status, class and sentence, and that every check belongs to one."""

import json

import pytest

from checker.checks import CHECKS
from checker.families import FAMILIES, FAMILY_OF, by_family, title_of, without_answer
from checker.results import EXPECTED_FAILURES, CheckResult
from cluster.cli.main import main
from cluster.scenario.aliases import with_new_names
from tests.support.cluster_runs import result_of


def result(name, status="passed", exit_class="safety", summary="said"):
    return CheckResult(name, status, exit_class, summary, (), 3)


def test_every_check_is_a_part_of_one_family():
    parts = [part for family in FAMILIES for part in family.parts]
    by_stratum = ["determinism", "replay", EXPECTED_FAILURES]

    assert len(FAMILIES) == 12
    assert sorted(parts) == sorted([*(check.name for check in CHECKS), *by_stratum])
    assert len(FAMILY_OF) == len(parts)


def test_a_family_that_passed_says_what_its_first_part_compared():
    (row,) = by_family([result("write-sets", summary="writes"), result("equal-roots", summary="roots")])

    assert (row.name, row.status, row.summary) == ("equal-roots", "passed", "roots; also write-sets")


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (("passed", "failed"), ("failed", "liveness", "spread: said")),
        (("inconclusive", "failed"), ("failed", "liveness", "spread: said")),
        (("inconclusive", "passed"), ("inconclusive", "safety", "traffic: said")),
        (("failed", "failed"), ("failed", "safety", "traffic: said; failed too: spread")),
    ],
)
def test_the_worst_part_decides(statuses, expected):
    first, second = statuses
    (row,) = by_family([result("traffic", first), result("spread", second, "liveness")])

    assert (row.status, row.exit_class, row.summary) == expected


def test_a_check_of_a_plug_in_is_a_family_of_its_own_and_comes_last():
    assert [row.name for row in by_family([result("own"), result("supply")])] == ["oracle", "own"]


def test_a_family_without_any_result_has_the_reason_of_its_first_part():
    not_asked = {"reorg": "no reorg", "storm": "no storm", "message-delivery": "no message"}
    answered = by_family([result("equal-roots"), result("timer-delivery")])

    assert without_answer(not_asked, answered) == {"storm": "no storm"}


def test_a_failure_is_named_by_family_and_part():
    wrong = CheckResult("consensus", "failed", "safety", "said", (("part", "record"),), 3)
    named = [title_of(each) for each in (result("supply"), result("agreement"), result("oracle/differential"), wrong)]

    assert named == ["oracle/supply", "agreement", "oracle/differential", "consensus/record"]
    assert by_family([wrong])[0].summary == "record: said"


@pytest.mark.parametrize("name", ["oracle/supply", "supply"])
def test_a_scenario_may_name_a_check_with_its_family(name):
    raw = {"name": "plain", "expect": {"fails": [name]}}

    assert with_new_names(raw, pytest.fail)["expect"]["fails"] == ["supply"]


def test_all_parts_are_shown_where_they_are_asked_for(capsys, tmp_path):
    run = ["run", "calm", "--set", "run.until_height=3", "--runs", str(tmp_path)]

    assert main(run) == 0
    families = capsys.readouterr().out
    assert main([*run, "--checks", "all"]) == 0
    parts = capsys.readouterr().out

    assert "service" in families
    assert "│ traffic" not in families
    assert "│ traffic" in parts
    assert "│ service" not in parts


def test_the_verdict_names_the_parts_of_each_family():
    document = json.loads(json.dumps(result_of("calm", "run.until_height=3").as_json("")))

    assert len(document["families"]) <= 12
    named = [part for family in document["families"] for part in family["parts"]]
    assert sorted(named) == sorted(check["name"] for check in document["checks"])
