"""The keys of a section of a scenario file, read from its struct: type, default and sentence of each key.

So pages and commands list every key with the ranges that a scenario file is checked against.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from inspect import get_annotations
from typing import Final

import msgspec
from msgspec import inspect

from faults.kind_registry import kind_of
from scheduler import MAX_U63

_UNITS: Final = (
    ("_ms", "virtual milliseconds"),
    ("ppm", "parts per million"),
    ("bytes_per_second", "bytes a second"),
    ("_bytes", "bytes"),
)
"""Units by the ends of names."""

_TYPES: Final = {inspect.BoolType: "true or false", inspect.StrType: "text", inspect.StructType: "table"}
"""Types without bounds."""

_EMPTY: Final = '""'
"""An empty text among the words that a key can have."""


class Parameter(msgspec.Struct, frozen=True):
    """A key of a section: its type, unit, default and meaning.

    ``default`` is written as in a scenario file, and empty for a required key. ``left_out`` describes the meaning of a
    missing key whose default cannot be written.
    """

    name: str
    takes: str
    unit: str
    default: str
    is_required: bool
    meaning: str
    left_out: str = ""

    def line(self) -> str:
        """Return the type and default of the key, for a terminal."""
        return f"{self.name}: {self._takes()}; {self._given(self.default)}"

    def markdown(self, more: str = "") -> str:
        """Return the key as an entry of a page, with further defaults after its own."""
        return f"- `{self.name}`, {self._takes()}; {self._given(f'`{self.default}`')}{more}. {self.meaning}".rstrip()

    def _takes(self) -> str:
        return f"{self.takes}, {self.unit}" if self.unit else self.takes

    def _given(self, default: str) -> str:
        if self.is_required:
            return "required"
        return f"left out: {self.left_out}" if self.left_out else f"default {default}"


class KindEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A kind: a line for its effect, its notes, its parameters, and the kinds of the tables in its lists.

    ``key`` is the key that names the kind in a table.
    """

    kind: str
    summary: str
    notes: str
    parameters: tuple[Parameter, ...]
    key: str = "kind"
    parts: tuple["KindEntry", ...] = ()

    @property
    def heading(self) -> str:
        """The kind as a list of kinds names it."""
        return self.kind


def entry_of(kind: type[msgspec.Struct], shared: Collection[str] = ()) -> KindEntry:
    """Return the entry of a kind, without the keys that all kinds share."""
    parts = tuple(_entry_of(part, key) for key, part in parts_of(kind))
    return msgspec.structs.replace(_entry_of(kind, "", shared), parts=parts)


def _entry_of(kind: type[msgspec.Struct], key: str, shared: Collection[str] = ()) -> KindEntry:
    """Return the entry of a kind without its parts; a table without a name of its kind is named by its key."""
    summary, _, notes = " ".join((kind.__doc__ or "").replace("``", "`").split("\n\n", 1)).partition(". ")
    return KindEntry(
        kind=kind_of(kind) or key,
        summary=f"{' '.join(summary.split()).rstrip('.')}.",
        notes=" ".join(notes.split()),
        parameters=tuple(each for each in parameters_of(kind) if each.name not in shared),
        key=kind.__struct_config__.tag_field or "",
    )


def lines_of(entries: Sequence[KindEntry]) -> Iterator[str]:
    """Yield the list for a person: a line for each kind, and a line for each of its parameters.

    A single kind has the meaning of each parameter, too.
    """
    yield from _lines_of(entries, has_meanings=len(entries) == 1)


def _lines_of(entries: Iterable[KindEntry], *, has_meanings: bool) -> Iterator[str]:
    for entry in entries:
        yield f"{entry.heading}: {entry.summary}"
        for parameter in entry.parameters:
            yield f"    {parameter.line()}{f'. {parameter.meaning}' if has_meanings else ''}"
        for part in entry.parts:
            heading, *keys = _lines_of([part], has_meanings=has_meanings)
            named = f"{part.key} = {heading}" if part.key else heading
            yield from (f"    {named}", *(f"    {line}" for line in keys))


def parameters_of(section: type[msgspec.Struct]) -> Iterator[Parameter]:
    """Yield the keys of a section, without nested sections."""
    for field in _fields_of(section):
        if not _is_section(field.type):
            yield _parameter_of(section, field)


