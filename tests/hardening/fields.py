"""Every field of every file of a record with every type and edge value, under a manifest that fits."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from checker.record.manifest import MANIFEST
from tests.support.hostile_records import HOSTILE, records_of, seal, write_records

STREAMS = ("blocks", "branches", "events", "roots", "summaries", "waits", "genesis")
DOCUMENTS = (MANIFEST, "scenario.json", "verdict.json")

DEPTH_MAX = 3
"""Levels of nested values whose fields are changed each by itself."""

PLAIN_EDGES: dict[str, Any] = {
    "nothing": None,
    "true": True,
    "minus one": -1,
    "nought": 0,
    "2^31": 1 << 31,
    "2^63": 1 << 63,
    "a fraction": 0.5,
    "no text": "",
    "controls": HOSTILE,
    "a long text": "x" * 200_000,
    "an empty list": [],
    "a list of lists": [[[[[[]]]]]],
    "an object": {"a": {}},
}

BINARY_EDGES: dict[str, Any] = {
    "2^64 - 1": (1 << 64) - 1,
    "-2^63": -(1 << 63),
    "no bytes": b"",
    "32 bytes": b"\xff" * 32,
    "many bytes": b"\0" * 200_000,
    "a surrogate": "\ud800",
    "not a number": float("nan"),
}
"""Values that JSON has no word for."""

WHOLE: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[: len(content) // 2],
    "doubled": lambda content: content * 2,
    "emptied": lambda _content: b"",
    "zeros": lambda content: bytes(len(content)),
    "a flipped bit": lambda content: content[:-3] + bytes([content[-3] ^ 4]) + content[-2:],
    "nested without end": lambda _content: b"\x91" * 100_000,
    "a length without content": lambda _content: b"\xdd\xff\xff\xff\xff",
    "brackets without end": lambda _content: b"[" * 100_000,
}


class Tampering(NamedTuple):
    """One change of a record: its file, the place in it, and what comes there."""

    file: str
    place: tuple[int | str, ...]
    edge: str

    def __str__(self) -> str:
        return f"{self.file} {'.'.join(map(str, self.place))}: {self.edge}"

    def apply(self, directory: Path) -> None:
        """Change a record and seal it."""
        path = directory / self.file
        if not self.place:
            path.write_bytes(WHOLE[self.edge](path.read_bytes()))
        elif self.file in DOCUMENTS:
            plain = msgspec.json.decode(path.read_bytes())
            path.write_bytes(msgspec.json.encode(_with(plain, self.place, PLAIN_EDGES[self.edge])))
        else:
            write_records(path, _with(records_of(path), self.place, (PLAIN_EDGES | BINARY_EDGES)[self.edge]))
        if self.file != MANIFEST:
            seal(directory)


def tamperings(directory: Path) -> Iterator[Tampering]:
    """Yield all changes of a record: of a stream those of the first and last record of each length and kind."""
    for file in (*(f"{name}.msgpack" for name in STREAMS), *DOCUMENTS):
        yield from (Tampering(file, (), edge) for edge in WHOLE)
        edges = PLAIN_EDGES if file in DOCUMENTS else PLAIN_EDGES | BINARY_EDGES
        for place in _places_in(directory / file):
            yield from (Tampering(file, place, edge) for edge in edges)


def _places_in(path: Path) -> Iterator[tuple[int | str, ...]]:
    if path.name in DOCUMENTS:
        yield from _places(msgspec.json.decode(path.read_bytes()), ())
        return
    records = records_of(path)
    shapes = {_shape(record): at for at, record in reversed([*enumerate(records)])}
    for at in sorted({*shapes.values(), len(records) - 1} if records else ()):
        yield (at,)
        yield from _places(records[at], (at,))


def _shape(record: Any) -> tuple[object, ...]:
    """Return what tells records of other fields apart: the kind of an event, and the number of values."""
    values = record if isinstance(record, list) else []
    return (len(values), *(value for value in values[2:3] if isinstance(value, str)))


def _places(value: Any, above: tuple[int | str, ...]) -> Iterator[tuple[int | str, ...]]:
    if len(above) > DEPTH_MAX or not isinstance(value, dict | list):
        return
    inner = value.items() if isinstance(value, dict) else enumerate(value[:2])
    for key, each in inner:
        yield (*above, key)
        yield from _places(each, (*above, key))


def _with(value: Any, place: tuple[int | str, ...], new: Any) -> Any:
    """Return plain data with another value at a place."""
    first, *rest = place
    inner = _with(value[first], tuple(rest), new) if rest else new
    if isinstance(value, dict):
        return value | {first: inner}
    return [*value[:first], inner, *value[first + 1 :]]
