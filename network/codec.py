"""The wire codec: strict msgpack, which refuses every bad payload.

A message is the array [tag, fields...] of a frozen msgspec Struct. Each message has exactly one encoding: a payload in
another encoding is refused, so that two validators never hold different bytes for one message. A refusal has a reason
and is counted; it is the only exception that `decode` raises.

The depth of nesting is bounded before msgspec sees the payload (see `network.wire`). A payload with few bytes that
could open a container cannot be deep. This test takes 0.2 us and suffices for most messages; only the rest are walked.
"""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any, Final, Generic, TypeVar, get_origin

import msgspec

from network.memo import Memo
from network.wire import RefusalReason, Refused, find_end, is_surely_shallow, read_tag

__all__ = ["Codec", "CodecError", "RefusalReason", "Refused"]

T = TypeVar("T")


class CodecError(Exception):
    """The codec was given unsuitable types, or own messages that cannot travel."""


SHARED_BYTES_MAX: Final = 8_192
"""A longer message is decoded by each receiver: it would take too much room in a memo."""


class Codec(Generic[T]):
    """Encodes and decodes one closed set of message types.

    Args:
        types: frozen msgspec Structs with `array_like=True` and an int tag of their own.
        size_limit: the longest payload in bytes, for all types or for each.
        shared: messages that other codecs of these types have decoded.

    Raises:
        CodecError: a type does not fit, two types share a tag, or a type has no size limit.
    """

    def __init__(
        self,
        types: Sequence[type[T]],
        *,
        size_limit: int | Mapping[type[Any], int],
        shared: Memo[T] | None = None,
    ) -> None:
        self._shared = shared
        self._limits_by_tag: dict[int, int] = {}
        self._limits_by_type: dict[type[Any], int] = {}
        for kind in types:
            self._add_type(kind, size_limit)
        if not self._limits_by_tag:
            raise CodecError("a codec needs at least one type")
        self._size_limit = max(self._limits_by_tag.values())
        self._encoder = msgspec.msgpack.Encoder()
        self._decoder: msgspec.msgpack.Decoder[T] = msgspec.msgpack.Decoder(reduce(or_, types))
        self.refused: dict[RefusalReason, int] = dict.fromkeys(RefusalReason, 0)

    def encode(self, message: T) -> bytes:
        """Return the only encoding of a message.

        Raises:
            CodecError: the message is of another type, or longer than its limit: no peer would accept it.
        """
        limit = self._limits_by_type.get(type(message))
        if limit is None:
            raise CodecError(f"{type(message).__name__} is not one of this codec's types")
        payload = self._encoder.encode(message)
        if len(payload) > limit:
            raise CodecError(f"{type(message).__name__} of {len(payload)} bytes is over its limit of {limit}")
        return payload

    def decode(self, payload: bytes) -> T:
        """Return the message whose encoding is `payload`.

        Raises:
            Refused: it is not the canonical encoding of a message of this codec; counted in `refused`.
        """
        if self._shared is not None and (known := self._shared.find(payload)) is not None:
            return known
        try:
            self._measure(payload)
            message = self._parse(payload)
            self._compare(message, payload)
        except Refused as refusal:
            self.refused[refusal.reason] += 1
            raise
        if self._shared is not None and len(payload) <= SHARED_BYTES_MAX:
            self._shared.keep(payload, message)
        return message

    def _add_type(self, kind: type[Any], size_limit: int | Mapping[type[Any], int]) -> None:
        kind = get_origin(kind) or kind
        config = getattr(kind, "__struct_config__", None)
        if config is None or not (config.array_like and config.frozen and type(config.tag) is int and config.tag >= 0):
            raise CodecError(f"{kind.__name__} must be a frozen array_like Struct with an int tag of 0 or more")
        if config.tag in self._limits_by_tag:
            raise CodecError(f"{kind.__name__} has the tag {config.tag} of another type")
        limit = size_limit if isinstance(size_limit, int) else size_limit.get(kind)
        if limit is None or limit <= 0:
            raise CodecError(f"{kind.__name__} needs a size limit above 0; got {limit}")
        self._limits_by_tag[config.tag] = limit
        self._limits_by_type[kind] = limit

    def _measure(self, payload: bytes) -> None:
        if len(payload) > self._size_limit:
            raise Refused(RefusalReason.OVERSIZE, f"{len(payload)} bytes, limit {self._size_limit}")
        tag = read_tag(payload)
        limit = self._limits_by_tag.get(tag)
        if limit is None:
            raise Refused(RefusalReason.UNKNOWN_KIND, f"tag {tag}, known are {sorted(self._limits_by_tag)}")
        if len(payload) > limit:
            raise Refused(RefusalReason.OVERSIZE, f"{len(payload)} bytes, limit {limit} for tag {tag}")
        if not is_surely_shallow(payload):
            find_end(payload)

    def _compare(self, message: T, payload: bytes) -> None:
        if self._encoder.encode(message) != payload:
            raise Refused(RefusalReason.NOT_CANONICAL, f"{type(message).__name__} is encoded in another way")

    def _parse(self, payload: bytes) -> T:
        try:
            return self._decoder.decode(payload)
        except msgspec.ValidationError as error:
            raise Refused(RefusalReason.WRONG_TYPE, str(error)) from error
        except (ValueError, OverflowError, RecursionError, MemoryError, msgspec.MsgspecError) as error:
            # ValueError stands for text that is not UTF-8; the other errors are not known to happen and must not kill.
            end = find_end(payload)
            if end < len(payload):
                raise Refused(RefusalReason.TRAILING, f"{len(payload) - end} bytes after the message") from error
            raise Refused(RefusalReason.MALFORMED, str(error)) from error
