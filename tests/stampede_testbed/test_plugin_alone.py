"""A plug-in by itself: docs/extend/README.md's commands in a folder of its own, with a wheel and with a clone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from checker.record.fingerprint import PACKAGES
from checker.record.root import PROJECT_ROOT
from stampede_testbed.plugin import ROOMS
from tests.support.examples import blocks_of
from tests.support.keystones import third_of
from tests.support.plugins import write_distribution
from tests.support.wheel import install_wheel

WRONG = """
from stampede_testbed.plugin.faults import Windowed


class Wrong(Windowed, tag="wrong", frozen=True, kw_only=True):
    def describe(self) -> int:
        return self.span().nothing
"""


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    install_wheel(wheel, folder)
    return folder


@pytest.fixture
def plugin(tmp_path):
    """The folder of a plug-in: its module, its test and its scenario, as the pages have them."""
    folder = tmp_path / "plugin"
    folder.mkdir()
    (folder / "deaf.py").write_text("\n".join(blocks_of("fault.md", "python")))
    (folder / "test_deaf.py").write_text("\n".join(blocks_of("README.md", "python")))
    (folder / "deaf-validator.toml").write_text(blocks_of("fault.md", "toml")[0])
    write_distribution(folder, "deaf", {"faults": {"deaf": "deaf:Deaf"}})
    return folder


def run_command(command, folder, test_bed):
    """Run one command of the page in a folder, with the test bed on the path."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MYPY"))}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment |= {"PYTHONPATH": os.pathsep.join((str(test_bed), str(folder))), "PATH": path}
    # What mypy knows of the test bed serves each test of the session.
    environment["MYPY_CACHE_DIR"] = str(folder.parents[1] / "mypy")
    return subprocess.run(
        ["/bin/sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def commands():
    (block,) = blocks_of("README.md", "sh")
    return block.strip().splitlines()


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["wheel", "clone"])
def test_a_plugin_is_imported_tested_and_type_checked(kind, installed, plugin):
    test_bed = installed if kind == "wheel" else PROJECT_ROOT
    done = [run_command(command, plugin, test_bed) for command in commands()]

    assert [each.returncode for each in done] == [0, 0, 0], [each.stdout + each.stderr for each in done]
    assert "2 passed" in done[1].stdout
    assert "no issues found in 1 source file" in done[2].stdout


@pytest.mark.soak
def test_a_type_checker_sees_the_types_of_the_test_bed(installed, plugin):
    """A class that mypy does not find has any type, and nothing would be wrong."""
    (plugin / "deaf.py").write_text(WRONG)
    found = run_command(commands()[2], plugin, installed).stdout

    assert 'Return type "int" of "describe" incompatible' in found
    assert '"tuple[int, int]" has no attribute "nothing"' in found


@pytest.mark.parametrize("name", third_of(["actors", "checks", "events", "faults", "mutants", "policies", "workloads"]))
def test_each_module_of_public_names_is_imported_by_itself(name, installed, plugin):
    done = run_command(f'python -c "from stampede_testbed.plugin.{name} import *"', plugin, installed)

    assert (done.returncode, done.stderr) == (0, "")


def test_the_rooms_are_the_packages_of_the_test_bed():
    assert ROOMS == PACKAGES


def test_another_package_with_the_name_of_a_room_is_named(installed, plugin):
    (plugin / "scheduler.py").write_text("")
    done = run_command('python -c "import scheduler, stampede_testbed.plugin.policies"', plugin, installed)

    assert "ImportError: scheduler was imported from " in done.stderr
    assert "scheduler.py, before the test bed's own package" in done.stderr


def test_the_command_of_the_folder_takes_no_argument(installed, plugin):
    done = run_command("python -m stampede_testbed.plugin --help", plugin, installed)

    assert (done.returncode, done.stdout) == (1, "")
    assert "takes no argument, got '--help'" in done.stderr
