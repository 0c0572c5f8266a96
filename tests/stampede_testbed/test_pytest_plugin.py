"""The pytest plug-in: one test a seed, and the run's report where it fails."""

import os
import subprocess
import sys
import tomllib
from importlib import import_module

import pytest

from checker.record.root import PROJECT_ROOT
from tests.support.keystones import third_of

TESTS = """
import pytest

@pytest.mark.cluster("calm", seeds=2, run={"until_height": 3})
def test_good(cluster_run):
    assert cluster_run.check("agreement").compared > 0

@pytest.mark.cluster("partition-heal", seeds=range(5, 6), run={"until_height": 3}, faults={"split": {"enabled": False}})
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


def marked(mark):
    return f"import pytest\n\n@pytest.mark.cluster({mark})\ndef test_it(cluster_run):\n    pass\n"


@pytest.mark.parametrize(
    ("mark", "said"),
    third_of(
        [
            ('"calm", seeds="7"', "seeds='7' is not a number above 0, a range of seeds, or 'A..B'"),
            ('"calm", seeds=0', "seeds=0 is not a number above 0"),
            ('"calm", seeds=[-1]', "seeds=[-1] is not a number above 0"),
            ('"calm", seed=1', "write seeds=[7] for one seed, seeds=20 for 0 to 19"),
            ('"calmm"', "calmm: no such scenario (did you mean calm?)"),
            ('"calm", run={"until_hight": 2}', "unknown field `until_hight` (did you mean until_height?)"),
        ]
    ),
)
def test_a_mark_that_means_nothing_is_refused_in_a_line(mark, said, tmp_path):
    done = run_pytest(tmp_path, marked(mark))

    assert done.returncode
    assert said in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert "_child.py" not in done.stdout


@pytest.mark.soak
def test_seeds_are_written_as_on_the_command_line_too(tmp_path):
    done = run_pytest(tmp_path, marked('"calm", seeds="3..4", run={"until_height": 3}'))

    assert "test_it[seed-3] PASSED" in done.stdout, done.stdout + done.stderr
    assert "test_it[seed-4] PASSED" in done.stdout


def test_the_wheel_names_the_plugin():
    project = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())["project"]

    module = import_module(project["entry-points"]["pytest11"]["stampede"])
    assert hasattr(module, "pytest_generate_tests")
