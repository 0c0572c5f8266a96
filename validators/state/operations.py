"""Encodings of the operation log's three operations (docs/state.md).

An operation is kept and hashed as its bytes; nothing in the database holds a decoded form. The two encodings differ
in layout, so each is a class with the interface `OperationCodec`:

    variable   D2 || key || value        D1 || key       D3 || option byte [|| value] || varint floor
    fixed      D2 || key || 32 bytes     D1 || key       D3 || flag || 32 bytes || be8 floor, zeros up to 65 bytes

A value is bare 32 bytes (always so in the fixed encoding) or varint(length) || bytes.
Encoding is injective, so two updates of a key carry the same value if and only if their bytes are equal.
"""

from collections.abc import Mapping
from typing import Final, Literal, NoReturn, Protocol, TypeAlias

import msgspec

from validators.state.errors import BadKey, BadValue, CorruptLog

Encoding: TypeAlias = Literal["variable", "fixed"]
"""Names of the two encodings."""

DELETE: Final = 0xD1
"""First byte of an operation that removes a key."""
UPDATE: Final = 0xD2
"""First byte of an operation that gives a key its value, whether new, changed or merely moved."""
COMMIT: Final = 0xD3
"""First byte of the operation that ends each batch and states the inactivity floor."""

KEY_BYTES: Final = 32
"""Length of every key."""
KEY_END: Final = 1 + KEY_BYTES
"""A key lies at [1:KEY_END] of its update or delete, in both encodings."""
BARE_VALUE_BYTES: Final = 32
"""Length of a value that is written without its length."""
FIXED_OPERATION_BYTES: Final = KEY_END + BARE_VALUE_BYTES
"""Length of every operation of the fixed encoding: that of its largest, the update."""
FLOOR_BYTES: Final = 8
"""Width of the floor in the fixed encoding, and its limit in the variable encoding."""
VALUE_LENGTH_BITS: Final = 32
"""A value's length is an unsigned integer of this many bits."""
SHORT_LENGTHS: Final = tuple(bytes((length,)) for length in range(0x80))
"""The lengths whose encoding is one byte, encoded; a table, because most values are short and every write needs one."""


class Operation(msgspec.Struct, frozen=True, gc=False):
    """One decoded operation: `kind` is its first byte; `value` is a commit's metadata; `floor` is 0 unless a commit."""

    kind: int
    key: bytes = b""
    value: bytes | None = None
    floor: int = 0


class OperationCodec(Protocol):
    """A codec of one encoding; keys are 32 bytes, which the caller has checked."""

    @property
    def value_bytes(self) -> int | None:
        """The one length that values must have, or None when any will do."""

    def encode_update(self, key: bytes, value: bytes) -> bytes:
        """Return the operation that sets `key` to the value."""

    def encode_delete(self, key: bytes) -> bytes:
        """Return the operation that removes `key`."""

    def encode_commit(self, metadata: bytes | None, floor: int) -> bytes:
        """Return the operation that ends a batch."""

    def encode_writes(self, writes: Mapping[bytes, bytes | None]) -> list[bytes]:
        """Return the update or delete of each write; the caller has checked the values' length."""

    def value_of(self, update: bytes) -> bytes:
        """Return the value inside an update that this codec wrote; nothing is checked."""

    def decode(self, operation: bytes) -> Operation:
        """Return the decoded operation; raise CorruptLog unless this codec could have written exactly these bytes."""


def choose_codec(encoding: Encoding, *, bare_values: bool) -> OperationCodec:
    """Return the codec of an encoding; the fixed encoding writes values bare in any case."""
    if encoding == "fixed":
        return FixedCodec()
    return VariableCodec(BARE_VALUE_BYTES if bare_values else None)


