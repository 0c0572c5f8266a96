"""Every message sent must already be durable on its sender's disk: the write-ahead order, read from the disks.

An early message does harm only if power is lost at that moment and the next life contradicts the message. This check
does not wait for that. When a vote is sent, a certificate held or a block final, it reads the bytes that a crash in
this instant would leave on the validator's disk. A start has to give its engine the journal that the disk holds.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from checker.checks.check import Check
from checker.checks.context import RunContext
from checker.checks.journals import JournalAudit, Journals, Said, said_by
from checker.checks.rules.registry import RULES
from checker.checks.sync_times import DISK, CertifiedVotes, Rewrites
from checker.observations import short
from checker.results import CheckResult
from faults.events import Crashed, DiskSynced, Restarted
from network.events import Event, Handlers, WorkFinished
from validators.consensus.interface import CorruptRecordError, Finality, Record, RecordCodec
from validators.events import (
    BlockFinalized,
    Booted,
    CertificateHeld,
    SnapshotJoined,
    Voted,
)
from validators.storage import JOURNAL_FILES, Disk, JournalHead, RecordFile
from validators.storage.records import HEAD_BYTES
from validators.storage.records import Record as StoredRecord

_LOGS: Final = ("operations-a", "operations-b")
_SYNCED_BYTES: Final = 8
"""Every record of the journal but its head begins with this many bytes, which are no part of the entry."""
_GENERATION_BYTES: Final = 4
_NOTHING_DURABLE: Final = bytes(_SYNCED_BYTES - _GENERATION_BYTES)
"""Behind the generation: the durable bytes as an entry was appended; none for an entry that pruning carried over."""


class _Stored(msgspec.Struct, array_like=True, frozen=True):
    """The first fields of an entry of the operation log or of the block file."""

    height: int
    digest: bytes


class _Durable:
    """One file as a crash would leave it, read as it grows."""

    def __init__(self, disk: Disk, name: str) -> None:
        self._disk = disk
        self._file = RecordFile(disk, name)
        self._end = 0
        self._start = b""

    def news(self, *, has_holes: bool = False) -> list[StoredRecord]:
        """Return the records that are durable since the last call; with `has_holes` also the records behind damage."""
        synced_bytes = self._disk.synced_bytes(self._file.name)
        if self._end >= synced_bytes:
            return []
        records = self._file.read_span(self._end, synced_bytes)
        if has_holes and (records[-1].end if records else self._end) < synced_bytes:
            records = [each for each in self._file.read().records if self._end < each.end <= synced_bytes]
        if records:
            if not self._end:
                self._start = self._read_start()
            self._end = records[-1].end
        return records

    def begin_anew(self) -> None:
        """Return all records again: the file may have been cut or replaced."""
        self._end = 0

    def is_rewritten(self) -> bool:
        """Return whether the file's first record has changed."""
        return bool(self._end) and self._read_start() != self._start

    def _read_start(self) -> bytes:
        """Return the frame before the first record's body, with its checksums."""
        return self._disk.read(self._file.name, 0, HEAD_BYTES)


