"""Files: records, blocks and the logs of the state, damaged and read again as docs/storage.md says.

What one replica cannot read another one gives, so that a file that forgets, shows what belongs elsewhere or takes
damage for a block costs a run time and no more, if a drawn disk fault hits there at all.
"""

from typing import Final

from tests.properties.draws import Asked, Draw
from validators.storage import BlockFile, Damage, FinalizedEntry, FinalizedLog, RecordFile, SimulatedDisk

_RECORDS: Final = 5
_BLOCKS: Final = 5
_HEIGHTS: Final = 4
_MARK: Final = b"\xa5\x5a\xc3\x01"
_OTHER: Final = 0x10


def check_files(draw: Draw) -> Asked:
    """Yield what is asked of files, and whether it is so."""
    yield from _check_records(draw)
    yield from _check_ends(draw)
    yield from _check_blocks(draw)
    yield from _check_bases(draw)
    yield from _check_lost_bases()


def _sync(disk: SimulatedDisk) -> None:
    disk.finish_sync(disk.begin_sync())


def _spoil(disk: SimulatedDisk, name: str, place: int) -> None:
    (byte,) = disk.read(name, place, 1)
    disk.overwrite(name, place, bytes([byte ^ _OTHER]))


def _check_records(draw: Draw) -> Asked:
    disk = SimulatedDisk()
    file = RecordFile(disk, "one")
    length = draw(30)
    payloads = [bytes([number]) + _MARK[: draw(5)].ljust(4, b"m") + bytes(length) for number in range(_RECORDS)]
    starts = [file.append(payload) for payload in payloads]
    found = file.read()
    yield "records read otherwise than they were written", [each.payload for each in found.records] == payloads
    yield "a file of whole records is damaged", not found.damages
    first, end = draw(_RECORDS), draw(file.size + 1)
    within = [each for each in found.records[first:] if each.end <= end]
    yield "a part of a file has other records than all of it", file.read_span(starts[first], end) == within
    yield "a record is not read at its place", file.read_at(starts[first]) == payloads[first]
    # The record of one place, all of it, at another one; or in another file.
    source = draw(_RECORDS)
    target = (source + 1 + draw(_RECORDS - 1)) % _RECORDS
    size = found.records[source].end - starts[source]
    if size == found.records[target].end - starts[target]:
        disk.overwrite("one", starts[target], disk.read("one", starts[source], size))
        kept = [payload for number, payload in enumerate(payloads) if number != target]
        yield "a record is read where it was not written", [each.payload for each in file.read().records] == kept
        yield "a record is read at a place where it was not written", file.read_at(starts[target]) is None
        span = [each.payload for each in file.read_span(0, file.size)]
        yield "a part of a file goes on behind a damaged record", span == payloads[:target]
        file.repair(found.records[target])
        yield "a record that was repaired is not read", [each.payload for each in file.read().records] == payloads
    disk.append("two", disk.read("one"))
    yield "a record of another file is read", not RecordFile(disk, "two").read().records
    yield from _check_damaged_records(disk, starts, payloads, draw)
    # A whole record within the payload of one that is damaged, at the place where it would stand.
    disk = SimulatedDisk()
    file = RecordFile(disk, "one")
    begin = file.append(b"")
    within = next(place for place in range(file.size, file.size + 99) if place == file.size + file.size - begin)
    file.append(file.frame(within, b"planted"))
    _spoil(disk, "one", file.size - len(file.frame(within, b"planted")) - 1)
    planted = [each.payload for each in file.read().records]
    yield "a record that was planted in another one is read", b"planted" not in planted


