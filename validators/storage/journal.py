"""The write-ahead journal of votes, kept in two copies (specification of Simplex, section 1.4).

Both copies, ``journal-a`` and ``journal-b``, hold the same payloads at the same offsets, and every sync covers both.
The first record is the head: whose journal this is. It is written once, when the validator is provisioned; a disk
without it is a disk whose journal is lost, never a fresh one. Every other record also says how much of the journal was
durable when it was appended.

What is survived, exactly. At recovery a record is taken from whichever copy holds it intact, and the other copy is
written again there. So every damage of one copy is survived, however large (bits, sectors, a lost or stale tail, the
whole file), and damages of both copies as long as no record is hit in both.

What is not survived. A record intact in neither copy is a torn tail, which no finished sync covered and no message
relied on, unless an intact record behind it says that it was durable: then votes are lost, and ``JournalLostError`` is
raised. So it is when the head is intact in neither copy, names another key, or two intact records differ. One case
cannot be seen: both copies damaged at the same place with nothing intact behind it looks like a torn tail, be it one
record or many. It needs a fault in each copy that reaches its end; a fault plan never hits both copies at one record
(``storage.medium``).
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, final

import msgspec

from validators.storage.disk import Disk
from validators.storage.errors import Damage, JournalLostError
from validators.storage.medium import JOURNAL_FILES
from validators.storage.records import Contents, Record, RecordFile

_SYNCED_BYTES: Final = 8


class JournalHead(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, kw_only=True):
    """Whose votes a journal holds. ``observes`` is why this key must not sign in this epoch, "" where it may."""

    chain_id: str
    validator: int
    public_key: bytes
    epoch: int
    observes: str = ""


class JournalContents(NamedTuple):
    """What a recovered journal says: its head, the encoded artifacts, oldest first, and what was found damaged."""

    head: JournalHead
    artifacts: list[bytes]
    damages: list[Damage]


def provision(disk: Disk, head: JournalHead) -> None:
    """Begin a journal, durably: what an operator does once for a new validator; raises DiskError.

    What stood in the journal before is gone. A validator calls it only with ``observes`` set.
    """
    payload = msgspec.msgpack.encode(head)
    for name in JOURNAL_FILES:
        file = RecordFile(disk, name)
        end = len(file.frame(0, payload))
        # Over the old head, and only then the rest: after a crash in between the two heads differ, and nobody signs.
        file.repair(Record(0, end, payload))
        file.cut(end)


@final
class Journal:
    """One validator's journal; ``recover`` comes before the first ``append``."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._copies = [RecordFile(disk, name) for name in JOURNAL_FILES]

    def append(self, artifact: bytes) -> None:
        """Append one encoded artifact to both copies; it counts only once the disk is synced. Raises DiskError."""
        synced_bytes = min(self._disk.synced_bytes(name) for name in JOURNAL_FILES)
        payload = synced_bytes.to_bytes(_SYNCED_BYTES, "big") + artifact
        for copy in self._copies:
            copy.append(payload)

    def recover(self, expected: JournalHead) -> JournalContents:
        """Read both copies, repair each from the other, cut a torn tail off.

        ``expected.observes`` is not compared: the journal itself says whether its validator may sign.

        Raises:
            JournalLostError: Votes may be missing.
            DiskError: The disk failed; what it holds is not known.
        """
        contents = [copy.read() for copy in self._copies]
        merged = _merge(contents)
        head = _read_head(merged, contents, expected)
        end = merged[-1].end
        for copy, found in zip(self._copies, contents, strict=True):
            held = {record.offset for record in found.records}
            for record in merged:
                if record.offset not in held:
                    copy.repair(record)
            copy.cut(end)
        artifacts = [record.payload[_SYNCED_BYTES:] for record in merged[1:]]
        return JournalContents(head, artifacts, [damage for found in contents for damage in found.damages])


def _merge(contents: Sequence[Contents]) -> list[Record]:
    """Return the journal's records, each from a copy that holds it; raises JournalLostError."""
    held: dict[int, Record] = {}
    for found in contents:
        for record in found.records:
            if held.setdefault(record.offset, record).payload != record.payload:
                raise JournalLostError(f"the copies differ at byte {record.offset}")
    merged: list[Record] = []
    end = 0
    while end in held:
        merged.append(held[end])
        end = held[end].end
    for offset in sorted(held):
        if offset > end and _synced_bytes(held[offset]) > end:
            raise JournalLostError(f"both copies are damaged at byte {end}, which was synced")
    return merged


def _synced_bytes(record: Record) -> int:
    return int.from_bytes(record.payload[:_SYNCED_BYTES], "big")


def _read_head(merged: Sequence[Record], contents: Sequence[Contents], expected: JournalHead) -> JournalHead:
    if not merged:
        is_empty = not any(found.records or found.damages for found in contents)
        raise JournalLostError("the disk holds none" if is_empty else "its head is damaged in both copies")
    try:
        head = msgspec.msgpack.decode(merged[0].payload, type=JournalHead)
    except msgspec.MsgspecError as error:
        raise JournalLostError(f"its head is not one: {error}") from error
    if msgspec.structs.replace(head, observes="") != msgspec.structs.replace(expected, observes=""):
        raise JournalLostError(f"it is that of validator {head.validator} of {head.chain_id}, epoch {head.epoch}")
    return head
