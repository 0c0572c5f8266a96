"""Framed records: what is returned was written there, and damage costs only what it hits."""

import pytest

from validators.storage import RecordFile, SimulatedDisk
from validators.storage.records import HEAD_BYTES, TORN


def written(payloads, name="blocks"):
    disk = SimulatedDisk()
    file = RecordFile(disk, name)
    return disk, file, [file.append(payload) for payload in payloads]


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