class DurableView:
    """A validator's disk as a crash would leave it: votes and certificates by journal copy, and blocks by digest."""

    def __init__(self, disk: Disk, audit: JournalAudit) -> None:
        self._audit = audit
        self._codec = audit.codec
        self._copies = [_Durable(disk, name) for name in JOURNAL_FILES]
        self._logs = [_Durable(disk, name) for name in _LOGS]
        self._block_file = _Durable(disk, "blocks")
        self._reported = self._copies[0]
        self._observes: str | None = None
        self._older_view = -1
        self.floor: Finality | None = None
        self._said: list[dict[Said, None]] = [{} for _ in self._copies]
        self._is_cut = [False for _ in self._copies]
        self._final: dict[bytes, None] = {}
        self._blocks: dict[bytes, None] = {}
        self.found: list[Record] = []
        """The journal that the last start found."""
        self.reopen()

    def has_said(self, said: Said) -> bool:
        """Return whether both copies of the journal hold an entry; only the older copy where a pruning broke off."""
        self._read_journal()
        # The disk may refuse the rest of a pruning in the very turn in which its validator said what both copies held.
        held_by = [said in held for held, is_cut in zip(self._said, self._is_cut, strict=True) if not is_cut]
        return bool(held_by) and all(held_by)

    def has_final(self, digest: bytes) -> bool:
        """Return whether the log of the finalized state holds the block."""
        for log in self._logs:
            self._final.update((_digest_of(record.payload), None) for record in log.news())
        return digest in self._final

    def has_block(self, digest: bytes) -> bool:
        """Return whether the block file holds the block."""
        # A start keeps the blocks behind a hole that a torn write left, and cuts a log off there.
        news = self._block_file.news(has_holes=True)
        self._blocks.update((_digest_of(record.payload), None) for record in news)
        return digest in self._blocks

    def reopen(self, *, may_misread: bool = False) -> None:
        """Read the whole disk again for a start.

        Where the disk `may_misread`, it may not show a pruning that a crash cut short, which is then given up.
        """
        self._final.clear()
        self._blocks.clear()
        self._block_file.begin_anew()
        self.cut_logs()
        self._audit.given_up_view = self._older_view if may_misread else -1
        self.found = self._reread_journal(is_start=True)
        self._audit.given_up_view = -1

    def end_start(self, *, is_judged: bool) -> None:
        """End a start, which has to give its engine the journal that it found."""
        self._audit.end_start(self.found, self.floor, is_judged=is_judged)

    def cut_logs(self) -> None:
        """Read the logs again: they may have been cut or replaced."""
        for log in self._logs:
            log.begin_anew()

    def _reread_journal(self, *, is_start: bool) -> list[Record]:
        """Read the journal from its head and return its entries: it was pruned or repaired, or a start reads it."""
        for copy, held in zip(self._copies, self._said, strict=True):
            copy.begin_anew()
            held.clear()
        news = [copy.news() for copy in self._copies]
        heads, carried = zip(*map(_read_head, news), strict=True)
        self._is_cut = [head is None for head in heads]
        # A crash in a pruning leaves one copy whole. The newer copy counts if it has all entries that it carries: a
        # start may have repaired an entry of it from the older copy. Of two copies of one generation the longer copy
        # counts: a start may have repaired a part of the shorter copy before the disk refused the rest.
        is_whole = [head is not None and head.carried == count for head, count in zip(heads, carried, strict=True)]
        places = range(len(heads))
        newest = max(places, key=lambda place: (is_whole[place], _generation_of(heads[place]), len(news[place])))
        head = heads[newest]
        self._reported = self._copies[newest]
        if head is None or self._observes not in {None, head.observes} or (is_start and head.observes):
            # The journal is lost, or the replica has no vote; then each start may have another disk.
            self._audit.forget()
        self._observes = None if head is None else head.observes
        self.floor = None if head is None else _floor_of(head, self._codec)
        older = min(heads, key=_generation_of)
        is_older = older is not None and _generation_of(older) < _generation_of(head)
        older_floor = _floor_of(older, self._codec) if older is not None else None
        self._older_view = -1 if not is_older else 0 if older_floor is None else older_floor.view
        self._audit.begin_anew(self.floor)
        if head is not None and head.carried != carried[newest]:
            self._audit.refuse_head(f"{head.carried} entries, and pruning has carried {carried[newest]} over")
        found = self._take(news)
        self._audit.end_rereading()
        return found

    def _read_journal(self) -> None:
        """Read the journal's new records, or all where a pruning has begun it again."""
        if any(copy.is_rewritten() for copy in self._copies):
            self._reread_journal(is_start=False)
        else:
            self._take([copy.news() for copy in self._copies])

    def _take(self, news: Sequence[Sequence[StoredRecord]]) -> list[Record]:
        """Take in the new records of both copies, and return those of the newer copy."""
        found: list[Record] = []
        # The second copy has the bytes of the first, which need not be decoded twice.
        known: dict[bytes, tuple[Record, Said]] = {}
        for copy, held, stored in zip(self._copies, self._said, news, strict=True):
            # The record at the start of the file is its head.
            entries = list(self._decode((record.payload for record in stored if record.offset), known))
            held.update((said, None) for _, said in entries)
            if copy is self._reported:
                found = [record for record, _ in entries]
                self._audit.read(found)
        return found

    def _decode(
        self, payloads: Iterable[bytes], known: dict[bytes, tuple[Record, Said]]
    ) -> Iterator[tuple[Record, Said]]:
        for payload in payloads:
            encoded = payload[_SYNCED_BYTES:]
            entry = known.get(encoded)
            if entry is None:
                try:
                    record = self._codec.decode(encoded)
                except CorruptRecordError as error:
                    self._audit.refuse(str(error))
                    continue
                entry = known[encoded] = record, said_by(self._codec, record)
            yield entry


