"""The wire format of protocol buffers, as far as a trace needs it: numbers, texts and messages within messages."""

from typing import Final, TypeAlias

Field: TypeAlias = tuple[int, "int | str | bytes | Fixed64"]
"""A field's number and its value; bytes are an encoded message."""

VARINT: Final = 0
FIXED64: Final = 1
DELIMITED: Final = 2


class Fixed64(int):
    """A number of eight bytes."""


def varint(number: int) -> bytes:
    """Return a number in groups of seven bits, the lowest first; a negative number as 64-bit two's complement."""
    number &= (1 << 64) - 1
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def message(*fields: Field) -> bytes:
    """Return an encoded message."""
    encoded = bytearray()
    for number, value in fields:
        if isinstance(value, Fixed64):
            encoded += varint(number << 3 | FIXED64) + int(value).to_bytes(8, "little")
        elif isinstance(value, int):
            encoded += varint(number << 3 | VARINT) + varint(value)
        else:
            content = value.encode() if isinstance(value, str) else value
            encoded += varint(number << 3 | DELIMITED) + varint(len(content)) + content
    return bytes(encoded)
