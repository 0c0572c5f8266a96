"""The disk of a validator and what it keeps there."""

from validators.storage.barrier import Barrier
from validators.storage.disk import Disk, DiskHandle, SimulatedDisk, SyncPoint
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
from validators.storage.files import BlockFile, FinalizedEntry, FinalizedLog, LogContents, Snapshot
from validators.storage.journal import JOURNAL_FILES, Journal, JournalContents, JournalHead, provision
from validators.storage.records import RecordFile

__all__ = [
    "JOURNAL_FILES",
    "Barrier",
    "BlockFile",
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
    "Journal",
    "JournalContents",
    "JournalHead",
    "JournalLostError",
    "LogContents",
    "RecordFile",
    "SimulatedDisk",
    "Snapshot",
    "SyncPoint",
    "provision",
]
