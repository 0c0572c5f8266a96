"""The fault catalogue read off itself: each kind with its parameters, from the structs and their docstrings.

Nothing is written down twice: a kind of the union is in the list, with the ranges that a scenario file is held to.
"""

from collections.abc import Iterator, Sequence
from typing import Final, get_args

import msgspec
from msgspec import inspect

from faults.kinds import Fault
from faults.kinds.byzantine import Dishonest
from faults.kinds.clock import ClockFault
from faults.kinds.disk import DiskFault
from faults.kinds.machine import MachineFault
from faults.kinds.network import NetworkFault

_FAMILIES: Final[Sequence[tuple[str, object]]] = (
    ("network", NetworkFault),
    ("machine", MachineFault),
    ("disk", DiskFault),
    ("clock", ClockFault),
    ("validator", Dishonest),
)

SHARED: Final = ("enabled", "may_be_idle")
"""Keys that every kind has."""

_UNITS: Final = (
    ("_ms", "virtual milliseconds"),
    ("ppm", "parts per million"),
    ("bytes_per_second", "bytes a second"),
    ("_bytes", "bytes"),
)
"""Units by the ends of names."""


class Parameter(msgspec.Struct, frozen=True):
    """One key of a fault: what it takes, in which unit, and what it is when it is left out.

    ``default`` is as a scenario file would write it, and empty for a key that must be given.
    """

    name: str
    takes: str
    unit: str
    default: str
    is_required: bool


class KindEntry(msgspec.Struct, frozen=True):
    """One kind: its family, what it does in one line, what there is to say besides, and its parameters."""

    kind: str
    family: str
    summary: str
    notes: str
    parameters: tuple[Parameter, ...]


def catalogue() -> tuple[KindEntry, ...]:
    """Return every kind of the union, in its order."""
    return tuple(_entry(kind) for kind in get_args(Fault))


def _entry(kind: type[msgspec.Struct]) -> KindEntry:
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType), f"a kind of fault is a struct; got {kind}"
    summary, _, notes = " ".join((kind.__doc__ or "").replace("``", "").split("\n\n", 1)).partition(". ")
    return KindEntry(
        kind=str(described.tag),
        family=next((name for name, members in _FAMILIES if kind in (get_args(members) or (members,))), "other"),
        summary=f"{' '.join(summary.split()).rstrip('.')}.",
        notes=" ".join(notes.split()),
        parameters=tuple(_parameter(field) for field in described.fields if field.name not in SHARED),
    )


def _parameter(field: inspect.Field) -> Parameter:
    name = field.encode_name
    default = field.default
    return Parameter(
        name=name,
        takes=_takes(field.type),
        unit=next((unit for end, unit in _UNITS if name.endswith(end)), ""),
        default="" if field.required else "none" if default is None else _written(default),
        is_required=field.required,
    )


def _written(default: object) -> str:
    return msgspec.json.encode(default).decode()


def _takes(described: inspect.Type) -> str:
    """Return what a value must be, in a few words."""
    match described:
        case inspect.BoolType() | inspect.StrType():
            return "text" if isinstance(described, inspect.StrType) else "true or false"
        case inspect.IntType() | inspect.Metadata():
            return _number(described)
        case inspect.LiteralType():
            return f"({' | '.join(str(value) for value in described.values)})"
        case inspect.VarTupleType():
            return f"list of {_takes(described.item_type)}"
        case inspect.TupleType():
            return f"[{', '.join(_takes(item) for item in described.item_types)}]"
        case _:
            assert isinstance(described, inspect.UnionType), f"the catalogue has no words for {described}"
            return " or ".join(_takes(each) for each in described.types if not isinstance(each, inspect.NoneType))


def _number(number: inspect.IntType | inspect.Metadata) -> str:
    """Return the bounds of a number, or the name of one that stands for something, such as a validator."""
    if isinstance(number, inspect.Metadata):
        return str((number.extra_json_schema or {}).get("title", ""))
    if number.ge is not None and number.le is not None:
        return f"whole number {number.ge:,} to {number.le:,}"
    return f"whole number from {number.ge:,} on" if number.ge is not None else "whole number"


def lines_of(entries: Sequence[KindEntry]) -> Iterator[str]:
    """Yield the list for a person: one line a kind, and one for each of its parameters."""
    for entry in entries:
        yield f"{entry.kind} ({entry.family}): {entry.summary}"
        for parameter in entry.parameters:
            given = "required" if parameter.is_required else f"default {parameter.default}"
            unit = f", {parameter.unit}" if parameter.unit else ""
            yield f"    {parameter.name}: {parameter.takes}{unit}; {given}"
