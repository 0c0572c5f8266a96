"""The public functions: typed results from a process of their own, and typed errors."""

from pathlib import Path

import pytest
import trio

import stampede_testbed
from checker.record.fingerprint import this_code
from stampede_testbed import CheckReport, CodeIdentity, RunResult
from tests.support.keystones import third_of

SHORT = {"until_height": 3}


def made_of(*checks):
    """Return a result as the command prints it, with checks of these names that passed."""
    reports = [CheckReport(name, "passed", "safety", "", (), 1) for name in checks]
    return RunResult(
        scenario="calm",
        seed=0,
        verdict="passed",
        exit_code=0,
        headline="",
        digest="",
        checks=tuple(reports),
        not_asked={},
        former_names={"vote-rules": "consensus"},
        directory=Path(),
        code=CodeIdentity("", "", ""),
        repeat="",
    )


def test_a_check_is_had_with_or_without_its_family():
    result = made_of("supply", "oracle/differential")

    assert result.check("supply") is result.check("oracle/supply")
    assert result.check("oracle/differential").name == "oracle/differential"
    with pytest.raises(KeyError):
        result.check("oracle/storm")


def test_a_former_name_leads_to_the_check_of_today_and_says_so():
    with pytest.warns(DeprecationWarning, match="vote-rules is now called consensus"):
        assert made_of("consensus").check("vote-rules").name == "consensus"


@pytest.mark.soak
async def test_a_run_inside_an_event_loop_returns_its_verdict(tmp_path):
    result = await trio.to_thread.run_sync(lambda: stampede_testbed.run("calm", 3, runs=tmp_path, run=SHORT))

    assert result.passed
    assert (result.scenario, result.seed, result.verdict, result.exit_code) == ("calm", 3, "passed", 0)
    assert result.directory == tmp_path / "calm-3"
    assert (result.directory / "events.msgpack").is_file()
    assert result.code.fingerprint == this_code().fingerprint
    assert result.check("agreement").status == "passed"
    assert result.check("agreement").evidence == (("heights", 3),)


@pytest.mark.soak
def test_a_run_that_fails_is_a_result(tmp_path):
    settings = {"run.until_height": 2, "run.time_limit_ms": 1_500}
    result = stampede_testbed.run("calm", runs=tmp_path, **settings)

    assert not result.passed
    assert (result.verdict, result.exit_code) == ("inconclusive", 3)


@pytest.mark.soak
def test_a_sweep_groups_the_seeds_that_did_not_pass(tmp_path):
    result = stampede_testbed.sweep("calm", [1, 2], jobs=1, runs=tmp_path, run={**SHORT, "time_limit_ms": 1_500})
    (group,) = result.groups.values()

    assert (result.verdict, result.seeds, result.verdicts) == ("inconclusive", 2, {"inconclusive": 2})
    assert [(seed.seed, Path(seed.directory)) for seed in group] == [(1, tmp_path / "calm-1"), (2, tmp_path / "calm-2")]
    assert result.results.is_file()


@pytest.mark.parametrize(
    ("settings", "reported"),
    third_of(
        [
            ({"scenario": "clam"}, "did you mean calm?"),
            ({"scenario": "calm", "seed": -1}, "'-1' is not a whole number"),
            ({"scenario": "calm", "run": {"until_heigt": 2}}, "did you mean until_height?"),
            ({"scenario": "calm", "run": {"until_height": None}}, "run.until_height: expected a string, number"),
            ({"scenario": "calm\0"}, "null byte"),
            ({"scenario": "--help"}, "--help: no such scenario"),
        ]
    ),
)
def test_bad_input_is_an_error_that_names_the_key(settings, reported):
    with pytest.raises(stampede_testbed.BadInputError) as raised:
        stampede_testbed.run(**settings)

    assert reported in str(raised.value)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize("seeds", [[], [1, 3], range(0, 9, 2)])
def test_seeds_that_are_not_consecutive_are_refused(seeds):
    with pytest.raises(stampede_testbed.BadInputError, match="consecutive"):
        stampede_testbed.sweep("calm", seeds)


def test_a_machine_that_refuses_is_another_error(tmp_path):
    with pytest.raises(stampede_testbed.EnvironmentFailedError) as raised:
        stampede_testbed.sweep("calm", [1], runs="/proc/nowhere", run=SHORT)

    assert raised.value.exit_code == 6
