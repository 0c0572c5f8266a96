"""A scenario that states what must fail: exactly that, and the run is as good as passed; commands see the failure."""

import json

import pytest

from checker.checks import CHECKS, fallible
from checker.record.root import PROJECT_ROOT
from checker.results import CheckResult, deciding_check, judge_expected, verdict_of
from cluster.campaign.results_db import ResultsFile
from cluster.campaign.sweep import sweep
from cluster.campaign.tasks import signature_of
from cluster.cli.main import main
from cluster.scenario.load import encode_scenario, load_scenario
from cluster.scenario.messages import ScenarioError
from tests.support.cluster_runs import result_of
from tests.support.pages import text_of


def check(name, status, exit_class="safety"):
    return CheckResult(name, status, exit_class, f"{name} {status}", (), 1)


def verdict(expected, *checks):
    """Return the verdict of checks and of what is said of the expected ones."""
    return verdict_of([*checks, judge_expected(checks, expected)], expected)


class TestVerdict:
    def test_exactly_the_named_failures_are_as_good_as_a_pass(self):
        found = verdict(["agreement"], check("agreement", "failed"), check("oracle", "passed"))

        assert (found.name, found.exit_code) == ("failed as expected", 0)

    def test_others_may_be_inconclusive_as_a_consequence(self):
        found = verdict(["agreement"], check("agreement", "failed"), check("oracle", "inconclusive"))

        assert found.exit_code == 0

    @pytest.mark.parametrize(("name", "exit_class"), [("faults-effective", "inconclusive"), ("reorg", "safety")])
    def test_what_was_promised_and_did_not_come_is_inconclusive(self, name, exit_class):
        """A fault that never happened is no consequence of the failure."""
        checks = [check("agreement", "failed"), check(name, "inconclusive", exit_class)]

        assert verdict(["agreement"], *checks).exit_code == 3
        assert deciding_check(checks, ["agreement"]).name == name

    @pytest.mark.parametrize("status", ["passed", "inconclusive"])
    def test_a_named_check_that_does_not_fail_is_inconclusive(self, status):
        checks = [check("agreement", "failed"), check("certificates", status)]
        result = judge_expected(checks, ["agreement", "certificates"])

        assert verdict(["agreement", "certificates"], *checks).exit_code == 3
        assert result.summary == f"expected to fail: certificates {status}"

    def test_a_named_check_that_was_not_made_is_inconclusive(self):
        assert verdict(["reorg"], check("agreement", "passed")).exit_code == 3

    @pytest.mark.parametrize(("exit_class", "code"), [("safety", 1), ("liveness", 4), ("determinism", 5)])
    def test_a_failure_that_is_not_named_keeps_its_exit_code(self, exit_class, code):
        checks = [check("agreement", "failed"), check("other", "failed", exit_class)]

        assert verdict(["agreement"], *checks).exit_code == code
        assert deciding_check(checks, ["agreement"]).name == "other"


def test_what_the_checks_of_a_run_are_called_can_be_expected():
    """No check that can fail is missing among the names that a scenario may state."""
    names = [
        check.name for check in result_of("calm", "run.until_height=3").checks if check.exit_class != "inconclusive"
    ]

    assert [name for name in names if name not in fallible(CHECKS)] == []


def test_an_unknown_check_is_refused_with_those_that_there_are():
    with pytest.raises(ScenarioError, match=r"expect\.fails: 'agrement' .*agreement, equal-roots"):
        load_scenario("calm", ['expect.fails=["agrement"]'])


def test_a_run_that_does_not_fail_as_expected_says_what_passed():
    result = result_of("calm", 'expect.fails=["supply"]', "run.until_height=3")

    assert (result.verdict, result.headline) == (
        "inconclusive",
        "expectations/expected-failures: expected to fail: supply passed",
    )


def test_the_headline_of_an_expected_failure_is_the_failure():
    result = result_of("broken-refund")

    assert (result.verdict, result.exit_code) == ("failed as expected", 0)
    assert result.headline.startswith("oracle/supply: height 3: 2,600 units are missing: balances and burned ")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return result_of("broken-refund", runs=tmp_path_factory.mktemp("runs")).directory


def test_an_expected_failure_is_explained(directory, capsys):
    assert main(["explain", "--json", str(directory)]) == 0

    reported = json.loads(capsys.readouterr().out)
    assert (reported["verdict"], reported["check"], reported["height"]) == ("failed as expected", "supply", 3)
    assert "Cause: execution" in text_of((directory / "report.html").read_bytes(), "why")


@pytest.mark.soak
def test_a_diff_names_the_checks_that_failed(directory, tmp_path, capsys):
    other = result_of("broken-refund", "mutants={}", runs=tmp_path).directory

    assert main(["diff", "--json", str(directory), str(other)]) == 1
    assert json.loads(capsys.readouterr().out)["settings"]["check supply"] == ["failed", "none"]


def test_a_diff_writes_a_page_of_both_runs_beside_the_first(directory, tmp_path, capsys):
    other = result_of("broken-refund", "mutants={}", runs=tmp_path).directory
    assert main(["diff", "--no-verify", str(directory), str(other)]) == 1

    place = directory.with_name(f"diff-{directory.name}-{other.name}.html")
    assert capsys.readouterr().out.splitlines()[-1] == f"page {place}"
    assert "check supply | failed | none" in text_of(place.read_bytes(), "difference")


@pytest.mark.soak
def test_what_is_shrunk_does_not_expect_its_failure(directory, tmp_path, capsys):
    # Where no directory is yet.
    out = tmp_path / "new" / "small.toml"
    assert main(["shrink", str(directory), "--out", str(out), "--jobs", "1", "--limit", "1", "--json"]) == 0

    assert json.loads(capsys.readouterr().out)["signature"].startswith("safety: oracle/supply: ")
    assert load_scenario(str(out)).expect.fails == ()


@pytest.mark.soak
def test_a_sweep_of_an_expected_failure_finds_nothing_wrong(tmp_path):
    scenario = encode_scenario(load_scenario("broken-refund"))
    with ResultsFile(tmp_path / "r.sqlite", "broken") as results:
        tally = sweep(lambda _seed: scenario, [1], results=results, runs=tmp_path, jobs=1, on_result=lambda *_: None)

    assert (tally.verdict, tally.exit_code, tally.groups) == ("failed as expected", 0, {})


def test_a_signature_knows_no_expectation():
    """It groups failures, expected or not."""
    assert signature_of([check("a", "passed"), check("b", "failed", "liveness")]) == "liveness: b: b failed"
    assert signature_of([check("a", "passed")]) == ""


def readme_commands():
    """Return the arguments of README's commands about the run that fails on purpose, in their order."""
    lines = [line.split("  ")[0] for line in (PROJECT_ROOT / "README.md").read_text().splitlines()]
    commands = [line.split()[2:] for line in lines if line.startswith(".venv/bin/python run_cluster.py")]
    return [each for each in commands if "broken-refund" in " ".join(each) or each == ["run", "calm"]]


@pytest.mark.soak
def test_the_commands_of_the_readme_have_a_failure_to_look_at(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    codes = {command[0]: main([*command, *["--limit=1"] * (command[0] == "shrink")]) for command in readme_commands()}

    assert codes == {"run": 0, "explain": 0, "show": 0, "shrink": 0, "diff": 1}
    assert "cause: execution" in capsys.readouterr().out
