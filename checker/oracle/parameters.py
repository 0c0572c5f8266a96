"""The kinds of values that parameters of a policy have, and the rule of each (docs/state.md)."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

MAX_INTEGER: Final = 2**63 - 1

Ratio = Sequence[int]
"""Two integers, the second above zero; kept as stated, because the state holds the pair itself."""

FieldRule = Callable[[object], bool]
"""Returns whether a field may have a value."""


def whole(least: int = 0, greatest: int = MAX_INTEGER) -> FieldRule:
    """Return the rule of an integer within bounds."""
    return lambda field: type(field) is int and least <= field <= greatest


def ratio_of(field: object) -> Fraction | None:
    """Return the value of a ratio, or None for a field that is not a ratio."""
    is_number = whole()
    if not isinstance(field, list | tuple) or len(field) != 2 or not all(is_number(number) for number in field):
        return None
    return Fraction(*field) if field[1] else None


def is_ratio(field: object) -> bool:
    """Return whether a field is a ratio."""
    return ratio_of(field) is not None


def one_of(*names: str) -> FieldRule:
    """Return the rule of a field that is one of these names."""
    return lambda field: isinstance(field, str) and field in names


def hold(rules: Sequence[FieldRule], fields: Sequence[Any]) -> bool:
    """Return whether there is a field for each rule, and each rule holds."""
    return len(fields) == len(rules) and all(rule(field) for rule, field in zip(rules, fields, strict=True))
