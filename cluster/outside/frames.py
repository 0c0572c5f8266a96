"""Frames between the test bed and an application: a JSON object on a line, or a msgpack map behind its length.

A frame holds text, whole numbers, booleans, lists, maps, and byte strings; JSON carries these as hexadecimal text.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from math import isfinite
from typing import Final, Protocol, TypeAlias

import msgspec

FRAME_BYTES_MAX: Final = 16 * 1024 * 1024
"""The longest frame."""

INTEGER_MAX: Final = 2**53 - 1
"""The greatest whole number of a JSON frame; a larger number is a decimal string there."""

LENGTH_BYTES: Final = 4
"""The number of little-endian bytes of the length before a msgpack frame."""

DEPTH_MAX: Final = 64
"""The deepest nesting of maps and lists in a frame: any reader and any record of it can follow this depth."""

REASON_CHARACTERS_MAX: Final = 1_000
"""Most characters of a reason: an answer may have 16 MiB of text in place of another kind."""

_CONTAINERS_MAX: Final = 5 * 1024 * 1024
"""Most bytes of a msgpack frame that can begin a map or a list: each takes 1 byte there, and 70 in memory."""

_BEGINNINGS: Final = bytes([*range(0x80, 0xA0), 0xDC, 0xDD, 0xDE, 0xDF])
"""The bytes that begin a map or a list in msgpack; a byte string may hold them too, but hardly as many."""

_KEYS: Final = {str}
_KINDS: Final = {str, int, bool, float, bytes, list, dict, type(None)}
"""Kinds of decoded values: msgpack also has times and extensions, which no frame holds."""

_INT64_MIN: Final = -(2**63)
_UINT64_MAX: Final = 2**64 - 1

_HEX: Final = re.compile(r"(?:[0-9a-f]{2})*")

Value: TypeAlias = "bool | int | str | bytes | list[Value] | tuple[Value, ...] | Mapping[str, Value] | None"
"""Content of a frame."""


class FrameError(Exception):
    """Bytes that are no frame, or unexpected content; a long reason is cut."""

    def __init__(self, reason: str) -> None:
        is_long = len(reason) > REASON_CHARACTERS_MAX
        super().__init__(f"{reason[:REASON_CHARACTERS_MAX]}..." if is_long else reason)


class Framing(Protocol):
    """The form of the frames on an application's standard streams."""

    name: str

    def encode(self, message: Mapping[str, Value]) -> bytes:
        """Return the frame of a message; raises FrameError if it is too long."""

    def take(self, buffer: bytearray) -> dict[str, object] | None:
        """Remove the first frame from a buffer and return its content; None while it is incomplete.

        Raises:
            FrameError: The buffer does not begin with a frame, or the frame is too long.
        """

    def as_bytes(self, value: object) -> bytes:
        """Return a byte string of a frame; raises FrameError."""


class JsonLines:
    """A JSON object a line, UTF-8."""

    name = "json"

    def encode(self, message: Mapping[str, Value]) -> bytes:
        """Return the frame of a message."""
        return _not_too_long(msgspec.json.encode(in_json(message)) + b"\n")

    def take(self, buffer: bytearray) -> dict[str, object] | None:
        """Remove the first line from a buffer and return its object."""
        end = buffer.find(b"\n", 0, FRAME_BYTES_MAX)
        if end < 0:
            if len(buffer) >= FRAME_BYTES_MAX:
                raise FrameError(
                    f"{len(buffer):,} bytes came without the end of a line; a frame has {FRAME_BYTES_MAX:,}"
                )
            return None
        line = bytes(buffer[:end])
        del buffer[: end + 1]
        try:
            content = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise FrameError(f"the line {shown(line)} is no JSON: {error}") from None
        return _as_map(content, line)

    def as_bytes(self, value: object) -> bytes:
        """Return the bytes of a hexadecimal text."""
        if not isinstance(value, str):
            raise FrameError(f"{kind_of(value)} came, lower-case hexadecimal text was expected")
        if _HEX.fullmatch(value) is None:
            raise FrameError(f"{shown(value.encode(errors='replace'))} is no lower-case hexadecimal text")
        return bytes.fromhex(value)


