"""The fault catalogue read off itself: each kind with its parameters, from the structs and their docstrings.

Nothing is written down twice: every kind is in the list, with the ranges that a scenario file is held to. As a program
it prints docs/faults.md.
"""

import sys
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec import inspect

from faults.anchors.anchor import Anchor
from faults.anchors.moments import MOMENTS
from faults.kind_registry import kind_of
from faults.kinds.base import Fault
from faults.kinds.registry import FAULTS
from scheduler import MAX_U63

SHARED: Final = ("enabled", "may_be_idle", "anchor")
"""Keys that every kind has."""

_UNITS: Final = (
    ("_ms", "virtual milliseconds"),
    ("ppm", "parts per million"),
    ("bytes_per_second", "bytes a second"),
    ("_bytes", "bytes"),
)
"""Units by the ends of names."""


class Parameter(msgspec.Struct, frozen=True):
    """One key of a section: what it takes, in which unit, what it is when it is left out, and what it means.

    ``default`` is as a scenario file would write it, and empty for a key that must be given.
    """

    name: str
    takes: str
    unit: str
    default: str
    is_required: bool
    meaning: str


class KindEntry(msgspec.Struct, frozen=True):
    """One kind: its family, what it does in one line, its notes, what it counts, and its parameters."""

    kind: str
    family: str
    summary: str
    notes: str
    counts: str
    parameters: tuple[Parameter, ...]


def catalogue(kinds: Sequence[type[Fault]] = FAULTS.built_in) -> tuple[KindEntry, ...]:
    """Return the entries of kinds, in their order."""
    return tuple(map(_entry, kinds))


def _entry(kind: type[Fault]) -> KindEntry:
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType), f"a kind of fault is a struct; got {kind}"
    summary, _, notes = " ".join((kind.__doc__ or "").replace("``", "").split("\n\n", 1)).partition(". ")
    return KindEntry(
        kind=kind_of(kind),
        family=kind.family,
        summary=f"{' '.join(summary.split()).rstrip('.')}.",
        notes=" ".join(notes.split()),
        counts=kind.counts,
        parameters=tuple(parameter_of(field) for field in described.fields if field.name not in SHARED),
    )


def parameter_of(field: inspect.Field) -> Parameter:
    """Return a key of a section of a scenario, of a fault or of another one."""
    name = field.encode_name
    default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    return Parameter(
        name=name,
        takes=_takes(field.type),
        unit=next((unit for end, unit in _UNITS if name.endswith(end)), ""),
        default="" if field.required else "none" if default is None else _written(default),
        is_required=field.required,
        meaning=str(_notes(field.type).get("description", "")),
    )


def _notes(described: inspect.Type) -> dict[str, object]:
    return (described.extra_json_schema or {}) if isinstance(described, inspect.Metadata) else {}


def _written(default: object) -> str:
    return msgspec.json.encode(default).decode()


def _takes(described: inspect.Type) -> str:
    """Return what a value must be, in a few words."""
    match described:
        case inspect.Metadata():
            return str(_notes(described).get("title", "")) or _takes(described.type)
        case inspect.AnyType():
            return "what the keys of the scenario take"
        case inspect.BoolType() | inspect.StrType() | inspect.IntType():
            return _plain(described)
        case inspect.LiteralType():
            return f"({' | '.join(str(value) for value in described.values)})"
        case inspect.VarTupleType() | inspect.ListType() | inspect.TupleType() | inspect.DictType():
            return _several(described)
        case _:
            assert isinstance(described, inspect.UnionType), f"the catalogue has no words for {described}"
            return " or ".join(_takes(each) for each in described.types if not isinstance(each, inspect.NoneType))


def _several(
    described: inspect.VarTupleType | inspect.ListType | inspect.TupleType | inspect.DictType,
) -> str:
    match described:
        case inspect.VarTupleType() | inspect.ListType():
            return f"list of {_takes(described.item_type)}"
        case inspect.TupleType():
            return f"[{', '.join(_takes(item) for item in described.item_types)}]"
        case inspect.DictType():
            return f"table of {_takes(described.value_type)}"


def _plain(number: inspect.BoolType | inspect.StrType | inspect.IntType) -> str:
    """Return the name of a type, or the bounds of a number."""
    if not isinstance(number, inspect.IntType):
        return "text" if isinstance(number, inspect.StrType) else "true or false"
    if number.ge is not None and number.le is not None and number.le < MAX_U63:
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


_HEADINGS: Final = {
    "network": "On links",
    "machine": "On machines",
    "disk": "On disks",
    "clock": "On clocks",
    "validator": "Byzantine validators",
}

_PAGE_HEAD: Final = """\
# Kinds of faults

`python -m faults.catalogue > docs/faults.md` writes this page from the kinds themselves; do not edit it.
[faults-at-work.md](faults-at-work.md) says what all of them have in common, [fault-catalogues.md](fault-catalogues.md)
which faults of other systems they stand for, and [extend/fault.md](extend/fault.md) how to write one.

Every kind also takes `enabled` (default true) and `may_be_idle` (default false). *Count* is the figure `fault_NAME` of
a run: with 0 the fault took no effect.

With `anchor` its times count from a moment of the run instead of from the run's beginning ([anchors](#anchors)).
"""


_ANCHORS_HEAD: Final = """\
`anchor = { event = "view", of = 2, nth = 10, by_ms = 20_000 }` in a fault of any kind: all its times count from the
instant in which validator 2 enters its tenth view. The fault's edge `anchor` in the trace is that instant. If it
does not come, the fault has no effect, which makes a run inconclusive; until `by_ms` the run waits for it. Without `of`
a moment of the chain counts once a height, for the first validator that finalizes the block.
"""


def page() -> Iterator[str]:
    """Yield the lines of docs/faults.md."""
    yield from _PAGE_HEAD.splitlines()
    family = ""
    for entry in catalogue():
        if entry.family != family:
            family = entry.family
            yield from ("", f"## {_HEADINGS[family]}")
        yield from ("", f"### `{entry.kind}`", "", f"{entry.summary} {entry.notes}".rstrip(), "")
        yield from (f"Count: {entry.counts}.", "")
        yield from map(_line_of, entry.parameters)
    yield from _anchors()


def _line_of(parameter: Parameter) -> str:
    given = "required" if parameter.is_required else f"default `{parameter.default}`"
    unit = f", {parameter.unit}" if parameter.unit else ""
    return f"- `{parameter.name}`, {parameter.takes}{unit}; {given}. {parameter.meaning}"


def _anchors() -> Iterator[str]:
    """Yield the section about the key that every kind has in common."""
    described = inspect.type_info(Anchor)
    assert isinstance(described, inspect.StructType), "an anchor is a struct"
    yield from ("", "## Anchors", "", *_ANCHORS_HEAD.splitlines(), "")
    yield from (_line_of(parameter_of(field)) for field in described.fields)
    yield from ("", "The moments:", "")
    yield from (f"- `{name}`: {moment.clause('the validator')}." for name, moment in MOMENTS.items())


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in page()))
