"""The fingerprint of the code: it distinguishes the code that made a result from any other code.

It is the SHA-256 over relative path and bytes of every source of the packages, and over the versions of the libraries
that a run imports. It leaves out tests, documents and scenarios: every result has its plan in full. It also leaves out
the commit and the version of Python, which are shown beside it: the same sources give the same runs with each. It is in
no event and no digest. The fingerprint of a run with plug-ins covers their sources too
(`checker.record.plugins.code_with`).
"""

import hashlib
import os
import platform
import shutil
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import ClassVar, Final, NamedTuple

import msgspec

from checker.record.errors import ReportedError
from checker.record.root import PROJECT_ROOT

PACKAGES: Final = ("checker", "cluster", "faults", "network", "report", "scheduler", "validators")
"""Packages whose sources the fingerprint covers; `run_cluster.py` only calls them."""

LIBRARIES: Final = (
    *("attrs", "cffi", "hypothesis", "idna", "jinja2", "markdown-it-py", "markupsafe", "mdurl", "msgpack", "msgspec"),
    *("networkx", "outcome", "pycparser", "pycryptodome", "pygments", "pynacl", "rich", "sniffio", "sortedcontainers"),
    *("tomli-w", "trio"),
)
"""The libraries that requirements/run.txt installs, by name."""

UNKNOWN: Final = "unknown"
"""Stands for the fingerprint of a record that holds none, and for a commit that cannot be found."""

DIGITS: Final = 64

SHOWN_DIGITS: Final = 12
"""Digits shown of a fingerprint or commit."""

GIT_SECONDS: Final = 10
"""Seconds after which a git that has not answered is taken to be missing."""


class CodeChangedError(ReportedError):
    """Data of other code, which this code cannot read or execute."""

    exit_code: ClassVar[int] = 3


class Code(NamedTuple):
    """The code behind a result: `fingerprint` distinguishes it from any other, the rest helps to find it.

    Attributes:
        fingerprint: 64 hexadecimal digits, or "unknown".
        commit: The commit that is checked out, with "+changes" where files differ from it, or "unknown".
        python: The version of Python.
    """

    fingerprint: str = UNKNOWN
    commit: str = UNKNOWN
    python: str = UNKNOWN

    def __str__(self) -> str:
        """Return a short text for display."""
        digits, plus, changes = self.commit.partition("+")
        commit = f"{digits[:SHOWN_DIGITS]}{plus}{changes}"
        return f"{show_fingerprint(self.fingerprint)}, commit {commit}, Python {self.python}"


class PluginCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A plug-in that took part in a run: `fingerprint` is the SHA-256 over relative path and bytes of its sources."""

    name: str
    version: str
    files: int
    fingerprint: str

    def __str__(self) -> str:
        """Return a short text for display."""
        return f"{self.name} {self.version}, {show_fingerprint(self.fingerprint)}"


def is_fingerprint(text: str) -> bool:
    """Return whether a text from a file is a fingerprint or "unknown"."""
    return text == UNKNOWN or (len(text) == DIGITS and set(text) <= set("0123456789abcdef"))


def show_fingerprint(fingerprint: str) -> str:
    """Return the beginning of a fingerprint for display."""
    return "unknown code" if fingerprint == UNKNOWN else f"code {fingerprint[:SHOWN_DIGITS]}"


@cache
def this_code() -> Code:
    """Return the code of this process, as its files were at the first call."""
    return Code(fingerprint_of(PROJECT_ROOT), commit_of(PROJECT_ROOT), platform.python_version())


def fingerprint_of(root: Path) -> str:
    """Return the fingerprint of the packages in a directory, with the libraries that are installed here."""
    hasher = hashlib.sha256()
    for path in sorted(path for package in PACKAGES for path in (root / package).rglob("*.py")):
        content = path.read_bytes()
        hasher.update(f"{path.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    for name in LIBRARIES:
        hasher.update(f"{name} {_version_of(name)}\0".encode())
    return hasher.hexdigest()


def commit_of(root: Path) -> str:
    """Return the commit that a directory is a checkout of; unknown without a checkout or without git."""
    git = shutil.which("git")
    # Without .git of its own the directory may lie inside another checkout.
    if git is None or not (root / ".git").exists():
        return UNKNOWN
    command = [git, "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+changes"]
    # Variables set by a git hook would lead to another repository, and a reader takes no lock.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    outside["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(  # noqa: S603 - a program that was looked up, and no shell
            command, cwd=root, env=outside, capture_output=True, text=True, timeout=GIT_SECONDS, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return UNKNOWN
    return done.stdout.strip() or UNKNOWN


def _version_of(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"
