"""The authenticated state database of a validator, and the root of a plain list."""

from validators.state.audit import Deviation, Rebuilds, StateAudit, Structure
from validators.state.batch import Batch
from validators.state.database import Database
from validators.state.errors import (
    AbsentKey,
    BadKey,
    BadValue,
    CorruptLog,
    DeadBranch,
    ForgedSnapshot,
    NotMerkleized,
    NotRetained,
    PrunedLocation,
    SealedBatch,
    StaleBatch,
    StateFault,
)
from validators.state.operations import Encoding
from validators.state.roots import mmr_root, qmdb_root
from validators.state.sharing import Sharing
from validators.state.snapshot import Snapshot
from validators.state.tree import Grown, GrowTree, grow_tree, growing_with
from validators.state.verify import verify_key, verify_operation, verify_root

__all__ = [
    "AbsentKey",
    "BadKey",
    "BadValue",
    "Batch",
    "CorruptLog",
    "Database",
    "DeadBranch",
    "Deviation",
    "Encoding",
    "ForgedSnapshot",
    "GrowTree",
    "Grown",
    "NotMerkleized",
    "NotRetained",
    "PrunedLocation",
    "Rebuilds",
    "SealedBatch",
    "Sharing",
    "Snapshot",
    "StaleBatch",
    "StateAudit",
    "StateFault",
    "Structure",
    "grow_tree",
    "growing_with",
    "mmr_root",
    "qmdb_root",
    "verify_key",
    "verify_operation",
    "verify_root",
]
