"""An exception inside a validator is that validator's halt, with its place, and the run is judged and recorded."""

import json

import pytest

from cluster.cli.main import main
from tests.support.cluster_runs import check_named, result_of
from validators.settings import ValidatorFactory
from validators.state import Database


def burst(*arguments, **options):
    raise ZeroDivisionError("so it goes")


@pytest.mark.parametrize("name", ["apply", "batch"])
def test_a_database_that_fails_at_genesis_halts_the_validators(tmp_path, monkeypatch, capsys, name):
    """The checks' own state of genesis fails as well, and is done without."""
    monkeypatch.setattr(Database, name, burst)

    code = main(["run", "calm", "--set", "run.time_limit_ms=9_000", "--runs", str(tmp_path), "--json"])

    answer = json.loads(capsys.readouterr().out)
    assert code == 1
    assert "Validator 0 halted: broken invariant" in answer["headline"]
    assert json.loads((tmp_path / answer["directory"] / "verdict.json").read_text())["exit_code"] == 1


def test_an_engine_that_cannot_be_made_halts_one_validator():
    """The others go on."""
    result = result_of("calm", "run.until_height=3", factories={1: ValidatorFactory(layer=burst)})

    assert "validator 1 halted: broken invariant" in check_named(result, "agreement").summary
    assert [row.finalized_height >= 3 for row in result.validators] == [True, False, True, True]
