"""Explains an error in a scenario file, in the file's own terms: the key, and its allowed values.

msgspec says what it found; it says neither which entry of a table holds it, nor the allowed values.
"""

import re
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin

import msgspec

from checker.record.errors import ReportedError
from cluster.scenario.shape import kind_named, kinds_of, plain_of, tag_key_of, tag_of
from faults.nearest import did_you_mean

_QUOTED: Final = re.compile(r"['`]([^'`]*)['`]")
"""The markers around a name that msgspec does not know."""


_KEY_OF: Final = "key` in `"
"""The words of msgspec before the place of a table whose entry has no sound name."""

_WORDS: Final = re.compile(r"[^.\[\]]+|\[[^\]]*\]")
"""A key, `[0]` for an entry of a list, or `[...]` for an entry of a table."""

_PATTERNS: Final = {
    "name": "must be small letters, digits and hyphens, the first no hyphen",
    "chain.id": "must be small letters, digits and hyphens, the first no hyphen; left out it is the name",
    "title": "must be one line without control characters",
}
"""The rules in words that msgspec states as regular expressions, by key."""

NAMES: Final = "a name has up to 64 letters, digits, `_`, `.`, `-` and blanks, the first a letter, a digit or `_`"


class ScenarioError(ReportedError):
    """Bad input: ``place`` is its file and key, ``reason`` the error and the allowed values."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")


class _Spot(NamedTuple):
    """A place in a scenario: its path with every name, the annotation there, and the value."""

    path: str
    annotation: Any
    value: Any

    @property
    def section(self) -> type[msgspec.Struct] | None:
        """The section at this place; of several kinds the value's kind; None if unknown."""
        kinds = kinds_of(self.annotation)
        tag = self.value.get(tag_key_of(kinds)) if isinstance(self.value, dict) else None
        return kind_named(kinds, tag)


def validation_message(message: str, raw: object, root: type[msgspec.Struct]) -> str:
    """Return msgspec's message on converting `raw` to `root` as ``key: error; allowed values``."""
    reason, _, path = message.partition(" - at `")
    path = path.rstrip("`")
    if path.startswith(_KEY_OF):
        entries = _spot(path.removeprefix(_KEY_OF), raw, root)
        return f"{entries.path}: {_wrong_name(entries)} is no name; {NAMES}"
    parents, _, last = path.rpartition(".")
    spot, parent = _spot(path, raw, root), _spot(parents, raw, root)
    key = spot.path
    allowed, words = [], ""
    if "matching regex" in reason:
        reason = _PATTERNS.get(key, reason)
    elif "unknown field" in reason:
        allowed = _keys_of(spot.section)
        words = f"the keys are {', '.join(allowed)}"
    elif "Invalid value" in reason and last == tag_key_of(kinds := kinds_of(parent.annotation)):
        allowed = sorted(map(tag_of, kinds))
        words = f"the kinds are {', '.join(allowed)}" if last == "kind" else f"it can be {' or '.join(allowed)}"
    elif "Invalid enum value" in reason:
        # In a list a single entry is wrong: `regions[2]`.
        allowed = _values_of(parent.section, last.partition("[")[0])
        words = f"it can be {' or '.join(allowed)}"
    if allowed:
        name = _QUOTED.search(reason)
        reason += f"{did_you_mean(name[1], allowed) if name else ''}; {words}"
    return f"{key}: {reason}" if key else reason


def _spot(path: str, raw: object, root: type[msgspec.Struct]) -> _Spot:
    """Return a place that msgspec names; for `[...]` instead of an entry's name, the refused entry."""
    spot = _Spot("", root, raw)
    for word in _WORDS.findall(path.removeprefix("$")):
        spot = _within(spot, word) if word.startswith("[") else _field(spot, word)
    return spot


def _field(spot: _Spot, name: str) -> _Spot:
    """Return the place of a key of a section."""
    fields = msgspec.structs.fields(spot.section) if spot.section else ()
    annotation = next((field.type for field in fields if field.encode_name == name), None)
    value = spot.value.get(name) if isinstance(spot.value, dict) else None
    return _Spot(f"{spot.path}.{name}".lstrip("."), annotation, value)


def _within(spot: _Spot, index: str) -> _Spot:
    """Return the place of a list's entry by its index, or of the entry that a table refuses."""
    if index != "[...]":
        # The annotation of the list leads to the kinds of its entries as well.
        return _Spot(f"{spot.path}{index}", spot.annotation, spot.value[int(index[1:-1])])
    kind = get_args(plain_of(spot.annotation))[-1]
    for name, entry in spot.value.items():
        try:
            msgspec.convert(entry, kind)
        except msgspec.ValidationError:
            return _Spot(f"{spot.path}.{name}", kind, entry)
    raise AssertionError("msgspec refused one of them")


def _wrong_name(entries: _Spot) -> str:
    """Return the first name that a table refuses."""
    kind = get_args(plain_of(entries.annotation))[0]
    for name in entries.value:
        try:
            msgspec.convert(name, kind)
        except msgspec.ValidationError:
            return ascii(name)
    raise AssertionError("msgspec refused one of them")


def _keys_of(section: type[msgspec.Struct] | None) -> list[str]:
    if section is None:
        return []
    keys = [field.encode_name for field in msgspec.structs.fields(section)]
    return [tag_key_of([section]), *keys] if tag_of(section) else keys


def _values_of(section: type[msgspec.Struct] | None, key: str) -> list[str]:
    """Return the allowed words of a key of a section."""
    kinds = [field.type for field in msgspec.structs.fields(section) if field.encode_name == key] if section else []
    return [str(word) for kind in kinds for word in _words_in(kind)]


def _words_in(kind: Any) -> tuple[object, ...]:  # noqa: ANN401 - an annotation is of no type that has a name
    """Return the allowed words of a type: a literal, a list of a literal, or a union with either."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return next((words for part in get_args(kind) if (words := _words_in(part))), ())
