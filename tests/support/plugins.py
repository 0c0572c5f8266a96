"""Distributions for tests: what pip leaves of one, made by hand in a folder of the test."""

import sys
from importlib import import_module

from checker.record import plugins
from checker.record.root import PROJECT_ROOT

TOY = "stampede-toy"
"""The toy package of tests/toy."""

TOY_SOURCES = PROJECT_ROOT / "tests" / "toy"

TOY_ENTRIES = {
    "actors": {"countdown": "stampede_toy.actors:Countdown"},
    "checks": {"paired-fires": "stampede_toy.checks:PairedFires"},
    "faults": {"mute": "stampede_toy.faults:Mute", "harmless": "stampede_toy.faults:Harmless"},
    "policies": {"prompt": "stampede_toy.policies:Prompt", "couples": "stampede_toy.couples:Couples"},
    "workloads": {"countdowns": "stampede_toy.workloads:Countdowns"},
}


def write_distribution(folder, name, entries, *, version="1.0"):
    """Write the dist-info of a distribution: by group the names that it brings, each with its object."""
    place = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, objects in entries.items():
        lines += [f"[stampede_testbed.{group}]", *(f"{entry} = {value}" for entry, value in objects.items())]
    (place / "entry_points.txt").write_text("\n".join(lines) + "\n")


def toy_path(folder):
    """Install the toy package in a folder and return what to add to PYTHONPATH."""
    write_distribution(folder, TOY, TOY_ENTRIES)
    return [str(folder), str(TOY_SOURCES)]


def install_module(folder, monkeypatch, module, source, entries):
    """Install a distribution of one module in this process, for the length of a test, and return the module.

    Args:
        folder: A folder of the test's own.
        monkeypatch: Takes it off the path again.
        module: The name of the module and of the distribution.
        source: Its text.
        entries: By group the names that it brings, each with its object.
    """
    (folder / f"{module}.py").write_text(source)
    write_distribution(folder, module, entries)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr("checker.record.plugins._plugin_named", plugins._plugin_named.__wrapped__)
    monkeypatch.delitem(sys.modules, module, raising=False)
    return import_module(module)
