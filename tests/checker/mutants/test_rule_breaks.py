"""Breaking a rule in the production class fails a whole run; test_cip5_rules shows that its own test fails too."""

import pytest

from cluster.live.progress import LiveProgress
from cluster.scenario.load import load_scenario
from cluster.verdict.pipeline import run_pipeline
from tests.support.keystones import third_of
from tests.support.oracle_breaks import BREAKS, RULE_TESTS
from tests.support.oracle_runs import write_crowded


@pytest.mark.parametrize("broken", third_of(RULE_TESTS))
@pytest.mark.soak
def test_a_broken_rule_fails_a_whole_run(broken, monkeypatch, tmp_path):
    """All validators break it alike and agree; the verdict is safety all the same."""
    scenario = load_scenario(str(write_crowded(tmp_path)))
    break_rule, _ = BREAKS[broken]
    break_rule(monkeypatch)

    with LiveProgress(title=broken, is_quiet=True) as progress:
        result = run_pipeline(scenario, 0, runs=None, progress=progress)

    statuses = {check.name: check.status for check in result.checks}
    assert result.exit_code == 1
    assert statuses["oracle"] == "failed"
    assert statuses["agreement"] == "passed"
