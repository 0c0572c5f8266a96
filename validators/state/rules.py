"""The coverage points of a validator's own state: rewinds, upkeep, and derived data."""

import enum

from scheduler import CoveragePoint


@enum.unique
class StateRule(CoveragePoint):
    """Branches of the rules of a validator's state that no other validator shares."""

    BRANCH_DROPPED = "design.md", "An executed block is dropped because a competing block is final."
    BRANCH_DROPPED_DEEP = "design.md", "Executed blocks of several heights are dropped at once."
    APPLIED_EARLY = "replicas.md", "A block is applied before it is final."
    APPLIED_TO_LIMIT = "replicas.md", "As many blocks are applied early as can be taken back."
    REWOUND = "replicas.md", "A block that was applied early is taken back."
    REWOUND_TO_LIMIT = "replicas.md", "As many blocks are taken back at once as the state retains.", "activation-pairs"
    WRITTEN_AGAIN = "replicas.md", "A block whose branch returns is written again from memory."
    EXECUTED_AGAIN = "replicas.md", "A block whose branch returns is executed again."
    LOG_PRUNED = "state.md", "A validator forgets operations that nothing needs."
    INDEXES_REBUILT = "replicas.md", "A validator rebuilds all derived data."
    POOL_KEPT = "state.md", "A block goes on with the pool of waiting timers that its parent left."
    POOL_MADE_ANEW = "state.md", "A block makes its pool from a list of waiting timers that is not empty."
    POOL_TIMER_CHANGED = "state.md", "A transaction changes a timer that is in the kept pool."
    POOL_TIMER_REMOVED = "state.md", "A transaction removes a timer that is in the kept pool."
    BOOK_SPLIT = "state.md", "A book of the pool holds more timers than one block of it may."
    DERIVED_ANEW = "state.md", "A block derives waiting timers and sums from the state, as after a restart."