class MsgpackFrames:
    """A msgpack map after its length."""

    name = "msgpack"

    def encode(self, message: Mapping[str, Value]) -> bytes:
        """Return the frame of a message."""
        content = _not_too_long(msgspec.msgpack.encode(message))
        return len(content).to_bytes(LENGTH_BYTES, "little") + content

    def take(self, buffer: bytearray) -> dict[str, object] | None:
        """Remove the first frame from a buffer and return its map."""
        if len(buffer) < LENGTH_BYTES:
            return None
        length = int.from_bytes(buffer[:LENGTH_BYTES], "little")
        if length > FRAME_BYTES_MAX:
            start = shown(bytes(buffer[:32]))
            raise FrameError(f"the length {length:,} came, at most {FRAME_BYTES_MAX:,} was expected; it begins {start}")
        if len(buffer) < LENGTH_BYTES + length:
            return None
        content = bytes(buffer[LENGTH_BYTES : LENGTH_BYTES + length])
        del buffer[: LENGTH_BYTES + length]
        if length > _CONTAINERS_MAX and length - len(content.translate(None, _BEGINNINGS)) > _CONTAINERS_MAX:
            raise FrameError(f"the frame {shown(content)} has millions of maps and lists")
        try:
            decoded = msgspec.msgpack.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError) as error:
            raise FrameError(f"the frame {shown(content)} is no msgpack: {error}") from None
        return _as_map(decoded, content)

    def as_bytes(self, value: object) -> bytes:
        """Return a byte string."""
        if not isinstance(value, bytes):
            raise FrameError(f"{kind_of(value)} came, a byte string was expected")
        return value


FRAMINGS: Final[Mapping[str, Framing]] = {framing.name: framing for framing in (JsonLines(), MsgpackFrames())}
"""Every framing by its name in a scenario."""


def kind_of(value: object) -> str:
    """Return the kind of a value in words."""
    kinds = {bool: "a boolean", int: "a whole number", float: "a number with a fraction", str: "text"}
    kinds |= {bytes: "a byte string", list: "a list", dict: "a map", type(None): "nothing"}
    return kinds.get(type(value), type(value).__name__)


def shown(content: bytes) -> str:
    """Return the beginning of some bytes as text for a message."""
    text = content[:80].decode(errors="replace").encode("unicode_escape").decode()
    return f"`{text}{'...' if len(content) > len(content[:80]) else ''}`"


def in_json(value: Value) -> object:
    """Return a value as JSON carries it: bytes as hexadecimal text, large numbers as decimal strings."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {key: in_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [in_json(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > INTEGER_MAX:
        return str(value)
    return value


def _not_too_long(frame: bytes) -> bytes:
    if len(frame) > FRAME_BYTES_MAX:
        raise FrameError(f"a request of {len(frame):,} bytes is longer than a frame, {FRAME_BYTES_MAX:,}")
    return frame


def _as_map(content: object, frame: bytes) -> dict[str, object]:
    if not isinstance(content, dict):
        raise FrameError(f"{kind_of(content)} came, a map with text keys was expected: {shown(frame)}")
    keys: Iterable[object] = content
    values: Collection[object] = content.values()
    for _ in range(DEPTH_MAX):
        kinds = {*map(type, values)}
        fault = _fault_of({*map(type, keys)}, kinds, values)
        if fault:
            raise FrameError(f"{fault}: {shown(frame)}")
        # A whole layer in each pass: large answers are lists of small maps, and a call for each costs more than
        # decoding them.
        maps = [value for value in values if type(value) is dict] if dict in kinds else []
        lists = [value for value in values if type(value) is list] if list in kinds else []
        if not maps and not lists:
            return content
        keys = chain.from_iterable(maps)
        values = [*chain.from_iterable(map(dict.values, maps)), *chain.from_iterable(lists)]
    raise FrameError(f"more than {DEPTH_MAX} maps and lists came within each other: {shown(frame)}")


def _fault_of(keys: set[type], kinds: set[type], values: Iterable[object]) -> str:
    """Return why some maps and lists do not belong in a frame, by their keys' and values' kinds; else nothing."""
    if not keys <= _KEYS:
        return "a map with other keys came, a map with text keys was expected"
    if not kinds <= _KINDS:
        return f"{kind_of(next(value for value in values if type(value) not in _KINDS))} came, which no frame holds"
    if int in kinds:
        numbers = [value for value in values if type(value) is int]
        if min(numbers) < _INT64_MIN or max(numbers) > _UINT64_MAX:
            return "a whole number beyond 64 bits came"
    # NaN differs from itself: a recorded answer with it would never be found again.
    if float in kinds and not all(isfinite(value) for value in values if type(value) is float):
        return "a number that is not finite came"
    return ""
