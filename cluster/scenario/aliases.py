"""Keys of scenario files that had another name in the release before: they are taken, and a line says so once.

Remove an entry one release after it was added.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

Keys: TypeAlias = tuple[str, ...]

ALIASES: Final[dict[Keys, Keys]] = {
    ("planted",): ("mutants",),
    ("expect", "roads"): ("expect", "replica_modes"),
}
"""Old places of keys with their new ones, in the same section."""

_REPORTED: Final[dict[str, None]] = {}
"""Lines that this process has printed."""


def report_once(line: str) -> None:
    """Print a line on standard error unless it was printed before."""
    if line not in _REPORTED:
        _REPORTED[line] = None
        sys.stderr.write(f"{line}\n")


def with_new_names(raw: Any, report: Callable[[str], object]) -> Any:  # noqa: ANN401 - plain data
    """Return plain data with the new names of old keys; an old key beside its new one stays, to be refused."""
    for old, new in ALIASES.items():
        renamed = _renamed(raw, old, new)
        if renamed is not raw:
            raw = renamed
            report(_line(old, new))
    return raw


def rename_setting(key: Sequence[str], report: Callable[[str], object] = report_once) -> list[str]:
    """Return the parts of a setting's key with their new names."""
    for old, new in ALIASES.items():
        if tuple(key[: len(old)]) == old:
            report(_line(old, new))
            return [*new, *key[len(old) :]]
    return list(key)


def _renamed(section: Any, old: Keys, new: Keys) -> Any:  # noqa: ANN401 - plain data
    """Return a section with a key renamed, the section itself if there is nothing to rename."""
    first, *rest = old
    if not isinstance(section, dict) or first not in section:
        return section
    if not rest:
        return section if new[0] in section else {new[0] if key == first else key: section[key] for key in section}
    inner = _renamed(section[first], old[1:], new[1:])
    return section if inner is section[first] else section | {first: inner}


def _line(old: Keys, new: Keys) -> str:
    return f"scenario key {'.'.join(old)} is now called {'.'.join(new)}; the next release will not know the old name"
