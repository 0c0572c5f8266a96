"""A plan for fewer validators: who is gone is gone from every fault, whatever its kind.

Which values of a fault are validators is said by their types (faults.terms), so a kind of fault that is new is known.
Observers are numbered after the validators and move up.
"""

import copy
from typing import Any, Final, get_args

from msgspec import inspect

from cluster.rungs import Plain
from faults import Fault
from faults.terms import VALIDATOR_TITLE

_FIELDS: Final = {
    str(kind.__struct_config__.tag): {field.encode_name: field.type for field in found.fields}
    for kind in get_args(Fault)
    if isinstance(found := inspect.type_info(kind), inspect.StructType)
}
"""The types of each kind of fault's values."""


def with_validators(plain: Plain, count: int) -> Plain:
    """Return a resolved plan with fewer validators; what becomes senseless by that, the rules of scenarios refuse."""
    before = plain["cluster"]["validators"]
    smaller = copy.deepcopy(plain)
    smaller["cluster"]["validators"] = count
    smaller["network"]["regions"] = smaller["network"]["regions"][:count]
    smaller["validators"] = {name: road for name, road in plain["validators"].items() if int(name) < count}
    smaller["planted"] = {
        name: [moved for node in nodes if (moved := _moved(node, before, count)) is not None]
        for name, nodes in plain["planted"].items()
    }
    for fault in smaller["faults"].values():
        for key, kind in _FIELDS[fault["kind"]].items():
            kept = _kept(fault[key], kind, before, count)
            # Whom a fault is about alone has to be somebody.
            fault[key] = fault[key] % count if kept is None and type(fault[key]) is int else kept
    return smaller


def _moved(node: int, before: int, count: int) -> int | None:
    if node < count:
        return node
    return node - before + count if node >= before else None


def _kept(value: Any, kind: inspect.Type, before: int, count: int) -> Any:  # noqa: ANN401 - plain data
    """Return what is left of a fault's value, None for nothing."""
    if isinstance(kind, inspect.Metadata):
        is_validator = (kind.extra_json_schema or {}).get("title") == VALIDATOR_TITLE
        return _moved(value, before, count) if is_validator else value
    if isinstance(kind, inspect.TupleType):
        parts = [_kept(part, each, before, count) for part, each in zip(value, kind.item_types, strict=True)]
        return None if None in parts else parts
    if isinstance(kind, inspect.VarTupleType):
        parts = [_kept(part, kind.item_type, before, count) for part in value]
        return [part for part in parts if part is not None and part != []]
    return value
