"""Keys and values of scenario files that had another name in the last release: they are accepted, with a message.

Remove an entry one release after it was added.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from checker.families import CHECK_OF
from checker.results import FORMER_NAMES

Keys: TypeAlias = tuple[str, ...]

ALIASES: Final[dict[Keys, Keys]] = {
    ("planted",): ("mutants",),
    ("expect", "roads"): ("expect", "replica_modes"),
    ("expect", "reports", "OthersLeft"): ("expect", "reports", "PeerTimeouts"),
    **{
        ("chain", "lane", key): ("chain", "calendar", key)
        for key in ("profile", "ring_size", "epoch_length", "epoch_horizon")
    },
}
"""Old places of keys with their new places."""

_FORMER_CHARGES: Final = {"others": "second_price"}
_FORMER_EXPIRIES: Final = {"apart": "own_limit"}

VALUES: Final[dict[Keys, dict[str, str]]] = {
    ("chain", "policy_parameters", "charge"): _FORMER_CHARGES,
    ("chain", "policy_parameters", "expiry"): _FORMER_EXPIRIES,
    ("workload", "*", "actions", "*", "set", "system:aptos:charge"): _FORMER_CHARGES,
    ("workload", "*", "actions", "*", "set", "system:aptos:expiry"): _FORMER_EXPIRIES,
    ("workload", "*", "kind"): {"edge-cases": "boundary-cases"},
    ("faults", "*", "kind"): {"dishonest": "byzantine"},
    ("faults", "*", "manner"): {"jammed": "held", "slowed": "delayed"},
    ("faults", "*", "behaviour"): {
        "drag-time": "skew-timestamps",
        "exchange-certificate": "mismatched-certificate",
        "misshape": "malformed-votes",
        "odd-encoding": "noncanonical-encoding",
        "thin-certificates": "invalid-certificates",
        "usurp": "propose-ahead",
    },
    ("expect", "fails"): FORMER_NAMES,
}
"""Old values with their new values, by their key; `*` is any name, or any place of a list."""

_REPORTED: Final[dict[str, None]] = {}
"""Lines that this process has printed."""


def report_once(line: str) -> None:
    """Print a line on standard error unless it was printed before."""
    if line not in _REPORTED:
        _REPORTED[line] = None
        sys.stderr.write(f"{line}\n")


def with_new_names(raw: Any, report: Callable[[str], object]) -> Any:  # noqa: ANN401 - plain data
    """Return plain data with the new names of old keys; an old key beside its new key stays, to be refused."""
    for old, new in ALIASES.items():
        renamed = _renamed(raw, old, new)
        if renamed is not raw:
            raw = renamed
            report(_line(old, new))
    for key, names in VALUES.items():
        raw = _with_new_values(raw, key, names, report)
    # A check may be named with its family, as in a failure.
    return _with_new_values(raw, ("expect", "fails"), CHECK_OF, lambda _line: None)


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
    if first == new[0]:
        inner = _renamed(section[first], old[1:], new[1:])
        return section if inner is section[first] else section | {first: inner}
    return _moved(section, (first, rest[0]), (new[0], new[1]))


def _moved(section: dict[str, Any], old: Keys, new: Keys) -> dict[str, Any]:
    """Return a section with a key of one part moved to another part, or the section itself if nothing is to move."""
    source, target = section[old[0]], section.get(new[0], {})
    if not isinstance(source, dict) or not isinstance(target, dict) or old[1] not in source or new[1] in target:
        return section
    left = {key: value for key, value in source.items() if key != old[1]}
    return section | {old[0]: left, new[0]: target | {new[1]: source[old[1]]}}


def _with_new_values(value: Any, key: Keys, names: Mapping[str, str], report: Callable[[str], object]) -> Any:  # noqa: ANN401 - plain data
    """Return plain data with the new values of a key, or the data itself if nothing is to be renamed."""
    if key and isinstance(value, dict):
        first, rest = key[0], key[1:]
        found = {name: _with_new_values(value[name], rest, names, report) for name in value if first in {name, "*"}}
        return value | found if any(found[name] is not value[name] for name in found) else value
    if isinstance(value, list | tuple) and (not key or key[0] == "*"):
        renamed = [_with_new_values(each, key[1:], names, report) for each in value]
        if renamed == list(value):
            return value
        # Merged checks are named once.
        return renamed if key else [each for place, each in enumerate(renamed) if each not in renamed[:place]]
    if not key and isinstance(value, str) and value in names:
        report(f"{value} is now called {names[value]}; the next release will not know the old name")
        return names[value]
    return value


def _line(old: Keys, new: Keys) -> str:
    return f"scenario key {'.'.join(old)} is now called {'.'.join(new)}; the next release will not know the old name"
