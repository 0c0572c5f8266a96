"""Properties of the simulated disk: syncs and crashes against a plain model, and each disk fault on known bytes."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.chance import Chance
from tests.support.properties import examples
from validators.storage.disk import DiskHandle, SimulatedDisk
from validators.storage.errors import DiskError
from validators.storage.medium import (
    JOURNAL_FILES,
    SECTOR_BYTES,
    BitFlip,
    FullDisk,
    IoErrors,
    MisdirectedWrite,
    StaleRead,
    TornWrite,
)

ALWAYS = 1_000_000
FILE = "blocks"
NAMES = st.sampled_from([FILE, "operations-a"])
CHANCES = st.integers(0, 2**32 - 1).map(Chance)
CONTENT = bytes(1 + place * 7 % 251 for place in range(4 * SECTOR_BYTES))
MORE = bytes(255 - byte for byte in CONTENT)
"""No byte of either is zero, so that a lost byte shows."""


def disk_with(chance, condition, content=CONTENT):
    """Return a disk with a synced file on which a fault then begins."""
    disk = SimulatedDisk(0, chance)
    disk.append(FILE, content)
    disk.finish_sync(disk.begin_sync())
    disk.medium.impose("it", condition)
    return disk


def sectors(content):
    return [content[start : start + SECTOR_BYTES] for start in range(0, len(content), SECTOR_BYTES)]


def bits_between(one, other):
    return (int.from_bytes(one) ^ int.from_bytes(other)).bit_count()


class PlainDisk:
    """Files as bytes, and their durable lengths."""

    def __init__(self):
        self.content, self.durable = {}, {}

    def append(self, name, data):
        self.content[name] = self.content.get(name, b"") + data

    def overwrite(self, name, offset, data):
        old = self.content[name]
        self.content[name] = old[:offset] + data + old[offset + len(data) :]
        self.durable[name] = len(self.content[name])

    def truncate(self, name, length):
        self.content[name] = self.content[name][:length]
        self.durable[name] = len(self.content[name])

    def sync(self):
        self.durable = {name: len(data) for name, data in self.content.items()}

    def crash(self):
        """Return how many bytes are lost."""
        kept = {name: data[: self.durable.get(name, 0)] for name, data in self.content.items()}
        lost = sum(map(len, self.content.values())) - sum(map(len, kept.values()))
        self.content = kept
        return lost


DATA = st.binary(min_size=1, max_size=20)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), NAMES, DATA),
        st.tuples(st.just("append in a sync"), NAMES, DATA),
        st.tuples(st.just("overwrite"), NAMES, st.integers(0, 30), DATA),
        st.tuples(st.just("truncate"), NAMES, st.integers(0, 30)),
        st.tuples(st.sampled_from(["begin", "crash", "wipe"])),
    ),
    min_size=6,
    max_size=24,
)


@given(STEPS)
def test_a_crash_leaves_what_a_finished_sync_covered(steps):
    """A sync covers what stands when it begins; overwritten and cut files are durable at once."""
    disk, plain = SimulatedDisk(), PlainDisk()
    for kind, *values in [*steps, ("crash",)]:
        match kind, values:
            case "append", (name, data):
                disk.append(name, data)
                plain.append(name, data)
            case "append in a sync", (name, data):
                point = disk.begin_sync()
                plain.sync()
                disk.append(name, data)
                plain.append(name, data)
                disk.finish_sync(point)
            case "overwrite", (name, offset, data) if offset + len(data) <= disk.size(name):
                disk.overwrite(name, offset, data)
                plain.overwrite(name, offset, data)
            case "truncate", (name, length) if name in plain.content:
                disk.truncate(name, length)
                plain.truncate(name, length)
            case "begin", ():
                # No sync that does not finish covers anything.
                disk.begin_sync()
            case "crash", ():
                assert disk.lose_unsynced() == plain.crash()
            case "wipe", ():
                disk.wipe()
                plain = PlainDisk()
        durable = {name: plain.durable.get(name, 0) for name in plain.content}
        assert {name: disk.read(name) for name in plain.content} == plain.content
        assert {name: disk.synced_bytes(name) for name in plain.content} == durable
        assert sorted(name for name, _ in disk.begin_sync().lengths) == sorted(plain.content)
        assert disk.is_synced == all(durable[name] == len(data) for name, data in plain.content.items())


@given(
    chance=CHANCES,
    length=st.integers(1, len(CONTENT)),
    unsynced=st.binary(max_size=700),
    parts=st.lists(st.tuples(st.integers(0, 2_700), st.integers(1, 1_200)), max_size=6),
)
def test_rot_flips_one_bit_of_each_synced_sector(chance, length, unsynced, parts):
    """Each read shows the same damage, a read of a part too, and the damage outlives its fault."""
    synced = CONTENT[:length]
    disk = disk_with(chance, BitFlip(ALWAYS), synced)
    disk.append(FILE, unsynced)
    parts = [*parts, *((start, SECTOR_BYTES) for start in range(0, length, SECTOR_BYTES))]
    # Parts first: their sectors have to be hit without a read of the whole file.
    seen = [disk.read(FILE, start, size) for start, size in parts]
    found = disk.read(FILE)
    disk.medium.lift("it")

    flipped = [bits_between(*pair) for pair in zip(sectors(found[: len(synced)]), sectors(synced), strict=True)]
    assert flipped == [1] * len(sectors(synced))
    assert found[len(synced) :] == unsynced
    assert seen == [found[start : start + size] for start, size in parts]
    assert disk.read(FILE) == found
    assert disk.pristine().read(FILE) == synced + unsynced
    assert disk.medium.touched("it") == len(sectors(synced))


@given(CHANCES, st.integers(0, 2_000), st.binary(min_size=1, max_size=48), st.integers(0, 2_048))
def test_rot_is_gone_where_bytes_are_written_anew(chance, offset, data, length):
    """Other bytes of the same sectors stay rotten."""
    disk = disk_with(chance, BitFlip(ALWAYS))
    rotten = disk.read(FILE)
    disk.medium.lift("it")

    disk.overwrite(FILE, offset, data)
    rotten = rotten[:offset] + data + rotten[offset + len(data) :]
    assert disk.read(FILE) == rotten
    disk.truncate(FILE, length)
    disk.append(FILE, MORE)
    assert disk.read(FILE) == rotten[:length] + MORE


@given(CHANCES, st.integers(0, SECTOR_BYTES - 1), st.integers(1, 2 * SECTOR_BYTES))
def test_a_misdirected_write_leaves_its_place_and_hits_one_sector(chance, before, length):
    """Bytes before the write in its first sector stay; another place gets the first sector of the write."""
    disk = disk_with(chance, FullDisk(1 << 40), CONTENT + MORE[:before])
    disk.medium.impose("astray", MisdirectedWrite(ALWAYS))
    data = MORE[before : before + length]
    disk.append(FILE, data)
    found = disk.read(FILE)

    assert found[len(CONTENT) :] == MORE[:before] + bytes(length)
    hit = [pair for pair in zip(sectors(found[: len(CONTENT)]), sectors(CONTENT), strict=True) if pair[0] != pair[1]]
    head = data[:SECTOR_BYTES]
    assert [one for one, _ in hit] == [head + old[len(head) :] for _, old in hit]
    assert (len(hit), disk.medium.touched("astray")) == (1, 1)


@examples(20)
@given(CHANCES)
def test_a_torn_write_leaves_a_part_of_itself_that_is_durable(chance):
    """Every sector is written or a hole, the last may end early; the forms of 48 crashes have each of these."""
    disk, kept = disk_with(chance, TornWrite()), []
    for _ in range(48):
        start = disk.append(FILE, MORE)
        lost = disk.lose_unsynced()
        kept.append(disk.read(FILE, start))
        assert lost == len(MORE) - len(kept[-1])
        assert disk.synced_bytes(FILE) == disk.size(FILE)
        disk.truncate(FILE, start)
    disk.medium.lift("it")
    disk.append(FILE, MORE)

    pairs = [pair for part in kept for pair in zip(sectors(part), sectors(MORE), strict=False)]
    assert all(sector in {whole[: len(sector)], bytes(len(sector))} for sector, whole in pairs)
    assert any(len(part) % SECTOR_BYTES for part in kept)
    assert any(part != MORE[: len(part)] for part in kept)
    assert disk.lose_unsynced() == len(MORE)


@examples(20)
@pytest.mark.parametrize(
    ("condition", "act"),
    [
        (IoErrors(ALWAYS, 0, 0), lambda disk: disk.read(FILE)),
        (FullDisk(len(CONTENT)), lambda disk: disk.append(FILE, MORE)),
        (MisdirectedWrite(ALWAYS), lambda disk: disk.append(FILE, MORE[:SECTOR_BYTES])),
        (BitFlip(ALWAYS), lambda disk: disk.read(FILE)),
        (TornWrite(), lambda disk: [(disk.append(FILE, MORE), disk.lose_unsynced()) for _ in range(48)]),
    ],
    ids=lambda value: type(value).__name__,
)
@given(chance=CHANCES)
def test_a_fault_is_at_work_beside_an_earlier_one(condition, act, chance):
    """The earlier fault has no effect here."""
    disk = disk_with(chance, StaleRead(0) if isinstance(condition, TornWrite) else FullDisk(1 << 40))
    disk.medium.impose("second", condition)
    with suppress(DiskError):
        act(disk)

    assert disk.medium.touched("second") > 0


def test_a_handle_reaches_each_boundary_when_its_bytes_stand():
    """The sizes of both journal copies at each boundary are those that a power cut there leaves."""
    disk, found = SimulatedDisk(), []
    handle = DiskHandle(disk, lambda name: found.append((name, [disk.size(each) for each in JOURNAL_FILES])))
    for name in JOURNAL_FILES:
        disk.append(name, b"12345")
    for name in JOURNAL_FILES:
        handle.append(name, b"6")
    handle.finish_sync(handle.begin_sync())
    for name in JOURNAL_FILES:
        handle.truncate(name, 5)
        handle.truncate(name, 0)
    handle.revoke()
    handle.append(JOURNAL_FILES[0], b"7")

    assert found == [("before-append", [5, 5]), ("after-append", [6, 6]), ("after-sync", [6, 6]), ("mid-prune", [0, 5])]
    assert disk.size(JOURNAL_FILES[0]) == 0
