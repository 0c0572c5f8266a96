"""Shrink candidates for each scenario value, smallest first.

This module does not depend on the kinds of faults and workloads. A value that differs from its default can be left
out. A number can come closer to its default or to 0. A list can lose each of its entries. A time span can be cut at
both ends. A value that the scenario's own rules refuse is not a candidate.
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
"""Invented times are whole tenths of a second."""

_KEPT: Final = (
    *("name", "title", "requires", "mutants", "kind", "do", "set", "cluster", "expect", "may_be_idle"),
    *("time_limit_ms", "step_limit"),
    *("anchor", "application", "mutants_from_height"),
)
"""Keys that are never changed: names, mutants, the application, kinds and counts of entries, expectations, time limits.

An anchor belongs to the identity of a fault: with other values, a crash of validator 2 at its third append becomes a
crash of any validator at its first.
"""

_SPANS: Final = (("start_ms", "stop_ms"), ("at_ms", "restart_ms"))
_STOP: Final = ("run", "until_height")
_STOPS_MAX: Final = 8
"""Candidates for the height at which a run is over: earlier is better, whatever the default is."""


class ValueCandidates(NamedTuple):
    """The place of a value in the plan, and the values that may stand there: smallest first, present value last."""

    path: Path
    values: tuple[Any, ...]

    @property
    def highest(self) -> int:
        """The choice of the present value."""
        return len(self.values) - 1

    def describe(self, choice: int) -> str:
        """Return in words the step from the present value to a smaller one."""
        place, before, after = ".".join(map(str, self.path)), self.values[-1], self.values[choice]
        return f"{place} {before} left out" if after is GONE else f"{place} {before} -> {after}"


def candidates_of(plain: Plain) -> list[list[ValueCandidates]]:
    """Return the candidates for the values of a resolved scenario, in a group for each section or entry."""
    stated = without_defaults(plain)
    groups: list[list[ValueCandidates]] = []
    for key, section in stated.items():
        if key in _KEPT or not isinstance(section, Mapping):
            continue
        tables = all(isinstance(entry, Mapping) and "kind" in entry for entry in section.values())
        entries = [((key, name), entry) for name, entry in section.items()] if tables else [((key,), section)]
        groups += [list(_candidates_in(plain, path, entry)) for path, entry in entries]
    groups.append([_stop(plain)])
    narrowed = {
        ("workload", name, key)
        for name, workload in convert_scenario(plain, "the plan").workload.items()
        for key in workload.narrowed_by
    }
    sound = [[_sound(plain, each) for each in group if each.path not in narrowed] for group in groups]
    kept = [[candidates for candidates in group if candidates.highest] for group in sound]
    return [group for group in kept if group]


def with_choices(plain: Plain, chosen: Sequence[tuple[ValueCandidates, int]]) -> Plain:
    """Return the plan with the chosen candidate for each value."""
    changed = copy.deepcopy(plain)
    lists: dict[int, list[Any]] = {}
    for candidates, choice in chosen:
        *parents, last = candidates.path
        section = _at(changed, tuple(parents))
        value = candidates.values[choice]
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


def _stop(plain: Plain) -> ValueCandidates:
    height = plain["run"]["until_height"]
    heights = dict.fromkeys(max(1, height * eighths // _STOPS_MAX) for eighths in range(1, _STOPS_MAX))
    return ValueCandidates(_STOP, (*heights, height))


def _candidates_in(plain: Plain, path: Path, section: Mapping[str, Any]) -> Iterator[ValueCandidates]:
    for key, value in section.items():
        place = (*path, key)
        if key in _KEPT or place == _STOP:
            continue
        if isinstance(value, Mapping):
            yield from _candidates_in(plain, place, value)
        elif isinstance(value, list):
            entries = [ValueCandidates((*place, index), (GONE, entry)) for index, entry in enumerate(value)]
            # A ratio is a list that can lose no entry: it goes back to its default as a whole.
            is_ratio = not any(_sound(plain, entry).highest for entry in entries)
            yield from [ValueCandidates(place, (GONE, value))] if is_ratio else entries
        elif (span := _span_of(plain, path, key)) is not None:
            yield ValueCandidates(place, (*_within(span, at_start=key == span.start), value))
        elif type(value) is int:
            yield ValueCandidates(place, (*_towards(plain, place, value), value))
        else:
            yield ValueCandidates(place, (GONE, value))


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
    """Yield later starts or earlier stops, the shortest remaining span first."""
    length_ms = span.stop_ms - span.start_ms
    for quarters in (3, 2, 1) if at_start else (1, 2, 3):
        at_ms = span.start_ms + length_ms * quarters // 4
        yield at_ms // ROUND_MS * ROUND_MS if length_ms >= 10 * ROUND_MS else at_ms


def _towards(plain: Plain, path: Path, value: int) -> Iterator[Any]:
    """Yield steps to a number from its default, or without a default from 0 or 1, whichever is valid.

    If the default is greater, only the default is a candidate, because a number between is no easier to read.
    """
    lowest = next((value for value in (GONE, 0, 1) if _encoded(plain, path, value)), None)
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


def _sound(plain: Plain, candidates: ValueCandidates) -> ValueCandidates:
    """Return the candidates without values that make an invalid scenario or the same scenario as another value."""
    now = candidates.values[-1]
    kept = {_encoded(plain, candidates.path, now): now}
    for value in candidates.values[:-1]:
        encoded = _encoded(plain, candidates.path, value)
        if encoded:
            kept.setdefault(encoded, value)
    return ValueCandidates(candidates.path, (*list(kept.values())[1:], now))


def _encoded(plain: Plain, path: Path, value: Any) -> bytes:  # noqa: ANN401 - plain data
    """Return the scenario with a value changed, encoded; empty if it is not a valid scenario."""
    return resolve(with_choices(plain, [(ValueCandidates(path, (value,)), 0)]))


def resolve(plain: Plain) -> bytes:
    """Return the resolved scenario of a plan, encoded; empty if the plan is not a valid scenario."""
    try:
        return encode_scenario(convert_scenario(plain, "candidate"))
    except ScenarioError:
        return b""
