"""The write-ahead journal of votes, kept in two copies (docs/storage.md).

Both copies, `journal-a` and `journal-b`, hold the same payloads at the same offsets, and every sync covers both.
The first record is the head: the journal's owner, and the floor below which it was pruned. A disk without it is a
disk whose journal is lost, never a fresh one. Every other record also has its *generation*, and the number of bytes of
the journal that were durable when it was appended.

Pruning begins the next generation. Its head has the number of entries carried over; one copy is rewritten, durably,
and only then the other. So a crash at any point leaves one copy whole: the newer one, or, as long as that is not there
with all that it carries, the older one. Nothing is appended between the two, hence nothing can have been sent that only
the newer one knows. A newer generation that has been appended to never gives way to an older one, and the number of one
that did give way is not used again: stale sectors might show it whole one day. Renaming a new file over the old one was
rejected: the simulated disk would need a third operation that a crash can cut in two, and the two copies give the same
safety without it.

Damage that is survived: at recovery a record is taken from whichever copy holds it intact, and the other copy is
written again there. So every damage of one copy is survived, however large (bits, sectors, a lost or stale tail, the
whole file), and damages of both copies as long as no record is hit in both.

Damage that is not survived: a record intact in neither copy is a torn tail, which no finished sync covered and no
message relied on, unless an intact record behind it says that it was durable, or pruning carried it over: then votes
are lost, and `JournalLostError` is raised. So it is when the head is intact in neither copy, names another key, or two
intact records differ. One case cannot be seen: both copies damaged at the same place with nothing intact behind it
looks like a torn tail, be it one record or many. It needs a fault in each copy that reaches its end; a fault plan never
hits both copies at one record (`storage.medium`).
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from validators.derived import Derived
from validators.storage.disk import Disk
from validators.storage.errors import Damage, DiskReadError, JournalLostError
from validators.storage.medium import JOURNAL_FILES
from validators.storage.records import Contents, Record, RecordFile

_GENERATION_BYTES: Final = 4
_PREFIX_BYTES: Final = 8
"""Before each artifact: its generation, and the number of durable bytes of the journal, four bytes each."""


class JournalHead(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """The owner of a journal's votes. `observes` is the reason why its key must not sign in this epoch, or "".

    `generation` counts the prunings, `carried` the entries that the last pruning kept, which come first. `floor` is
    the encoded finality that makes the dropped entries needless, empty before the first pruning.
    """

    chain_id: str
    validator: int
    public_key: bytes
    epoch: int
    observes: str = ""
    generation: int = 0
    carried: int = 0
    floor: bytes = b""

    def is_of(self, other: "JournalHead") -> bool:
        """Return whether both heads are of one key in one epoch."""
        mine, others = ((head.chain_id, head.validator, head.public_key, head.epoch) for head in (self, other))
        return mine == others


class JournalContents(NamedTuple):
    """A recovered journal: its head, the encoded artifacts, oldest first, and the damage found.

    `is_new_generation` says that a new generation was begun above a pruning that was given up.
    """

    head: JournalHead
    artifacts: list[bytes]
    damages: list[Damage]
    is_new_generation: bool = False


def provision(disk: Disk, head: JournalHead) -> None:
    """Create a journal, durably, as an operator does once for a new validator; raises DiskError.

    Older entries are lost. A validator calls it only with `observes` set.
    """
    files = [RecordFile(disk, name) for name in JOURNAL_FILES]
    # Above all existing generations: after a crash between the two copies the new head counts, and no vote is signed.
    newest = max(_newest(file.read()) for file in files)
    payload = msgspec.msgpack.encode(msgspec.structs.replace(head, generation=newest + 1))
    for file in files:
        file.rewrite([payload])


class Journal:
    """One validator's journal; `recover` comes before `prune`. It holds its entries in memory, for `prune`."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._copies = [RecordFile(disk, name) for name in JOURNAL_FILES]
        self._head: JournalHead | None = None
        self._artifacts: list[bytes] = []

    @property
    def artifacts(self) -> Sequence[bytes]:
        """The encoded artifacts, oldest first."""
        return self._artifacts

    @property
    def floor(self) -> bytes:
        """The encoded finality below which the journal was pruned, empty before the first pruning."""
        return b"" if self._head is None else self._head.floor

    def derived(self, disk: Disk) -> Derived:
        """Return the artifacts in memory beside the artifacts that both copies hold on a disk."""
        stored = [RecordFile(disk, name).read().records[1:] for name in JOURNAL_FILES]
        rebuilt = {
            f"entry {place} of {name}": record.payload[_PREFIX_BYTES:]
            for name, records in zip(JOURNAL_FILES, stored, strict=True)
            for place, record in enumerate(records)
        }
        kept = {
            f"entry {place} of {name}": artifact
            for name in JOURNAL_FILES
            for place, artifact in enumerate(self._artifacts)
        }
        return Derived(part="journal", kept=kept, rebuilt=rebuilt, is_of_disk=True)

    def append(self, artifact: bytes) -> None:
        """Append one encoded artifact to both copies; it counts only once the disk is synced. Raises DiskError."""
        # The lesser length: a claim of bytes that one copy lacks would make a torn tail look like a lost vote.
        synced_bytes = min(self._disk.synced_bytes(name) for name in JOURNAL_FILES)
        generation = 0 if self._head is None else self._head.generation
        payload = _prefix(generation, synced_bytes) + artifact
        for copy in self._copies:
            copy.append(payload)
        # Last: if a copy refuses the record this raises, and pruning must not carry over an entry that is on no disk.
        self._artifacts.append(artifact)

    def prune(self, floor: bytes, *, keep: Callable[[bytes], bool]) -> None:
        """Drop the artifacts that `keep` refuses; from now on the head has the finality that replaces them.

        Both copies are durable when it returns, with all that was appended. Call it while no sync is under way, because
        a pending sync would count bytes that it does not cover.

        Raises:
            DiskError: The disk failed; it may hold the journal as it was, or pruned.
        """
        assert self._head is not None, "what was not read cannot be pruned"
        # While one copy is rewritten the other is the only copy: damage in it since the start is repaired first.
        try:
            contents = [copy.read() for copy in self._copies]
            # A record may have no intact copy left; all of them are written anew below.
            if merged := _merge(contents):
                _repair(self._copies, contents, merged, self._head.generation)
        except DiskReadError:
            # Left unpruned: appended records are still right, and the next finality tries again.
            return
        except JournalLostError:
            # Both copies lack an entry. Memory has every entry, whereas a start would find a lost journal.
            pass
        self._begin_generation(1, floor, [artifact for artifact in self._artifacts if keep(artifact)])

    def recover(self, expected: JournalHead) -> JournalContents:
        """Read both copies, repair each from the other, cut a torn tail off.

        Of `expected` only the key is compared: the journal's own head decides whether its validator may sign.

        Raises:
            JournalLostError: Votes may be missing.
            DiskError: The disk failed; its content is unknown.
        """
        contents = [copy.read() for copy in self._copies]
        merged = _merge(contents)
        head = _read_head(merged, contents, expected)
        _repair(self._copies, contents, merged, head.generation)
        self._head = head
        self._artifacts = [record.payload[_PREFIX_BYTES:] for record in merged[1:]]
        newest = max(map(_newest, contents))
        is_new = newest > head.generation or any(_lacks(found, merged, head.generation) for found in contents)
        if is_new:
            # A pruning that was given up, or that a copy does not show, may be read again one day. It is of the next
            # generation at most, and later entries are of a generation above it.
            self._begin_generation(newest - head.generation + 2, head.floor, self._artifacts)
        # Damage in a copy that pruning was about to replace is no damage of this journal.
        damaged = [found for found in contents if _newest(found) in {-1, head.generation}]
        damages = [damage for found in damaged for damage in found.damages]
        return JournalContents(head, list(self._artifacts), damages, is_new)

    def _begin_generation(self, step: int, floor: bytes, artifacts: Sequence[bytes]) -> None:
        """Rewrite both copies, one after the other, `step` generations further; raises DiskError."""
        assert self._head is not None, "what was not read cannot be written anew"
        generation = self._head.generation + step
        head = msgspec.structs.replace(self._head, generation=generation, carried=len(artifacts), floor=floor)
        # A durable length of 0: the head's count of carried records proves rewritten records instead.
        payloads = [msgspec.msgpack.encode(head), *(_prefix(generation, 0) + artifact for artifact in artifacts)]
        for copy in self._copies:
            copy.rewrite(payloads)
        # Only once both copies are whole: a write that fails leaves memory with the generation that the disk can prove.
        self._head, self._artifacts = head, list(artifacts)


