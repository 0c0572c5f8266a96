"""Values in words: fields that differ between two sides, the difference, and names cut to twelve digits."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from checker.record.errors import on_one_line

VALUE_CHARACTERS_MAX: Final = 600
"""Greatest number of characters of a field's value; the JSON object of `explain` has the whole value."""

SHOWN_DIGITS: Final = 12
"""Hexadecimal digits shown of an address or a digest."""

ABSENT: Final = "absent"

_PLAIN: Final[Mapping[str, str]] = {"True": "yes", "False": "no", "None": "none"}
_PLAIN_FIELD: Final = re.compile(r"(?<![^=])(True|False|None)(?![^ ,)\]])")
"""A value of Python as a whole text or behind the name of its field."""

_LONG_NAME: Final = re.compile(rf"\b([0-9a-f]{{{SHOWN_DIGITS}}})[0-9a-f]{{28,}}\b")
_FIELD: Final = re.compile(r"(?:^|(?<= ))([a-z_][a-z0-9_]*)=")
_NAMED: Final = re.compile(r"(^|[ (\[])([a-z][a-z0-9_]*)=(?=(\S?))")
_AFTER_TITLE: Final = re.compile(r"(\b[A-Z][a-z]+[A-Z]\w+|:), (?=[a-z])")
_NUMBER: Final = re.compile(r"0|-?[1-9]\d*")
_LONG_NUMBER: Final = re.compile(r"(?<![\w.,(])\d{5,19}(?![\w.])")

_UNITS: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("balance", "burned", "tip", "tips", "total", "amount", "units", "paid", "refund", "deposit"), "units"
    ),
    **dict.fromkeys(("used_cycles", "gas_limit", "cycles", "gc_cycles", "lane_cycles"), "cycles"),
    **dict.fromkeys(("used_cells", "cells", "lane_cells"), "cells"),
}
"""Units of numeric fields."""


def shorten(text: str) -> str:
    """Return a text with addresses and digests cut to twelve digits."""
    return _LONG_NAME.sub(r"\1", text)


def in_words(text: str) -> str:
    """Return a text with fields as `name value` instead of `name=value`, short names and grouped digits."""

    def name(found: re.Match[str]) -> str:
        before = ", " if found[1] == " " else found[1]
        value = "" if found[3].strip() else " none"
        return f"{before}{found[2].replace('_', ' ')}{value}{' ' if found[3].strip() else ''}"

    plain = _PLAIN_FIELD.sub(lambda found: _PLAIN[found[0]], shorten(text))
    return group_digits(_AFTER_TITLE.sub(lambda found: f"{found[1].rstrip(':')}: ", _NAMED.sub(name, plain)))


def group_digits(text: str) -> str:
    """Return a text with a comma between the thousands of its decimal numbers."""
    return _LONG_NUMBER.sub(lambda found: f"{int(found[0]):,}" if found[0][0] != "0" else found[0], text)


def differing_fields(values: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Return the fields that differ between the sides, each with its value before the block and on each side.

    A value without named fields is a single field called `value`.
    """
    read = [fields_of(value) for value in values]
    if not all(read[1:]):
        return [("value", tuple(on_one_line(value)[:VALUE_CHARACTERS_MAX] for value in values))]
    names = dict.fromkeys(name for fields in read for name in fields)
    rows = ((name, tuple(fields.get(name, "") for fields in read)) for name in names)
    return [(name, cells) for name, cells in rows if len(set(cells[1:])) > 1]


def fields_of(value: str) -> Mapping[str, str]:
    """Return the fields of a value by name; empty for a value without named fields."""
    places = list(_FIELD.finditer(value))
    ends = [*(place.start() for place in places[1:]), len(value)] if places else []
    return {
        place.group(1): on_one_line(value[place.end() : end])[:VALUE_CHARACTERS_MAX].strip()
        for place, end in zip(places, ends, strict=True)
    }


def compare(name: str, right: str, wrong: str) -> str:
    """Return the difference of a field: `800 units lower`, `2 entries longer`; empty without a figure.

    Args:
        name: The field.
        right: Its value on the right side.
        wrong: Its value on the wrong side.
    """
    if _NUMBER.fullmatch(right) and _NUMBER.fullmatch(wrong):
        by, unit = int(wrong) - int(right), _UNITS.get(name, "")
        if abs(by) == 1:
            unit = unit.removesuffix("s")
        return " ".join(filter(None, [f"{abs(by):,}", unit, "higher" if by > 0 else "lower"]))
    if right[:1] == wrong[:1] == "[":
        return _compare_lists(entries_of(right), entries_of(wrong))
    return ""


def _compare_lists(right: Sequence[str], wrong: Sequence[str]) -> str:
    more = len(wrong) - len(right)
    if more:
        return f"{abs(more):,} {'entry' if abs(more) == 1 else 'entries'} {'longer' if more > 0 else 'shorter'}"
    return "in another order" if Counter(right) == Counter(wrong) else ""


def entries_of(value: str) -> list[str]:
    """Return the entries of a list in its displayed form."""
    entries, depth, start = [], 0, 1
    for place, each in enumerate(value):
        depth += (each in "([") - (each in ")]")
        if (each == "," and depth == 1) or depth == 0:
            entries.append(value[start:place].strip())
            start = place + 1
            if depth == 0:
                break
    return [entry for entry in entries if entry]
