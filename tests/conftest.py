"""Interrupts are heard by all tests, and each process begins with its share of the long ones."""

import signal

import pytest

import tools.mutation  # noqa: F401 - it installs the catalogue of mutants
from scheduler import policies
from tests.support.properties import register_profiles
from tests.support.wheel import build_wheel

register_profiles()


def pytest_configure():
    """Let Ctrl-C interrupt again: what starts the tests in the background may pass on that it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel of the sources as they are, built once in a process."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(autouse=True)
def built_in_policies():
    """Forget the policies of plug-ins behind each test: a process keeps what it has loaded, and pages list them all."""
    kept = dict(policies._policies)
    yield
    if policies._policies.keys() != kept.keys():
        policies._policies.clear()
        policies._policies.update(kept)


def pytest_collection_modifyitems(config, items):
    """Lay the tests out for xdist, which gives each process a run of the same length and lets idle ones steal."""
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    long = [item for item in items if item.get_closest_marker("long")]
    short = [item for item in items if not item.get_closest_marker("long")]
    items[:] = [item for at in range(processes) for share in (long, short) for item in cut(share, processes, at)]


def cut(items, parts, at):
    """Return one of several parts of a list, all in order."""
    return items[len(items) * at // parts : len(items) * (at + 1) // parts]
