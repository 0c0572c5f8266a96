"""The pytest plug-in: one test a seed, and the run's report where it fails."""

import os
import subprocess
import sys
import tomllib
from importlib import import_module

from checker.record.root import PROJECT_ROOT

TESTS = """
import pytest

@pytest.mark.cluster("calm", seeds=2, run={"until_height": 2})
def test_good(cluster_run):
    assert cluster_run.check("agreement").compared > 0

@pytest.mark.cluster("partition-heal", seeds=range(5, 6), run={"until_height": 2}, faults={"split": {"enabled": False}})
def test_bad(cluster_run):
    raise AssertionError("is not reached")
"""


def run_pytest(folder, text):
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-p", "stampede_testbed._pytest_plugin", "-p", "no:cacheprovider", "-v"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_each_seed_is_a_test_and_a_failure_has_its_report(tmp_path):
    done = run_pytest(tmp_path, TESTS)

    assert "test_good[seed-0] PASSED" in done.stdout, done.stdout + done.stderr
    assert "test_good[seed-1] PASSED" in done.stdout
    assert "test_bad[seed-5] FAILED" in done.stdout
    assert "is not reached" not in done.stdout
    assert "inconclusive: " in done.stdout
    assert "run partition-heal --seed 5" in done.stdout
    assert "report.html" in done.stdout


def test_a_marked_test_without_the_fixture_is_refused(tmp_path):
    done = run_pytest(tmp_path, 'import pytest\n\n@pytest.mark.cluster("calm")\ndef test_it():\n    pass\n')

    assert done.returncode
    assert "a test that takes `cluster_run`" in done.stdout + done.stderr


def test_the_wheel_names_the_plugin():
    project = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())["project"]

    module = import_module(project["entry-points"]["pytest11"]["stampede"])
    assert hasattr(module, "pytest_generate_tests")
