"""A validator's start from its disk: its votes, its finalized state, and a note of all damage.

Nothing read back is believed. Records have checksums bound to their place. In addition, votes must be this validator's
own and consistent, and a state counts only if its root is that of its last header. Data missing on the disk is fetched
from peers, except votes: a validator whose journal is lost never votes again.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import msgspec

from network.port import Port
from scheduler import CoveragePoint
from validators.consensus.interface import ConsensusEngine, CorruptRecordError, Record, RecordCodec
from validators.events import DamageFound, DamageRepaired
from validators.execution import ExecutionLayer, InvalidEncodingError, LostBlockError, RootMismatchError
from validators.outbox import trace_certificate, trace_vote
from validators.restored import RestoredLog
from validators.state import CorruptLog, ForgedSnapshot
from validators.stats import ValidatorCounts
from validators.storage import (
    JOURNAL_FILES,
    Damage,
    Disk,
    DiskReadError,
    FinalizedEntry,
    FinalizedLog,
    Journal,
    JournalHead,
    JournalLostError,
    LogContents,
    provision,
)
from validators.storage.records import TORN
from validators.storage.rules import DiskRule

_UNSOUND: Final = (
    *(CorruptLog, ForgedSnapshot, InvalidEncodingError, LostBlockError, RootMismatchError),
    msgspec.MsgspecError,
)
"""Errors of whole records that are no state, contradict their headers, or lead to a lost block."""

LayerOf = Callable[[RestoredLog], ExecutionLayer]


class Recovered(NamedTuple):
    """Finished work: a validator has read its disk at a start."""


class Adopted(NamedTuple):
    """Finished work: the state has been reopened after a peer's snapshot at `digest` was written."""

    digest: bytes


class Reopened(NamedTuple):
    """The finalized state on the disk: its layer, and the entries of the log that lead to it."""

    layer: ExecutionLayer
    entries: list[FinalizedEntry]


class RepairLog:
    """Traces and counts the damage found and the repairs made."""

    def __init__(self, port: Port, records: RecordCodec, counts: ValidatorCounts) -> None:
        self._port = port
        self.records: Final = records
        self._counts = counts
        self._has_torn = False

    def found(self, damage: Damage) -> None:
        """Note damage; a torn tail is not damage, because no message relied on it."""
        if damage.what != TORN:
            self._counts.damaged += 1
            self._port.trace(DamageFound(damage.file, damage.offset, damage.what))
        elif not self._has_torn:
            self._has_torn = True
            self._counts.reach(DiskRule.TORN_TAIL)

    def reach(self, point: CoveragePoint) -> None:
        """Count a coverage point."""
        self._counts.reach(point)

    def kept(self, record: Record) -> None:
        """Note a vote or certificate from the journal: the earlier life may have had no time to trace it."""
        trace_vote(self._port, self.records, record)
        trace_certificate(self._port, self.records, record)

    def repaired(self, file: str, place: int, how: str) -> None:
        """Note a repair."""
        self._counts.repaired += 1
        self._port.trace(DamageRepaired(file, place, how))

    def found_and_repaired(self, damages: Iterable[Damage], how: str) -> None:
        """Note damages that were repaired as they were found."""
        for damage in damages:
            self.found(damage)
            if damage.what != TORN:
                self.repaired(damage.file, damage.offset, how)


def reopen_consensus(
    disk: Disk, journal: Journal, expected: JournalHead, *, repairs: RepairLog, make: Callable[[bool], ConsensusEngine]
) -> tuple[ConsensusEngine, str]:
    """Return consensus restored from the journal, and why its validator may not vote, "" where it may.

    `make` makes a fresh state machine, of an observer or not. A journal that is lost, or holds records that this
    validator cannot have written, is replaced by a new journal whose head says so. The new head is durable before
    anything else happens.

    Raises:
        DiskError: The disk failed.
    """
    try:
        return _replay(journal, expected, repairs, make)
    except (JournalLostError, CorruptRecordError) as error:
        reason = error.reason if isinstance(error, JournalLostError) else str(error)
        # Durable before the replay: a crash in between must not find a fresh journal that may vote.
        provision(disk, msgspec.structs.replace(expected, observes=reason))
    try:
        return _replay(journal, expected, repairs, make)
    except JournalLostError as error:
        # A disk that does not hold the bytes just written will not hold a vote either.
        raise DiskReadError(JOURNAL_FILES[0], "read", f"the journal begun anew is lost: {error.reason}") from error


def _replay(
    journal: Journal, expected: JournalHead, repairs: RepairLog, make: Callable[[bool], ConsensusEngine]
) -> tuple[ConsensusEngine, str]:
    head, entries, damages, is_new_generation = journal.recover(expected)
    repairs.found_and_repaired(damages, "from the other copy")
    if is_new_generation:
        repairs.reach(DiskRule.JOURNAL_GENERATION_SKIPPED)
    # Decided by the head on the disk, not by this life's error: a lost journal bars the vote in all later lives.
    consensus = make(bool(head.observes))
    records = [repairs.records.decode(entry) for entry in entries]
    consensus.replay(records, repairs.records.decode_finality(head.floor) if head.floor else None)
    final_view = 0 if consensus.finality is None else consensus.finality.view
    for record in records:
        # The finalized view too: its finalization is served from now on and may hold a vote that was never sent.
        if repairs.records.view_of(record) >= final_view:
            repairs.kept(record)
    return consensus, head.observes


def reopen_state(log: FinalizedLog, layer_of: LayerOf, repairs: RepairLog) -> Reopened:
    """Return the newest state on the disk that has the root of its header.

    Entries that lead elsewhere are cut off, and a base that is no state is given up for the base before it. Lost blocks
    are executed again, from the validator's own blocks or its peers', or replaced by a peer's snapshot.

    Raises:
        DiskError: The disk failed.
    """
    while True:
        contents = log.recover()
        # In each round: giving up a base uncovers the damages of the base before it.
        repairs.found_and_repaired(contents.damages, "cut off, to be had again")
        try:
            return Reopened(layer_at(contents, len(contents.entries), layer_of), contents.entries)
        except _UNSOUND as error:
            repairs.found(Damage("operations", len(contents.entries), 0, str(error)))
        # A log that is wrong at one block is wrong at all later blocks, whose roots cover the same operations.
        counts = range(len(contents.entries) + 1)
        # By bisection, because each try builds a whole state from its operations.
        first_wrong = bisect_left(counts, 1, key=lambda count: not _is_sound(contents, count, layer_of))
        assert first_wrong or contents.base is not None, "genesis alone is sound"
        if first_wrong:
            log.keep(first_wrong - 1)
            repairs.repaired("operations", first_wrong - 1, "cut back to the last entry with its header's root")
        else:
            log.discard()
            repairs.repaired("snapshot", 0, "gave way to the base before it")


def _is_sound(contents: LogContents, count: int, layer_of: LayerOf) -> bool:
    try:
        layer_at(contents, count, layer_of)
    except _UNSOUND:
        return False
    return True


def layer_at(contents: LogContents, count: int, layer_of: LayerOf) -> ExecutionLayer:
    """Return the layer of a log's base and its first `count` entries; raises the error of a wrong state."""
    base = b"" if contents.base is None else contents.base.encoded
    return layer_of(RestoredLog(base, tuple(contents.entries[:count])))
