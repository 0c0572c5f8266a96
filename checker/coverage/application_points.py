"""The coverage points of outside applications: the roads to a state, and the calls at whose boundaries the power went.

The hosts of the processes note most points, as replicas note theirs; events show lost applications and lost forks.
No campaign promises a point: each depends on the features of somebody's application.
"""

import enum
from collections.abc import Mapping
from typing import Final

from faults.events import ApplicationLost
from network.events import Handlers
from scheduler import UNPROMISED, CoveragePoint, Reach
from validators.events import BlockRolledBack


@enum.unique
class ApplicationRule(CoveragePoint):
    """Roads of an application to a state, and boundaries of its calls."""

    def __init__(self, sentence: str) -> None:
        super().__init__("application.md", sentence, UNPROMISED)

    CHAIN_BEGUN = "An application begins with `genesis`."
    FORK_LOST = "An application has executed a block, and a competing block becomes final."
    EARLY_APPLIED = "An application applies a block before it is final."
    EARLY_REWOUND = "An application rewinds a block that it applied early."
    EXECUTED_TWICE = "An application executes a block again, and the answers are compared."
    RESUMED_AT_LAST = "A process comes back at the last final block of its replica."
    RESUMED_BEHIND = "A process comes back behind its replica, and executes the blocks that it lacks."
    RESUMED_EMPTY = "A process comes back and has kept no block."
    DIRECTORY_EMPTIED = "A process begins again in an emptied directory."
    STATE_HANDED_OUT = "An application hands out a snapshot."
    STATE_RESTORED = "An application restores the snapshot of a peer."
    BRANCH_PROCESS = "A process begins a branch on a copy of the directory, because the application cannot fork."
    COLD_REPLAYED = "A fresh process executes the final chain."
    PROCESS_LOST = "An application dies, hangs or breaks the protocol."
    BEFORE_HELLO = "The power goes before `hello` is written."
    BEFORE_GENESIS = "The power goes before `genesis` is written."
    BEFORE_ADOPTED = "The power goes before `adopted` is written."
    BEFORE_CHECK = "The power goes before `check` is written."
    BEFORE_PROPOSE = "The power goes before `propose` is written."
    BEFORE_EXECUTE = "The power goes before `execute` is written."
    BEFORE_FINALIZE = "The power goes before `finalize` is written."
    BEFORE_DROP = "The power goes before `drop` is written."
    BEFORE_APPLY = "The power goes before `apply` is written."
    BEFORE_REWIND = "The power goes before `rewind` is written."
    BEFORE_SNAPSHOT = "The power goes before `snapshot` is written."
    BEFORE_RESTORE = "The power goes before `restore` is written."
    AFTER_HELLO = "The power goes after `hello` was answered."
    AFTER_GENESIS = "The power goes after `genesis` was answered."
    AFTER_ADOPTED = "The power goes after `adopted` was answered."
    AFTER_CHECK = "The power goes after `check` was answered."
    AFTER_PROPOSE = "The power goes after `propose` was answered."
    AFTER_EXECUTE = "The power goes after `execute` was answered."
    AFTER_FINALIZE = "The power goes after `finalize` was answered."
    AFTER_DROP = "The power goes after `drop` was answered."
    AFTER_APPLY = "The power goes after `apply` was answered."
    AFTER_REWIND = "The power goes after `rewind` was answered."
    AFTER_SNAPSHOT = "The power goes after `snapshot` was answered."
    AFTER_RESTORE = "The power goes after `restore` was answered."


STRUCK: Final[Mapping[str, ApplicationRule]] = {
    point.label: point for point in ApplicationRule if point.label.startswith(("before-", "after-"))
}
"""The points of struck boundaries, by side and call, such as `before-execute`."""

ROAD_OF_CALL: Final[Mapping[str, ApplicationRule]] = {
    "genesis": ApplicationRule.CHAIN_BEGUN,
    "apply": ApplicationRule.EARLY_APPLIED,
    "rewind": ApplicationRule.EARLY_REWOUND,
    "snapshot": ApplicationRule.STATE_HANDED_OUT,
    "restore": ApplicationRule.STATE_RESTORED,
}
"""The road that the answer to a call shows; of pieces the last counts."""


def read_application_points(reach: Reach) -> Handlers:
    """Return the handlers that note the points which events show."""
    return {
        BlockRolledBack: lambda _event, _lost: reach(ApplicationRule.FORK_LOST),
        ApplicationLost: lambda _event, _lost: reach(ApplicationRule.PROCESS_LOST),
    }
