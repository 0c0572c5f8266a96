"""A resolved scenario without what is as by default: what a scenario file has to say."""

from collections.abc import Mapping
from typing import Any, get_args, get_origin

import msgspec

from cluster.scenario.chain_section import ChainSection
from cluster.scenario.model import Scenario
from cluster.scenario.replicas_section import Observer
from cluster.workloads.registry import Workload
from faults import Fault

_UNIONS = {"faults": Fault, "workload": Workload, "observers": Observer}
"""Those whose entries are of different kinds."""


def without_defaults(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resolved scenario's plain data with only what is not as by default: what a scenario file has to say."""
    kept = {key: plain[key] for key in ("name", "title")}
    stated = _without_defaults(plain, Scenario)
    # What the policy sets where nothing is stated was written out when the scenario was resolved.
    chain = ChainSection()
    policy = plain.get("chain", {}).get("policy", chain.policy)
    for name, resolved in (("timers", chain.timers.resolved(policy)), ("lane", chain.lane.resolved())):
        written_out = msgspec.json.decode(msgspec.json.encode(resolved))
        section = stated.get("chain", {}).get(name, {})
        for key in [key for key, value in section.items() if written_out[key] == value]:
            del section[key]
    return kept | _without_empty(stated)


def _without_empty(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out sections in which nothing is left; tables by name keep their entries."""
    found: dict[str, Any] = {}
    for key, value in stated.items():
        kept = _without_empty(value) if isinstance(value, Mapping) and key not in TABLES else value
        if kept != {}:
            found[key] = kept
    return found


def _without_defaults(plain: Mapping[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    stated: dict[str, Any] = {}
    for each in msgspec.structs.fields(kind):
        if each.encode_name not in plain:
            continue
        value = plain[each.encode_name]
        section = _section_of(each.type)
        if each.name in _UNIONS:
            kinds = {part.__struct_config__.tag: part for part in get_args(_UNIONS[each.name])}
            value = {
                name: {"kind": entry["kind"], **_without_defaults(entry, kinds[entry["kind"]])}
                for name, entry in value.items()
            }
        elif section is not None and get_origin(each.type) is dict:
            value = {name: _without_defaults(entry, section) for name, entry in value.items()}
        elif section is not None and isinstance(value, Mapping):
            value = _without_defaults(value, section)
        if each.required or value != msgspec.json.decode(msgspec.json.encode(_default_of(each))):
            stated[each.encode_name] = value
    return stated


def _default_of(each: msgspec.structs.FieldInfo) -> object:
    return each.default if each.default is not msgspec.NODEFAULT else each.default_factory()


def _section_of(kind: Any) -> type[msgspec.Struct] | None:  # noqa: ANN401 - a type, a union of types, or None
    """Return the struct that a field holds, if it holds one."""
    parts = (kind, *get_args(kind))
    return next((part for part in parts if isinstance(part, type) and issubclass(part, msgspec.Struct)), None)


TABLES = tuple(
    each.encode_name
    for each in msgspec.structs.fields(Scenario)
    if get_origin(each.type) is dict and any(map(_section_of, get_args(each.type)))
)
"""Sections of entries by name: an empty entry says that it is there."""
