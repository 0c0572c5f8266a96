"""A plan for fewer replicas: who is gone is gone from every fault, whatever its kind.

Which values of a fault are validators is said by their types (faults.kinds.fields), so a new kind of fault is known.
Observers are numbered after the validators, and who comes after one that is gone moves up.
"""

import copy
from collections.abc import Collection, Mapping
from typing import Any, Final, get_args

from msgspec import inspect

from cluster.campaign.shrink_candidates import Plain
from faults import Fault
from faults.kinds.fields import VALIDATOR_TITLE

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
    observers = {before + place: count + place for place in range(len(plain["observers"]))}
    _renumber(smaller, {**{node: node for node in range(count)}, **observers})
    return smaller


def without_observers(plain: Plain, removed: Collection[str]) -> Plain:
    """Return a resolved plan without some observers; the rules of scenarios refuse what becomes senseless."""
    validators = plain["cluster"]["validators"]
    smaller = copy.deepcopy(plain)
    smaller["observers"] = {name: each for name, each in plain["observers"].items() if name not in removed}
    promised = smaller["expect"]["replica_modes"]
    smaller["expect"]["replica_modes"] = {name: least for name, least in promised.items() if name not in removed}
    kept = [place for place, name in enumerate(plain["observers"]) if name not in removed]
    observers = {validators + before: validators + place for place, before in enumerate(kept)}
    _renumber(smaller, {**{node: node for node in range(validators)}, **observers})
    return smaller


def _renumber(plain: Plain, numbers: Mapping[int, int]) -> None:
    """Give the replicas of a plan new numbers; who has none is gone."""
    plain["mutants"] = {
        name: [numbers[node] for node in nodes if node in numbers] for name, nodes in plain["mutants"].items()
    }
    for fault in plain["faults"].values():
        for key, kind in _FIELDS[fault["kind"]].items():
            kept = _kept(fault[key], kind, numbers)
            # Whom a fault is about alone has to be somebody.
            fault[key] = (
                fault[key] % plain["cluster"]["validators"] if kept is None and type(fault[key]) is int else kept
            )


def _kept(value: Any, kind: inspect.Type, numbers: Mapping[int, int]) -> Any:  # noqa: ANN401 - plain data
    """Return what is left of a fault's value, None for nothing."""
    if isinstance(kind, inspect.Metadata):
        is_validator = (kind.extra_json_schema or {}).get("title") == VALIDATOR_TITLE
        return numbers.get(value) if is_validator else value
    if isinstance(kind, inspect.TupleType):
        parts = [_kept(part, each, numbers) for part, each in zip(value, kind.item_types, strict=True)]
        return None if None in parts else parts
    if isinstance(kind, inspect.VarTupleType):
        parts = [_kept(part, kind.item_type, numbers) for part in value]
        return [part for part in parts if part is not None and part != []]
    return value
