"""Journals: written, pruned, damaged and torn as a seed draws it, and recovered as docs/storage.md says.

A drawn run has a few damages of a journal, nearly all in one copy, and a power cut between the two copies of a pruning
is rarer still. Here both copies are hit at once, wherever chance has it; what a start may make of them is worked out
from the places of the entries alone, which were noted as they were written.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.properties.draws import Asked, Draw
from validators.storage import JOURNAL_FILES, Journal, JournalHead, JournalLostError, SimulatedDisk, provision
from validators.storage.medium import IoErrors

HEAD: Final = JournalHead(chain_id="case", validator=0, public_key=b"key", epoch=0)
FLOOR: Final = b"floor"
_MARKS: Final = b"\xa5\x5a\xc3\x01\xa5\x5a\xc3"
"""Bytes that begin a record, which an entry may have too."""
_STORIES: Final = 1
_ENTRIES_MAX: Final = 6
_CUTS: Final = 1
_DAMAGES_MAX: Final = 3
_BYTE_MAX: Final = 255


class _Written(NamedTuple):
    """A journal as it stands in both copies.

    Attributes:
        copies: The bytes of each.
        entries: The entries behind the head.
        ends: Where the head and each entry end.
        claims: Of the head and each entry, how many bytes were durable as it was appended, as it may say.
        carried: The number of entries that were there as the head was written, which is whole with all of them only.
        floor: The finality that the head has.
    """

    copies: tuple[bytes, ...]
    entries: tuple[bytes, ...]
    ends: tuple[int, ...]
    claims: tuple[int, ...]
    carried: int
    floor: bytes


class _Start(NamedTuple):
    """A start's outcome: the entries and the floor, or None where votes may be lost."""

    entries: tuple[bytes, ...] | None
    floor: bytes = b""


def check_journals(draw: Draw) -> Asked:
    """Yield what is asked of a journal, and whether it is so."""
    yield "a disk without a journal is told to be damaged", _loss_of((b"", b"")) == "the disk holds none"
    for _ in range(_STORIES):
        old = _write(draw)
        new = _prune(old, draw)
        for written in (old, new):
            yield from _compare(written.copies, _Start(written.entries, written.floor), "is whole")
            yield from _check_damage(written, draw, is_torn=True)
            yield from _check_damage(written, draw, is_torn=False)
        yield from _check_power_cuts(old, new, draw)
        yield from _check_unreadable(old)
        spoilt = [bytes(len(copy)) for copy in old.copies]
        yield "a damaged journal is told to be none", _loss_of(spoilt) == "its head is damaged in both copies"


def _write(draw: Draw) -> _Written:
    """Append entries to a fresh journal, some of them behind a sync."""
    disk = SimulatedDisk()
    provision(disk, HEAD)
    journal = Journal(disk)
    journal.recover(HEAD)
    entries: list[bytes] = []
    ends, claims = [disk.size(JOURNAL_FILES[0])], [0]
    synced_bytes = ends[0]
    for place in range(2 + draw(_ENTRIES_MAX - 1)):
        entry = bytes([place]) + _MARKS[: draw(len(_MARKS) + 1)] + bytes(draw(40))
        journal.append(entry)
        entries.append(entry)
        ends.append(disk.size(JOURNAL_FILES[0]))
        claims.append(synced_bytes)
        if draw(2):
            disk.finish_sync(disk.begin_sync())
            synced_bytes = ends[-1]
    return _Written(_read(disk), tuple(entries), tuple(ends), tuple(claims), 0, b"")


def _prune(written: _Written, draw: Draw) -> _Written:
    """Let the journal drop some of its entries."""
    disk = _disk_of(written.copies)
    journal = Journal(disk)
    journal.recover(HEAD)
    kept = tuple(entry for entry in written.entries if draw(4))
    journal.prune(FLOOR, keep=kept.__contains__)
    # A record is as long as before: only the head is another one.
    lengths = [end - before for before, end in zip(written.ends, written.ends[1:], strict=False)]
    stays = [length for length, entry in zip(lengths, written.entries, strict=True) if entry in kept]
    ends = [disk.size(JOURNAL_FILES[0]) - sum(stays)]
    for length in stays:
        ends.append(ends[-1] + length)
    return _Written(_read(disk), kept, tuple(ends), (0,) * len(ends), len(kept), FLOOR)


