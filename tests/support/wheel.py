"""The wheel, built from the sources as they are, and installed beside packages that bear the names of ours."""

import atexit
import os
import shutil
import subprocess
import sys
from functools import cache
from tempfile import mkdtemp

from checker.record.root import PROJECT_ROOT

STRANGER = "raise ImportError('this is the package of another project')\n"


def build_wheel(folder, source=PROJECT_ROOT):
    """Build the wheel of a source tree in a folder and return its path; nothing is fetched."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=source,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def install_wheel(wheel, target):
    """Install a wheel in a folder, beside foreign packages called `network` and `checker`."""
    shutil.copytree(installed_once(wheel), target, dirs_exist_ok=True)
    add_strangers(target)


@cache
def installed_once(wheel):
    """Return a folder with a wheel installed and compiled, once in a process: all others are copies of it."""
    folder = mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--compile"]
    subprocess.run([*command, "--target", folder, str(wheel)], check=True, capture_output=True)
    return folder


def add_strangers(folder):
    """Put packages that raise when imported into a folder."""
    for name in ("network", "checker"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(STRANGER)


def run_installed(target, *command, cwd, timeout=None):
    """Run a command with what is installed in `target`, and without the clone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        list(command),
        cwd=cwd,
        env={**environment, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )
