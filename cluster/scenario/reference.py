"""The reference of scenario keys, read off the sections: as a program it prints docs/reference.md."""

import sys
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, get_origin

import msgspec

from cluster.scenario.model import scenario_type
from cluster.scenario.sections.calendar import PROFILES, CalendarSection
from cluster.scenario.sections.chain import TimersSection
from cluster.scenario.sections.lane import LaneSection
from cluster.scenario.shape import kinds_of, tables_of, tag_of
from faults.parameters import parameters_of, parts_of, written
from scheduler import POLICIES, LaneConfig

_PAGE_HEAD: Final = """\
# Scenario keys

Every key of a scenario file: what it takes, what holds where it is left out, and what it means.
`python -m cluster.scenario.reference > docs/reference.md` writes this page from the code; do not edit it.
[scenarios.md](scenarios.md) says what scenarios are for, [faults.md](faults.md) has the kinds of `[faults.NAME]`."""

_ELSEWHERE: Final = ("faults",)
"""Tables with a page of their own."""

_ENTRY: Final = {"validators": "N"}
"""Names of entries in headings, if not NAME."""

_POLICY_PARAMETERS: Final = "chain.policy_parameters"

_PARAMETERS_HEAD: Final = """\
Parameters of the chain's policy, where it has no section of its own: `eip1559` has `[chain.lane]`, and `fifo` has none.
A ratio is two numbers."""

Resolved: TypeAlias = Mapping[str, msgspec.Struct]
"""Sections with every default written out, by the setting under which they hold; the first holds without a setting."""


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
        inner_path = f"{path}.{field.encode_name}"
        if inner_path == _POLICY_PARAMETERS:
            yield from _policies()
        for inner in kinds_of(field.type):
            yield from _section(inner_path, inner)


def _policies() -> Iterator[str]:
    """Yield the parameters of each policy that has parameters and no section."""
    yield from ("", f"## `[{_POLICY_PARAMETERS}]`", "", *_PARAMETERS_HEAD.splitlines())
    for name, policy in POLICIES.items():
        kind = policy.config_type
        if kind is not None and kind is not LaneConfig:
            key = "profile" if "profile" in kind.__struct_fields__ else "chain.profile"
            resolved = {_setting(key, each): kind(**values) for each, values in kind.profiles.items()}
            yield from ("", f"### `{_setting('policy', name)}`", "", _described(kind), "")
            yield from _keys(kind, {"": kind(), **resolved})


def _table(name: str, kinds: list[type[msgspec.Struct]]) -> Iterator[str]:
    """Yield a table of named entries, with a heading for each kind of entry."""
    yield from ("", f"## `[{name}.{_ENTRY.get(name, 'NAME')}]`")
    for kind in kinds:
        if tag_of(kind):
            yield from ("", f"### `{_setting('kind', tag_of(kind))}`")
        yield from ("", _described(kind), "")
        yield from _keys(kind)
        for key, part in parts_of(kind):
            heading = _setting(str(part.__struct_config__.tag_field), tag_of(part)) if tag_of(part) else key
            yield from ("", f"#### `{heading}`", "", _described(part), "")
            yield from _keys(part)


def _keys(section: type[msgspec.Struct], resolved: Resolved | None = None) -> Iterator[str]:
    """Yield the keys of a section, each with its actual defaults."""
    resolved = _resolved(section) if resolved is None else resolved
    for key in parameters_of(section):
        defaults = {setting: written(getattr(one, key.name)) for setting, one in resolved.items()}
        own = next(iter(defaults.values()), key.default)
        others = [f"`{value}` with `{setting}`" for setting, value in defaults.items() if value != own]
        yield msgspec.structs.replace(key, default=own).markdown("".join(f", {other}" for other in others))


def _resolved(section: type[msgspec.Struct]) -> Resolved:
    """Return a section whose defaults depend on other keys, resolved under each of their values; else nothing."""
    if section is LaneSection:
        return {_setting("chain.profile", name): LaneSection().resolved(name) for name in PROFILES}
    if section is CalendarSection:
        return {_setting("chain.profile", name): CalendarSection().resolved(name) for name in PROFILES}
    if section is TimersSection:
        return {_setting("chain.policy", name): TimersSection().resolved(name) for name in POLICIES}
    return {}


def _setting(key: str, value: str) -> str:
    return f'{key} = "{value}"'


def _described(section: type[msgspec.Struct]) -> str:
    return " ".join((section.__doc__ or "").replace("``", "`").split())


if __name__ == "__main__":
    sys.stdout.write("".join(f"{line}\n" for line in page()))
