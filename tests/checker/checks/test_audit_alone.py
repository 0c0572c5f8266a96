"""Mutants of the test bed that plan and trace alone kill, without specimens on which its instruments are tried."""

import pytest

from checker.checks.audit import audit
from checker.mutants import CATALOGUE
from cluster.campaign.tasks import run_task
from tests.frozen import read_frozen, seed_of, task_of

QUICK = ("bus-loses-silently", "cut-leaks", "pause-pauses-nothing", "crash-loses-nothing", "slow-machine-is-fast")
OF_TEST_BED = [name for name, mutant in CATALOGUE.items() if mutant.area == "test-bed"]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.long]) for name in OF_TEST_BED]
)
def test_a_mutant_of_the_test_bed_dies_of_the_log_alone(name, monkeypatch):
    """Of each the log has what is wrong, in the run that killed it in its campaign; no specimen is needed."""
    monkeypatch.setattr(audit, "find_faults", lambda _seed: iter(()))
    row = f"mutant-{name}"
    result = run_task(task_of(row, seed_of(row, read_frozen()))._replace(is_thorough=False))

    assert "audit" in result.failed.split(), result.headline
