"""Both copies of a vote journal, read beside its replica, and what a start may make of them (docs/storage.md).

A start that finds a newer generation which gives way, or a copy without all records, writes both copies anew two
generations further on: one generation may be on the disk unseen, and must not be taken for the newest one day.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from validators.storage import JOURNAL_FILES, Damage, Disk, JournalHead, RecordFile
from validators.storage.records import Record

_GENERATION_BYTES: Final = 4
_STEP: Final = 2


class JournalCopies(NamedTuple):
    """The intact records of each copy, and the damage in both."""

    records: tuple[Sequence[Record], ...]
    damages: Sequence[Damage]

    @property
    def generations(self) -> list[int]:
        """The generations of all records, ascending and each once."""
        return sorted({_generation_of(record): None for copy in self.records for record in copy})

    @property
    def observes(self) -> bool:
        """Whether the journal was begun anew after it was lost."""
        heads = [_head_of(copy[0]) for copy in self.records if copy]
        return any(head is not None and head.observes for head in heads)

    @property
    def lacks_records(self) -> bool:
        """Whether a copy lacks a record that the other one holds, before which nothing is missing in both."""
        held = {record.offset: record.end for copy in self.records for record in copy}
        end = whole = 0
        while end in held:
            end, whole = held[end], whole + 1
        return min(map(len, self.records)) < whole

    def find_lone_damage(self, written: "JournalCopies") -> str | None:
        """Return damage in the copy that is older, an empty string without any, None where no copy is older.

        Args:
            written: The copies as they were written: one that a bad disk shows as it was before is older there alone.
        """
        newest = [max(map(_generation_of, copy), default=-1) for copy in written.records]
        if newest[0] == newest[1]:
            return None
        older = newest.index(min(newest))
        name = JOURNAL_FILES[older]
        # What the crash has left of an entry that was not synced yet, behind all others, is no damage of the disk.
        end = max((record.end for record in written.records[older]), default=0)
        torn = [each for each in written.damages if each.file == name and each.offset >= end]
        damage = next((each for each in self.damages if each.file == name and each not in torn), None)
        return "" if damage is None else f"{name}, which is older, is damaged at byte {damage.offset}"

    def find_difference(self) -> str:
        """Return a damage, or that the copies differ; an empty string where both are whole and alike."""
        if self.damages:
            return f"{self.damages[0].file} is damaged at byte {self.damages[0].offset}"
        first, second = ([record.payload for record in copy] for copy in self.records)
        return "" if first == second else f"copies of {len(first):,} and {len(second):,} records differ"


def read_copies(disk: Disk) -> JournalCopies:
    """Return both copies of the journal on a disk."""
    found = [RecordFile(disk, name).read() for name in JOURNAL_FILES]
    return JournalCopies(tuple(each.records for each in found), [damage for each in found for damage in each.damages])


def find_start_fault(before: JournalCopies, after: JournalCopies, *, is_sure: bool) -> str:
    """Return what is wrong with a journal after a start that had read it, or an empty string.

    Unless it `is_sure` the replica may have read something else than stands in `before`.
    """
    # A disk that is still bad may harm what the start has repaired.
    if is_sure and (fault := after.find_difference()):
        return fault
    earlier, now = before.generations, after.generations
    if not earlier or len(now) != 1 or after.observes:
        return ""
    newest = earlier[-1]
    is_single = len(earlier) == 1
    if (is_sure or is_single) and newest < now[0] < newest + _STEP:
        return f"generation {now[0]} was begun, which may be on the disk unseen"
    if is_sure and is_single and now[0] == newest and before.lacks_records:
        return f"generation {newest} went on, and a copy lacked records of it"
    return ""


def _generation_of(record: Record) -> int:
    if record.offset:
        return int.from_bytes(record.payload[:_GENERATION_BYTES], "big")
    head = _head_of(record)
    return 0 if head is None else head.generation


def _head_of(record: Record) -> JournalHead | None:
    """Return the head in a record; None where it is none."""
    try:
        return msgspec.msgpack.decode(record.payload, type=JournalHead)
    except msgspec.MsgspecError:
        return None