def _repair(
    copies: Sequence[RecordFile], contents: Sequence[Contents], merged: Sequence[Record], generation: int
) -> None:
    """Make both copies hold exactly the merged records; a copy of another generation last, as the other is whole."""
    pairs = list(zip(copies, contents, strict=True))
    for copy, found in sorted(pairs, key=lambda pair: _is_foreign(pair[1], generation)):
        if _is_foreign(found, generation):
            copy.rewrite([record.payload for record in merged])
            continue
        held = {record.offset for record in found.records}
        for record in merged:
            if record.offset not in held:
                copy.repair(record)
        # A torn tail left here would lie before the next record, whose offset must be the same in both copies.
        copy.cut(merged[-1].end)


def _is_foreign(found: Contents, generation: int) -> bool:
    return any(_generation_of(record) != generation for record in found.records)


def _lacks(found: Contents, merged: Sequence[Record], generation: int) -> bool:
    """Return whether a copy of this generation lacks some of its records."""
    return not _is_foreign(found, generation) and len(found.records) < len(merged)


def _merge(contents: Sequence[Contents]) -> list[Record]:
    """Return the records of the newest generation that is whole, each from a copy that holds it.

    Raises:
        JournalLostError: The copies differ, or a durable record is in neither.
    """
    end = 0
    # Newest first: an older whole generation counts only where a crash broke the pruning that began the newer one.
    for generation in sorted((_newest(found) for found in contents), reverse=True):
        held = _hold(contents, generation)
        merged: list[Record] = []
        end = 0
        # From byte 0 without a gap: an intact record behind a gap says nothing about the order of votes.
        while end in held:
            merged.append(held[end])
            end = held[end].end
        if any(offset > end and _synced_bytes(record) > end for offset, record in held.items()):
            # Entries were appended to it, so that messages may rest on it.
            raise JournalLostError(f"both copies are damaged at byte {end}, which was synced")
        # More than the carried records, because the head is a record too.
        if merged and len(merged) > _carried(merged[0]):
            return merged
    if end:
        raise JournalLostError(f"both copies are damaged at byte {end}, which was synced")
    return []


