"""The fields of an application's answer, read strictly.

A field of another kind or size is a FrameError; its sentence names the field, the value found and the value expected.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from cluster.outside.frames import INTEGER_MAX, FrameError, Framing, Value, kind_of

REASONS: Final = ("expired", "insolvent", "cancelled")
"""Reasons of `timer-removed`."""

TIMER_EVENTS: Final = ("timer-set", "timer-fired", "timer-removed", "timer-deferred", "timer-moved")
"""Events that the test bed understands; all other events are hashed."""

TEXT_CHARACTERS_MAX: Final = 65_536
"""Most characters of a text that is a field of an answer: a name, a reason, a description."""

Event: TypeAlias = dict[str, Value]
"""An event of an application."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The outcome of a block: state root, events, and optional fields of the application."""

    root: bytes
    events: tuple[Event, ...]
    receipts: tuple[bytes, ...] | None = None
    included: tuple[bytes, ...] = ()
    cost_us: int | None = None


class AnswerFields:
    """The fields of an answer; every method reads a field by its kind, and raises FrameError for another kind."""

    def __init__(self, fields: Mapping[str, object], framing: Framing) -> None:
        self._fields = fields
        self._framing = framing

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def has(self, name: str) -> bool:
        """Return whether a field is there and is not null."""
        return self._fields.get(name) is not None

    def text(self, name: str) -> str:
        """Return a text."""
        value = self._take(name)
        if not isinstance(value, str):
            raise FrameError(f"`{name}` is {kind_of(value)}, text was expected")
        if len(value) > TEXT_CHARACTERS_MAX:
            raise FrameError(f"`{name}` has {len(value):,} characters, at most {TEXT_CHARACTERS_MAX:,} were expected")
        return value

    def number(self, name: str, most: int = INTEGER_MAX) -> int:
        """Return a whole number from 0 to `most`."""
        value = self._take(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise FrameError(f"`{name}` is {kind_of(value)}, a whole number was expected")
        if not 0 <= value <= most:
            raise FrameError(f"`{name}` is {value:,}, a whole number from 0 to {most:,} was expected")
        return value

    def is_true(self, name: str) -> bool:
        """Return whether a field is there and true."""
        value = self._fields.get(name, False)
        if not isinstance(value, bool):
            raise FrameError(f"`{name}` is {kind_of(value)}, a boolean was expected")
        return value

    def byte_string(self, name: str, length: int | None = None, most: int | None = None) -> bytes:
        """Return a byte string of a given length, or of at most a given length."""
        return self._as_byte_string(f"`{name}`", self._take(name), length, most)

    def several(self, name: str, length: int | None = None) -> tuple[bytes, ...]:
        """Return a list of byte strings."""
        return tuple(
            self._as_byte_string(f"`{name}` {index}", each, length) for index, each in enumerate(self._list(name))
        )

    def numbers(self, name: str) -> tuple[int, ...]:
        """Return a list of whole numbers."""
        found = self._list(name)
        for index, value in enumerate(found):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise FrameError(f"`{name}` {index} is {kind_of(value)}, a whole number from 0 on was expected")
        return tuple(value for value in found if isinstance(value, int))

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        found = self._list(name)
        for index, value in enumerate(found):
            if not isinstance(value, str):
                raise FrameError(f"`{name}` {index} is {kind_of(value)}, text was expected")
        return tuple(value for value in found if isinstance(value, str))

    def pairs(self, name: str) -> tuple[tuple[bytes, bytes], ...]:
        """Return a list of pairs of a key and a value, keys ascending."""
        pairs: list[tuple[bytes, bytes]] = []
        for index, each in enumerate(self._list(name)):
            if not isinstance(each, list) or len(each) != 2:
                raise FrameError(f"`{name}` {index} is {kind_of(each)}, a list of a key and a value was expected")
            key, value = (self._as_byte_string(f"`{name}` {index}", part) for part in each)
            if pairs and key <= pairs[-1][0]:
                raise FrameError(
                    f"`{name}` {index} has the key {key.hex()}, one above {pairs[-1][0].hex()} was expected"
                )
            pairs.append((key, value))
        return tuple(pairs)

    def events(self) -> tuple[Event, ...]:
        """Return the events of a block."""
        return tuple(_as_event(f"event {index}", each) for index, each in enumerate(self._list("events")))

    def _take(self, name: str) -> object:
        if name not in self._fields:
            raise FrameError(f"the answer has no `{name}`")
        return self._fields[name]

    def _list(self, name: str) -> list[object]:
        value = self._take(name)
        if not isinstance(value, list):
            raise FrameError(f"`{name}` is {kind_of(value)}, a list was expected")
        return value

    def _as_byte_string(self, what: str, value: object, length: int | None = None, most: int | None = None) -> bytes:
        try:
            content = self._framing.as_bytes(value)
        except FrameError as error:
            raise FrameError(f"{what}: {error}") from None
        if length is not None and len(content) != length:
            raise FrameError(f"{what} has {len(content)} bytes, {length} were expected")
        if most is not None and len(content) > most:
            raise FrameError(f"{what} has {len(content):,} bytes, at most {most:,} were expected")
        return content


def _as_event(what: str, value: object) -> Event:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise FrameError(f"{what} is {kind_of(value)}, a map with text keys was expected")
    event = {key: _as_event_value(f"{what}, `{key}`", each) for key, each in value.items()}
    name = event.get("event")
    if not isinstance(name, str):
        raise FrameError(f"{what}: `event` is {kind_of(name)}, a text with its kind was expected")
    if name in TIMER_EVENTS:
        _check_timer_event(f"{what}, {name}", event)
    return event


def _as_event_value(what: str, value: object) -> Value:
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        if abs(value) > INTEGER_MAX:
            raise FrameError(f"{what} is {value:,}, at most {INTEGER_MAX:,} was expected")
        return value
    if isinstance(value, list):
        return [_as_event_value(what, each) for each in value]
    raise FrameError(f"{what} is {kind_of(value)}; text, whole numbers, booleans and lists were expected")


def _check_timer_event(what: str, event: Event) -> None:
    if not isinstance(event.get("timer"), str):
        raise FrameError(f"{what}: `timer` is {kind_of(event.get('timer'))}, the text of its id was expected")
    if event["event"] in {"timer-set", "timer-moved"}:
        due = event.get("due")
        if not isinstance(due, int) or isinstance(due, bool) or due < 0:
            raise FrameError(f"{what}: `due` is {due!r}, a whole number from 0 on was expected")
    if event["event"] == "timer-removed" and event.get("why") not in REASONS:
        raise FrameError(f"{what}: `why` is {event.get('why')!r}, one of {', '.join(REASONS)} was expected")
