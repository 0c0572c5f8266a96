"""Modules in the current folder are nobody's: no command, no entry point and no child process runs them."""

import ast
import json
import os
import subprocess
import sys

import pytest

from checker.record.root import PROJECT_ROOT
from tests.support.keystones import rest_in_soak
from tests.support.layers import LAYERS

HOSTILE = "import os, sys\nos.write(2, f'RAN {__name__}\\n'.encode())\nsys.exit('not ours')\n"

SHORT = ("--set", "run.until_height=3")
FAILING = ("run", "calm", *SHORT, "--set", "run.time_limit_ms=1_500", "--quiet")

COMMANDS = {
    "sweep": ("sweep", "calm", *SHORT, "--seeds", "0", "--jobs", "1", "--quiet"),
    "repeated run": ("run", "calm", *SHORT, "--check-determinism", "--quiet"),
    "shrink": ("shrink", "runs/calm-0", "--jobs", "1", "--limit", "1"),
}
"""A sweep's seed 0 is replayed and repeated in processes of its worker."""

MODULES = ("-m stampede_testbed", "-mstampede_testbed", "-m stampede_testbed.__main__")


def run(folder, *command):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONPATH"] = str(PROJECT_ROOT)
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert "RAN" not in done.stderr, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a failed run, and a module for each name that Python has not imported before a program."""
    folder = tmp_path_factory.mktemp("hostile")
    assert run(folder, str(PROJECT_ROOT / "run_cluster.py"), *FAILING).returncode == 3
    (folder / "loaded.py").write_text("import sys\nprint(*sys.modules)\n")
    loaded = run(folder, "-m", "loaded").stdout.split()
    for name in {*sys.stdlib_module_names, *LAYERS, "trio", "msgspec"} - {*loaded, "sitecustomize", "usercustomize"}:
        (folder / f"{name}.py").write_text(HOSTILE)
    assert (folder / "multiprocessing.py").exists()
    return folder


@pytest.mark.parametrize("flags", rest_in_soak(["", "-E"], [""]))
@pytest.mark.parametrize("command", rest_in_soak(COMMANDS, ["shrink"]))
def test_no_process_of_a_command_runs_what_is_in_the_current_folder(folder, command, flags):
    """Also where the interpreter ignores its environment."""
    done = run(folder, *flags.split(), str(PROJECT_ROOT / "run_cluster.py"), *COMMANDS[command])

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("module", rest_in_soak(MODULES, MODULES[:1]))
@pytest.mark.soak
def test_the_module_runs_nothing_of_the_current_folder(folder, module):
    """Python puts it first on the path, and imports the package's parts before its main module."""
    done = run(folder, *module.split(), "scenarios", "--json")

    assert json.loads(done.stdout)["scenarios"], done.stderr


@pytest.mark.soak
def test_the_library_runs_nothing_of_the_current_folder(folder):
    """Its process is its own, wherever the caller has the folder on its path."""
    program = f"import stampede_testbed, sys; sys.path.insert(0, {str(folder)!r})\n"
    program += "print(stampede_testbed.run('calm', run={'until_height': 3}).verdict)"
    done = run(folder, "-P", "-c", program)

    assert done.stdout == "passed\n", done.stderr


def lists_in(package):
    """Yield the first two words of each list that is written in a package's modules."""
    for path in sorted((PROJECT_ROOT / package).rglob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text()))
        yield from ([ast.unparse(word) for word in node.elts[:2]] for node in nodes if isinstance(node, ast.List))


@pytest.mark.soak
def test_every_command_that_starts_an_interpreter_has_the_flags():
    """The current folder of a user is on no child's path; a script is started by its path, with no other one."""
    words = [words for package in (*LAYERS, "stampede_testbed") for words in lists_in(package)]
    interpreters = [each[1] for each in words if each[:1] in (["python"], ["sys.executable"])]

    # The guardian of an outside application is isolated altogether.
    assert sorted(interpreters) == [
        "'-I'",
        "'-P'",
        "*CHILD_FLAGS",
        "*CHILD_FLAGS",
        "*MUTATION_TOOL.split()[1:]",
        "str(script if script.exists() else SCRIPT)",
    ]
