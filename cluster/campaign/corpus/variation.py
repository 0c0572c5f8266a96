"""Varies a plan of the corpus: moved instants, added, removed and exchanged faults and workloads, changed values.

A variant is a function of the corpus and the seed: every choice is a named draw, as in the swarm. An added fault,
workload or value comes from another plan of the corpus, or from the swarm's plan of the same seed. So the swarm could
have drawn each of them. A variant that breaks a rule of scenarios, or changes nothing, is drawn again.
"""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from operator import eq
from typing import Any, Final, NamedTuple

from cluster.campaign.shrink_candidates import Plain, resolve
from cluster.scenario.load import apply_setting, encode_scenario
from cluster.swarm.generator import draw_scenario
from faults.kinds.drawing import FAULTS_FROM_MS, FAULTS_UNTIL_MS
from network.draw import Draw

VARIED: Final = "varied"
"""The name of a varied scenario."""

ATTEMPTS: Final = 20
"""The number of variants drawn before the seed takes the swarm's plan."""

MOVE_MS: Final = 4_000
"""The farthest that a fault is moved."""

ENTRIES_MORE: Final = 1
"""The largest number of faults, and of workloads, that a variant adds to its plan: variants of variants grow slowly."""

ENTRIES_MAX: Final = 24
"""The largest number of faults, and of workloads, of a variant: a few more than the swarm draws, as a bound."""

_TABLES: Final = ("faults", "workload")
"""Sections whose entries are added, removed and exchanged."""

_TIMES: Final = ("start_ms", "stop_ms", "at_ms", "restart_ms")
_VALUES: Final = ("chain", "network", "costs", "sync")
"""Sections whose values are exchanged singly."""

_KEPT: Final = ("policy", "activation", "id", "timebase", "regions")
"""Keys on which other values depend."""


class Varying(NamedTuple):
    """A plan that is being varied.

    Attributes:
        plain: The plan, which each step changes in place.
        donors: The plans that steps take from.
        draw: The chance of the seed.
        name: The name of this step's draws.
        most: How many entries each table may have.
    """

    plain: Plain
    donors: Sequence[Plain]
    draw: Draw
    name: str
    most: Mapping[str, int]

    def one_of(self, what: str, values: Sequence[Any]) -> Any:  # noqa: ANN401 - plain data
        """Return one of the values, None if there are none."""
        return self.draw.one_of(f"{self.name}.{what}", values) if values else None


def vary(plans: Mapping[str, Plain], seed: int, settings: Sequence[str] = ()) -> bytes:
    """Return the scenario that a seed makes from a corpus, encoded; the swarm's own where no variant is sound.

    Args:
        plans: The plans of the corpus by name, oldest first.
        seed: The seed.
        settings: Keys with values that every scenario of the campaign has.
    """
    draw, drawn = Draw(seed), encode_scenario(draw_scenario(seed, settings))
    own: Plain = json.loads(drawn)
    names = _nearest(plans, own)
    for attempt in range(ATTEMPTS if names else 0):
        name = f"corpus.{attempt}"
        # Of two drawn plans take the later: later plans reached places that earlier plans had not.
        place = max(draw.between(f"{name}.{which}", 0, len(names) - 1) for which in ("plan", "or"))
        plain = copy.deepcopy(plans[names[place]])
        donors = [own, plans[draw.one_of(f"{name}.donor", names)]]
        most = {table: min(len(plain[table]) + ENTRIES_MORE, ENTRIES_MAX) for table in _TABLES}
        steps = []
        for step in range(draw.one_of(f"{name}.steps", (1, 2, 2, 3, 4))):
            varying = Varying(plain, donors, draw, f"{name}.{step}", most)
            steps.append(varying.one_of("step", _STEPS)(varying))
        plain["name"], plain["title"] = VARIED, f"{names[place]}, {'; '.join(filter(None, steps))}"[:_TITLE_MAX]
        for setting in settings:
            apply_setting(plain, setting)
        encoded = resolve(plain)
        if encoded and any(steps):
            return encoded
    return drawn


_TITLE_MAX: Final = 200


def _nearest(plans: Mapping[str, Plain], own: Plain) -> list[str]:
    """Return the names of the plans with the seed's engine and policy; if there are none, with either of the two.

    The swarm gives each engine and policy the same number of seeds. Plans of any chain would spoil this balance.
    """
    alike = {name: sum(map(eq, _chain_of(plain), _chain_of(own))) for name, plain in plans.items()}
    most = max(alike.values(), default=0)
    return [name for name, parts in alike.items() if parts == most]


def _chain_of(plain: Plain) -> tuple[str, str]:
    """Return the engine and the policy of a plan."""
    return plain["consensus"]["engine"], plain["chain"]["policy"]


