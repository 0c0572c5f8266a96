"""Framed records: what is returned was written there, and damage costs only what it hits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from validators.storage import RecordFile, SimulatedDisk
from validators.storage.records import DAMAGED, HEAD_BYTES, TORN

MARKS = st.sampled_from([b"\xa5\x5a\xc3\x01", b"\xa5\x5a\xc3", b"\xa5\x5a\xc3\x00", b"\xa5", b"\xa5\x5a"])
PAYLOADS = st.lists(
    st.lists(st.one_of(MARKS, st.binary(max_size=12)), max_size=4).map(b"".join), min_size=1, max_size=6
)


def written(payloads, name="blocks"):
    disk = SimulatedDisk()
    file = RecordFile(disk, name)
    return disk, file, [file.append(payload) for payload in payloads]


def replace_bytes(disk, name, offset, data):
    disk.overwrite(name, offset, data)


@given(payloads=PAYLOADS)
def test_every_payload_reads_back(payloads):
    """Whatever the bytes, the frame's own mark among them."""
    _, file, offsets = written(payloads)

    contents = file.read()

    assert [record.payload for record in contents.records] == payloads
    assert [file.read_at(offset) for offset in offsets] == payloads
    assert contents.damages == []


@given(payloads=PAYLOADS, data=st.data())
def test_a_span_has_the_records_that_begin_and_end_in_it(payloads, data):
    """Whole records alone, from any of them on: one that reaches beyond the end is not durable."""
    _, file, offsets = written(payloads)
    first = data.draw(st.sampled_from([*offsets, file.size]))
    end = data.draw(st.integers(first, file.size))

    records = [record for record in file.read().records if record.offset >= first and record.end <= end]

    assert file.read_span(first, end) == records


@given(payloads=PAYLOADS, cut=st.integers(0, 400))
def test_a_file_cut_anywhere_reads_as_a_prefix_and_a_torn_tail(payloads, cut):
    """A torn tail costs the record it is in and no other."""
    disk, file, offsets = written(payloads)
    disk.truncate("blocks", cut)

    records, damages = file.read()

    assert [record.payload for record in records] == payloads[: len(records)]
    is_torn = cut < disk.size("blocks") or cut not in [0, *[record.end for record in records]]
    end = records[-1].end if records else 0
    expected = [("blocks", end, disk.size("blocks") - end, TORN)] if is_torn and disk.size("blocks") > end else []
    assert damages == expected
    assert len(offsets) == len(payloads)


@given(payloads=PAYLOADS, data=st.data())
def test_a_flipped_bit_costs_one_record_and_is_named(payloads, data):
    """The records behind it are found again, be it the head or the payload that is damaged."""
    disk, file, offsets = written(payloads)
    place = data.draw(st.integers(0, disk.size("blocks") - 1))
    flipped = disk.read("blocks", place, 1)[0] ^ (1 << data.draw(st.integers(0, 7)))
    disk.overwrite("blocks", place, bytes([flipped]))
    hit = max(index for index, offset in enumerate(offsets) if offset <= place)

    records, damages = file.read()

    assert [record.payload for record in records] == payloads[:hit] + payloads[hit + 1 :]
    assert [(damage.offset, damage.what in {DAMAGED, TORN}) for damage in damages] == [(offsets[hit], True)]
    assert file.read_at(offsets[hit]) is None
    assert [record.payload for record in file.read_span(0, file.size)] == payloads[:hit]


def test_a_record_at_another_place_is_not_read():
    """A misdirected write of a whole frame passes neither elsewhere in its file nor in another file."""
    disk, _, offsets = written([b"first", b"other"])
    disk.append("journal-a", disk.read("blocks"))
    disk.overwrite("blocks", 0, disk.read("blocks", offsets[1]))

    assert [record.payload for record in RecordFile(disk, "blocks").read().records] == [b"other"]
    assert RecordFile(disk, "journal-a").read().records == []


def test_a_payload_that_contains_a_frame_does_not_pass_for_one():
    """Even one forged for the very offset at which it stands, once the head of the real record is damaged."""
    disk = SimulatedDisk()
    file = RecordFile(disk, "blocks")
    file.append(b"honest " + file.frame(HEAD_BYTES + 7, b"forged"))
    file.append(b"next")
    disk.overwrite("blocks", 0, b"\x00")

    assert [record.payload for record in file.read().records] == [b"next"]


@pytest.mark.parametrize("length", [1, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 2])
def test_the_end_of_a_file_inside_of_a_frame_is_called_a_torn_tail(length):
    """Anything else is damage."""
    disk, file, _ = written([b"whole"])
    disk.append("blocks", file.frame(disk.size("blocks"), b"torn")[:length])

    assert [damage.what for damage in file.read().damages] == [TORN]
