"""The shape of a scenario file, read off the types of its sections: its tables of named entries and their kinds."""

from collections.abc import Sequence
from typing import Any, get_args, get_origin

import msgspec


def tables_of(root: type[msgspec.Struct]) -> dict[str, Any]:
    """Return by name the type of the entries of each table: a section, a union of kinds, or a number."""
    types = {field.encode_name: field.type for field in msgspec.structs.fields(root)}
    return {name: get_args(kind)[1] for name, kind in types.items() if get_origin(kind) is dict}


def kinds_of(annotation: Any) -> list[type[msgspec.Struct]]:  # noqa: ANN401 - an annotation has no type with a name
    """Return the sections that a type can be: itself, or the members of a union."""
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return [annotation]
    return [kind for part in get_args(annotation) for kind in kinds_of(part)]


def plain_of(annotation: Any) -> Any:  # noqa: ANN401 - an annotation has no type with a name
    """Return an annotation without its metadata."""
    return get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation


def tag_key_of(kinds: Sequence[type[msgspec.Struct]]) -> str:
    """Return the key by which a section names its kind, for example `kind` or `do`; empty if it names none."""
    return next((kind.__struct_config__.tag_field or "" for kind in kinds), "")


def tag_of(kind: type[msgspec.Struct]) -> str:
    """Return the name that a scenario file gives to a kind; empty for a section without a kind."""
    return str(kind.__struct_config__.tag or "")


def kind_named(kinds: Sequence[type[msgspec.Struct]], tag: object) -> type[msgspec.Struct] | None:
    """Return the kind with a tag, None if there is none."""
    return next((kind for kind in kinds if tag_of(kind) == (tag or "")), None)