def _check_damaged_records(disk: SimulatedDisk, starts: list[int], payloads: list[bytes], draw: Draw) -> Asked:
    file = RecordFile(disk, "one")
    ends = [*starts[1:], file.size]
    spoilt = draw(_RECORDS)
    _spoil(disk, "one", starts[spoilt] + draw(ends[spoilt] - starts[spoilt]))
    disk.truncate("one", ends[-2] + draw(ends[-1] - ends[-2]))
    kept = [number for number in range(_RECORDS - 1) if number != spoilt]
    found = file.read()
    yield (
        "of a damaged file other records are read than are whole",
        [each.payload for each in found.records] == [payloads[number] for number in kept],
    )
    gaps = [(each.offset, each.end) for each in found.records]
    gaps += [(each.offset, each.offset + each.length) for each in found.damages]
    places = sorted(gaps)
    yield (
        "damage is said to be at other places than it is",
        [start for start, _ in places] == [0, *(end for _, end in places)][: len(places)]
        and max((end for _, end in places), default=0) == file.size,
    )


def _check_ends(draw: Draw) -> Asked:
    """Spoil a byte of the last record, or cut the file off within it: a torn tail is no damage."""
    for is_torn in (False, True):
        disk = SimulatedDisk()
        file = RecordFile(disk, "one")
        file.append(b"before")
        begin = file.append(_MARK + bytes(draw(30)))
        place = begin + draw(file.size - begin - is_torn) + is_torn
        if is_torn:
            disk.truncate("one", place)
        else:
            _spoil(disk, "one", place)
        told = [(each.offset, each.what) for each in file.read().damages]
        yield "the end of a file is damaged, or torn, otherwise than it is told", told == [(begin, ENDS[is_torn])]


ENDS: Final = ("damaged record", "torn tail")
"""Words for the end of a file that has all its bytes, and of one that has not."""


def _check_blocks(draw: Draw) -> Asked:
    disk = SimulatedDisk()
    damages: list[Damage] = []
    file = BlockFile(disk, damages.append)
    file.load()
    blocks = {bytes([number] * 32): bytes([number] * (1 + draw(50))) for number in range(_BLOCKS)}
    ends: list[int] = []
    for height, (digest, block) in enumerate(blocks.items()):
        file.append(height=height, digest=digest, block=block)
        ends.append(disk.size("blocks"))
        file.append(height=height, digest=digest, block=block)
        yield "a block is stored twice", disk.size("blocks") == ends[-1]
    _sync(disk)
    digests = list(blocks)
    least = draw(_BLOCKS)
    yield "a block reads otherwise than it was stored", [file.get(digest) for digest in blocks] == [*blocks.values()]
    yield (
        "blocks above a height are others than were stored",
        list(file.above(least)) == list(blocks.values())[least + 1 :],
    )
    yield "a block that was never stored is there", file.get(bytes(32)[1:]) is None and b"" not in file
    place = draw(_BLOCKS)
    digest, begin = digests[place], [0, *ends][place]
    _spoil(disk, "blocks", begin + draw(ends[place] - begin))
    yield "a damaged block is read", digest in file and file.get(digest) is None
    yield "damage of a block is not told once, of its place", [each.offset for each in damages] == [begin]
    yield "a damaged block is still held", digest not in file and file.get(digest) is None and len(damages) == 1
    file.append(height=place, digest=digest, block=blocks[digest])
    yield "a block that was had again is not stored", file.get(digest) == blocks[digest]
    _sync(disk)
    # The last block is torn, and the one that comes then stands right behind the others.
    disk.truncate("blocks", disk.size("blocks") - 1 - draw(10))
    again = BlockFile(disk, damages.append)
    again.load()
    whole = {each: block for each, block in blocks.items() if each != digest}
    yield (
        "after a start other blocks are read than are whole",
        {each: again.get(each) for each in blocks}
        == {
            **whole,
            digest: None,
        },
    )
    again.append(height=place, digest=digest, block=blocks[digest])
    last = BlockFile(disk, damages.append)
    last.load()
    yield "a block behind an end that was torn is not read", {each: last.get(each) for each in blocks} == blocks


def _append(log: FinalizedLog, heights: range) -> list[FinalizedEntry]:
    entries = [FinalizedEntry(height, bytes([height] * 32), b"header", (bytes([height]),)) for height in heights]
    for entry in entries:
        log.append(entry)
    return entries


