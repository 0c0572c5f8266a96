"""The data of a page as a block of text: a JSON head and typed arrays, deflated, in base64.

Equal data has equal bytes, so that the same run has the same page. Arrays begin at multiples of eight bytes, because a
browser's typed arrays need this alignment. The arrays are little-endian on every machine.
"""

import base64
import json
import struct
import sys
import zlib
from array import array
from collections.abc import Mapping
from typing import Final

TYPES: Final = {"b": "Int8", "B": "Uint8", "h": "Int16", "H": "Uint16", "i": "Int32", "I": "Uint32", "d": "Float64"}
"""The browser's name of each array type, by Python's type code."""

ALIGNMENT: Final = 8
LEVEL: Final = 9


def pack(head: Mapping[str, object], arrays: "Mapping[str, array[int] | array[float]]") -> str:
    """Return head and arrays as text without special characters of HTML."""
    places: dict[str, tuple[str, int, int]] = {}
    body = bytearray()
    for name, values in arrays.items():
        body += bytes(-len(body) % ALIGNMENT)
        places[name] = (TYPES[values.typecode], len(body), len(values))
        body += _little_endian(values)
    encoded = json.dumps({**head, "arrays": places}, ensure_ascii=False, separators=(",", ":")).encode()
    encoded += b" " * (-(len(encoded) + ALIGNMENT) % ALIGNMENT)
    whole = struct.pack("<II", len(encoded), 0) + encoded + body
    return base64.b64encode(zlib.compress(whole, LEVEL)).decode()


def unpack(text: str) -> "tuple[dict[str, object], dict[str, array[int] | array[float]]]":
    """Return head and arrays of a packed text."""
    whole = zlib.decompress(base64.b64decode(text))
    (length, _) = struct.unpack_from("<II", whole)
    head: dict[str, object] = json.loads(whole[ALIGNMENT : ALIGNMENT + length])
    codes = {name: code for code, name in TYPES.items()}
    arrays: dict[str, array[int] | array[float]] = {}
    places = head.pop("arrays")
    assert isinstance(places, dict)
    for name, (kind, offset, count) in places.items():
        values = array(codes[kind])
        begin = ALIGNMENT + length + offset
        values.frombytes(whole[begin : begin + count * values.itemsize])
        if sys.byteorder == "big":
            values.byteswap()
        arrays[name] = values
    return head, arrays


def _little_endian(values: "array[int] | array[float]") -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()
