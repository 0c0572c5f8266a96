"""The wheel, built from the sources as they are, and installed beside packages that bear the names of ours."""

import os
import subprocess
import sys

from checker.record.root import PROJECT_ROOT

STRANGER = "raise ImportError('this is the package of another project')\n"


def build_wheel(folder):
    """Build the wheel in a folder and return its path; nothing is fetched."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=PROJECT_ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def install_wheel(wheel, target):
    """Install a wheel in a folder, beside foreign packages called `network` and `checker`."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*command, "--target", str(target), str(wheel)], check=True, capture_output=True)
    add_strangers(target)


def add_strangers(folder):
    """Put packages that raise when imported into a folder."""
    for name in ("network", "checker"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(STRANGER)


def run_installed(target, *command, cwd):
    """Run a command with what is installed in `target`, and without the clone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        list(command),
        cwd=cwd,
        env={**environment, "PYTHONPATH": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