def _hold(contents: Sequence[Contents], generation: int) -> dict[int, Record]:
    """Return the intact records of a generation by offset; raises JournalLostError."""
    held: dict[int, Record] = {}
    for found in contents:
        for record in found.records:
            if _generation_of(record) == generation and (
                held.setdefault(record.offset, record).payload != record.payload
            ):
                # Both are intact, so nothing tells which is true: a guess could contradict a vote that was sent.
                raise JournalLostError(f"the copies differ at byte {record.offset}")
    return held


def _prefix(generation: int, synced_bytes: int) -> bytes:
    return generation.to_bytes(_GENERATION_BYTES, "big") + synced_bytes.to_bytes(
        _PREFIX_BYTES - _GENERATION_BYTES, "big"
    )


def _synced_bytes(record: Record) -> int:
    return int.from_bytes(record.payload[_GENERATION_BYTES:_PREFIX_BYTES], "big")


def _newest(found: Contents) -> int:
    """Return the newest generation of a copy's records, -1 without records."""
    return max(map(_generation_of, found.records), default=-1)


def _generation_of(record: Record) -> int:
    if record.offset:
        return int.from_bytes(record.payload[:_GENERATION_BYTES], "big")
    head = _decode_head(record)
    return head.generation if isinstance(head, JournalHead) else 0


def _carried(record: Record) -> int:
    head = _decode_head(record)
    return head.carried if isinstance(head, JournalHead) else 0


def _decode_head(record: Record) -> JournalHead | msgspec.MsgspecError:
    try:
        return msgspec.msgpack.decode(record.payload, type=JournalHead)
    except msgspec.MsgspecError as error:
        return error


def _read_head(merged: Sequence[Record], contents: Sequence[Contents], expected: JournalHead) -> JournalHead:
    if not merged:
        is_empty = not any(found.records or found.damages for found in contents)
        raise JournalLostError("the disk holds none" if is_empty else "its head is damaged in both copies")
    head = _decode_head(merged[0])
    if isinstance(head, msgspec.MsgspecError):
        raise JournalLostError(f"its head is not one: {head}") from head
    if not head.is_of(expected):
        raise JournalLostError(f"it is that of validator {head.validator} of {head.chain_id}, epoch {head.epoch}")
    return head
