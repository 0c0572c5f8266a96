"""The encodings of the operation log."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from validators.state.errors import BadValue, CorruptLog
from validators.state.operations import (
    COMMIT,
    DELETE,
    UPDATE,
    FixedCodec,
    Operation,
    VariableCodec,
    choose_codec,
    decode_varint,
    encode_varint,
)

KEY = bytes(range(32))
DIGEST = bytes(range(100, 132))
CODECS = [VariableCodec(None), VariableCodec(32), FixedCodec()]
KEYS = st.binary(min_size=32, max_size=32)
LONG_VALUES = st.binary(max_size=200) | st.integers(0, 20000).map(bytes)


@pytest.mark.parametrize(
    ("codec", "update", "delete", "commit", "commit_with_metadata"),
    [
        (
            VariableCodec(None),
            b"\xd2" + KEY + b"\x20" + DIGEST,
            b"\xd1" + KEY,
            b"\xd3\x00\xac\x02",
            b"\xd3\x01\x20" + DIGEST + b"\xac\x02",
        ),
        (
            VariableCodec(32),
            b"\xd2" + KEY + DIGEST,
            b"\xd1" + KEY,
            b"\xd3\x00\xac\x02",
            b"\xd3\x01" + DIGEST + b"\xac\x02",
        ),
        (
            FixedCodec(),
            b"\xd2" + KEY + DIGEST,
            b"\xd1" + KEY + bytes(32),
            b"\xd3\x00" + bytes(32) + bytes(6) + b"\x01\x2c" + bytes(23),
            b"\xd3\x01" + DIGEST + bytes(6) + b"\x01\x2c" + bytes(23),
        ),
    ],
)
def test_operations_have_the_bytes_of_the_specification(codec, update, delete, commit, commit_with_metadata):
    """Each of the three operations, in each encoding, written out."""
    assert update == codec.encode_update(KEY, DIGEST)
    assert delete == codec.encode_delete(KEY)
    assert commit == codec.encode_commit(None, 300)
    assert commit_with_metadata == codec.encode_commit(DIGEST, 300)


@given(KEYS, LONG_VALUES, st.none() | LONG_VALUES, st.integers(0, 2**64 - 1))
def test_what_was_encoded_is_decoded_with_lengths(key, value, metadata, floor):
    """Byte strings of any length come back, also the empty one."""
    assert_round_trip(VariableCodec(None), key, value, metadata, floor)


@pytest.mark.parametrize("codec", CODECS[1:])
@given(key=KEYS, value=KEYS, metadata=st.none() | KEYS, floor=st.integers(0, 2**64 - 1))
def test_what_was_encoded_is_decoded_bare(codec, key, value, metadata, floor):
    """Digests come back from both encodings that write them bare; metadata of zeros is not the absence of it."""
    assert_round_trip(codec, key, value, metadata, floor)
    assert codec.encode_commit(None, floor) != codec.encode_commit(bytes(32), floor)


def assert_round_trip(codec, key, value, metadata, floor):
    update = codec.encode_update(key, value)
    assert Operation(UPDATE, key, value) == codec.decode(update)
    assert value == codec.value_of(update)
    assert Operation(DELETE, key) == codec.decode(codec.encode_delete(key))
    assert Operation(COMMIT, b"", metadata, floor) == codec.decode(codec.encode_commit(metadata, floor))


@pytest.mark.parametrize("codec", CODECS)
@given(st.data())
def test_bytes_are_decoded_only_if_they_encode_back(codec, data):
    """No two byte strings are one operation, and nothing but CorruptLog is raised for the rest."""
    start = data.draw(st.sampled_from([b"", b"\xd1", b"\xd2" + KEY, b"\xd3\x00", b"\xd3\x01", b"\xd3\x02"]))
    encoded = start + data.draw(st.binary(max_size=65))
    encoded = data.draw(st.sampled_from([encoded, encoded.ljust(65, b"\0")[:65]]))
    try:
        operation = codec.decode(encoded)
    except CorruptLog:
        return
    if operation.kind == UPDATE:
        assert encoded == codec.encode_update(operation.key, operation.value)
    elif operation.kind == DELETE:
        assert encoded == codec.encode_delete(operation.key)
    else:
        assert encoded == codec.encode_commit(operation.value, operation.floor)


@pytest.mark.parametrize("codec", CODECS)
def test_a_cut_or_extended_operation_is_refused(codec):
    """Every proper prefix of every operation, and one byte more, is corrupt."""
    for encoded in (
        codec.encode_update(KEY, DIGEST),
        codec.encode_delete(KEY),
        codec.encode_commit(DIGEST, 300),
        codec.encode_commit(None, 300),
    ):
        for wrong in [encoded[:end] for end in range(len(encoded))] + [encoded + b"\0"]:
            with pytest.raises(CorruptLog):
                codec.decode(wrong)


@pytest.mark.parametrize(
    "encoded",
    [
        b"\xd1" + KEY + bytes(31) + b"\x01",
        b"\xd3\x02" + bytes(63),
        b"\xd3\x00" + bytes(31) + b"\x01" + bytes(31),
        b"\xd3\x00" + bytes(62) + b"\x01",
        b"\xd4" + bytes(64),
    ],
)
def test_padding_and_flags_of_the_fixed_encoding_are_checked(encoded):
    """Bytes that mean nothing must be zero, or two logs would be one database."""
    with pytest.raises(CorruptLog):
        FixedCodec().decode(encoded)


@pytest.mark.parametrize(
    ("number", "encoded"), [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (2**64 - 1, b"\xff" * 9 + b"\x01")]
)
def test_varints_are_little_endian_groups_of_seven_bits(number, encoded):
    """The limits of one byte and of eight bytes' worth, both ways."""
    assert encoded == encode_varint(number)
    assert (number, len(encoded) + 1) == decode_varint(b"!" + encoded, 1, 64)


@pytest.mark.parametrize(
    ("encoded", "bits"),
    [
        (b"", 64),
        (b"\x80", 64),
        (b"\x80\x00", 64),
        (b"\xff" * 9 + b"\x02", 64),
        (b"\x80" * 10 + b"\x01", 64),
        (b"\xff\xff\xff\xff\x10", 32),
    ],
)
def test_varints_that_are_cut_padded_or_too_large_are_refused(encoded, bits):
    """One number has one form and a limit."""
    with pytest.raises(CorruptLog):
        decode_varint(encoded, 0, bits)


@pytest.mark.parametrize("codec", CODECS[1:])
@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_bare_value_must_be_a_digest(codec, length):
    """Without a length there is only one length."""
    with pytest.raises(BadValue, match=f"{length} bytes"):
        codec.encode_update(KEY, bytes(length))
    with pytest.raises(BadValue, match=f"{length} bytes"):
        codec.encode_commit(bytes(length), 0)


def test_the_fixed_encoding_is_bare_in_any_case():
    """It has no room for a length, whatever is asked for."""
    assert isinstance(choose_codec("fixed", bare_values=False), FixedCodec)
    assert choose_codec("variable", bare_values=False).value_bytes is None
    assert choose_codec("variable", bare_values=True).value_bytes == 32
