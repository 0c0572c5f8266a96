"""A walk over msgpack bytes without decoding and without recursion: a value's end, its nesting depth, its tag.

The decoder follows nesting by recursion, in C, so that a hostile payload must be measured before it is decoded. The
walk skips over strings and binaries by their length and costs about 0.15 us an element.
"""

from enum import Enum
from typing import Final

DEPTH_LIMIT: Final = 32
"""The deepest nesting of containers. No wire type nests nearly as deep; the decoder itself takes about a thousand."""

_NOT_CONTAINERS: Final = bytes(byte for byte in range(256) if not (0x80 <= byte < 0xA0 or 0xDC <= byte <= 0xDF))

_SCALAR_BYTES: Final = {
    **dict.fromkeys((*range(0x80), *range(0xE0, 0x100), 0xC0, 0xC2, 0xC3), 0),
    **{0xA0 + length: length for length in range(32)},
    **{0xCA + power: 4 << power for power in range(2)},
    **{0xCC + power: 1 << power for power in range(4)},
    **{0xD0 + power: 1 << power for power in range(4)},
    **{0xD4 + power: 1 + (1 << power) for power in range(5)},
}
"""Bytes after the first byte of a value whose first byte fixes its size."""

_LENGTH_BYTES: Final = {
    **{0xC4 + power: (1 << power, 0) for power in range(3)},
    **{0xD9 + power: (1 << power, 0) for power in range(3)},
    **{0xC7 + power: (1 << power, 1) for power in range(3)},
}
"""Binaries, strings and extensions: the width of the length, and the bytes beyond that length."""

_CONTAINER_WIDTH: Final = {0xDC: (2, 1), 0xDD: (4, 1), 0xDE: (2, 2), 0xDF: (4, 2)}
"""Long arrays and maps: the width of the count, and the number of values for each counted element."""

_SHORT_BINARY: Final = 0xC4
_MIDDLE_BINARY: Final = 0xC5

_UNSIGNED_BYTES: Final = {0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8}


class RefusalReason(Enum):
    """Why a payload was refused."""

    OVERSIZE = "oversize"
    MALFORMED = "malformed"
    UNKNOWN_KIND = "unknown-kind"
    WRONG_TYPE = "wrong-type"
    TRAILING = "trailing"
    TOO_DEEP = "too-deep"
    NOT_CANONICAL = "not-canonical"


class Refused(Exception):  # noqa: N818  # the answer to a peer's bytes, not an error of ours
    """A payload is no message."""

    def __init__(self, reason: RefusalReason, detail: str) -> None:
        super().__init__(f"{reason.value}: {detail}")
        self.reason = reason
        self.detail = detail


def is_surely_shallow(payload: bytes) -> bool:
    """Return, at the speed of a `bytes.translate`, whether a payload has too few container bytes to nest too deep."""
    return len(payload.translate(None, _NOT_CONTAINERS)) <= DEPTH_LIMIT


def read_tag(payload: bytes) -> int:
    """Return the integer with which an encoded array starts, without decoding the rest.

    Raises:
        Refused: the payload is no array (wrong type), is cut short (malformed), or has no such integer (unknown kind).
    """
    if not payload:
        raise Refused(RefusalReason.MALFORMED, "empty")
    first = payload[0]
    width = _CONTAINER_WIDTH[first][0] if first in {0xDC, 0xDD} else 0
    if not width and not 0x90 <= first < 0xA0:
        raise Refused(RefusalReason.WRONG_TYPE, f"not an array: first byte {first:#04x}")
    start = 1 + width
    if start >= len(payload):
        raise Refused(RefusalReason.MALFORMED, "cut short before the tag")
    if payload[start] < 0x80:
        return payload[start]
    tag_bytes = _UNSIGNED_BYTES.get(payload[start])
    if tag_bytes is None:
        raise Refused(RefusalReason.UNKNOWN_KIND, f"no tag of 0 or more: byte {payload[start]:#04x}")
    return int.from_bytes(payload[start + 1 : start + 1 + tag_bytes], "big")


def find_end(payload: bytes) -> int:
    """Return where the first value of a payload ends.

    Raises:
        Refused: the value is cut short or not msgpack (malformed), or nests deeper than `DEPTH_LIMIT` (too deep).
    """
    outer: list[int] = []  # how many values each open container around the innermost still lacks
    missing, position = 1, 0
    try:
        while True:
            while not missing:
                if not outer:
                    return _check_end(payload, position)
                missing = outer.pop()
            missing -= 1
            first = payload[position]
            # Small values and binaries below 64 KiB are nearly all values of a block: no call for them.
            if first in _SCALAR_BYTES:
                position += 1 + _SCALAR_BYTES[first]
            elif first == _SHORT_BINARY:
                position += 2 + payload[position + 1]
            elif first == _MIDDLE_BINARY:
                position += 3 + (payload[position + 1] << 8 | payload[position + 2])
            else:
                position, children = _step_over(payload, position)
                if children:
                    outer.append(missing)
                    missing = children
                    if len(outer) > DEPTH_LIMIT:
                        raise Refused(RefusalReason.TOO_DEEP, f"more than {DEPTH_LIMIT} levels at byte {position}")
    except IndexError:
        raise Refused(RefusalReason.MALFORMED, f"cut short: {len(payload)} bytes") from None


def _check_end(payload: bytes, end: int) -> int:
    if end > len(payload):
        raise Refused(RefusalReason.MALFORMED, f"cut short: {len(payload)} bytes where a value ends at {end}")
    return end


def _step_over(payload: bytes, position: int) -> tuple[int, int]:
    """Return the position after a value with a length, or after a container's head, and the container's value count."""
    first = payload[position]
    end = position + 1
    if first in _LENGTH_BYTES:
        width, extra = _LENGTH_BYTES[first]
        return end + width + extra + int.from_bytes(payload[end : end + width], "big"), 0
    if first < 0xA0:
        return end, first - 0x90 if first >= 0x90 else 2 * (first - 0x80)
    if first in _CONTAINER_WIDTH:
        width, factor = _CONTAINER_WIDTH[first]
        return end + width, factor * int.from_bytes(payload[end : end + width], "big")
    raise Refused(RefusalReason.MALFORMED, f"byte {first:#04x} at {position} is not msgpack")
