"""The coverage points of a validator's disk: losses in crashes, damage, and repairs at a start."""

import enum

from scheduler import CoveragePoint


@enum.unique
class DiskRule(CoveragePoint):
    """Branches of the rules of storage and recovery (docs/storage.md)."""

    CRASH_LOST_BYTES = "storage.md", "A crash takes bytes that were not synced."
    CRASH_LOST_NOTHING = "storage.md", "A crash finds everything synced."
    TORN_TAIL = "storage.md", "A start cuts off the torn end of a file."
    TORN_TAIL_AGAIN = "storage.md", "A machine whose file was torn before finds a torn end once more."
    RESTARTED_TWICE = "storage.md", "A machine starts for the third time or more."
    RESTARTED_FROM_NOTHING = "storage.md", "A start finds no finalized block on its disk."
    RESTARTED_ON_SNAPSHOT = "storage.md", "A start reads the snapshot that an earlier life joined from."
    CERTIFIED_BLOCKS_KEPT = "storage.md", "A start executes certified blocks that were not final."
    JOURNAL_REPAIRED = "storage.md", "A damaged copy of the journal is repaired from the other copy."
    JOURNAL_PRUNED = "storage.md", "A journal is pruned below a finality."
    JOURNAL_GENERATION_SKIPPED = (
        "storage.md",
        "A start begins a generation above a pruning that was given up.",
    )
    JOURNAL_LOST = "storage.md", "A journal is gone from the disk, and its validator votes no more."
    LOG_CUT_OFF = "storage.md", "A start cuts damaged entries off the finalized log."
    BLOCK_DAMAGED = "storage.md", "A block on the disk is damaged."
    BLOCK_RESTORED = "storage.md", "A final block that the disk lost comes back from a peer."
    DISK_FULL = "storage.md", "A validator halts because its disk is full."
    READ_FAILED = "storage.md", "A validator halts because its disk fails to read a file."
    SYNC_FAILED = "storage.md", "A validator halts because its disk fails to sync."
    JOURNAL_WRITE_FAILED = "storage.md", "A validator halts because its disk fails to write to the vote journal."
    BLOCK_WRITE_FAILED = "storage.md", "A validator halts because its disk fails to write to the block file."
    LOG_WRITE_FAILED = "storage.md", "A validator halts because its disk fails to write to the finalized log."
    SNAPSHOT_WRITE_FAILED = "storage.md", "A validator halts because its disk fails to write a snapshot."