def parts_of(section: type[msgspec.Struct]) -> list[tuple[str, type[msgspec.Struct]]]:
    """Return the kinds of the tables in the lists of a section, or in place of a text, with their keys.

    Kinds of tables within these tables follow. Tables may be nested; each kind occurs once.
    """
    found: list[tuple[str, type[msgspec.Struct]]] = []
    _add_parts(section, found)
    return found


def _add_parts(section: type[msgspec.Struct], found: list[tuple[str, type[msgspec.Struct]]]) -> None:
    for field in _fields_of(section):
        plain = _plain(field.type)
        held = plain.item_type if isinstance(plain, inspect.VarTupleType) else plain
        for kind in () if _is_section(plain) else _structs_in(held):
            if kind not in [known for _, known in found]:
                found.append((field.encode_name, kind))
                _add_parts(kind, found)


def _fields_of(section: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    described = inspect.type_info(section)
    assert isinstance(described, inspect.StructType), f"a section is a struct; got {section}"
    return described.fields


def _parameter_of(section: type[msgspec.Struct], field: inspect.Field) -> Parameter:
    name = field.encode_name
    default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
    note = _note_of(section, field.name)
    extra = note.extra or {}
    return Parameter(
        name=name,
        takes=_takes(field.type),
        unit=str(extra.get("unit", next((unit for end, unit in _UNITS if name.endswith(end)), ""))),
        default="" if field.required else "none" if default is None else written(default),
        is_required=field.required,
        meaning=note.description or "",
        left_out=str(extra.get("left_out", "")) if default is None else "",
    )


def _note_of(section: type[msgspec.Struct], name: str) -> msgspec.Meta:
    """Return the note of a key; a key that only changes an inherited default has the note of the base section."""
    for base in section.__mro__:
        for note in getattr(get_annotations(base).get(name), "__metadata__", ()):
            if isinstance(note, msgspec.Meta) and note.description:
                return note
    return msgspec.Meta()


def written(value: object) -> str:
    """Return a value as written in a scenario file."""
    return msgspec.json.encode(value).decode()


def _plain(described: inspect.Type) -> inspect.Type:
    return described.type if isinstance(described, inspect.Metadata) else described


def _structs_in(described: inspect.Type) -> list[type[msgspec.Struct]]:
    """Return the sections that a type can be: itself, or the members of a union."""
    match described:
        case inspect.Metadata():
            return _structs_in(described.type)
        case inspect.StructType():
            return [described.cls]
        case inspect.UnionType():
            return [kind for part in described.types for kind in _structs_in(part)]
        case _:
            return []


def _is_section(described: inspect.Type) -> bool:
    """Whether a key is a section of its own: a table and nothing else, or a table of tables."""
    plain = _plain(described)
    held = plain.value_type if isinstance(plain, inspect.DictType) else plain
    is_text = isinstance(held, inspect.UnionType) and any(
        isinstance(_plain(one), inspect.StrType) for one in held.types
    )
    return bool(_structs_in(held)) and not is_text


def _takes(described: inspect.Type) -> str:
    """Return a phrase for the allowed values."""
    match described:
        case inspect.Metadata():
            return str((described.extra_json_schema or {}).get("title", "")) or _takes(described.type)
        case inspect.AnyType() | inspect.FloatType():
            return "number" if isinstance(described, inspect.FloatType) else "the values of the scenario's keys"
        case inspect.BoolType() | inspect.StrType() | inspect.StructType() | inspect.IntType():
            return _bounds_of(described)
        case inspect.LiteralType():
            return f"({' | '.join(str(value) or _EMPTY for value in described.values)})"
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
            parts = _structs_in(described.item_type)
            field = parts[0].__struct_config__.tag_field if parts else ""
            tables = f"list of tables with `{field}`" if field else "list of tables"
            return tables if parts else f"list of {_takes(described.item_type)}"
        case inspect.TupleType():
            return f"[{', '.join(_takes(item) for item in described.item_types)}]"
        case inspect.DictType():
            return f"table of {_takes(described.value_type)}"


def _bounds_of(number: inspect.BoolType | inspect.StrType | inspect.StructType | inspect.IntType) -> str:
    """Return the name of a type, or the bounds of a number."""
    if not isinstance(number, inspect.IntType):
        return _TYPES[type(number)]
    if number.ge is not None and number.le is not None and number.le < MAX_U63:
        return f"whole number {number.ge:,} to {number.le:,}"
    return f"whole number from {number.ge:,} on" if number.ge is not None else "whole number"
