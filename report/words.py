"""Words beside numbers, and names with what is said of them."""

from collections.abc import Mapping


def counted(count: int, unit: str) -> str:
    """Return a number with its unit, which is a plural: of one thing, a single word loses its last letter."""
    return f"1 {unit.removesuffix('s')}" if count == 1 and " " not in unit else f"{count:,} {unit}"


def reasons_in_words(not_asked: Mapping[str, str]) -> list[str]:
    """Return a phrase for each reason, with the names of all checks that are not asked for it."""
    names: dict[str, list[str]] = {}
    for name, reason in not_asked.items():
        names.setdefault(reason, []).append(name)
    return [f"{', '.join(listed)} ({reason})" for reason, listed in names.items()]