def encode_varint(number: int) -> bytes:
    """Encode an unsigned integer in groups of seven bits, lowest first, the top bit set on all but the last."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def decode_varint(data: bytes, offset: int, bits: int) -> tuple[int, int]:
    """Decode an unsigned integer in its shortest form.

    Args:
        data: Bytes that hold it.
        offset: Where it starts.
        bits: The number must fit in this many bits.

    Returns:
        The number and the offset of the first byte after it.

    Raises:
        CorruptLog: The bytes end too soon, or the form is not the shortest, or the number is too large.
    """
    number = 0
    shift = 0
    while offset < len(data) and shift < bits:
        byte = data[offset]
        offset += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if number >> bits or (byte == 0 and shift):
                break
            return number, offset
        shift += 7
    msg = f"no integer of {bits} bits in its shortest form ends at byte {offset} of an operation of {len(data)} bytes"
    raise CorruptLog(msg)


def require_key(key: bytes) -> None:
    """Raise BadKey unless a key has 32 bytes."""
    if len(key) != KEY_BYTES:
        msg = f"a key of {len(key)} bytes instead of {KEY_BYTES}"
        raise BadKey(msg)


def require_length(value: bytes, value_bytes: int | None) -> None:
    """Raise BadValue unless a value has the length that its codec asks for."""
    if value_bytes is not None and len(value) != value_bytes:
        msg = f"a value of {len(value)} bytes in a database whose values have {value_bytes}"
        raise BadValue(msg)


class VariableCodec:
    """The encoding without padding; values have one length and stand bare, or carry their length."""

    __slots__ = ("value_bytes",)

    def __init__(self, value_bytes: int | None) -> None:
        self.value_bytes: int | None = value_bytes

    def encode_update(self, key: bytes, value: bytes) -> bytes:
        """Return the operation that sets `key` to the value."""
        length = len(value)
        if self.value_bytes is None:
            return b"".join((b"\xd2", key, SHORT_LENGTHS[length] if length < 0x80 else encode_varint(length), value))
        require_length(value, self.value_bytes)
        return b"\xd2" + key + value

    def encode_delete(self, key: bytes) -> bytes:
        """Return the operation that removes `key`."""
        return b"\xd1" + key

    def encode_commit(self, metadata: bytes | None, floor: int) -> bytes:
        """Return the operation that ends a batch."""
        if metadata is None:
            return b"\xd3\x00" + encode_varint(floor)
        require_length(metadata, self.value_bytes)
        length = encode_varint(len(metadata)) if self.value_bytes is None else b""
        return b"\xd3\x01" + length + metadata + encode_varint(floor)

    def encode_writes(self, writes: Mapping[bytes, bytes | None]) -> list[bytes]:
        """Return the update or delete of each write; in one go, because one call each would double the cost."""
        if self.value_bytes is not None:
            return [b"\xd1" + key if value is None else b"\xd2" + key + value for key, value in writes.items()]
        short = SHORT_LENGTHS
        return [
            b"\xd1" + key
            if value is None
            else b"\xd2" + key + (short[len(value)] if len(value) < 0x80 else encode_varint(len(value))) + value
            for key, value in writes.items()
        ]

    def value_of(self, update: bytes) -> bytes:
        """Return the value inside an update that this codec wrote; nothing is checked."""
        if self.value_bytes is not None:
            return update[KEY_END:]
        start = KEY_END
        while update[start] & 0x80:
            start += 1
        return update[start + 1 :]

    def decode(self, operation: bytes) -> Operation:
        """Return the decoded operation; raise CorruptLog unless this codec could have written exactly these bytes."""
        kind = operation[0] if operation else None
        if kind == COMMIT:
            return self._decode_commit(operation)
        key = operation[1:KEY_END]
        if kind == UPDATE and len(key) == KEY_BYTES:
            # Nearly all values are short: without this an audit spends a third of its time on reading lengths.
            length = len(operation) - KEY_END - 1
            if self.value_bytes is None and 0 <= length < len(SHORT_LENGTHS) and operation[KEY_END] == length:
                return Operation(UPDATE, key, operation[KEY_END + 1 :])
            value, end = self._decode_value(operation, KEY_END)
            return Operation(UPDATE, key, value) if end == len(operation) else refuse(operation)
        if kind == DELETE and len(operation) == KEY_END:
            return Operation(DELETE, key)
        return refuse(operation)

    def _decode_commit(self, operation: bytes) -> Operation:
        """Decode an operation that starts as a commit does."""
        metadata: bytes | None = None
        end = 2
        if operation[1:2] == b"\x01":
            metadata, end = self._decode_value(operation, end)
        elif operation[1:2] != b"\x00":
            return refuse(operation)
        floor, end = decode_varint(operation, end, 8 * FLOOR_BYTES)
        return Operation(COMMIT, b"", metadata, floor) if end == len(operation) else refuse(operation)

    def _decode_value(self, operation: bytes, start: int) -> tuple[bytes, int]:
        """Decode the value at an offset; return it and the offset after it."""
        length = self.value_bytes
        if length is None:
            length, start = decode_varint(operation, start, VALUE_LENGTH_BITS)
        end = start + length
        if end > len(operation):
            refuse(operation)
        return operation[start:end], end


class FixedCodec:
    """The encoding that pads every operation with zeros to the length of an update with a bare value."""

    __slots__ = ()

    @property
    def value_bytes(self) -> int:
        """Values are always bare."""
        return BARE_VALUE_BYTES

    def encode_update(self, key: bytes, value: bytes) -> bytes:
        """Return the operation that sets `key` to the value."""
        require_length(value, BARE_VALUE_BYTES)
        return b"\xd2" + key + value

    def encode_delete(self, key: bytes) -> bytes:
        """Return the operation that removes `key`."""
        return b"\xd1" + key + bytes(BARE_VALUE_BYTES)

    def encode_commit(self, metadata: bytes | None, floor: int) -> bytes:
        """Return the operation that ends a batch."""
        if metadata is not None:
            require_length(metadata, BARE_VALUE_BYTES)
        option = b"\x00" + bytes(BARE_VALUE_BYTES) if metadata is None else b"\x01" + metadata
        return (b"\xd3" + option + floor.to_bytes(FLOOR_BYTES, "big")).ljust(FIXED_OPERATION_BYTES, b"\0")

    def encode_writes(self, writes: Mapping[bytes, bytes | None]) -> list[bytes]:
        """Return the update or delete of each write; in one go, because one call each would double the cost."""
        padding = bytes(BARE_VALUE_BYTES)
        return [b"\xd1" + key + padding if value is None else b"\xd2" + key + value for key, value in writes.items()]

    def value_of(self, update: bytes) -> bytes:
        """Return the value inside an update that this codec wrote; nothing is checked."""
        return update[KEY_END:]

    def decode(self, operation: bytes) -> Operation:
        """Return the decoded operation; raise CorruptLog unless this codec could have written exactly these bytes."""
        if len(operation) != FIXED_OPERATION_BYTES:
            return refuse(operation)
        kind = operation[0]
        if kind == COMMIT:
            return self._decode_commit(operation)
        key = operation[1:KEY_END]
        value = operation[KEY_END:]
        if kind == UPDATE:
            return Operation(UPDATE, key, value)
        return Operation(DELETE, key) if kind == DELETE and not any(value) else refuse(operation)

    def _decode_commit(self, operation: bytes) -> Operation:
        """Decode an operation that starts as a commit does, by writing it again."""
        start = 2 + BARE_VALUE_BYTES
        metadata = operation[2:start] if operation[1] else None
        floor = int.from_bytes(operation[start : start + FLOOR_BYTES], "big")
        if self.encode_commit(metadata, floor) != operation:
            return refuse(operation)
        return Operation(COMMIT, b"", metadata, floor)


def refuse(operation: bytes) -> NoReturn:
    """Raise CorruptLog for bytes that are not a valid operation."""
    msg = f"not an operation: {len(operation)} bytes that start with {operation[:8].hex() or 'nothing'}"
    raise CorruptLog(msg)