def _holds(disk: SimulatedDisk, base_height: int, entries: list[FinalizedEntry]) -> bool:
    """Return whether a start finds this base with these entries above it, and finds it again."""
    for _ in range(2):
        found = FinalizedLog(disk).recover()
        is_base = (0 if found.base is None else found.base.height) == base_height
        if not is_base or found.entries != entries:
            return False
    found = FinalizedLog(disk).read()
    return found.entries == entries and not found.damages


def _check_bases(draw: Draw) -> Asked:
    """Install one base after the other, some behind a start, and lose the last one."""
    disk = SimulatedDisk()
    log = FinalizedLog(disk)
    log.recover()
    height = base = 0
    entries: list[FinalizedEntry] = []
    earlier: tuple[int, list[FinalizedEntry]] = 0, []
    for turn in range(_HEIGHTS):
        entries = entries + _append(log, range(height + 1, height + 2 + draw(3)))
        height = entries[-1].height
        _sync(disk)
        yield "a start finds another log than was written", _holds(disk, base, entries)
        if draw(2):
            log = FinalizedLog(disk)
            log.recover()
        earlier = base, entries
        height += draw(3)
        log.install(height=height, encoded=b"state %d" % turn)
        crashed = _copy(disk)
        crashed.lose_unsynced()
        yield "a base that no sync covered is found, or has taken the other with it", _holds(crashed, *earlier)
        base, entries = height, []
        _sync(disk)
        yield "a start finds another base than the last one", _holds(disk, base, entries)
    more = _append(log, range(height + 1, height + 3))
    _sync(disk)
    for name in ("operations-a", "operations-b"):
        torn = _copy(disk)
        if torn.size(name) and _ends_with(torn, name, more):
            torn.truncate(name, torn.size(name) - 1 - draw(5))
            yield "of a log that is torn another part is left than is whole", _holds(torn, base, more[:-1])
            again = FinalizedLog(torn)
            again.recover()
            again.append(more[-1])
            yield "an entry behind an end that was torn is not found", _holds(torn, base, more)
            damaged = _copy(disk)
            _spoil(damaged, name, damaged.read(name).index(more[0].digest))
            yield "entries behind a damaged one are found", _holds(damaged, base, [])
    log = FinalizedLog(disk)
    log.recover()
    log.keep(1)
    yield "a log that is cut back has other entries", _holds(disk, base, more[:1])
    log.discard()
    yield "a base that is given up does not give way to the one before", _holds(disk, *earlier)
    log.erase()
    yield "a state that is given up is still there", _holds(disk, 0, [])


def _check_lost_bases() -> Asked:
    """Damage the newer base: the older one with its log is what is left, genesis at first."""
    disk = SimulatedDisk()
    log = FinalizedLog(disk)
    log.recover()
    entries = _append(log, range(1, 3))
    for height, name in ((5, "snapshot-b"), (9, "snapshot-a")):
        log.install(height=height, encoded=b"state")
        _sync(disk)
        yield "a base does not stand without entries", _holds(disk, height, [])
        damaged = _copy(disk)
        _spoil(damaged, name, damaged.size(name) - 1)
        before = height - 4 if height > 5 else 0
        yield "a damaged base does not give way to the one before", _holds(damaged, before and 5, entries)
        entries = _append(log, range(height + 1, height + 2))
        _sync(disk)


def _copy(disk: SimulatedDisk) -> SimulatedDisk:
    """Return a disk of its own with the same bytes, as far synced as this one."""
    names = ("snapshot-a", "operations-a", "snapshot-b", "operations-b")
    copy = SimulatedDisk()
    for name in names:
        copy.append(name, disk.read(name, 0, disk.synced_bytes(name)))
    _sync(copy)
    for name in names:
        copy.append(name, disk.read(name)[disk.synced_bytes(name) :])
    return copy


def _ends_with(disk: SimulatedDisk, name: str, entries: list[FinalizedEntry]) -> bool:
    return entries[-1].digest in disk.read(name)
