"""The disk of a validator and what it keeps there."""

from validators.storage.barrier import Barrier
from validators.storage.disk import Disk, DiskHandle, DiskRevokedError, SimulatedDisk, SyncPoint
from validators.storage.files import BlockFile, CorruptLogError, FinalizedEntry, FinalizedLog, Journal
from validators.storage.records import CorruptRecordError, RecordFile

__all__ = [
    "Barrier",
    "BlockFile",
    "CorruptLogError",
    "CorruptRecordError",
    "Disk",
    "DiskHandle",
    "DiskRevokedError",
    "FinalizedEntry",
    "FinalizedLog",
    "Journal",
    "RecordFile",
    "SimulatedDisk",
    "SyncPoint",
]
