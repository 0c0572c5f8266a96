"""The reference of scenario keys, read off the sections: as a program it prints docs/reference.md."""

import sys
from collections.abc import Iterator
from inspect import get_annotations
from typing import Any, Final, cast, get_args, get_origin

import msgspec
from msgspec import inspect

from cluster.scenario.model import scenario_type
from cluster.scenario.shape import kinds_of, tables_of, tag_of
from faults.catalogue import parameter_of

_PAGE_HEAD: Final = """\
# Scenario keys

`python -m cluster.scenario.reference > docs/reference.md` writes this page from the code; do not edit it.
[scenarios.md](scenarios.md) says what scenarios are for, [faults.md](faults.md) has the kinds of `[faults.NAME]`."""

_ELSEWHERE: Final = ("faults",)
"""Tables with a page of their own."""

_ENTRY: Final = {"validators": "N"}
"""Names of entries in headings, if not NAME."""


def page() -> Iterator[str]:
    """Yield the lines of docs/reference.md."""
    root = scenario_type()
    tables = {name: entry for name, entry in tables_of(root).items() if kinds_of(entry)}
    yield from _PAGE_HEAD.splitlines()
    yield from ("", "## Top level", "")
    yield from _keys(root)
    for field in msgspec.structs.fields(root):
        name = field.encode_name
        if name in tables:
            yield from () if name in _ELSEWHERE else _table(name, kinds_of(tables[name]))
        elif get_origin(field.type) is not dict:
            for section in kinds_of(field.type):
                yield from _section(name, section)


def _section(path: str, section: type[msgspec.Struct]) -> Iterator[str]:
    """Yield a section, then the sections within it."""
    yield from ("", f"## `[{path}]`", "", _described(section), "")
    yield from _keys(section)
    for field in msgspec.structs.fields(section):
        if get_origin(field.type) is not dict:
            for inner in _inner_sections(field.type):
                yield from _section(f"{path}.{field.encode_name}", inner)


def _table(name: str, kinds: list[type[msgspec.Struct]]) -> Iterator[str]:
    """Yield a table of named entries, with a heading for each kind of entry."""
    yield from ("", f"## `[{name}.{_ENTRY.get(name, 'NAME')}]`")
    for kind in kinds:
        if tag_of(kind):
            yield from ("", f'### `kind = "{tag_of(kind)}"`')
        yield from ("", _described(kind), "")
        yield from _keys(kind)
        for action in (it for field in msgspec.structs.fields(kind) for it in _list_items(field.type)):
            yield from ("", f'#### `do = "{tag_of(action)}"`', "", _described(action), "")
            yield from _keys(action)


def _keys(section: type[msgspec.Struct]) -> Iterator[str]:
    described = cast("inspect.StructType", inspect.type_info(section))
    for field, own in zip(described.fields, msgspec.structs.fields(section), strict=True):
        if kinds_of(own.type):
            continue
        key = parameter_of(field)
        given = "required" if key.is_required else f"default `{key.default}`"
        unit = f", {key.unit}" if key.unit else ""
        yield f"- `{key.name}`, {key.takes}{unit}; {given}. {_meaning(section, field.name)}".rstrip()
    for field in described.fields:
        yield from _list_key(section, field)


def _list_key(section: type[msgspec.Struct], field: inspect.Field) -> Iterator[str]:
    """Yield a key that is a list of sections."""
    if _list_items(section.__annotations__.get(field.name)):
        yield f"- `{field.encode_name}`, list of tables with `do`; required. {_meaning(section, field.name)}"


def _list_items(annotation: Any) -> list[type[msgspec.Struct]]:  # noqa: ANN401 - an annotation has no type with a name
    """Return the kinds of the sections in a list."""
    plain = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    return kinds_of(plain) if get_origin(plain) is tuple else []


def _inner_sections(annotation: Any) -> list[type[msgspec.Struct]]:  # noqa: ANN401 - an annotation has no type with a name
    return [] if _list_items(annotation) else kinds_of(annotation)


def _meaning(section: type[msgspec.Struct], name: str) -> str:
    """Return the sentence of a key, that of the section it is derived from where it only has another default."""
    for base in section.__mro__:
        annotation = get_annotations(base).get(name)
        for note in getattr(annotation, "__metadata__", ()):
            if isinstance(note, msgspec.Meta) and note.description:
                return note.description
    return ""


def _described(section: type[msgspec.Struct]) -> str:
    return " ".join((section.__doc__ or "").replace("``", "`").split())


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in page()))
