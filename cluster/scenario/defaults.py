"""A resolved scenario without defaults: the required content of a scenario file."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec

from cluster.scenario.model import Scenario, scenario_type
from cluster.scenario.sections.chain import ChainSection
from cluster.scenario.shape import kind_named, kinds_of, tables_of

TABLES: Final = tuple(name for name, entry in tables_of(Scenario).items() if kinds_of(entry))
"""Sections of entries by name: an empty entry is kept."""

APPLICATION: Final = "application"
"""The section that declares an application: it is kept when empty, with an empty table of its parameters."""


def without_defaults(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain data of a resolved scenario without defaults."""
    kept = {key: plain[key] for key in ("name", "title")}
    stated = _without_defaults(plain, scenario_type(tuple(plain.get("plugins", ()))))
    # The policy's own values were written out when the scenario was resolved.
    named = plain.get("chain", {})
    chain = ChainSection(profile=named.get("profile", "default"))
    policy = named.get("policy", chain.policy)
    chain = msgspec.structs.replace(chain, policy=policy)
    # A policy's profile has defaults of its own, so that it is written unless it is the usual profile.
    profile = {key: value for key, value in named.get("policy_parameters", {}).items() if key == "profile"}
    usual = msgspec.json.decode(msgspec.json.encode(chain.resolved_parameters()))
    profile = {key: value for key, value in profile.items() if usual[key] != value}
    defaults: dict[str, object] = {
        "timers": chain.timers.resolved(policy),
        "calendar": chain.calendar.resolved(chain.profile),
        "lane": chain.lane.resolved(chain.profile),
        "policy_parameters": msgspec.structs.replace(chain, policy_parameters=profile).resolved_parameters(),
    }
    for name, resolved in defaults.items():
        written_out = msgspec.json.decode(msgspec.json.encode(resolved))
        section = stated.get("chain", {}).get(name, {})
        for key in [key for key, value in section.items() if written_out[key] == value]:
            del section[key]
    if profile:
        stated["chain"]["policy_parameters"] = {**profile, **stated["chain"].get("policy_parameters", {})}
    return kept | _without_empty(stated)


def _without_empty(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out empty sections; tables by name keep their entries, an application its parameters."""
    found: dict[str, Any] = {}
    for key, value in stated.items():
        kept = _without_empty(value) if isinstance(value, Mapping) and key not in {*TABLES, APPLICATION} else value
        if kept != {} or key == APPLICATION:
            found[key] = kept
    return found


def _without_defaults(plain: Mapping[str, Any], section: type[msgspec.Struct]) -> dict[str, Any]:
    stated: dict[str, Any] = {}
    for each in msgspec.structs.fields(section):
        name = each.encode_name
        if name in plain:
            value = _stated(plain[name], each.type)
            if each.required or value != msgspec.json.decode(msgspec.json.encode(_default_of(each))):
                stated[name] = value
    return stated


def _stated(value: Any, annotation: Any) -> Any:  # noqa: ANN401 - plain data, and its type
    """Return a value without the defaults of its section, or of the sections of its table."""
    if not isinstance(value, Mapping):
        return value
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is dict:
        return {name: _stated(entry, get_args(annotation)[1]) for name, entry in value.items()}
    kind = kind_named(kinds_of(annotation), value.get("kind"))
    if kind is None:
        return value
    return {key: value[key] for key in ("kind",) if key in value} | _without_defaults(value, kind)


def _default_of(each: msgspec.structs.FieldInfo) -> object:
    return each.default if each.default is not msgspec.NODEFAULT else each.default_factory()
