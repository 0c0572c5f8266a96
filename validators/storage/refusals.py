"""The refusals of a disk at a start: of a journal, after which its validator votes no more, and of damaged records."""

import enum

from scheduler import RefusalPoint


@enum.unique
class DiskRefusal(RefusalPoint):
    """Refusals of the contents of a disk."""

    JOURNAL_COPIES_DAMAGED = (
        "both copies are damaged at byte *, which was synced",
        "Both copies lack a synced record.",
        "both-copies-rot",
    )
    JOURNAL_MISSING = "the disk holds none", "A disk holds no journal."
    RECORD_DAMAGED = "damaged record", "A record's checksum is not that of its bytes."
    RECORD_UNREADABLE = "input/output error", "A block cannot be read from the disk.", "unreadable-disks"
    ENTRY_OF_OTHER_HEIGHT = (
        "height *, expected *",
        "An entry of the finalized log follows the wrong entry.",
        "unreadable-disks",
    )
