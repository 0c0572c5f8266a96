"""The process that runs tests in a copy until one fails: `python -m tools.mutation.blind.tests BUG [TEST...]`.

Without tests it runs the tests and properties of the bug's area, first those in files that name a module that the bug
changes. It writes one line, the name of the failing test, or nothing. A test that takes far more processor time than
any does without a bug does not end, and counts as failing; so does a file that cannot be imported.
"""

import inspect
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final, Never

import pytest

from tools.mutation.blind.catalogue import BUGS, Bug

CPU_SECONDS_MAX: Final = 150
"""Processor time of one test."""

FIRST: Final = "first-failure"
"""The profile of Hypothesis under which these tests run: the steady one's examples, as they are drawn."""

PROPERTIES: Final = "tests/properties/test_properties.py"

_ROOMS: Final = {
    "scheduler": ("execution",),
    "execution": ("execution",),
    "actors": ("execution",),
    "state": ("state",),
    "simplex": ("engines",),
    "hotstuff": ("engines",),
    "longest-chain": ("engines",),
    "sync": ("sync",),
    "mempool": ("mempool", "sync"),
    "storage": ("storage",),
    "testbed": (),
}
"""The rooms of tests/properties whose properties each area has."""

_FOLDERS: Final = {
    "scheduler": ("tests/scheduler", "tests/validators/execution"),
    "execution": ("tests/validators/execution", "tests/scheduler"),
    "actors": ("tests/validators/actors", "tests/validators/execution"),
    "state": ("tests/validators/state",),
    "simplex": ("tests/validators/consensus",),
    "hotstuff": ("tests/validators/consensus",),
    "longest-chain": ("tests/validators/consensus",),
    "sync": ("tests/validators/sync",),
    "mempool": ("tests/validators/mempool", "tests/validators/*.py"),
    "storage": ("tests/validators/storage", "tests/validators/*.py"),
    "testbed": ("tests/properties/faults", "tests/network", "tests/faults"),
}
"""The folders of tests of each area."""


class FirstFailure:
    """A plug-in of pytest that orders the tests, writes the name of the first that fails, and ends the process."""

    def __init__(self, bug: Bug, output: int) -> None:
        self._bug = bug
        self._output = output
        self._test = ""

    def pytest_collection(self) -> None:
        """Let Hypothesis end at the first failing example: a smaller one would see the bug no better."""
        # Not above: pytest wants to import it first.
        from hypothesis import Phase, settings  # noqa: PLC0415

        settings.register_profile(
            FIRST, settings.get_profile(settings.get_current_profile_name()), phases=(Phase.explicit, Phase.generate)
        )
        settings.load_profile(FIRST)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out the properties of other areas, and sort."""
        rooms = tuple(f"tests.properties.{room}." for room in _ROOMS[self._bug.area])
        kept = [item for item in items if not _is_property(item) or _module_of(item).startswith(rooms)]
        # A stable order: what names a changed module first, and of that the tests, which are shorter than properties.
        items[:] = sorted(kept, key=lambda item: (not self._names(item), _is_property(item)))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin the time of a test."""
        self._test = nodeid
        signal.signal(signal.SIGPROF, self._give_up)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS_MAX)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell a failing test."""
        if report.failed:
            self._tell(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Tell a file that cannot be imported."""
        if report.failed:
            self._tell(report.nodeid)

    def _names(self, item: pytest.Item) -> bool:
        check = _check_of(item)
        path = Path(inspect.getfile(check)) if check else item.path
        source = path.read_text(encoding="utf-8")
        return any(module in source for module in self._bug.modules)

    def _give_up(self, _signal: int, _frame: FrameType | None) -> Never:
        self._tell(self._test)

    def _tell(self, test: str) -> Never:
        os.write(self._output, f"{test}\n".encode())
        os._exit(1)


def _is_property(item: pytest.Item) -> bool:
    return item.nodeid.startswith(PROPERTIES)


def _check_of(item: pytest.Item) -> Callable[..., object] | None:
    """Return the property that an item of the properties judges; None for every other item."""
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("check") if callspec and _is_property(item) else None


def _module_of(item: pytest.Item) -> str:
    """Return the module of an item's property; without a property it is that of the engines."""
    check = _check_of(item)
    return check.__module__ if check else "tests.properties.engines.followed_engines"


def targets_of(area: str) -> list[str]:
    """Return the files and folders of the tests of an area."""
    root = Path.cwd()
    found = [PROPERTIES] if _ROOMS[area] else []
    for folder in _FOLDERS[area]:
        is_pattern = folder.endswith(".py")
        found += sorted(path.relative_to(root).as_posix() for path in root.glob(folder)) if is_pattern else [folder]
    return found


def main() -> int:
    """Run the tests; those of `make soak` and those of many seconds are left out where none is named."""
    output = os.dup(1)
    os.dup2(2, 1)
    name, *tests = sys.argv[1:]
    chosen = tests or ["-m", "not soak and not long", *targets_of(BUGS[name].area)]
    return int(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *chosen], [FirstFailure(BUGS[name], output)]))


if __name__ == "__main__":
    sys.exit(main())
