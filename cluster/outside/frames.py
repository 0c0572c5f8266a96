"""Frames between the test bed and an application: a JSON object on a line, or a msgpack map behind its length.

A frame holds text, whole numbers, booleans, lists, maps, and byte strings; JSON carries these as hexadecimal text.
"""

import re
from collections.abc import Mapping
from typing import Final, Protocol, TypeAlias

import msgspec

FRAME_BYTES_MAX: Final = 16 * 1024 * 1024
"""The longest frame."""

INTEGER_MAX: Final = 2**53 - 1
"""The greatest whole number of a JSON frame; a larger one is a decimal string there."""

LENGTH_BYTES: Final = 4
"""A msgpack frame begins with its length in so many little-endian bytes."""

_HEX: Final = re.compile(r"(?:[0-9a-f]{2})*")

Value: TypeAlias = "bool | int | str | bytes | list[Value] | tuple[Value, ...] | Mapping[str, Value] | None"
"""Content of a frame."""


class FrameError(Exception):
    """Bytes that are no frame, or content that is not what was expected."""


class Framing(Protocol):
    """The form of the frames on the standard streams of one application."""

    name: str

    def encode(self, message: Mapping[str, Value]) -> bytes:
        """Return the frame of a message; raises FrameError if it is too long."""

    def take(self, buffer: bytearray) -> dict[str, object] | None:
        """Remove the first frame from a buffer and return its content; None while it is not whole.

        Raises:
            FrameError: The buffer does not begin with a frame, or the frame is too long.
        """

    def as_bytes(self, value: object) -> bytes:
        """Return a byte string of a frame; raises FrameError."""


class JsonLines:
    """One JSON object a line, UTF-8."""

    name = "json"

    def encode(self, message: Mapping[str, Value]) -> bytes:
        """Return the frame of a message."""
        return _not_too_long(msgspec.json.encode(_in_json(message)) + b"\n")

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
        except (msgspec.DecodeError, RecursionError) as error:
            raise FrameError(f"the line {shown(line)} is no JSON: {error}") from None
        return _as_map(content, line)

    def as_bytes(self, value: object) -> bytes:
        """Return the bytes that a text has in hexadecimal."""
        if not isinstance(value, str):
            raise FrameError(f"{kind_of(value)} came, lower-case hexadecimal text was expected")
        if _HEX.fullmatch(value) is None:
            raise FrameError(f"{shown(value.encode(errors='replace'))} is no lower-case hexadecimal text")
        return bytes.fromhex(value)


class MsgpackFrames:
    """A msgpack map behind its length."""

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
        try:
            decoded = msgspec.msgpack.decode(content)
        except (msgspec.DecodeError, RecursionError, TypeError) as error:
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


def _in_json(value: Value) -> object:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {key: _in_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_in_json(each) for each in value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > INTEGER_MAX:
        return str(value)
    return value


def _not_too_long(frame: bytes) -> bytes:
    if len(frame) > FRAME_BYTES_MAX:
        raise FrameError(f"a request of {len(frame):,} bytes is longer than a frame, {FRAME_BYTES_MAX:,}")
    return frame


def _as_map(content: object, frame: bytes) -> dict[str, object]:
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise FrameError(f"{kind_of(content)} came, a map with text keys was expected: {shown(frame)}")
    return content
