"""Bytes whose cold part goes to a temporary file: the same bytes for a reader, and few of them in memory."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from network import spill
from network.spill import ColdFile, SpillingBytes

SMALL = 8


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(spill, "PIECE_BYTES", SMALL)
    monkeypatch.setattr(spill, "HOT_BYTES", 4 * SMALL)


PLACES = st.integers(0, 120)
ACTS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.binary(max_size=40), st.just(0)),
        st.tuples(st.just("cut"), st.just(b""), PLACES),
        st.tuples(st.just("overwrite"), st.binary(max_size=20), PLACES),
    ),
    max_size=20,
)


@given(st.lists(ACTS, min_size=2, max_size=2), PLACES, PLACES)
@example([[("append", bytes(5 * SMALL), 0)], []], 2, 1)
def test_they_read_as_an_array_does_beside_another_in_one_file(both, start, end):
    """Whatever is appended, cut and overwritten in the one never shows in the other."""
    cold = ColdFile()
    spilled, plain = [SpillingBytes(cold), SpillingBytes(cold)], [bytearray(), bytearray()]
    for ours, array, acts in zip(spilled, plain, both, strict=True):
        for act, data, place in acts:
            at = min(place, len(array))
            if act == "append":
                ours.append(data)
                array.extend(data)
            elif act == "cut":
                ours.cut(at)
                del array[at:]
            else:
                ours.overwrite(at, data)
                array[at : at + len(data)] = data
    for ours, array in zip(spilled, plain, strict=True):
        assert (bytes(ours), len(ours)) == (bytes(array), len(array))
        assert ours.read(start, end) == bytes(array[start:end])


def test_memory_does_not_grow_with_what_is_appended():
    """Pieces that were cut off leave their places in the file to others."""
    cold = ColdFile()
    for _ in range(3):
        spilled = SpillingBytes(cold)
        for _ in range(1_000):
            spilled.append(b"ten bytes.")
        assert (len(spilled), spilled.bytes_in_memory < 4 * SMALL) == (10_000, True)
        spilled.cut(0)
    assert cold._places <= 10_000 // SMALL


def test_without_room_on_the_disk_the_bytes_stay_in_memory(monkeypatch):
    """Also where the file system took the first piece and refuses another."""
    spilled = SpillingBytes(ColdFile())
    spilled.append(b"x" * 5 * SMALL)
    monkeypatch.setattr(spilled._cold._file, "write", lambda _piece: 1)
    spilled.append(b"y" * 50 * SMALL)
    assert bytes(spilled) == b"x" * 5 * SMALL + b"y" * 50 * SMALL
    assert spilled.bytes_in_memory > 50 * SMALL


def test_the_file_goes_with_its_owner():
    """A sweep makes one run after the other in a process."""
    cold = ColdFile()
    cold.put(b"x" * SMALL)
    file = cold._file
    del cold
    assert file.closed
