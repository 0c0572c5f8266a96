"""Commands of applications that the tests start, and a small run of one."""

import json
import sys

from checker.record.root import PROJECT_ROOT
from cluster.outside.new import EXAMPLES
from cluster.scenario.load import apply_settings, convert_scenario

BAD = PROJECT_ROOT / "tests" / "applications" / "bad_ledger.py"


def bad_command(name):
    """Return the command of the Python ledger with a bug, by the bug's name."""
    return sys.executable, str(BAD), name, str(EXAMPLES / "python" / "ledger.py")


LEDGER = (sys.executable, str(EXAMPLES / "python" / "ledger.py"))
"""The sound ledger."""

SMALL = {
    "name": "small-application",
    "title": "ten blocks of an application, and a validator that is off for a while",
    "application": {"folder": str(PROJECT_ROOT)},
    "chain": {"timebase": "slot"},
    "workload": {"calls": {"kind": "application", "count": 12, "every_ms": 300}},
    "faults": {"crash": {"kind": "crash", "validator": 1, "at_ms": 5_500, "restart_ms": 6_500}},
    "run": {"until_height": 9, "time_limit_ms": 60_000},
}


def small_application_run(command=LEDGER, *settings):
    """Return a small scenario with an application, and changes of its keys."""
    raw = json.loads(json.dumps(SMALL))
    raw["application"]["command"] = list(command)
    apply_settings(raw, settings)
    return convert_scenario(raw, "the small run")


ADDER = (sys.executable, str(PROJECT_ROOT / "tests" / "applications" / "adder.py"))
"""The implementation for tests of the runner of fixtures."""

PLANTED = (sys.executable, str(PROJECT_ROOT / "tests" / "applications" / "planted.py"), str(PROJECT_ROOT))
"""The project's own engine with a mutant, whose name comes last."""
