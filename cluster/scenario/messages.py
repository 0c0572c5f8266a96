"""Explains what is wrong with a scenario file, in the file's own terms: the key, and what is allowed there.

msgspec says what it found; it does not say which entry of a table holds it, nor what would have been right.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, get_args, get_origin

import msgspec

from checker.record.errors import ReportedError
from cluster.scenario.shape import kind_named, kinds_of, tables_of, tag_of
from faults.nearest import did_you_mean

_QUOTED: Final = re.compile(r"['`]([^'`]*)['`]")
"""The name that msgspec does not know stands between these."""


_OF_NAME: Final = re.compile(r" - at `key` in `\$\.(\w+)`$")
"""The end of msgspec's message on the name of an entry; the table stands between the last two."""

_PATTERNS: Final = {
    "name": "must be small letters, digits and hyphens, the first no hyphen",
    "chain.id": "must be small letters, digits and hyphens, the first no hyphen; left out it is the name",
    "title": "must be one line without control characters",
}
"""The rules in words that msgspec states as regular expressions, by key."""

NAMES: Final = "a name has up to 64 letters, digits, `_`, `.`, `-` and blanks, the first a letter, a digit or `_`"


class ScenarioError(ReportedError):
    """Bad input: ``place`` says where (file and key), ``reason`` what is wrong and what is allowed."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")


def validation_message(message: str, raw: object, root: type[msgspec.Struct]) -> str:
    """Turn msgspec's message on converting `raw` to `root` into ``key: what is wrong; what is allowed``."""
    if (found := _OF_NAME.search(message)) and isinstance(raw, dict):
        return f"{found[1]}: {_wrong_name(raw[found[1]], found[1], root)} is no name; {NAMES}"
    reason, _, path = _name_entry(message, raw, root).partition(" - at `")
    key = path.rstrip("`").removeprefix("$").lstrip(".")
    *parents, last = key.split(".") if key else [""]
    allowed, words = [], ""
    if "matching regex" in reason:
        reason = _PATTERNS.get(key, reason)
    elif "unknown field" in reason:
        allowed = _keys_of(_section_at([*parents, last] if key else [], raw, root))
        words = f"the keys are {', '.join(allowed)}"
    elif "Invalid value" in reason and last == "kind":
        kinds = kinds_of(tables_of(root).get(parents[0]))
        allowed = sorted(map(tag_of, kinds))
        words = f"the kinds are {', '.join(allowed)}"
    elif "Invalid enum value" in reason:
        # Of a list it is one entry that is wrong: `regions[2]`.
        allowed = _values_of(_section_at(parents, raw, root), last.partition("[")[0])
        words = f"it can be {' or '.join(allowed)}"
    if allowed:
        name = _QUOTED.search(reason)
        reason += f"{did_you_mean(name[1], allowed) if name else ''}; {words}"
    return f"{key}: {reason}" if key else reason


def _wrong_name(entries: Iterable[str], table: str, root: type[msgspec.Struct]) -> str:
    """Return the first of some names that a table does not take."""
    kind = next(field.type for field in msgspec.structs.fields(root) if field.encode_name == table)
    for name in entries:
        try:
            msgspec.convert(name, get_args(kind)[0])
        except msgspec.ValidationError:
            return ascii(name)
    raise AssertionError("msgspec refused one of them")


def _name_entry(message: str, raw: object, root: type[msgspec.Struct]) -> str:
    """Put the entry's name where msgspec says ``[...]``."""
    for table, kind in tables_of(root).items():
        entries = raw.get(table) if isinstance(raw, dict) else None
        if f"`$.{table}[...]" in message and isinstance(entries, dict):
            for name, entry in entries.items():
                try:
                    msgspec.convert(entry, kind)
                except msgspec.ValidationError:
                    return message.replace(f"$.{table}[...]", f"$.{table}.{name}")
    return message


def _section_at(path: Sequence[str], raw: object, root: type[msgspec.Struct]) -> type[msgspec.Struct] | None:
    """Return the section at a path; of an entry with a kind, that kind's; None where unknown."""
    found: type[msgspec.Struct] | None = root
    if len(path) > 1 and path[0] in tables_of(root) and isinstance(raw, dict):
        kinds = kinds_of(tables_of(root)[path[0]])
        found = kind_named(kinds, raw[path[0]][path[1]].get("kind"))
        path = path[2:]
    for part in path:
        types = [field.type for field in msgspec.structs.fields(found) if field.encode_name == part] if found else []
        found = next((kind for each in types for kind in kinds_of(each)), None)
    return found


def _keys_of(section: type[msgspec.Struct] | None) -> list[str]:
    if section is None:
        return []
    keys = [field.encode_name for field in msgspec.structs.fields(section)]
    return ["kind", *keys] if tag_of(section) else keys


def _values_of(section: type[msgspec.Struct] | None, key: str) -> list[str]:
    """Return the words that a key of a section can have."""
    kinds = [field.type for field in msgspec.structs.fields(section) if field.encode_name == key] if section else []
    return [str(word) for kind in kinds for word in _words_in(kind)]


def _words_in(kind: Any) -> tuple[object, ...]:  # noqa: ANN401 - an annotation is of no type that has a name
    """Return the words that a type allows: it is one of words, a list of such, or a union with one."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return next((words for part in get_args(kind) if (words := _words_in(part))), ())