def _check_damage(written: _Written, draw: Draw, *, is_torn: bool) -> Asked:
    """Spoil bytes of both copies, or tear both ends off, and start."""
    copies: list[bytes] = []
    whole: list[dict[int, None]] = []
    last = len(written.ends) - 1
    starts = (0, *written.ends)
    # Often one record in both copies, so that it is in neither: any, or the first that need not be durable.
    hit = (None, draw(last + 1), starts.index(written.claims[last]))[draw(3)]
    for copy in written.copies:
        content = bytearray(copy)
        # At another place in each: what is left there must not stay before the next entry.
        left = draw(written.ends[last] - written.ends[last - 1]) if is_torn else 0
        length = written.ends[last - 1] + left if is_torn else written.ends[last]
        spoilt = [] if is_torn else [draw(length) for _ in range(draw(_DAMAGES_MAX))]
        if hit is not None and not is_torn:
            spoilt.append(starts[hit] + draw(written.ends[hit] - starts[hit]))
        for place in spoilt:
            content[place] ^= 1 + draw(_BYTE_MAX)
        copies.append(bytes(content[:length]))
        whole.append(
            {
                number: None
                for number, end in enumerate(written.ends)
                if end <= length and not any(starts[number] <= place < end for place in spoilt)
            }
        )
    yield from _compare(copies, _expect(written, whole), "is torn" if is_torn else "is damaged in both copies")


def _expect(written: _Written, whole: Sequence[dict[int, None]]) -> _Start:
    """Return what a start has to make of copies, by the records that are whole in each."""
    held = whole[0] | whole[1]
    count = next(number for number in range(len(written.ends) + 1) if number not in held)
    end = written.ends[count - 1] if count else 0
    is_shown = any(number >= count and written.claims[number] > end for number in held)
    if not count or is_shown or count <= written.carried:
        return _Start(None)
    return _Start(written.entries[: count - 1], written.floor)


def _check_power_cuts(old: _Written, new: _Written, draw: Draw) -> Asked:
    """Cut the power while one copy is written anew, and the other is whole."""
    before, after = _Start(old.entries, old.floor), _Start(new.entries, new.floor)
    # Just without the last record, too: with all others it looks whole.
    for left in (*(draw(new.ends[-1]) for _ in range(_CUTS)), (0, *new.ends)[-2]):
        yield from _compare((new.copies[0][:left], old.copies[1]), before, "was half pruned in one copy")
        yield from _compare((new.copies[0], new.copies[1][:left]), after, "was half pruned in the second copy")
    yield from _compare((new.copies[0], old.copies[1]), after, "was pruned in one copy")


def _check_unreadable(written: _Written) -> Asked:
    """Prune while nothing can be read: all stays, and the next pruning does its work, be nothing left of the copies."""
    disk = _disk_of(written.copies)
    journal = Journal(disk)
    journal.recover(HEAD)
    disk.medium.impose("unreadable", IoErrors(read_ppm=1_000_000, write_ppm=0, sync_ppm=0))
    journal.prune(FLOOR, keep=lambda _: False)
    disk.medium.lift("unreadable")
    yield "a journal that cannot be read is pruned", _read(disk) == written.copies
    journal.prune(FLOOR, keep=lambda _: False)
    yield "a journal that can be read again is not pruned", _start(disk) == _Start((), FLOOR)
    for spoilt in (b"", b"\0" * (written.ends[0] // 2)):
        disk = _disk_of(written.copies)
        journal = Journal(disk)
        journal.recover(HEAD)
        for name in JOURNAL_FILES:
            disk.overwrite(name, 0, spoilt) if spoilt else disk.truncate(name, 0)
        journal.prune(FLOOR, keep=lambda _: True)
        is_anew = _start(disk) == _Start(written.entries, FLOOR)
        yield "a journal that both copies have lost is not written anew as it is pruned", is_anew


def _compare(copies: Sequence[bytes], expected: _Start, what: str) -> Asked:
    """Start on these copies, go on, and start again on each copy alone."""
    disk = _disk_of(copies)
    yield f"a journal that {what} is recovered as other votes than it holds", _start(disk) == expected
    if expected.entries is None:
        return
    journal = Journal(disk)
    again = journal.recover(HEAD)
    yield (
        f"a journal that {what} is not mended by a start",
        not again.damages and not again.is_new_generation and tuple(again.artifacts) == expected.entries,
    )
    journal.append(b"one more")
    disk.finish_sync(disk.begin_sync())
    for lost in range(len(JOURNAL_FILES)):
        alone = list(_read(disk))
        alone[lost] = b""
        yield (
            f"a journal that {what} has gone on, and a copy of it is not whole by itself",
            _start(_disk_of(alone)) == expected._replace(entries=(*expected.entries, b"one more")),
        )


def _start(disk: SimulatedDisk) -> _Start:
    try:
        found = Journal(disk).recover(HEAD)
    except JournalLostError:
        return _Start(None)
    return _Start(tuple(found.artifacts), found.head.floor)


def _loss_of(copies: Sequence[bytes]) -> str:
    """Return the reason for which a start takes its votes for lost; empty where it does not."""
    try:
        Journal(_disk_of(copies)).recover(HEAD)
    except JournalLostError as error:
        return error.reason
    return ""


def _disk_of(copies: Sequence[bytes]) -> SimulatedDisk:
    disk = SimulatedDisk()
    for name, content in zip(JOURNAL_FILES, copies, strict=True):
        disk.append(name, content)
    disk.finish_sync(disk.begin_sync())
    return disk


def _read(disk: SimulatedDisk) -> tuple[bytes, ...]:
    return tuple(disk.read(name) for name in JOURNAL_FILES)
