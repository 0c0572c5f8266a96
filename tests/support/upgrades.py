"""Upgrades of applications: next versions with a new rule from a height on, ways to install one, and weather."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from checker.record.root import PROJECT_ROOT
from cluster.outside.new import EXAMPLES
from cluster.scenario.load import apply_settings, convert_scenario, encode_scenario, load_scenario

FROM_HEIGHT = 20
"""The height at which the rules of a next version change."""

PAYS_MORE = {
    "python": ('["balances"].get(timer["name"], 0) + 1', '["balances"].get(timer["name"], 0) + 1 + ({next})'),
    "javascript": ("(state.balances[timer.name] ?? 0) + 1", "(state.balances[timer.name] ?? 0) + 1 + ({next})"),
}
"""The line of a ledger by which a fired timer pays, and its next version."""

REACHED = {"python": 'header["height"] >= {height}', "javascript": "header.height >= {height} ? 1 : 0"}
FILES = {"python": "ledger.py", "javascript": "ledger.mjs"}
RUNNERS = {"python": sys.executable, "javascript": "node"}


def command_of(language):
    """Return the command of an example's ledger; skips where the machine lacks its language."""
    if shutil.which(RUNNERS[language]) is None:
        pytest.skip(f"this machine has no {RUNNERS[language]}")
    return [RUNNERS[language], str(EXAMPLES / language / FILES[language])]


def next_of(language, folder, height=FROM_HEIGHT):
    """Write the next version of a ledger into a folder, and return its command; from a height on it pays one more."""
    runner, ledger = command_of(language)
    source = Path(ledger).read_text(encoding="utf-8")
    old, new = PAYS_MORE[language]
    assert source.count(old) == 1, f"the {language} ledger has no {old!r} any more"
    place = folder / FILES[language]
    place.write_text(source.replace(old, new.format(next=REACHED[language].format(height=height))), encoding="utf-8")
    return [runner, str(place)]


LEDGER_PLAN = {
    "name": "upgrade-of-a-ledger",
    "title": "an application changes to its next version",
    "chain": {"timebase": "slot"},
    "workload": {"calls": {"kind": "application", "count": 100, "every_ms": 200}},
    "run": {"until_height": 28, "time_limit_ms": 200_000},
}


def plan_of(application, folder):
    """Return a scenario as plain data in which an application has the builds `main` and `new`."""
    if application == "own":
        plan = json.loads(encode_scenario(load_scenario("calm", ["run.until_height=28", "run.time_limit_ms=200_000"])))
        main = [sys.executable, "-m", "stampede_testbed.application", "--framing", "msgpack"]
        new = [sys.executable, str(PROJECT_ROOT / "tests" / "applications" / "next_engine.py"), str(PROJECT_ROOT)]
        # Only this project's own checks know which fires succeeded, and they do not judge another build of the engine.
        plan["workload"]["pulse"]["may_be_idle"] = True
        new, framing, plan["requires"] = [*new, str(FROM_HEIGHT)], "msgpack", []
    else:
        plan = json.loads(json.dumps(LEDGER_PLAN))
        main, new, framing = command_of(application), next_of(application, folder), "json"
    builds = {"new": {"command": new}}
    plan["application"] = {"command": main, "framing": framing, "folder": str(PROJECT_ROOT), "builds": builds}
    return plan


UPGRADE = {"kind": "replace", "build": "new", "at_ms": 4_000, "restart_ms": 4_400, "from_height": FROM_HEIGHT}
SHAPES = {
    "one-by-one": {"upgrade": {**UPGRADE, "every_ms": 1_500}},
    "all-at-once": {"upgrade": UPGRADE},
    "late": {
        "upgrade": {**UPGRADE, "validators": [0, 1, 2]},
        "late": {"kind": "replace", "build": "new", "validators": [3], "at_ms": 0, "restart_ms": 400},
    },
    "back": {
        "upgrade": UPGRADE,
        "back": {"kind": "replace", "build": "main", "validators": [3], "at_ms": 10_500, "restart_ms": 10_900},
    },
}
WEATHER = {
    "calm": {},
    "storm": {"storm": {"kind": "blackout", "validators": [0, 1], "at_ms": 11_000, "restart_ms": 51_000}},
    "partition": {"split": {"kind": "partition", "groups": [[0, 1], [2, 3]], "start_ms": 12_000, "stop_ms": 16_000}},
    "reorg": {"split": {"kind": "partition", "groups": [[0, 1], [2, 3]], "start_ms": 11_000, "stop_ms": 15_000}},
}
LATE_MS = {"calm": 23_000, "storm": 64_000, "partition": 28_000, "reorg": 28_000}
"""When the late validator follows: some blocks above the height at which the rules have changed."""

APPLICATIONS = ("python", "javascript", "own")


def upgrade_of(application, shape, weather, folder, *settings):
    """Return the scenario of an upgrade."""
    plan = plan_of(application, folder)
    faults = json.loads(json.dumps({**SHAPES[shape], **WEATHER[weather]}))
    if shape == "late":
        faults["late"].update(at_ms=LATE_MS[weather], restart_ms=LATE_MS[weather] + 400)
    plan["faults"] = faults
    if weather == "reorg":
        plan["consensus"] = {"engine": "longest-chain"}
        plan.pop("expect", None)
    apply_settings(plan, settings)
    return convert_scenario(plan, "the upgrade")
