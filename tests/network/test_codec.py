"""The wire codec: whatever arrives is decoded or refused, and nothing else."""

import msgpack
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from network.codec import Codec, CodecError, RefusalReason, Refused
from network.wire import DEPTH_LIMIT, find_end, read_tag


class Vote(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True, tag=0):
    signer: int
    view: int
    signature: bytes


class Inner(msgspec.Struct, array_like=True, frozen=True):
    view: int
    payload: bytes


class Certificate(msgspec.Struct, array_like=True, frozen=True, tag=200):
    proposal: Inner
    signers: bytes
    signatures: tuple[bytes, ...]
    note: str = ""


class Lenient(msgspec.Struct, array_like=True, frozen=True, tag=3):
    anything: object
    names: dict[str, list[int]] | None


TYPES = (Vote, Certificate, Lenient)
VOTES = st.builds(Vote, st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.binary(max_size=80))
CERTIFICATES = st.builds(
    Certificate,
    st.builds(Inner, st.integers(0, 2**64 - 1), st.binary(max_size=40)),
    st.binary(max_size=9),
    st.lists(st.binary(max_size=70), max_size=40).map(tuple),
    st.text(max_size=40),
)
MESSAGES = VOTES | CERTIFICATES


def make_codec(size_limit=1 << 16) -> Codec:
    return Codec(TYPES, size_limit=size_limit)


def refusal_of(codec: Codec, payload: bytes) -> RefusalReason:
    with pytest.raises(Refused) as caught:
        codec.decode(payload)
    return caught.value.reason


def decode_or_refuse(codec: Codec, payload: bytes) -> None:
    """Pass if the payload is refused, or is exactly the encoding of what it decodes to."""
    try:
        message = codec.decode(payload)
    except Refused:
        return
    assert codec.encode(message) == payload


@given(MESSAGES)
def test_what_is_encoded_is_decoded(message):
    """To an equal message, in bytes that msgpack itself reads."""
    codec = make_codec()
    payload = codec.encode(message)
    assert codec.decode(payload) == message
    assert msgpack.unpackb(payload, strict_map_key=False)[0] == type(message).__struct_config__.tag


@given(st.binary(max_size=200))
@example(b"")
@example(b"\xc1")
@example(b"\x93\x03\xa1\xff\xc0")
@example(b"\x93\x03" + b"\x91" * 100_000 + b"\xc0\xc0")
@example(b"\x93\x03" + b"\x81\x01" * 100_000 + b"\xc0\xc0")
@example(b"\x92\xcc\xc8\xdd\xff\xff\xff\xff")
@example(b"\x93\x03\xdf\xff\xff\xff\xff\xc0")
@example(b"\x93\x03\xd6\xff\x00\x00\x00\x00\xc0")
@example(b"\x94\x00\xd3\xff\xff\xff\xff\xff\xff\xff\xff\x00\xc4\x00")
@example(b"\x93\x03\x81\x90\x01\xc0")
def test_arbitrary_bytes_never_do_worse_than_be_refused(payload):
    """Nesting, huge lengths, invalid text, extensions and unhashable keys included."""
    decode_or_refuse(Codec(TYPES, size_limit=1 << 20), payload)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.binary() | st.text() | st.floats(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(0, 9), inner),
    ),
    st.sampled_from([0, 3, 200]),
)
def test_arbitrary_msgpack_never_does_worse_than_be_refused(value, tag):
    """Well-formed arrays with a known tag and anything behind it."""
    fields = value if isinstance(value, list) else [value, None]
    decode_or_refuse(make_codec(), msgpack.packb([tag, *fields]))


@given(MESSAGES, st.data())
def test_a_mutated_message_is_refused_or_is_another_message(message, data):
    """A changed, a missing and an added byte, anywhere."""
    codec = make_codec()
    payload = codec.encode(message)
    place = data.draw(st.integers(0, len(payload) - 1))
    byte = bytes([data.draw(st.integers(0, 255))])
    for mutant in (
        payload[:place] + byte + payload[place + 1 :],
        payload[:place] + payload[place + 1 :],
        payload[:place] + byte + payload[place:],
        payload[:place],
    ):
        decode_or_refuse(codec, mutant)


@given(MESSAGES, st.binary(min_size=1, max_size=5))
def test_trailing_bytes_are_refused(message, rest):
    """They are named as such, whatever they are."""
    codec = make_codec()
    assert refusal_of(codec, codec.encode(message) + rest) is RefusalReason.TRAILING


