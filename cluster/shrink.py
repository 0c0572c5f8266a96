"""Makes a run that went wrong smaller while it goes wrong in the same way.

What is reduced is the resolved plan, not the seed: fewer faults, fewer workloads, fewer validators, an earlier stop,
shorter faults, smaller numbers, and everything else at its default. A candidate counts if its signature (cluster.sweep)
is that of the run; chance is keyed, so what a reduction leaves in place draws as before. Sets are reduced by delta
debugging, numbers by halving towards their smallest value. Passes repeat until none of them finds anything more.

Candidates are judged in worker processes, as many at a time as there are jobs; of those that count the first in order
is taken, so the result does not depend on how many jobs there were.
"""

import copy
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, final

import msgspec

from cluster.defaults import without_defaults
from cluster.results import SeedResult
from cluster.scenario import Scenario, ScenarioError, convert_scenario, encode_scenario
from cluster.sweep import Task

Plain: TypeAlias = dict[str, Any]
Candidate: TypeAlias = tuple[str, Plain]
TaskJudge: TypeAlias = Callable[[Sequence[Task]], Iterator[tuple[Task, SeedResult]]]

RUNS_MAX: Final = 600
"""Runs after which shrinking stops with what it has."""

VALIDATORS_MIN: Final = 4
"""The smallest cluster that bears a fault."""


class Shrunk(NamedTuple):
    """What came of it: the smallest scenario found, the runs it took, and whether it stopped at the limit of runs."""

    scenario: Scenario
    runs: int
    is_cut_off: bool
    steps: tuple[str, ...]


@final
class Shrinker:
    """Reduces one scenario.

    Args:
        scenario: The resolved scenario of the run that went wrong.
        seed: Its seed.
        signature: What a candidate must show.
        judge: Judges tasks and yields results in any order.
        jobs: How many candidates are judged at a time.
        on_step: Is told of each reduction, with the runs so far.
        runs_max: Runs after which it stops with what it has.
        is_thorough: Whether candidates are repeated in another process: what the failure needs to show.
    """

    def __init__(
        self,
        scenario: Scenario,
        seed: int,
        signature: str,
        *,
        judge: TaskJudge,
        jobs: int,
        on_step: Callable[[str, int], None] = lambda _what, _runs: None,
        runs_max: int = RUNS_MAX,
        is_thorough: bool = False,
    ) -> None:
        self._plain: Plain = json.loads(encode_scenario(scenario))
        self._seed = seed
        self._signature = signature
        self._judge = judge
        self._jobs = jobs
        self._on_step = on_step
        self._runs_max = runs_max
        self._is_thorough = is_thorough
        self._runs = 0
        self._steps: list[str] = []
        self._tried: dict[bytes, None] = {}
        self._failed: dict[str, None] = {}

    def shrink(self) -> Shrunk:
        """Reduce as far as it goes."""
        passes = (self._fewer_entries, self._fewer_validators, self._earlier_stop, self._defaults, self._shorter_faults)
        is_smaller = True
        while is_smaller and self._runs < self._runs_max:
            is_smaller = False
            self._failed.clear()
            for reduce in (*passes, self._smaller_numbers):
                while self._runs < self._runs_max and self._take_first(reduce(self._plain)):
                    is_smaller = True
        scenario = convert_scenario(self._plain, "the shrunk scenario")
        return Shrunk(scenario, self._runs, self._runs >= self._runs_max, tuple(self._steps))

    def _take_first(self, candidates: Iterator[Candidate]) -> bool:
        """Judge candidates in batches; go on from the first of them that counts."""
        fresh = self._unseen(candidates)
        while batch := list(islice(fresh, self._jobs)):
            self._runs += len(batch)
            tasks = [
                Task(encode_scenario(scenario), self._seed, is_thorough=self._is_thorough) for _, _, scenario in batch
            ]
            signatures = {task.scenario: result.signature for task, result in self._judge(tasks)}
            for task, (what, _, _) in zip(tasks, batch, strict=True):
                if signatures[task.scenario] == self._signature:
                    # Resolved: a candidate may have left out whole sections.
                    self._plain = json.loads(task.scenario)
                    self._steps.append(what)
                    self._on_step(what, self._runs)
                    return True
                self._failed[what] = None
            if self._runs >= self._runs_max:
                return False
        return False

    def _unseen(self, candidates: Iterator[Candidate]) -> Iterator[tuple[str, Plain, Scenario]]:
        """Yield candidates that are scenarios, and not one that was judged before or whose like failed in this round.

        What failed is tried again only once everything else has been, or each reduction that holds would cost all those
        that do not a second time.
        """
        for what, plain in candidates:
            if what in self._failed:
                continue
            try:
                scenario = convert_scenario(plain, "candidate")
            except ScenarioError:
                continue
            encoded = encode_scenario(scenario)
            if encoded not in self._tried:
                self._tried[encoded] = None
                yield what, plain, scenario

    # -- passes: each yields candidates, the boldest first ---------------------------------------

    def _fewer_entries(self, plain: Plain) -> Iterator[Candidate]:
        for table in ("faults", "workload", "observers", "validators"):
            names = list(plain[table])
            for removed in halves(names):
                yield f"without {table} {', '.join(removed)}", _without(plain, table, removed)

    def _fewer_validators(self, plain: Plain) -> Iterator[Candidate]:
        before = plain["cluster"]["validators"]
        for count in range(VALIDATORS_MIN, before):
            smaller = copy.deepcopy(plain)
            smaller["cluster"]["validators"] = count
            smaller["network"]["regions"] = smaller["network"]["regions"][:count]
            smaller["validators"] = {name: road for name, road in plain["validators"].items() if int(name) < count}
            for fault in smaller["faults"].values():
                _renumber_fault(fault, before, count)
            smaller["planted"] = {name: _renumber(nodes, before, count) for name, nodes in plain["planted"].items()}
            yield f"{count} validators", smaller

    def _earlier_stop(self, plain: Plain) -> Iterator[Candidate]:
        for key, lowest in (("until_height", 1), ("blocks_after_drain", 0)):
            yield from _lower(plain, ("run", key), lowest)
        if plain["run"]["until_drained"]:
            yield "not until drained", _with(plain, ("run", "until_drained"), value=False)

    def _defaults(self, plain: Plain) -> Iterator[Candidate]:
        """Put whole sections, then single keys, back to what a scenario has that does not name them."""
        stated = without_defaults(plain)
        for section in ("network", "costs", "consensus", "chain", "expect"):
            if section in stated:
                yield f"{section} as by default", {key: value for key, value in plain.items() if key != section}
        for section in ("network", "costs", "consensus", "chain"):
            for key in stated.get(section, {}):
                smaller = copy.deepcopy(plain)
                del smaller[section][key]
                yield f"{section}.{key} as by default", smaller

    def _shorter_faults(self, plain: Plain) -> Iterator[Candidate]:
        for name, fault in plain["faults"].items():
            start, stop = _span_keys(fault)
            if start is None or stop is None:
                continue
            half = (fault[stop] - fault[start]) // 2
            if half >= 1:
                place = ("faults", name)
                yield f"{name} ends earlier", _with(plain, (*place, stop), value=fault[start] + half)
                yield f"{name} begins later", _with(plain, (*place, start), value=fault[start] + half)

    def _smaller_numbers(self, plain: Plain) -> Iterator[Candidate]:
        for table in ("workload", "faults"):
            for name, entry in plain[table].items():
                for key, value in entry.items():
                    if isinstance(value, int) and not isinstance(value, bool) and not key.endswith("_ms"):
                        yield from _lower(plain, (table, name, key), 1 if table == "workload" else 0)