def _move(varying: Varying) -> str:
    """Move a fault in time."""
    name = varying.one_of("fault", list(varying.plain["faults"]))
    fault = varying.plain["faults"].get(name, {})
    times = [key for key in _TIMES if type(fault.get(key)) is int]
    if not times:
        return ""
    shift_ms = varying.draw.between(f"{varying.name}.shift_ms", -MOVE_MS, MOVE_MS)
    earliest_ms, latest_ms = min(fault[key] for key in times), max(fault[key] for key in times)
    # Times with an anchor count from it.
    lowest_ms = FAULTS_FROM_MS if fault.get("anchor") is None else 0
    shift_ms = min(max(shift_ms, lowest_ms - earliest_ms), FAULTS_UNTIL_MS - latest_ms)
    for key in times:
        fault[key] += shift_ms
    return f"{name} moved by {shift_ms} ms" if shift_ms else ""


def _end(varying: Varying) -> str:
    """Let a fault end earlier or later."""
    name = varying.one_of("fault", list(varying.plain["faults"]))
    fault = varying.plain["faults"].get(name, {})
    times = [key for key in _TIMES if type(fault.get(key)) is int]
    if len(times) < 2:
        return ""
    start, end = times
    lowest_ms = fault[start] + 100
    fault[end] = varying.draw.between(f"{varying.name}.end_ms", lowest_ms, max(lowest_ms, FAULTS_UNTIL_MS))
    return f"{name} until {fault[end]} ms"


def _add(table: str) -> Callable[[Varying], str]:
    def add(varying: Varying) -> str:
        entries, donor = varying.plain[table], varying.one_of("donor", varying.donors)
        name = varying.one_of("entry", list(donor[table]))
        if name is None or len(entries) >= varying.most[table]:
            return ""
        free = next(each for each in chain([name], (f"{name}-{place}" for place in count())) if each not in entries)
        entries[free] = copy.deepcopy(donor[table][name])
        return f"with {free}"

    return add


def _remove(table: str) -> Callable[[Varying], str]:
    def remove(varying: Varying) -> str:
        entries = varying.plain[table]
        name = varying.one_of("gone", list(entries))
        entries.pop(name, None)
        return f"without {name}" if name is not None else ""

    return remove


def _exchange(table: str) -> Callable[[Varying], str]:
    def exchange(varying: Varying) -> str:
        return ", ".join(filter(None, (_remove(table)(varying), _add(table)(varying))))

    return exchange


def _take_value(varying: Varying) -> str:
    """Take a single value from another plan."""
    donor = varying.one_of("donor", varying.donors)
    section = varying.one_of("section", _VALUES)
    places = [
        path
        for path, value in _leaves(varying.plain[section], (section,))
        if _found(donor, path) not in {_key(value), _key(None)}
    ]
    path = varying.one_of("value", places)
    if path is None:
        return ""
    *parents, last = path
    into, source = varying.plain, donor
    for key in parents:
        into, source = into[key], source[key]
    into[last] = copy.deepcopy(source[last])
    return f"{'.'.join(path)} {into[last]}"


def _scale(varying: Varying) -> str:
    """Halve or double a number of a fault or a workload."""
    table = varying.one_of("table", _TABLES)
    places = [
        path
        for path, value in _leaves(varying.plain[table], (table,))
        if type(value) is int and value > 1 and path[-1] not in _TIMES
    ]
    path = varying.one_of("number", places)
    if path is None:
        return ""
    *parents, last = path
    into = varying.plain
    for key in parents:
        into = into[key]
    into[last] = into[last] * 2 if varying.draw.chance(f"{varying.name}.is_more", 50) else into[last] // 2
    return f"{'.'.join(path)} {into[last]}"


def _leaves(section: Mapping[str, Any], path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    """Return the values of a section with their paths, also in nested tables."""
    found: list[tuple[tuple[str, ...], Any]] = []
    for key, value in section.items():
        if key in _KEPT:
            continue
        found += _leaves(value, (*path, key)) if isinstance(value, Mapping) else [((*path, key), value)]
    return found


def _found(plain: Any, path: Sequence[str]) -> str:  # noqa: ANN401 - plain data
    for key in path:
        plain = plain.get(key) if isinstance(plain, Mapping) else None
    return _key(plain)


def _key(value: object) -> str:
    return json.dumps(value)


_STEPS: Final[Sequence[Callable[[Varying], str]]] = (
    _move,
    _move,
    _end,
    _add("faults"),
    _add("faults"),
    _remove("faults"),
    _exchange("faults"),
    _exchange("faults"),
    _add("workload"),
    _exchange("workload"),
    _take_value,
    _take_value,
    _take_value,
    _scale,
)
"""The steps; a step with many outcomes occurs several times, so that it is drawn more often."""
