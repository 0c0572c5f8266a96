"""The installed form: one name at the top, the same runs, and no quarrel with packages that bear the names of ours."""

import json
import re
import sys
import tomllib
import zipfile

import pytest

from checker.record.fingerprint import this_code
from checker.record.program import VERSION
from checker.record.root import PROJECT_ROOT
from cluster.cli.main import main
from cluster.incidents.incident import incident_files
from cluster.outside.new import LANGUAGES
from cluster.scenario.load import scenario_files
from tests.support.wheel import add_strangers, install_wheel, run_installed

SHORT = ("--set", "run.until_height=3")


@pytest.fixture(scope="module")
def target(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("target")
    install_wheel(wheel, folder)
    return folder


@pytest.fixture
def elsewhere(tmp_path):
    """A current folder that holds packages of the same names."""
    add_strangers(tmp_path)
    return tmp_path


def stampede(target, *arguments, cwd):
    return run_installed(target, sys.executable, str(target / "bin" / "stampede"), *arguments, cwd=cwd)


def test_the_wheel_holds_one_name_at_its_top(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert {name.split("/")[0] for name in names} == {"stampede_testbed", f"stampede_testbed-{VERSION}.dist-info"}
    assert not [name for name in names if name.endswith(".pyc") or "/tests/" in name]


def test_wheel_command_and_package_agree_on_the_version(target, elsewhere):
    reported = stampede(target, "--version", cwd=elsewhere)
    program = "import stampede_testbed; print(stampede_testbed.__version__)"
    held = run_installed(target, sys.executable, "-c", program, cwd=elsewhere)

    assert reported.stdout.startswith(f"stampede {VERSION}, ")
    assert held.stdout == f"{VERSION}\n"


@pytest.mark.soak
def test_an_installed_run_is_that_of_the_clone(target, elsewhere, capsys):
    """Repeat and cold replay included, in a folder and beside a package that would break them."""
    done = stampede(target, "run", "calm", *SHORT, "--check-determinism", "--json", cwd=elsewhere)
    verdict = json.loads(done.stdout)
    assert main(["run", "calm", *SHORT, "--runs", str(elsewhere / "clone"), "--json"]) == 0
    clone = json.loads(capsys.readouterr().out)

    assert (done.returncode, verdict["verdict"]) == (0, "passed"), done.stderr
    assert verdict["digest"] == clone["digest"]
    assert verdict["code"]["fingerprint"] == clone["code"]["fingerprint"] == this_code().fingerprint
    assert verdict["directory"] == str(elsewhere / "runs" / "calm-0")


@pytest.mark.soak
def test_workers_of_an_installed_sweep_find_their_packages(target, elsewhere):
    done = stampede(target, "sweep", "calm", *SHORT, "--seeds", "1..3", "--jobs", "2", "--json", cwd=elsewhere)

    assert json.loads(done.stdout)["verdicts"] == {"passed": 3}, done.stderr


def test_the_module_is_the_command(target, elsewhere):
    """`python -m` puts the current folder first, and ours must come before it."""
    (elsewhere / "trio.py").write_text("raise RuntimeError\n")
    done = run_installed(target, sys.executable, "-m", "stampede_testbed", "scenarios", "--json", cwd=elsewhere)
    listed = [entry["name"] for entry in json.loads(done.stdout)["scenarios"]]

    assert sorted(listed) == sorted(scenario_files())
    assert "application/outage" in listed


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_application_is_written_from_the_wheel(target, elsewhere, language):
    """The examples are in it."""
    done = stampede(target, "application", "new", "mine", "--language", language, "--json", cwd=elsewhere)

    files = json.loads(done.stdout)["files"]
    assert {path.name for path in (elsewhere / "mine").iterdir()} == {*files}, done.stderr


def test_the_plugin_of_studies_is_in_the_wheel(target, elsewhere):
    plugin = ("--set", 'plugins=["stampede-study-rules"]', "--set", "oracle=off")
    done = stampede(target, "check", "calm", *plugin, "--set", "chain.policy=eip1559-ema", cwd=elsewhere)

    assert done.returncode == 0, done.stderr


def test_incidents_and_their_faults_are_in_the_wheel(target, elsewhere):
    done = stampede(target, "incident", "n12", "--json", "--runs", "runs", cwd=elsewhere)
    listed = stampede(target, "incidents", "--json", cwd=elsewhere)

    assert done.returncode == 0, done.stderr
    assert [entry["name"] for entry in json.loads(listed.stdout)["incidents"]] == [*incident_files()]


@pytest.mark.soak
def test_an_import_brings_no_other_name_into_the_caller(target, elsewhere):
    program = (
        "import sys, stampede_testbed\n"
        "assert stampede_testbed.run('calm', run={'until_height': 3}).passed\n"
        "ours = {'checker', 'cluster', 'faults', 'network', 'report', 'scheduler', 'validators', 'trio'}\n"
        "print(sorted(ours & set(sys.modules)), [path for path in sys.path if '_app' in path])\n"
    )
    done = run_installed(target, sys.executable, "-c", program, cwd=elsewhere)

    assert done.stdout == "[] []\n", done.stderr


@pytest.mark.soak
def test_a_dask_worker_finds_the_packages(target, elsewhere):
    program = (
        "import subprocess, sys\n"
        "from distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=':0') as dask:\n"
        "        command = [sys.executable, '-m', 'stampede_testbed', 'sweep', 'calm', '--seeds', '1', '--json']\n"
        "        command += ['--set', 'run.until_height=3', '--dask', dask.scheduler_address]\n"
        "        sys.exit(subprocess.run(command).returncode)\n"
    )
    (elsewhere / "sweep_on_dask.py").write_text(program)
    done = run_installed(target, sys.executable, "sweep_on_dask.py", cwd=elsewhere)

    assert json.loads(done.stdout or "{}").get("verdicts") == {"passed": 1}, done.stderr


def test_the_wheel_asks_for_what_a_run_needs():
    project = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())["project"]
    asked = [re.match(r"[\w-]+", line)[0] for line in project["dependencies"]]
    lines = (PROJECT_ROOT / "requirements" / "run.in").read_text().splitlines()
    wanted = [line for line in lines if not line.startswith("#")]

    assert asked == [re.match(r"[\w-]+", line)[0] for line in wanted]
    assert [line for line in wanted if "==" in line] == [line for line in project["dependencies"] if "==" in line]
