"""The authenticated state database of a validator, and the root of a plain list."""

from validators.state.batch import Batch
from validators.state.database import Database
from validators.state.errors import (
    BadKey,
    BadValue,
    CorruptLog,
    DeadBranch,
    NotMerkleized,
    SealedBatch,
    StaleBatch,
    StateFault,
)
from validators.state.mmr import mmr_root
from validators.state.operations import Encoding

__all__ = [
    "BadKey",
    "BadValue",
    "Batch",
    "CorruptLog",
    "Database",
    "DeadBranch",
    "Encoding",
    "NotMerkleized",
    "SealedBatch",
    "StaleBatch",
    "StateFault",
    "mmr_root",
]
