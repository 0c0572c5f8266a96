"""A fault for other replicas: its validators get new numbers, whatever its kind.

The types of a fault's values say which of them are validators (`faults.kinds.fields`), so a new kind is known.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import inspect

from faults.kinds.base import Fault
from faults.kinds.drawing import Plain
from faults.kinds.fields import VALIDATOR_TITLE


def renumbered(kind: type[Fault], entry: Plain, numbers: Mapping[int, int], validators: int) -> Plain:
    """Return a fault's plain data with new numbers; a validator without one is gone from it."""
    described = inspect.type_info(kind)
    assert isinstance(described, inspect.StructType), f"a kind of fault is a struct; got {kind}"
    renumbered: Plain = dict(entry)
    for field in described.fields:
        value = entry[field.encode_name]
        kept = _kept(value, field.type, numbers)
        # A fault about one validator has to be about some validator.
        renumbered[field.encode_name] = value % validators if kept is None and type(value) is int else kept
    return renumbered


def _kept(value: Any, kind: inspect.Type, numbers: Mapping[int, int]) -> Any:  # noqa: ANN401 - plain data
    """Return the part of a fault's value that is left, None if nothing is."""
    if isinstance(kind, inspect.Metadata):
        is_validator = (kind.extra_json_schema or {}).get("title") == VALIDATOR_TITLE
        return numbers.get(value) if is_validator else _kept(value, kind.type, numbers)
    if isinstance(kind, inspect.TupleType):
        parts = [_kept(part, each, numbers) for part, each in zip(value, kind.item_types, strict=True)]
        return None if None in parts else parts
    if isinstance(kind, inspect.VarTupleType):
        parts = [_kept(part, kind.item_type, numbers) for part in value]
        return [part for part in parts if part is not None and part != []]
    return value
