"""Commands of applications that the tests start."""

import sys

from checker.record.root import PROJECT_ROOT
from cluster.outside.new import EXAMPLES

BAD = PROJECT_ROOT / "tests" / "applications" / "bad_ledger.py"


def bad_command(name):
    """Return the command of the Python ledger with a bug, by the bug's name."""
    return sys.executable, str(BAD), name, str(EXAMPLES / "python" / "ledger.py")