class WriteAhead(Check):
    """Votes, certificates and final blocks are durable on a replica's disk before it sends or reports them.

    At each of these events the check reads the bytes that a crash in this instant would leave. Votes and
    certificates have to be in both copies of the journal.
    """

    name = "write-ahead"
    sees_earlier_events = False

    def __init__(self, run: RunContext) -> None:
        super().__init__(run)
        journals = run.check(Journals)
        self._engine = RULES[run.engine]
        self._destroyed = run.disk_faults.destroyed
        self._touched = run.disk_faults.touched
        self._views = [DurableView(disk.written(), journals.audit(node)) for node, disk in enumerate(run.disks)]
        self._is_starting = dict.fromkeys(range(len(run.disks)), True)
        self._honest = dict.fromkeys(run.honest)
        self._rewrites = Rewrites(self.tally)
        self._certified = CertifiedVotes(self.tally, self._engine)

    @property
    def handlers(self) -> Handlers:
        """Starts, syncs, and all events that need a durable record."""
        return {
            Restarted: self.restarted,
            Crashed: self.crashed,
            WorkFinished: self.worked,
            DiskSynced: self._rewrites.write,
            Booted: self.booted,
            Voted: self.voted,
            CertificateHeld: self.certificate_held,
            BlockFinalized: self.finalized,
            SnapshotJoined: self.snapshot_joined,
        }

    def finish(self) -> CheckResult:
        """Return the result."""
        return self.tally.result(
            f"{self.tally.compared:,} votes, certificates and blocks were durable before they were sent or reported"
        )

    def restarted(self, _event: Event, restarted: Restarted) -> None:
        """Reread the disk after a restart: from now on only its contents count."""
        node = restarted.machine
        if node in self._honest:
            self._views[node].reopen(may_misread=node in self._touched)
            self._is_starting[node] = True

    def crashed(self, _event: Event, crashed: Crashed) -> None:
        """Expect nothing of a replica that has no power."""
        self._rewrites.forget(crashed.machine)
        self._certified.forget(crashed.machine)

    def worked(self, event: Event, work: WorkFinished) -> None:
        """See the end of a sync."""
        if work.lane == DISK:
            self._rewrites.end_sync(event, work)
            self._certified.end_sync(event)

    def booted(self, event: Event, booted: Booted) -> None:
        """Require that a life begins with its journal; not checked where a fault touches the disk.

        A start in the midst of a life says that the disk did not give a peer's snapshot back, which was written to it.
        """
        node = event.node
        if not self._is_starting.get(node):
            self._judge(node, node in self._touched, f"joined from a snapshot above height {booted.finalized_height}")
        if self._is_starting.pop(node, False):
            self._views[node].end_start(is_judged=node not in self._touched)

    def voted(self, event: Event, vote: Voted) -> None:
        """Require a sent vote in both copies of the journal, and the block that it makes final in the block file."""
        said = Said(vote.vote, vote.view, vote.payload)
        self._judge_said(event.node, "sent", said)
        self._certified.vote(event, vote)
        # A vote that a start reads back does not count: a crash can keep a vote and lose its block.
        is_read_back = event.node in self._is_starting
        if self._engine.makes_final(vote) and not is_read_back and event.node not in self._destroyed:
            is_stored = self._views[event.node].has_block(vote.payload)
            self._judge(event.node, is_stored, f"voted to {vote.vote} block {short(vote.payload)} of view {vote.view}")

    def certificate_held(self, event: Event, certificate: CertificateHeld) -> None:
        """Require a held certificate in both copies of the journal."""
        if event.node not in self._is_starting:
            self._certified.hold(event, certificate)
        said = Said(certificate.certificate, certificate.view, certificate.payload)
        self._judge_said(event.node, "held", said)

    def finalized(self, event: Event, block: BlockFinalized) -> None:
        """Require the operations of an applied block in the log, and its bytes in the block file for peers."""
        view, deed = self._views[event.node], f"applied block {short(block.digest)} of height {block.height}"
        self._judge(event.node, view.has_final(block.digest), deed)
        if event.node not in self._destroyed:
            self._judge(event.node, view.has_block(block.digest), f"{deed}, whose bytes it had not stored,")

    def snapshot_joined(self, event: Event, _joined: SnapshotJoined) -> None:
        """Read the logs again: a new base replaced the old base."""
        self._views[event.node].cut_logs()

    def _judge_said(self, node: int, verb: str, said: Said) -> None:
        kind, view, _ = said
        self._judge(node, self._views[node].has_said(said), f"{verb} a {kind} of view {view}")

    def _judge(self, node: int, is_durable: bool, deed: str) -> None:  # noqa: FBT001 - what is judged
        self.tally.compared += 1
        if not is_durable:
            self.tally.fail(f"validator {node} {deed} before it was durable on its disk", validator=node)


def _read_head(records: Sequence[StoredRecord]) -> tuple[JournalHead | None, int]:
    """Return the head of a copy of the journal that holds all it carried over, and the entries carried."""
    try:
        head = msgspec.msgpack.decode(records[0].payload, type=JournalHead) if records else None
    except msgspec.MsgspecError:
        return None, 0
    # An appended entry is behind a durable head, so some bytes were durable by then.
    carried = sum(record.payload[_GENERATION_BYTES:_SYNCED_BYTES] == _NOTHING_DURABLE for record in records[1:])
    return (head if head is not None and len(records) > head.carried else None), carried


def _generation_of(head: JournalHead | None) -> int:
    return -1 if head is None else head.generation


def _floor_of(head: JournalHead, codec: RecordCodec) -> Finality | None:
    """Return the finality in a head; None before the first pruning, or where the head cannot be decoded."""
    try:
        return codec.decode_finality(head.floor) if head.floor else None
    except CorruptRecordError:
        return None


def _digest_of(payload: bytes) -> bytes:
    return msgspec.msgpack.decode(payload, type=_Stored).digest