@given(MESSAGES)
def test_a_message_that_is_cut_short_is_malformed(message):
    """At every length."""
    codec = make_codec()
    payload = codec.encode(message)
    for end in range(len(payload)):
        assert refusal_of(codec, payload[:end]) is RefusalReason.MALFORMED


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", RefusalReason.MALFORMED),
        (b"\x90", RefusalReason.MALFORMED),
        (b"\x93\x03\xc1\xc0", RefusalReason.MALFORMED),
        (b"\x93\x03\xa1\xff\xc0", RefusalReason.MALFORMED),
        (b"\x80", RefusalReason.WRONG_TYPE),
        (b"\x94\x00\x01\x02\xa1x", RefusalReason.WRONG_TYPE),
        (b"\x94\x00\x01\xca\x3f\x80\x00\x00\xc4\x00", RefusalReason.WRONG_TYPE),
        (b"\x93\x00\x01\x02", RefusalReason.WRONG_TYPE),
        (b"\x94\x07\x01\x02\xc4\x00", RefusalReason.UNKNOWN_KIND),
        (b"\x94\xff\x01\x02\xc4\x00", RefusalReason.UNKNOWN_KIND),
        (b"\x94\xa1x\x01\x02\xc4\x00", RefusalReason.UNKNOWN_KIND),
        (b"\x94\x00\xcc\x01\x02\xc4\x00", RefusalReason.NOT_CANONICAL),
        (b"\x94\xcc\x00\x01\x02\xc4\x00", RefusalReason.NOT_CANONICAL),
        (b"\xdc\x00\x04\x00\x01\x02\xc4\x00", RefusalReason.NOT_CANONICAL),
        (b"\x94\x00\x01\x02\xc5\x00\x00", RefusalReason.NOT_CANONICAL),
        (b"\x94\xcc\xc8\x92\x01\xc4\x00\xc4\x00\x90", RefusalReason.NOT_CANONICAL),
        (b"\x93\x03" + b"\x91" * 40 + b"\xc0\xc0", RefusalReason.TOO_DEEP),
    ],
)
def test_each_refusal_has_its_reason_and_is_counted(payload, reason):
    """The count belongs to this codec."""
    codec = make_codec()
    assert refusal_of(codec, payload) is reason
    assert codec.refused == {**dict.fromkeys(RefusalReason, 0), reason: 1}


def test_nesting_up_to_the_limit_passes():
    """One level more is too deep."""
    codec = make_codec()
    deepest = b"\x93\x03" + b"\x91" * (DEPTH_LIMIT - 1) + b"\xc0\xc0"
    deeper = b"\x93\x03" + b"\x91" * DEPTH_LIMIT + b"\xc0\xc0"
    assert codec.decode(deepest).names is None
    assert find_end(deepest) == len(deepest)
    assert refusal_of(codec, deeper) is RefusalReason.TOO_DEEP


def test_the_size_limit_is_that_of_the_type():
    """Its last byte passes; one more is refused, and is not encoded either."""
    codec = Codec(TYPES, size_limit={Vote: 20, Certificate: 1_000, Lenient: 5})
    room = 20 - len(codec.encode(Vote(1, 2, b"")))
    assert codec.decode(codec.encode(Vote(1, 2, bytes(room)))).signature == bytes(room)
    longer = msgspec.msgpack.encode(Vote(1, 2, bytes(room + 1)))
    assert refusal_of(codec, longer) is RefusalReason.OVERSIZE
    assert refusal_of(codec, bytes(1_001)) is RefusalReason.OVERSIZE
    with pytest.raises(CodecError, match="Vote of 21 bytes is over its limit of 20"):
        codec.encode(Vote(1, 2, bytes(room + 1)))


@given(MESSAGES, st.binary(max_size=5))
def test_the_walk_finds_the_end_and_the_tag(message, rest):
    """Whatever follows."""
    payload = make_codec().encode(message)
    assert find_end(payload + rest) == len(payload)
    assert read_tag(payload + rest) == type(message).__struct_config__.tag


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**64 - 1)
        | st.binary(max_size=400)
        | st.text(max_size=300)
        | st.floats()
        | st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=300)),
        lambda inner: st.lists(inner) | st.dictionaries(st.integers(0, 9), inner),
        max_leaves=30,
    )
)
def test_the_walk_agrees_with_msgpack(value):
    """On the end of every kind of value."""
    payload = msgpack.packb(value)
    assert find_end(payload + b"\xc1") == len(payload)


def make_type(**options) -> type:
    return msgspec.defstruct("Wrong", [("x", int)], **options)


@pytest.mark.parametrize(
    "kind",
    [
        make_type(frozen=True, tag=1),
        make_type(array_like=True, tag=1),
        make_type(array_like=True, frozen=True),
        make_type(array_like=True, frozen=True, tag="one"),
        make_type(array_like=True, frozen=True, tag=-1),
        int,
    ],
)
def test_types_that_cannot_travel_are_refused(kind):
    """A wire type is a frozen array with an int tag."""
    with pytest.raises(CodecError, match="must be a frozen array_like Struct"):
        Codec([kind], size_limit=10)


def test_a_codec_checks_its_types_together():
    """Two types with one tag, a type without a limit, and no type at all."""
    with pytest.raises(CodecError, match="has the tag 0"):
        Codec([Vote, make_type(array_like=True, frozen=True, tag=0)], size_limit=10)
    with pytest.raises(CodecError, match="Lenient needs a size limit"):
        Codec(TYPES, size_limit={Vote: 10, Certificate: 10})
    with pytest.raises(CodecError, match="at least one type"):
        Codec([], size_limit=10)


def test_a_message_of_another_type_is_not_encoded():
    """It would be refused by every peer."""
    with pytest.raises(CodecError, match="Inner is not one of this codec's types"):
        make_codec().encode(Inner(1, b""))
