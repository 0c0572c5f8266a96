"""The disk of a validator and the files on it."""

from validators.storage.barrier import Barrier
from validators.storage.disk import Boundary, Disk, DiskHandle, SimulatedDisk, SyncPoint
from validators.storage.errors import (
    Damage,
    DiskError,
    DiskFullError,
    DiskReadError,
    DiskRevokedError,
    DiskSyncError,
    DiskWriteError,
    JournalLostError,
)
from validators.storage.files import BlockFile, FinalizedEntry, FinalizedLog, LogBase, LogContents
from validators.storage.journal import Journal, JournalContents, JournalHead, provision
from validators.storage.medium import (
    JOURNAL_FILES,
    BitFlip,
    Condition,
    FullDisk,
    IoErrors,
    Medium,
    MisdirectedWrite,
    StaleRead,
    TornWrite,
    Write,
)
from validators.storage.records import Record, RecordFile

__all__ = [
    "JOURNAL_FILES",
    "Barrier",
    "BitFlip",
    "BlockFile",
    "Boundary",
    "Condition",
    "Damage",
    "Disk",
    "DiskError",
    "DiskFullError",
    "DiskHandle",
    "DiskReadError",
    "DiskRevokedError",
    "DiskSyncError",
    "DiskWriteError",
    "FinalizedEntry",
    "FinalizedLog",
    "FullDisk",
    "IoErrors",
    "Journal",
    "JournalContents",
    "JournalHead",
    "JournalLostError",
    "LogBase",
    "LogContents",
    "Medium",
    "MisdirectedWrite",
    "Record",
    "RecordFile",
    "SimulatedDisk",
    "StaleRead",
    "SyncPoint",
    "TornWrite",
    "Write",
    "provision",
]
