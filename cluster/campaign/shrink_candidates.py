"""What of a plan can be smaller, value by value: each a ladder from its smallest to what it is now.

Nothing here knows the kinds of faults and workloads: a value that is not as by default can be left out, a number can
come closer to its default or to nothing, a list can lose each of its entries, a time span can be cut on both ends. A
rung that makes no sound scenario is none: the scenario's own rules say so.
"""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from cluster.scenario.defaults import without_defaults
from cluster.scenario.load import convert_scenario, encode_scenario
from cluster.scenario.messages import ScenarioError

Plain: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[Any, ...]

GONE: Final = object()
"""Stands for a value or an entry that is left out."""

ROUND_MS: Final = 100
"""Times that are made up are whole tenths of a second."""

_KEPT: Final = (
    *("name", "title", "requires", "mutants", "kind", "do", "set", "cluster", "expect", "may_be_idle"),
    *("time_limit_ms", "step_limit"),
)
"""What is not a value of the plan: what it is called, what is wrong in it, what an entry is, how many there are; what a
run is to show, and what ends one that never would.
"""

_SPANS: Final = (("start_ms", "stop_ms"), ("at_ms", "restart_ms"))
_STOP: Final = ("run", "until_height")
_STOPS_MAX: Final = 8
"""Rungs of the height at which a run is over: earlier is better, whatever the default is."""


class Ladder(NamedTuple):
    """A value's place in the plan, and what may stand there, the smallest first, what does now last."""

    path: Path
    rungs: tuple[Any, ...]


def ladders_of(plain: Plain) -> list[list[Ladder]]:
    """Return the ladders of a resolved scenario, grouped by what they belong to; those with one rung are none."""
    stated = without_defaults(plain)
    groups: list[list[Ladder]] = []
    for key, section in stated.items():
        if key in _KEPT or not isinstance(section, Mapping):
            continue
        tables = all(isinstance(entry, Mapping) and "kind" in entry for entry in section.values())
        entries = [((key, name), entry) for name, entry in section.items()] if tables else [((key,), section)]
        groups += [list(_ladders_in(plain, path, entry)) for path, entry in entries]
    groups.append([_stop(plain)])
    sound = [[_sound(plain, ladder) for ladder in group] for group in groups]
    kept = [[ladder for ladder in group if len(ladder.rungs) > 1] for group in sound]
    return [group for group in kept if group]


def with_rungs(plain: Plain, chosen: Sequence[tuple[Ladder, int]]) -> Plain:
    """Return the plan with each ladder's value on a rung."""
    changed = copy.deepcopy(plain)
    lists: dict[int, list[Any]] = {}
    for ladder, rung in chosen:
        *parents, last = ladder.path
        section = _at(changed, tuple(parents))
        value = ladder.rungs[rung]
        if isinstance(section, list):
            section[last] = value
            lists[id(section)] = section
        elif value is GONE:
            section.pop(last, None)
        else:
            section[last] = value
    for each in lists.values():
        each[:] = [value for value in each if value is not GONE]
    return changed


def _stop(plain: Plain) -> Ladder:
    height = plain["run"]["until_height"]
    rungs = dict.fromkeys(max(1, height * eighths // _STOPS_MAX) for eighths in range(1, _STOPS_MAX))
    return Ladder(_STOP, (*rungs, height))


def _ladders_in(plain: Plain, path: Path, section: Mapping[str, Any]) -> Iterator[Ladder]:
    for key, value in section.items():
        place = (*path, key)
        if key in _KEPT or place == _STOP:
            continue
        if isinstance(value, Mapping):
            yield from _ladders_in(plain, place, value)
        elif isinstance(value, list):
            for index, entry in enumerate(value):
                yield Ladder((*place, index), (GONE, entry))
        elif (span := _span_of(plain, path, key)) is not None:
            yield Ladder(place, (*_within(span, at_start=key == span.start), value))
        elif type(value) is int:
            yield Ladder(place, (*_towards(plain, place, value), value))
        else:
            yield Ladder(place, (GONE, value))


class _Span(NamedTuple):
    start: str
    start_ms: int
    stop_ms: int


def _span_of(plain: Plain, path: Path, key: str) -> _Span | None:
    """Return the span of time that a key begins or ends."""
    entry = _at(plain, path)
    for start, stop in _SPANS:
        if key in {start, stop} and isinstance(entry.get(start), int) and isinstance(entry.get(stop), int):
            return _Span(start, entry[start], entry[stop])
    return None


def _within(span: _Span, *, at_start: bool) -> Iterator[int]:
    """Yield later starts or earlier stops, those that leave least first."""
    length_ms = span.stop_ms - span.start_ms
    for quarters in (3, 2, 1) if at_start else (1, 2, 3):
        at_ms = span.start_ms + length_ms * quarters // 4
        yield at_ms // ROUND_MS * ROUND_MS if length_ms >= 10 * ROUND_MS else at_ms


def _towards(plain: Plain, path: Path, value: int) -> Iterator[Any]:
    """Yield the way to a number from its default, or where it has none from 0 or 1, whichever can be.

    Numbers between one and a greater default are no easier to read: there the default is the only rung.
    """
    lowest = next((rung for rung in (GONE, 0, 1) if _encoded(plain, path, rung)), None)
    if lowest is not None:
        yield lowest
    base = 0
    if lowest is GONE:
        default = _at(json.loads(_encoded(plain, path, GONE)), path)
        base = default if type(default) is int else 0
    for quarters in (1, 2):
        if value > base:
            yield _rounded(base + (value - base) * quarters // 4)


def _rounded(number: int) -> int:
    """Return a number with two digits that are not 0."""
    digits = len(str(number))
    return number if digits <= 2 else number // 10 ** (digits - 2) * 10 ** (digits - 2)


def _at(plain: Any, path: Path) -> Any:  # noqa: ANN401 - plain data
    for key in path:
        plain = plain[key]
    return plain


def _sound(plain: Plain, ladder: Ladder) -> Ladder:
    """Leave out the rungs that make no sound scenario, or the same as another."""
    now = ladder.rungs[-1]
    kept = {_encoded(plain, ladder.path, now): now}
    for value in ladder.rungs[:-1]:
        encoded = _encoded(plain, ladder.path, value)
        if encoded:
            kept.setdefault(encoded, value)
    return Ladder(ladder.path, (*list(kept.values())[1:], now))


def _encoded(plain: Plain, path: Path, value: Any) -> bytes:  # noqa: ANN401 - plain data
    """Return the scenario with one value changed, nothing where it is none."""
    try:
        return encode_scenario(convert_scenario(with_rungs(plain, [(Ladder(path, (value,)), 0)]), "a rung"))
    except ScenarioError:
        return b""
