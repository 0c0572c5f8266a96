"""The validators that a fault of any kind names, and the same fault with other numbers for them.

The types of a fault's values mark validators (`faults.kinds.fields`), so a new kind needs no code here.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

import msgspec
from msgspec import inspect

from faults.kinds.drawing import Plain
from faults.kinds.fields import VALIDATOR_TITLE

Kind: TypeAlias = type[msgspec.Struct]


@cache
def _fields(kind: Kind) -> tuple[inspect.Field, ...]:
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType), f"a kind of fault is a struct; got {kind}"
    return described.fields


@cache
def _naming_fields(kind: Kind) -> tuple[inspect.Field, ...]:
    """Return the fields whose type contains a validator."""
    return tuple(field for field in _fields(kind) if _may_name(field.type))


def _may_name(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.Metadata):
        return _is_validator(kind) or _may_name(kind.type)
    if isinstance(kind, inspect.TupleType):
        return any(_may_name(each) for each in kind.item_types)
    return isinstance(kind, inspect.VarTupleType) and _may_name(kind.item_type)


def _is_validator(kind: inspect.Metadata) -> bool:
    return (kind.extra_json_schema or {}).get("title") == VALIDATOR_TITLE


def validators_of(fault: msgspec.Struct) -> Iterator[int]:
    """Yield every validator that a fault names, in the order of its fields."""
    for field in _naming_fields(type(fault)):
        yield from _named(getattr(fault, field.name), field.type)


def _named(value: Any, kind: inspect.Type) -> Iterator[int]:  # noqa: ANN401 - of the type that `kind` describes
    if isinstance(kind, inspect.Metadata):
        if _is_validator(kind):
            yield value
        else:
            yield from _named(value, kind.type)
    elif isinstance(kind, inspect.TupleType):
        for part, each in zip(value, kind.item_types, strict=True):
            yield from _named(part, each)
    elif isinstance(kind, inspect.VarTupleType):
        for part in value:
            yield from _named(part, kind.item_type)


def renumbered(kind: Kind, entry: Plain, numbers: Mapping[int, int], validators: int) -> Plain:
    """Return a fault's plain data with new numbers; a validator without a new number is removed."""
    found: Plain = dict(entry)
    for field in _fields(kind):
        value = entry[field.encode_name]
        found[field.encode_name] = _kept_or_other(value, field.type, numbers, validators)
    return found


def _kept_or_other(value: Any, kind: inspect.Type, numbers: Mapping[int, int], validators: int) -> Any:  # noqa: ANN401
    """Return a value with new numbers; a fault or anchor about a removed validator gets another validator."""
    if isinstance(kind, inspect.UnionType) and value is not None:
        (stated,) = (each for each in kind.types if not isinstance(each, inspect.NoneType))
        if isinstance(stated, inspect.StructType):
            return {
                field.encode_name: _kept_or_other(value[field.encode_name], field.type, numbers, validators)
                for field in stated.fields
            }
    kept = _kept(value, kind, numbers)
    return value % validators if kept is None and type(value) is int else kept


def _kept(value: Any, kind: inspect.Type, numbers: Mapping[int, int]) -> Any:  # noqa: ANN401 - plain data
    """Return the remaining part of a fault's value, None if nothing remains."""
    if isinstance(kind, inspect.UnionType):
        (stated,) = (each for each in kind.types if not isinstance(each, inspect.NoneType))
        return None if value is None else _kept(value, stated, numbers)
    if isinstance(kind, inspect.Metadata):
        return numbers.get(value) if _is_validator(kind) else _kept(value, kind.type, numbers)
    if isinstance(kind, inspect.TupleType):
        parts = [_kept(part, each, numbers) for part, each in zip(value, kind.item_types, strict=True)]
        return None if None in parts else parts
    if isinstance(kind, inspect.VarTupleType):
        parts = [_kept(part, kind.item_type, numbers) for part in value]
        return [part for part in parts if part is not None and part != []]
    return value