def halves(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield what delta debugging tries to remove: everything, halves, quarters, down to single names."""
    size = len(names)
    while size >= 1:
        for start in range(0, len(names), size):
            yield tuple(names[start : start + size])
        size //= 2


def _without(plain: Plain, table: str, removed: Sequence[str]) -> Plain:
    smaller = copy.deepcopy(plain)
    for name in removed:
        del smaller[table][name]
    smaller["requires"] = [name for name in smaller["requires"] if name not in removed]
    return smaller


def _with(plain: Plain, path: Sequence[str], *, value: object) -> Plain:
    changed = copy.deepcopy(plain)
    section = changed
    for key in path[:-1]:
        section = section[key]
    section[path[-1]] = value
    return changed


def _lower(plain: Plain, path: Sequence[str], lowest: int) -> Iterator[Candidate]:
    """Yield a smaller number: the lowest, then half of the way there, a quarter, and one less."""
    value = plain
    for key in path:
        value = value[key]
    number: Any = value
    distance = number - lowest
    tried: dict[int, None] = {}
    while distance >= 1:
        tried.setdefault(number - distance)
        distance //= 2
    for smaller in tried:
        yield f"{'.'.join(path)} {number:,} -> {smaller:,}", _with(plain, path, value=smaller)


def _span_keys(fault: Mapping[str, object]) -> tuple[str | None, str | None]:
    start = next((key for key in ("start_ms", "at_ms") if isinstance(fault.get(key), int)), None)
    stop = next((key for key in ("stop_ms", "restart_ms") if isinstance(fault.get(key), int)), None)
    return start, stop


def _renumber(nodes: Sequence[int], before: int, after: int) -> list[int]:
    """Leave out validators that are gone; observers, numbered after the validators, move up."""
    return [node if node < after else node - before + after for node in nodes if not after <= node < before]


def _renumber_fault(fault: Plain, before: int, after: int) -> None:
    """Make a fault of ``before`` validators one of ``after``; what becomes senseless, the rules of plans refuse."""
    for key in ("groups", "links", "between"):
        if key in fault:
            kept = [_renumber(group, before, after) for group in fault[key]]
            fault[key] = [group for group in kept if len(group) == 2 or (key == "groups" and group)]
    for key in ("validators", "also", "from", "to", "first_to"):
        if key in fault:
            fault[key] = _renumber(fault[key], before, after)
    if fault.get("validator", 0) >= before:
        fault["validator"] += after - before


def as_plain(scenario: Scenario) -> Plain:
    """Return a scenario as plain data without what is as by default: what a person has to read."""
    plain: Plain = msgspec.to_builtins(scenario)
    return without_defaults(plain)
