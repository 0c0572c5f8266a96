"""Frames: both forms carry the same content, and hostile bytes are a FrameError and nothing else."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.outside.frames import FRAME_BYTES_MAX, FRAMINGS, INTEGER_MAX, FrameError
from tests.support.properties import examples

JSON, MSGPACK = FRAMINGS["json"], FRAMINGS["msgpack"]

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-INTEGER_MAX, INTEGER_MAX) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("framing", FRAMINGS.values(), ids=FRAMINGS)
class TestBoth:
    @examples(50)
    @given(message=st.dictionaries(st.text(), PLAIN), cuts=st.lists(st.integers(1, 50)))
    def test_a_frame_comes_back_in_whatever_pieces_it_comes(self, framing, message, cuts):
        frame, buffer, found = framing.encode(message) * 2, bytearray(), []
        while frame:
            size = cuts.pop() if cuts else len(frame)
            buffer += frame[:size]
            frame = frame[size:]
            while (content := framing.take(buffer)) is not None:
                found.append(content)

        assert found == [message, message]
        assert not buffer

    @examples(300)
    @given(content=st.binary(max_size=300))
    def test_hostile_bytes_are_frames_or_a_fault(self, framing, content):
        """A length that is never reached waits for more, as a line without an end does."""
        buffer = bytearray(content + b"\n")
        with suppress(FrameError):
            found = framing.take(buffer)
            assert found is None or all(isinstance(key, str) for key in found)

    @pytest.mark.parametrize("depth", [200, 100_000])
    def test_deep_nesting_is_a_fault(self, framing, depth):
        nested = b"[" * depth if framing is JSON else b"\x91" * depth
        frame = nested + b"\n" if framing is JSON else len(nested).to_bytes(4, "little") + nested

        with pytest.raises(FrameError, match=r"is no (JSON|msgpack)"):
            framing.take(bytearray(frame))

    @examples(50)
    @given(content=st.binary(max_size=40))
    def test_bytes_come_back(self, framing, content):
        answer = framing.take(bytearray(framing.encode({"it": content})))

        assert framing.as_bytes(answer["it"]) == content

    def test_a_frame_that_is_too_long_is_refused_before_it_is_sent(self, framing):
        with pytest.raises(FrameError, match="is longer than a frame"):
            framing.encode({"it": bytes(FRAME_BYTES_MAX + 1)})


def test_large_numbers_are_text_in_json():
    assert JSON.encode({"it": [INTEGER_MAX, INTEGER_MAX + 1]}) == b'{"it":[9007199254740991,"9007199254740992"]}\n'


@pytest.mark.parametrize("value", ["AB", "a", "0x", "zz", 7, None, ["00"]])
def test_what_is_no_lower_case_hexadecimal_is_a_fault(value):
    with pytest.raises(FrameError, match="hexadecimal"):
        JSON.as_bytes(value)


@pytest.mark.parametrize("value", ["00", 7, None])
def test_text_is_no_byte_string_of_msgpack(value):
    with pytest.raises(FrameError, match="a byte string was expected"):
        MSGPACK.as_bytes(value)


@pytest.mark.parametrize("content", [b"[1]", b"7", b'"it"', b"null"])
def test_a_line_that_is_no_map_is_a_fault(content):
    with pytest.raises(FrameError, match="a map with text keys was expected"):
        JSON.take(bytearray(content + b"\n"))


@pytest.mark.parametrize("content", [{1: 2}, {b"n": 1}, [1], "it"])
def test_a_frame_of_msgpack_that_is_no_map_is_a_fault(content):
    encoded = msgspec.msgpack.encode(content)
    with pytest.raises(FrameError, match="a map with text keys was expected"):
        MSGPACK.take(bytearray(len(encoded).to_bytes(4, "little") + encoded))


def test_a_length_beyond_a_frame_is_a_fault_at_once():
    """A banner in its place reads as a huge length."""
    with pytest.raises(FrameError, match="it begins `welcome`"):
        MSGPACK.take(bytearray(b"welcome"))


def test_a_line_without_an_end_is_a_fault_when_it_is_too_long():
    assert JSON.take(bytearray(FRAME_BYTES_MAX - 1)) is None
    with pytest.raises(FrameError, match="without the end of a line"):
        JSON.take(bytearray(FRAME_BYTES_MAX))
